"""``report.html``: a run as one page that needs no network, and the transcripts that it loads on demand."""

from agentgauge_reports.page.build import write_page

__all__ = ["write_page"]

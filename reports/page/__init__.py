"""``report.html``: a run as one page that needs no network, and the transcripts that it loads on demand."""

from reports.page.build import begin_page, write_page

__all__ = ["begin_page", "write_page"]

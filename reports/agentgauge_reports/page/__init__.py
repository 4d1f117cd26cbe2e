"""``report.html``: one page for a run."""

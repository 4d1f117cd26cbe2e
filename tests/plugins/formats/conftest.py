from tests.reports.conftest import installed

__all__ = ["installed"]

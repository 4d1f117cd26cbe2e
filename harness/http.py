"""aiohttp, without the certificates that its import reads: twice all of the system's, for contexts that most runs never use, which
takes a third of the import's time. A connection over TLS reads them when it begins.
"""

from __future__ import annotations

import ssl
from typing import Any


class _CertificatesLater(ssl.SSLContext):
    """That has been told to load the system's certificates, and has not yet. It becomes an ordinary one with the first connection."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return _loaded(self).wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        return _loaded(self).wrap_socket(*args, **kwargs)


def _loaded(context: ssl.SSLContext) -> ssl.SSLContext:
    """By several threads at once, if need be: nobody goes on without certificates."""
    context.set_default_verify_paths()
    context.__class__ = ssl.SSLContext
    return context


def _later(context: ssl.SSLContext) -> None:
    context.__class__ = _CertificatesLater


ssl.SSLContext.set_default_verify_paths = _later  # type: ignore[assignment, method-assign]
try:
    import aiohttp as aiohttp
finally:
    del ssl.SSLContext.set_default_verify_paths

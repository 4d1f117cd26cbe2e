"""aiohttp, without the certificates that its import reads: twice all of the system's, for contexts that most runs never
use, which takes a third of the import's time. The first connection over TLS reads them, from where ``SSL_CERT_FILE``
and ``SSL_CERT_DIR`` say then.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any

_READING = threading.Lock()


class _CertificatesLater(SSLContext):
    """That has been told to load the system's certificates, and has not yet. It becomes an ordinary one with the
    first connection."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return _loaded(self).wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        return _loaded(self).wrap_socket(*args, **kwargs)


def _loaded(context: SSLContext) -> SSLContext:
    with _READING:
        if type(context) is _CertificatesLater:
            context.set_default_verify_paths()
            context.__class__ = SSLContext  # type: ignore[assignment]
    return context


@contextmanager
def _certificates_later() -> Iterator[None]:
    """For plain contexts that are made meanwhile."""
    name = "set_default_verify_paths"
    if name in vars(SSLContext):  # not Python's own class, but what truststore, say, has put in its place
        yield
        return
    load = SSLContext.set_default_verify_paths

    def later(context: SSLContext) -> None:
        if type(context) is SSLContext:
            context.__class__ = _CertificatesLater
        else:
            load(context)

    setattr(SSLContext, name, later)
    try:
        yield
    finally:
        delattr(SSLContext, name)


with _certificates_later():
    import aiohttp as aiohttp

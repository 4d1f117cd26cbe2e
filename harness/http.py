"""aiohttp, without the certificates that its import reads: twice all of the system's, for contexts that most runs never use, which
takes a third of the import's time. A connection over TLS reads them when it begins.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any


class _CertificatesLater(SSLContext):
    """That has been told to load the system's certificates, and has not yet. It becomes an ordinary one with the first connection."""

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        return _loaded(self).wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        return _loaded(self).wrap_socket(*args, **kwargs)


def _loaded(context: SSLContext) -> SSLContext:
    """By several threads at once, if need be: nobody goes on without certificates."""
    context.set_default_verify_paths()
    context.__class__ = SSLContext
    return context


@contextmanager
def _certificates_later() -> Iterator[None]:
    """For contexts that are made meanwhile."""
    name = "set_default_verify_paths"
    if name in vars(SSLContext):  # not Python's own class, but what truststore, say, has put in its place
        yield
        return
    setattr(SSLContext, name, lambda context: setattr(context, "__class__", _CertificatesLater))
    try:
        yield
    finally:
        delattr(SSLContext, name)


with _certificates_later():
    import aiohttp as aiohttp

"""What aiohttp raises, as how a try was lost. Both transports end in aiohttp, so both come here. Imports it."""

from __future__ import annotations

import ssl

from harness.http import aiohttp
from harness.model.transport import Lost
from harness.model.wire import excerpt


class AnswerTooLong(Exception):
    """More than MAX_ANSWER bytes came; the rest was not read."""


def lost(error: BaseException) -> Lost:
    """What happened is at the root of the exception chain; layers above it rename it."""
    root: BaseException = error
    while root.__cause__ is not None and not isinstance(root, aiohttp.ClientError):
        root = root.__cause__
    detail = excerpt(str(root)) or type(root).__name__
    if isinstance(root, AnswerTooLong):
        return Lost("answer too long")
    if isinstance(root, aiohttp.ClientConnectorCertificateError):
        return Lost("certificate", _reason(root.certificate_error))
    if isinstance(root, TimeoutError):
        return Lost("timeout")
    if isinstance(root, aiohttp.ClientPayloadError):
        return Lost("garbled body", detail) if _undecodable(root) else Lost("truncated body")
    if isinstance(root, aiohttp.ClientHttpProxyError):
        return Lost("proxy", f"HTTP {root.status} {root.message}".rstrip())
    if isinstance(root, aiohttp.ClientProxyConnectionError):
        return Lost("connection", f"the proxy does not answer: {detail}")
    if isinstance(root, aiohttp.ClientResponseError):
        return Lost("not http", detail)
    if isinstance(root, aiohttp.ClientConnectionError | OSError):
        return Lost("connection", detail)
    return Lost("garbled body", detail)


def _reason(error: Exception) -> str:
    return error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else excerpt(str(error))


def _undecodable(error: aiohttp.ClientPayloadError) -> bool:
    """Did the body come, but in no encoding that can be unpacked?"""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, aiohttp.http_exceptions.ContentEncodingError):
            return True
        link = link.__cause__
    return False

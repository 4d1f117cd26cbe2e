"""What aiohttp raises, as how a try was lost. Both transports end in aiohttp, so both come here. Imports it."""

from __future__ import annotations

import ast
import re
import ssl

from agentgauge.model.transport.base import Lost
from agentgauge.model.transport.http import aiohttp
from agentgauge.model.wire import excerpt


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
        return Lost("garbled body", _CLIENTS_STATUS.sub("", detail)) if _undecodable(root) else Lost("truncated body")
    if isinstance(root, aiohttp.ClientHttpProxyError):
        return Lost("proxy", f"HTTP {root.status} {root.message}".rstrip())
    if isinstance(root, aiohttp.ClientProxyConnectionError):
        return Lost("connection", f"the proxy does not answer: {detail}")
    if isinstance(root, aiohttp.ClientResponseError):
        return Lost("not http", _own_words(root.message))
    if isinstance(root, aiohttp.ClientConnectionError | OSError):
        return Lost("connection", detail)
    return Lost("garbled body", detail)


_CLIENTS_STATUS = re.compile("^400, message[:=] ?")
"""What aiohttp puts before its own words on an answer that it cannot read. No endpoint has sent that status."""
_LITERAL = re.compile(r"""b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*\"""")


def _own_words(message: str) -> str:
    """What is wrong with an answer that is no HTTP, and the line of it that is, out of aiohttp's message: ``bad status
    line 'SSH-2.0'``.

    A line that aiohttp has cut is not quoted: it may end in the middle of a key.
    """
    what = excerpt(_CLIENTS_STATUS.sub("", message).partition(":")[0])
    found = _LITERAL.search(message)
    line: bytes = ast.literal_eval(found[0]) if found else b""
    words = what[:1].lower() + what[1:]
    return f"{words} {excerpt(line.decode('utf-8', 'replace'))!r}" if found and not line.endswith(b"...") else words


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

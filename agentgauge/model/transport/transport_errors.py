"""From aiohttp's exceptions to TransportErrors. Both transports end in aiohttp, so both use this."""

from __future__ import annotations

import ast
import re
import ssl

import aiohttp

from agentgauge.model.transport.base import TransportError
from agentgauge.model.wire import excerpt


class AnswerTooLong(Exception):
    """More than MAX_ANSWER bytes came; the rest was not read."""


def transport_error(error: BaseException) -> TransportError:
    """Convert an exception by the root of its chain, because the outer layers rename what happened."""
    root: BaseException = error
    while root.__cause__ is not None and not isinstance(root, aiohttp.ClientError):
        root = root.__cause__
    detail = excerpt(str(root)) or type(root).__name__
    if isinstance(root, AnswerTooLong):
        return TransportError("answer too long")
    if isinstance(root, aiohttp.ClientConnectorCertificateError):
        return TransportError("certificate", _reason(root.certificate_error))
    if isinstance(root, TimeoutError):
        return TransportError("timeout")
    if isinstance(root, aiohttp.ClientPayloadError):
        if _undecodable(root):
            return TransportError("garbled body", _CLIENTS_STATUS.sub("", detail))
        return TransportError("truncated body")
    if isinstance(root, aiohttp.ClientHttpProxyError):
        return TransportError("proxy", f"HTTP {root.status} {root.message}".rstrip())
    if isinstance(root, aiohttp.ClientProxyConnectionError):
        return TransportError("connection", f"the proxy does not answer: {detail}")
    if isinstance(root, aiohttp.ClientResponseError):
        return TransportError("not http", _own_words(root.message))
    if isinstance(root, aiohttp.ClientConnectorError):
        return TransportError("connection", detail)
    if isinstance(root, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | ConnectionError):
        return TransportError("disconnected", detail)
    if isinstance(root, aiohttp.ClientConnectionError | OSError):
        return TransportError("connection", detail)
    return TransportError("garbled body", detail)


_CLIENTS_STATUS = re.compile("^400, message[:=] ?")
"""The prefix of aiohttp's own message about an answer that it cannot read. No endpoint has sent that status."""
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

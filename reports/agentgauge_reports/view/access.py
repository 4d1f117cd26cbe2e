"""Decides which requests the viewer answers.

Every web page that a browser shows can send requests to a server on loopback. It can also read the answers if it
changes the address of its own host name to 127.0.0.1 (DNS rebinding). But it can forge neither Host nor Sec-Fetch-Site,
and it knows no secret.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping

LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
"""Accepted values of Host."""


class Access:
    """The access rules: the first visit has ``token`` in its address and gets a cookie; every later visit has the
    cookie.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.cookie = secrets.token_urlsafe(24)

    def refusal(self, method: str, headers: Mapping[str, str], *, token: str | None, cookie: str | None) -> str | None:
        """Why a request is refused; None if it is accepted. A port forwarded by ssh may have any number."""
        if method not in ("GET", "HEAD"):
            return "only GET and HEAD are accepted"
        host = headers.get("Host", "")
        if not LOOPBACK.fullmatch(host):
            return f"this viewer does not serve the host {host[:100]!r}; use localhost, over ssh with a forwarded port"
        if headers.get("Origin", f"http://{host}") != f"http://{host}":
            return "requests of other web pages are refused"
        if token is not None and hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        if headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return "requests of other web pages are refused"
        if cookie is not None and hmac.compare_digest(cookie.encode(), self.cookie.encode()):
            return None
        return "open the address that agentgauge view has printed, with its token"

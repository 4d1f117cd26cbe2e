"""Decides which requests the tool server answers: by the host that they name, the page that sent them, and the token.

Any web page can send requests to a server on loopback. It can also read the answers if it changes the address of its
own host name to 127.0.0.1 (DNS rebinding). It can forge neither the Host nor the Origin header, and does not know the
token.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agentgauge.core.processes import TOOL_TOKEN

OPEN = frozenset({"/health", "/ready"})
"""Paths that need no token, for programs that watch the server. Host and Origin count there as well."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]{2,45})\]|(?P<name>[\w.-]{1,253}))(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_OWN_SITE = ("same-origin", "none")
"""Values of Sec-Fetch-Site for requests of the server's own pages, and of the user, who typed the address."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request: HTTP status and one sentence."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Access:
    """The access rules of a server. ``token``: None if none is needed. ``names``: further host names of the server, in
    lower case, at any port.
    """

    token: str | None = None
    names: frozenset[str] = frozenset()

    def refusal(self, path: str, headers: Mapping[str, str], local: tuple[str, int]) -> Refusal | None:
        """Why a request is refused; None if it is accepted.

        ``local``: address and port at which its connection arrived.
        """
        host = headers.get("Host", "")
        if not self._is_ours(host, local):
            reason = f"this tool server does not serve the host {host[:100]!r}; start it with --allow-host NAME"
            return Refusal(403, reason)
        if not _from_own_page(headers, host):
            return Refusal(403, "this tool server answers no requests of foreign web pages; call it from a program")
        if self.token is not None and path not in OPEN and not _has_token(self.token, headers.get("Authorization", "")):
            return Refusal(401, f"this tool server requires a token; set {TOOL_TOKEN} to the one that it printed")
        return None

    def _is_ours(self, host: str, local: tuple[str, int]) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = plain_host(found["six"] or found["name"])
        if name in self.names:
            return True
        return int(found["port"] or 80) == local[1] and (name in LOOPBACK or name == plain_host(local[0]))


WITHOUT_TOKEN = Access()  # for a server on loopback that needs none


def plain_host(host: str) -> str:
    """A host in the normal form in which hosts are compared."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower()
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(address)


def is_host(host: str) -> bool:
    """Whether a text of ``plain_host`` is a host name or an IP address, without a port."""
    return _HOST.fullmatch(f"[{host}]" if ":" in host else host) is not None


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach a server that listens there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name: it may lead anywhere
        return False


def _from_own_page(headers: Mapping[str, str], host: str) -> bool:
    """Whether no browser sent the request, or one for the server's own page. Pages cannot forge these headers."""
    origin = headers.get("Origin")
    if origin is not None and origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
        return False
    return headers.get("Sec-Fetch-Site", "none").lower() in _OWN_SITE


def _has_token(token: str, header: str) -> bool:
    """Whether an Authorization header holds the token: as a bearer token, or as the password of a basic login."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "basic":
        try:
            value = base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(value.encode("utf-8", "surrogateescape"), token.encode("utf-8", "surrogateescape"))

"""The address, headers, proxy and certificates of a request. Nothing here is sent or stored."""

from __future__ import annotations

import ipaddress
import ssl
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register_login
from agentgauge.model.spec import ModelSpec

_OPENAI = "api.openai.com"
_ANTHROPIC_VERSION = "2023-06-01"  # of its own interface, the only one so far
_DEPLOYED = "/chat/completions"  # what Azure serves below a deployment; everything else is below /openai


def url_of(spec: ModelSpec, path: str) -> str:
    """The whole address of ``path``, percent-encoded."""
    base = (spec.url or "").rstrip("/")
    if spec.kind != "azure":
        return base + path
    deployment = f"/deployments/{quote(spec.deployment or '', safe='')}" if path == _DEPLOYED else ""
    sign = "&" if "?" in path else "?"
    return f"{base}/openai{deployment}{path}{sign}api-version={quote(spec.api_version or '', safe='')}"


def standing_headers(spec: ModelSpec, key: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """The headers of every request to an endpoint. Of names that differ in case only, the last one counts.

    The values of OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS are sent to OpenAI's own host, as by its
    package, and to no other host.
    """
    headers = {"Accept": "application/json", "User-Agent": "AgentGauge"}
    if spec.kind == "azure":
        return _merged(headers, spec.headers, {"api-key": key} if key else {})
    if spec.kind == "anthropic":
        named = {"x-api-key": key} if key else {}
        return _merged(headers, {"anthropic-version": _ANTHROPIC_VERSION}, spec.headers, named)
    authorization = {"Authorization": f"Bearer {key}"} if key else {}
    if urlsplit(spec.url or "").hostname != _OPENAI:
        return _merged(headers, spec.headers, authorization)
    for name, variable in (("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")):
        if value := environ.get(variable):
            headers[name] = value
    return _merged(headers, authorization, custom_headers(environ), spec.headers)


def custom_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers in OPENAI_CUSTOM_HEADERS: one ``name: value`` a line."""
    lines = [line.partition(":") for line in environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n") if ":" in line]
    return {name.strip(): value.strip() for name, _, value in lines}


def _merged(*parts: Mapping[str, str]) -> dict[str, str]:
    merged: dict[str, tuple[str, str]] = {}
    for part in parts:
        merged.update({name.lower(): (name, value) for name, value in part.items()})
    return dict(merged.values())


@dataclass(frozen=True, slots=True)
class Proxy:
    url: str  # without the login
    login: tuple[str, str] | None = field(default=None, repr=False)  # user name and password

    @property
    def headers(self) -> dict[str, str]:
        if self.login is None:
            return {}
        return {"Proxy-Authorization": f"Basic {b64encode(':'.join(self.login).encode()).decode()}"}


def proxy_for(url: str) -> Proxy | None:
    """The proxy that the environment names for an address (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), if any.

    Loopback needs none, and a proxy set for the outside would not find it. Raises UsageProblem for one that is no HTTP
    proxy.
    """
    parts = urlsplit(url)
    if is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named:
        return None
    try:
        named = named if "://" in named else f"http://{named}"
        register_login(named)
        proxy = urlsplit(named)
        usable = proxy.scheme in ("http", "https") and bool(proxy.hostname) and (proxy.port is None or proxy.port > 0)
    except ValueError:
        usable = False
    if not usable:
        # It may hold a password, so it is not shown.
        raise UsageProblem(
            f"the proxy that the environment names for {parts.scheme}://{parts.netloc} is not an HTTP proxy; "
            "give http://HOST:PORT, or add the host to NO_PROXY"
        )
    login = None if proxy.username is None else (unquote(proxy.username), unquote(proxy.password or ""))
    return Proxy(f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}", login)


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        found = ipaddress.ip_address(host)
        return found.is_loopback or found.is_unspecified
    except ValueError:
        return host == "localhost"


def own_tls_context(environ: Mapping[str, str]) -> ssl.SSLContext | None:
    """The context that checks certificates by the rules of the ``openai`` package: SSL_CERT_FILE or SSL_CERT_DIR alone
    where they are set, else the system's store. None where Python's own default is just that.

    Raises UsageProblem for a file that cannot be read or holds no certificate.
    """
    file, folder = environ.get("SSL_CERT_FILE"), environ.get("SSL_CERT_DIR")
    if file or folder:
        try:
            context = ssl.create_default_context(cafile=file) if file else ssl.create_default_context(capath=folder)
        except OSError as error:
            reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            name = f"SSL_CERT_FILE names ({file})" if file else f"SSL_CERT_DIR names ({folder})"
            raise UsageProblem(
                f"the certificates that {name} cannot be read: {reason}; correct the variable, or unset it"
            ) from None
    elif sys.platform in ("win32", "darwin"):
        import truststore

        context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    else:
        return None
    context.set_alpn_protocols(["http/1.1"])
    return context

"""Base addresses of endpoints: from what people write, paste or have in a variable to where requests go."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from agentgauge.core.errors import UsageProblem

_REQUEST_END = re.compile(
    r"/+(chat/completions|completions|responses)$|(?<=/v\d)/+(chat|models|embeddings|messages)$|(?<=/openai)/+models$"
)
"""What an address out of a curl example has behind its base."""
_OLLAMA_END = re.compile(r"/+api/(chat|generate|tags)$")
_AZURE_END = re.compile(r"/openai(?:/v1|/deployments(?:/([^/]+))?)?$")
_PRIVATE_NAMES = (".localhost", ".local", ".lan", ".internal", ".intranet", ".home.arpa")
_EXAMPLE = "http://localhost:8000/v1"
_KEY_PLACE = "put a key in an environment variable (AGENTGAUGE_API_KEY, or key_env in agentgauge.toml)"


def base_of(url: str) -> str:
    """The address without a closing slash and without the path of one kind of request."""
    url = url.strip().rstrip("/")
    return _OLLAMA_END.sub("/v1", _REQUEST_END.sub("", url)).rstrip("/")


def checked_url(url: str) -> str:
    """The base address. Raises UsageProblem. A refused one is not shown where it may hold a password."""
    url = url.strip(" \t\r\n\"'<>")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        usable = usable and not parts.netloc.endswith(":") and not re.search(r"\s", url)
    except ValueError:
        usable, parts = False, urlsplit("")
    if "@" in url or parts.query or parts.fragment:
        raise UsageProblem(
            "the address of a model must hold no user name, password, query or fragment; "
            + (_azure_advice(url) or (f"leave out what follows the ?, and {_KEY_PLACE}" if parts.query else _KEY_PLACE))
        )
    if not usable:
        raise UsageProblem(f"{url!r} is not an address of a model endpoint; {_advice(url)}")
    return base_of(f"{parts.scheme}://{parts.netloc}{parts.path}")


def _advice(url: str) -> str:
    if slip := re.match(r"(https?)(?::+/{0,3}|//?)(?=[^/:\d]|\d+\.)(?!https?:)", url):
        return f"write {slip[1]}://{url[slip.end() :]}"
    scheme, mark, rest = url.rpartition("://")
    if url.startswith(("unix:", "http+unix:", "/", "./")):
        return f"a Unix socket cannot be asked: let the server listen at a port, and give {_EXAMPLE}"
    place = rest.partition("/")[0]
    if place.count(":") > 1 and "[" not in place:
        return f"an IPv6 address stands in brackets: give one such as {_EXAMPLE.replace('localhost', '[::1]')}"
    try:
        with_scheme = urlsplit(f"http://{rest}")
        found = bool(with_scheme.hostname) and (with_scheme.port is None or with_scheme.port > 0)
    except ValueError:
        found = False
    if found and not mark and ("." in place or ":" in place or place == "localhost"):
        secure = "http" if is_private(f"http://{rest}") or ":" in place else "https"
        return f"write {secure}://{rest if with_scheme.path.strip('/') else place + '/v1'}"
    if found and mark and scheme not in ("http", "https"):
        return f"only http and https are supported: give one such as {_EXAMPLE}"
    return f"give one such as {_EXAMPLE}"


def _azure_advice(url: str) -> str:
    azure = azure_address(url)
    if "@" in url or not azure.version:
        return ""
    if not azure.deployment:
        host = urlsplit(url).hostname or ""
        return f"give https://{host}/openai/v1, which takes no version" if host.endswith(".azure.com") else ""
    return (
        f"for Azure write --model=azure/{azure.deployment} --model-url={azure.endpoint} and set"
        f" AZURE_OPENAI_API_VERSION={azure.version}"
    )


class AzureAddress(NamedTuple):
    """``deployment`` and ``version`` are empty where the address names none."""

    endpoint: str
    deployment: str
    version: str


def azure_address(url: str) -> AzureAddress:
    """The endpoint of a resource in an address such as Azure's portal shows it, with deployment and API version."""
    try:
        query = parse_qs(urlsplit(url).query)
    except ValueError:
        return AzureAddress(url, "", "")
    if query and query.keys() != {"api-version"}:
        return AzureAddress(url, "", "")
    base = base_of(url.partition("?")[0])
    found = _AZURE_END.search(base)
    deployment = unquote(found[1] or "") if found else ""
    return AzureAddress(base[: found.start()] if found else base, deployment, query.get("api-version", [""])[0])


def host_address(given: str, default_port: int | None) -> str:
    """The address in a variable such as ``OLLAMA_HOST``, read as Ollama's own package reads it: a host, a port, both,
    or an address, with a path or without. One that cannot be read comes back as it is."""
    given = given.strip().strip("\"'")
    given = f"[{given}]" if _is_ipv6(given) else given
    scheme, mark, place = given.partition("://")
    if not mark:
        scheme, place = "http", given
    try:
        parts = urlsplit(f"{scheme}://{place}")
        port = parts.port
    except ValueError:
        return given
    if "@" in place or parts.query or parts.fragment:
        return f"{scheme}://{place}"
    host = parts.hostname or "127.0.0.1"
    port = port or (None if mark else default_port)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def is_private(url: str) -> bool:
    """Whether a server is on this machine or in a network of the user's own."""
    host = (urlsplit(url).hostname or "").lower()
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_PRIVATE_NAMES)
    return found.is_private or found.is_loopback or found.is_link_local or found.is_unspecified


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False

"""Files of GitHub: the assets of a release, and single files of a repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import UsageProblem
from agentgauge.data.fetch.net import BUSY, RetryableError, RetrySettings, offline, refused, retried, unreachable
from agentgauge.data.fetch.source import Listing, RemoteFile, Report, Source, mirrored

if TYPE_CHECKING:
    import httpx2

API, WEB, RAW = "https://api.github.com", "https://github.com", "https://raw.githubusercontent.com"

_SHORT = RetrySettings(tries=3, first=0.5, most=5.0)
"""For requests that have a fallback."""

_SHA256 = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Release(Source):
    """The assets of a release, by GitHub's API, which lists sizes and, for newer ones, SHA-256.

    Where the API does not answer (its rate limit, a mirror without one) the assets named in ``usual`` are requested.
    """

    repo: str  # OWNER/NAME
    tag: str
    assets: str  # regular expression of the names that are wanted
    usual: tuple[str, ...]

    @property
    def identity(self) -> str:
        return f"{WEB}/{self.repo}/releases/tag/{self.tag}"

    def listing(self, client: httpx2.Client, mirror: str | None, pinned: str | None, report: Report) -> Listing:
        refuse_offline(self.identity)
        try:
            files = self._by_api(client, mirror)
        except UsageProblem as problem:
            report(f"note: {problem}")
            report(f"note: sizes and checksums are not known beforehand; asking for {', '.join(self.usual)}")
            files = [self._wanted(name, mirror) for name in self.usual]
        return Listing(self.identity, self.tag, tuple(files))

    def _by_api(self, client: httpx2.Client, mirror: str | None) -> list[RemoteFile]:
        address = mirrored(f"{API}/repos/{self.repo}/releases/tags/{self.tag}", mirror)
        answer = ask(client, address, accept="application/vnd.github+json", patience=_SHORT)
        try:
            offered = {str(asset["name"]): asset for asset in answer.json()["assets"]}
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageProblem(f"{address} does not answer as GitHub's API does; it is left out") from None
        fitting = sorted(name for name in offered if re.fullmatch(self.assets, name))
        if not fitting:
            raise UsageProblem(
                f"the release has no asset of the expected names, but {', '.join(sorted(offered)) or 'none at all'}"
            )
        return [self._wanted(name, mirror, offered[name]) for name in fitting]

    def _wanted(self, name: str, mirror: str | None, asset: dict[str, Any] | None = None) -> RemoteFile:
        url = f"{WEB}/{self.repo}/releases/download/{self.tag}/{name}"
        asset = asset or {}
        digest = _SHA256.fullmatch(str(asset.get("digest")))
        size = asset.get("size")
        return RemoteFile(
            name, url, mirrored(url, mirror), size if isinstance(size, int) else None, digest[1] if digest else None
        )


@dataclass(frozen=True, slots=True)
class RawFile(Source):
    """One file of a repository, without a published checksum. The first of ``paths`` that exists is taken."""

    repo: str
    ref: str  # branch, tag or commit; HEAD is the default branch
    paths: tuple[str, ...]
    name: str  # what it is called here

    @property
    def identity(self) -> str:
        return f"{WEB}/{self.repo}"

    @property
    def shown(self) -> str:
        return f"{self.identity} ({self.paths[0]})"

    def listing(self, client: httpx2.Client, mirror: str | None, pinned: str | None, report: Report) -> Listing:
        refuse_offline(self.identity)
        for path in self.paths:
            url = f"{RAW}/{self.repo}/{self.ref}/{path}"
            answer = ask(client, mirrored(url, mirror), method="HEAD", missing=path != self.paths[-1])
            if answer.status_code == 200:
                break
        length = answer.headers.get("Content-Length", "")
        size = (
            int(length)
            if length.isdecimal() and len(length) < 20 and not answer.headers.get("Content-Encoding")
            else None
        )
        return Listing(self.identity, self.ref, (RemoteFile(self.name, url, mirrored(url, mirror), size),))


def ask(
    client: httpx2.Client,
    address: str,
    *,
    method: str = "GET",
    accept: str = "*/*",
    missing: bool = False,
    patience: RetrySettings = RetrySettings(),  # noqa: B008 - frozen
) -> httpx2.Response:
    """Get a small answer of status 200, or 404 where ``missing`` is allowed. Raises UsageProblem."""
    import httpx2

    def attempt() -> httpx2.Response:
        try:
            answer = client.request(method, address, headers={"Accept": accept})
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            final = not isinstance(error, httpx2.TransportError) or isinstance(error, httpx2.UnsupportedProtocol)
            problem = unreachable(address, error)
            raise (problem if final else RetryableError(problem)) from None
        if answer.status_code == 200 or (missing and answer.status_code == 404):
            return answer
        problem = refused(answer.status_code, address)
        raise RetryableError(problem, answer.headers.get("Retry-After")) if answer.status_code in BUSY else problem

    return retried(attempt, patience)


def refuse_offline(where: str) -> None:
    """Raises UsageProblem in offline mode."""
    if offline():
        raise UsageProblem(
            f"HF_HUB_OFFLINE is set, so nothing is downloaded from {where}; unset it, or copy the data and give"
            " --data=DIR"
        )

"""Data sets and models of the Hugging Face hub, listed by ``huggingface_hub``.

The library lists files, their commit and checksums, and signs in (``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE``
are its own). ``transfer`` downloads them, because since version 2 the library cannot resume after its process was
killed. In offline mode the library's cache is the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register, register_login
from agentgauge.data.fetch.net import BUSY, RetryableError, RetrySettings, offline, refused, retried, unreachable
from agentgauge.data.fetch.source import Listing, RemoteFile, Report, Source

if TYPE_CHECKING:
    import httpx2

HUB = "https://huggingface.co"
MAIN = "main"

Kind = Literal["dataset", "model"]
"""Of a repository."""

_RETRIES = RetrySettings()
_NAMED = re.compile(r"hub:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")


@dataclass(frozen=True, slots=True)
class Hub(Source):
    """The files of a repository that match one of ``patterns`` (``*`` crosses folders)."""

    repo: str  # OWNER/NAME
    patterns: tuple[str, ...]
    revision: str | None = None  # branch, tag or commit; None: that of the lock file, else main
    kind: Kind = "dataset"

    @property
    def identity(self) -> str:
        return _page(HUB, self.repo, self.kind)

    def listing(self, client: httpx2.Client, mirror: str | None, pinned: str | None, report: Report) -> Listing:
        revision = self.revision or pinned or MAIN
        listing = self._cached(revision) if offline() else self._online(mirror, revision)
        if not listing.files:
            raise UsageProblem(
                f"{self.identity} at revision {revision} has no file of the expected names ({', '.join(self.patterns)})"
            )
        return listing

    def _fits(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def _online(self, mirror: str | None, revision: str) -> Listing:
        from huggingface_hub import HfApi, hf_hub_url
        from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # documented, and not listed

        token = False if mirror else None  # None: the user's, if any; a mirror must not get it
        api = HfApi(endpoint=mirror.rstrip("/") if mirror else None, token=token)
        headers = {
            name: value for name, value in build_hf_headers(token=token).items() if name.lower() == "authorization"
        }
        register(*(value.removeprefix("Bearer ") for value in headers.values()))
        register_login(api.endpoint)
        info = _info(api, self.repo, self.kind, revision)
        commit = str(info.sha or revision)
        files = []
        for one in sorted(info.siblings or (), key=lambda one: one.rfilename):
            if self._fits(one.rfilename):
                where: dict[str, Any] = {"repo_type": self.kind, "revision": commit}
                url = hf_hub_url(self.repo, one.rfilename, endpoint=HUB, **where)
                address = hf_hub_url(self.repo, one.rfilename, endpoint=api.endpoint, **where)
                sha256 = one.lfs.sha256 if one.lfs else None
                files.append(
                    RemoteFile(one.rfilename, url, address, one.size, sha256, None if one.lfs else one.blob_id, headers)
                )
        return Listing(self.identity, commit, tuple(files))

    def _cached(self, revision: str) -> Listing:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            folder = Path(snapshot_download(self.repo, repo_type=self.kind, revision=revision, local_files_only=True))
        except LocalEntryNotFoundError:
            raise UsageProblem(
                f"HF_HUB_OFFLINE is set, and the hub's cache on this machine has no copy of {self.repo} at {revision}; "
                f"unset it, or fill the cache with `hf download {self.repo} --repo-type {self.kind}`"
            ) from None
        return Listing(self.identity, folder.name, tuple(self._copies(folder)))

    def _copies(self, folder: Path) -> Iterator[RemoteFile]:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            if self._fits(name):
                url = f"{self.identity}/resolve/{folder.name}/{name}"
                yield RemoteFile(name, url, str(path), path.stat().st_size, local=path)


def _page(endpoint: str, repo: str, kind: Kind) -> str:
    return f"{endpoint}/{repo}" if kind == "model" else f"{endpoint}/datasets/{repo}"


def _info(api: Any, repo: str, kind: Kind, revision: str) -> Any:
    """The hub's description of a repository. Raises UsageProblem."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    where = _page(api.endpoint, repo, kind)

    def attempt() -> Any:
        try:
            return api.repo_info(repo, repo_type=kind, revision=revision, files_metadata=True, timeout=_RETRIES.connect)
        except HfHubHTTPError as error:
            status = error.response.status_code
            problem = refused(status, f"{where} at revision {revision}")
            raise (
                RetryableError(problem, error.response.headers.get("Retry-After")) if status in BUSY else problem
            ) from None
        except HFValidationError:
            raise UsageProblem(f"{repo!r} is not a name of a repository of the hub; give OWNER/NAME") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise RetryableError(unreachable(where, error)) from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageProblem(f"{where} does not answer as the hub does; check HF_ENDPOINT or --mirror") from None

    return retried(attempt, _RETRIES)


def named(text: str, usual: Hub | None, patterns: tuple[str, ...], kind: Kind) -> Hub:
    """The source that ``hub:OWNER/NAME[@REVISION]`` names. Raises UsageProblem."""
    found = _NAMED.fullmatch(text)
    if not found:
        raise UsageProblem(f"--from {text!r} cannot be read; give github, hub, or hub:OWNER/NAME[@REVISION]")
    return replace(usual, repo=found[1], revision=found[2]) if usual else Hub(found[1], patterns, found[2], kind)

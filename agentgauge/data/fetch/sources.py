"""Where official data comes from: releases and single files of GitHub, and repositories of the Hugging Face hub.

``pooch`` downloads from GitHub and ``huggingface_hub`` from the hub. Both are imported when something is downloaded.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register, register_login

if TYPE_CHECKING:
    import requests

API, WEB, RAW = "https://api.github.com", "https://github.com", "https://raw.githubusercontent.com"
HUB, MAIN = "https://huggingface.co", "main"

Kind = Literal["dataset", "model"]
"""What a repository of the hub holds."""

Notify = Callable[[str], None]
"""Prints one line for the user."""

_BUSY = (408, 429, 500, 502, 503, 504)
"""Statuses after which a retry may help."""

_RETRIES = 5
_TIMEOUT = (20.0, 60.0)
"""Seconds to connect, and to wait for the next bytes."""

_CHUNK = 1 << 20
_SHA256 = re.compile(r"sha256:([0-9a-f]{64})")
_NAMED = re.compile(r"hub:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")

_MOVED = ("does not exist", "it may have moved: try another --mirror or --from")
_CLOSED = (
    "is refused",
    "it may need a token (HF_TOKEN for the hub, of a user who has accepted the terms on the repository's page) or"
    " another --mirror",
)
_LIMITED = ("limits the rate and still refuses", "wait a while and run the command again")
_REFUSALS = {404: _MOVED, 410: _MOVED, 401: _CLOSED, 403: _CLOSED, 429: _LIMITED}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    name: str  # relative path, with slashes
    url: str  # without a mirror: what is recorded
    address: str  # what is requested
    size: int | None = None  # bytes, where it is published
    sha256: str | None = None  # where it is published
    git_sha1: str | None = None  # of the git object with this content, where that is published instead
    local: Path | None = None  # a copy on this machine that is taken instead

    @property
    def published(self) -> bool:
        """Whether its publisher states a checksum."""
        return bool(self.sha256 or self.git_sha1)


@dataclass(frozen=True, slots=True)
class Listing:
    source: str  # the same for every mirror: "https://github.com/OWNER/REPO/releases/tag/v1"
    revision: str
    files: tuple[RemoteFile, ...]


class Source(ABC):
    """A publisher of data."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """As ``Listing.source``."""

    @property
    def shown(self) -> str:
        """Its address, for messages."""
        return self.identity

    @abstractmethod
    def listing(self, mirror: str | None, report: Notify) -> Listing:
        """The files. ``mirror`` replaces scheme and host.

        Raises UsageProblem where the source cannot be reached or has no fitting file.
        """

    @abstractmethod
    def download(self, file: RemoteFile, folder: Path, revision: str, mirror: str | None) -> None:
        """Put a file into ``folder`` under its name, where it appears complete or not at all. Its content is not
        checked.

        Raises UsageProblem for a refusal or a broken connection, OSError where ``folder`` cannot be written.
        """


# -- GitHub


class _GitHub(Source):
    def download(self, file: RemoteFile, folder: Path, revision: str, mirror: str | None) -> None:
        import pooch
        import requests

        pooch.get_logger().setLevel("ERROR")
        http = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=_CHUNK, timeout=_TIMEOUT)

        def once(url: str, output_file: Any, caller: Any) -> None:
            try:
                http(url, output_file, caller)
            except requests.HTTPError as error:  # pooch would repeat each of them
                if error.response is not None and error.response.status_code not in _BUSY:
                    raise _refused(error.response.status_code, file.address) from None
                raise

        addresses = {file.name: file.address}
        known = {file.name: None}  # its content is checked in one place for all sources
        try:
            pooch.create(folder, "", registry=known, urls=addresses, retry_if_failed=_RETRIES).fetch(
                file.name, downloader=once
            )
            (folder / file.name).chmod(0o644)  # pooch leaves it to the user alone
        except requests.RequestException as error:
            if isinstance(error, requests.HTTPError) and error.response is not None:
                raise _refused(error.response.status_code, file.address) from None
            raise _unreachable(file.address, error) from None
        except ValueError as error:
            raise _unreachable(file.address, error) from None


@dataclass(frozen=True, slots=True)
class Release(_GitHub):
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

    def listing(self, mirror: str | None, report: Notify) -> Listing:
        _refuse_offline(self.identity)
        try:
            files = self._by_api(mirror)
        except UsageProblem as problem:
            report(f"note: {problem}")
            report(f"note: sizes and checksums are not known beforehand; asking for {', '.join(self.usual)}")
            files = [self._wanted(name, mirror) for name in self.usual]
        return Listing(self.identity, self.tag, tuple(files))

    def _by_api(self, mirror: str | None) -> list[RemoteFile]:
        address = _mirrored(f"{API}/repos/{self.repo}/releases/tags/{self.tag}", mirror)
        answer = _ask("GET", address)
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
            name, url, _mirrored(url, mirror), size if isinstance(size, int) else None, digest[1] if digest else None
        )


@dataclass(frozen=True, slots=True)
class RawFile(_GitHub):
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

    def listing(self, mirror: str | None, report: Notify) -> Listing:
        _refuse_offline(self.identity)
        for path in self.paths:
            url = f"{RAW}/{self.repo}/{self.ref}/{path}"
            answer = _ask("HEAD", _mirrored(url, mirror), missing=path != self.paths[-1])
            if answer.status_code == 200:
                break
        length = answer.headers.get("Content-Length", "")
        plain = length.isdecimal() and len(length) < 20 and not answer.headers.get("Content-Encoding")
        file = RemoteFile(self.name, url, _mirrored(url, mirror), int(length) if plain else None)
        return Listing(self.identity, self.ref, (file,))


def _ask(method: str, address: str, *, missing: bool = False) -> requests.Response:
    """Get a small answer of status 200, or 404 where ``missing`` is allowed. Raises UsageProblem."""
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retry = Retry(
        3,
        backoff_factor=0.5,
        status_forcelist=_BUSY,
        allowed_methods=None,
        raise_on_status=False,
        respect_retry_after_header=False,  # which may be hours
    )
    try:
        with requests.Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, HTTPAdapter(max_retries=retry))
            headers = {"Accept-Encoding": "identity"}  # the real size
            answer = session.request(method, address, headers=headers, timeout=_TIMEOUT, allow_redirects=True)
    except (requests.RequestException, ValueError) as error:
        raise _unreachable(address, error) from None
    if answer.status_code == 200 or (missing and answer.status_code == 404):
        return answer
    raise _refused(answer.status_code, address)


def _mirrored(url: str, mirror: str | None) -> str:
    """The URL at a mirror: the mirror's scheme and host, the mirror's path, then the URL's own path."""
    if mirror is None:
        return url
    parts = urlsplit(url)
    return mirror.rstrip("/") + parts.path + (f"?{parts.query}" if parts.query else "")


# -- the Hugging Face hub


@dataclass(frozen=True, slots=True)
class Hub(Source):
    """The files of a repository that match one of ``patterns`` (``*`` crosses folders).

    ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` are the library's own settings. In offline mode the library's
    cache is the source.
    """

    repo: str  # OWNER/NAME
    patterns: tuple[str, ...]
    revision: str | None = None  # branch, tag or commit; None: main
    kind: Kind = "dataset"

    @property
    def identity(self) -> str:
        return self._page(HUB)

    def _page(self, endpoint: str) -> str:
        return f"{endpoint}/{self.repo}" if self.kind == "model" else f"{endpoint}/datasets/{self.repo}"

    def listing(self, mirror: str | None, report: Notify) -> Listing:
        revision = self.revision or MAIN
        listing = self._cached(revision) if _offline() else self._online(mirror, revision)
        if not listing.files:
            raise UsageProblem(
                f"{self.identity} at revision {revision} has no file of the expected names ({', '.join(self.patterns)})"
            )
        return listing

    def _fits(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def _online(self, mirror: str | None, revision: str) -> Listing:
        _switch_xet_off()
        from huggingface_hub import HfApi, get_token, hf_hub_url

        api = HfApi(endpoint=mirror, token=_token(mirror))
        register(*filter(None, [get_token()]))
        register_login(api.endpoint)
        where = f"{self._page(api.endpoint)} at revision {revision}"
        with _hub_problems(where):
            info: Any = api.repo_info(
                self.repo, repo_type=self.kind, revision=revision, files_metadata=True, timeout=_TIMEOUT[0]
            )
            commit = str(info.sha or revision)
            files = []
            for one in sorted(info.siblings or (), key=lambda one: one.rfilename):
                if self._fits(one.rfilename):
                    url, address = (
                        hf_hub_url(self.repo, one.rfilename, repo_type=self.kind, revision=commit, endpoint=endpoint)
                        for endpoint in (HUB, api.endpoint)
                    )
                    sha256 = one.lfs.sha256 if one.lfs else None
                    git_sha1 = None if one.lfs else one.blob_id
                    files.append(RemoteFile(one.rfilename, url, address, one.size, sha256, git_sha1))
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

    def download(self, file: RemoteFile, folder: Path, revision: str, mirror: str | None) -> None:
        if file.local:
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            part = folder / f"{file.name}.part"
            shutil.copyfile(file.local, part)
            part.replace(folder / file.name)
            return
        _switch_xet_off()
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils import logging

        logging.set_verbosity_error()  # what it says of a failure is in our message
        with _hub_problems(file.address):
            hf_hub_download(
                self.repo,
                file.name,
                repo_type=self.kind,
                revision=revision,
                local_dir=folder,
                endpoint=mirror,
                token=_token(mirror),
            )


def named(text: str, usual: Hub | None, patterns: tuple[str, ...], kind: Kind) -> Hub:
    """The source that ``hub:OWNER/NAME[@REVISION]`` names. Raises UsageProblem."""
    found = _NAMED.fullmatch(text)
    if not found:
        raise UsageProblem(f"--from {text!r} cannot be read; give github, hub, or hub:OWNER/NAME[@REVISION]")
    return replace(usual, repo=found[1], revision=found[2]) if usual else Hub(found[1], patterns, found[2], kind)


def _token(mirror: str | None) -> bool | None:
    """What the library takes: the user's token, if there is one; a mirror must not get it."""
    return False if mirror else None


def _switch_xet_off() -> None:
    """Has the hub's library download by HTTP, which has time limits and asks the mirror; it looks once, as it is
    imported. Its other way, Xet, asks hosts of its own, without a limit for a silent one."""
    os.environ.setdefault("HF_HUB_DISABLE_XET", "1")


@contextmanager
def _hub_problems(where: str) -> Iterator[None]:
    """Turns the library's errors into one sentence on ``where``. Errors of the disk are let through."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        yield
    except HFValidationError as error:
        raise UsageProblem(f"this is not a name of a repository of the hub ({error}); give OWNER/NAME") from None
    except LocalEntryNotFoundError as error:  # what kept the library from asking the hub is its cause
        cause = error.__cause__ or error
        if isinstance(cause, HfHubHTTPError):
            raise _refused(cause.response.status_code, where) from None
        raise _unreachable(where, cause) from None
    except HfHubHTTPError as error:
        raise _refused(error.response.status_code, where) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unreachable(where, error) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise _unreachable(where, error) from None  # the file is shorter or longer than announced
    except ImportError as error:  # of a proxy that needs another package
        raise _unreachable(where, error) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageProblem(f"{where} does not answer as the hub does; check HF_ENDPOINT or --mirror") from None
    except RuntimeError as error:  # Xet's only kind
        raise _unreachable(where, error) from None


# -- refusals


def _offline() -> bool:
    """Whether the user has switched the network off: ``HF_HUB_OFFLINE``, the hub's own variable, holds for every
    source."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "on", "yes", "true")


def _refuse_offline(where: str) -> None:
    """Raises UsageProblem in offline mode."""
    if _offline():
        raise UsageProblem(
            f"HF_HUB_OFFLINE is set, so nothing is downloaded from {where}; unset it, or copy the data and give"
            " --data=DIR"
        )


def _refused(status: int, address: str) -> UsageProblem:
    what, advice = _REFUSALS.get(status, ("fails", "run the command again later"))
    return UsageProblem(f"{address} {what} (HTTP {status}); {advice}")


def _unreachable(address: str, error: BaseException) -> UsageProblem:
    what = " ".join(str(error).split()) or type(error).__name__
    return UsageProblem(
        f"{address} cannot be reached ({what}); check the network and HTTPS_PROXY, or give a --mirror, "
        "and run the command again"
    )


def disk_problem(error: OSError, target: Path) -> UsageProblem:
    """The sentence on a disk that is full or cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UsageProblem(
            f"no space is left in {target.parent}; free some and run the command again, or give another --dir"
        )
    where = os.fspath(error.filename or target)
    return UsageProblem(
        f"{where} cannot be written or read: {error.strerror or error}; check the path and its permissions, or give"
        " another --dir"
    )

"""Downloads one file; a later process can resume it.

No library is used, because ``pooch`` and ``pypdl`` start again after their process was killed, or resume without
checking that the file is still the same, and since version 2 ``huggingface_hub`` gives each process a part file of its
own. A part file, its server's ``ETag`` and a conditional range request are enough.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import write_whole
from agentgauge.core.text import parse_json
from agentgauge.data.fetch.net import BUSY, RetrySettings, refused, unreachable
from agentgauge.data.fetch.progress import Progress
from agentgauge.data.fetch.source import RemoteFile

if TYPE_CHECKING:
    import httpx2

_CHUNK = 1 << 20
_MOST_REQUESTS = 200
"""For one file in one process: bounds the time with a server that sends a few bytes at a time."""

_RANGE = re.compile(r"bytes (?:(\d{1,19})-\d+|\*)/(\d{1,19}|\*)")


@dataclass(frozen=True, slots=True)
class Downloaded:
    path: Path
    size: int
    sha256: str


class _Part:
    """The first bytes of a file, and a note on which file they belong to."""

    def __init__(self, path: Path, wanted: RemoteFile) -> None:
        self.path = path
        self.note = path.with_name(f"{path.name}.json")
        self.belongs = {"url": wanted.url, "sha256": wanted.sha256, "git_sha1": wanted.git_sha1}
        self.validator: str | None = None  # ETag, or the date of the last change
        self.certain = wanted.published  # its checksum reveals a mixture of two answers
        self.published_size = wanted.size
        self.total = wanted.size
        self.size = path.stat().st_size if path.exists() else 0
        if self.size and not (self._recalled() and (self.total is None or self.size <= self.total)):
            self.forget()

    @property
    def resumable(self) -> bool:
        """Whether a range request is sure to get the rest of the same file."""
        return bool(self.validator or self.certain)

    def _noted(self) -> dict[str, Any]:
        try:
            note = parse_json(self.note.read_bytes())
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) and isinstance(note.get("belongs"), dict) else {}

    def _recalled(self) -> bool:
        note = self._noted()
        self.validator = note.get("validator")
        self.total = self.total if self.total is not None else note.get("total")
        return bool(note.get("belongs") == self.belongs and note.get("resumable") and self.resumable)

    @property
    def is_of_complete_file(self) -> bool:
        """Whether the complete file here came from the same URL: another source may use the same name."""
        return bool(self._noted().get("belongs", {}).get("url") == self.belongs["url"])

    def begin(self, answer: httpx2.Response, *, coded: bool) -> None:
        """Bytes of this answer follow. ``coded``: in a content encoding, so that ranges do not apply to them."""
        tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        self.certain = self.certain and not coded
        # a weak tag does not promise the same bytes, so that ranges must not rest on it
        self.validator = None if coded or not tag or tag.startswith("W/") else tag
        self.write_note(resumable=not coded)

    def write_note(self, *, resumable: bool) -> None:
        note = {"belongs": self.belongs, "validator": self.validator, "total": self.total, "resumable": resumable}
        write_whole(self.note, json.dumps(note).encode())

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)
        self.size, self.validator, self.total = 0, None, self.published_size


def fetch_file(
    client: httpx2.Client, wanted: RemoteFile, target: Path, progress: Progress, patience: RetrySettings
) -> Downloaded:
    """Download a file to ``target``, which appears only complete and with the published size and checksum.

    Resumes ``target`` with the ending ``.part``, which an earlier process may have left. Raises UsageProblem where the
    server refuses for good or the disk is full, DataProblem where the content is not the published one.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = _Part(target.with_name(f"{target.name}.part"), wanted)
        if target.exists() and part.is_of_complete_file:  # of an earlier process
            progress.found(target.stat().st_size)
        elif wanted.local:
            shutil.copyfile(wanted.local, part.path)
            part.write_note(resumable=False)
            progress.found(part.path.stat().st_size)
            part.path.replace(target)
        else:
            progress.found(part.size)
            _download(client, wanted, part, progress, patience)
            part.path.replace(target)
        return _checked(wanted, target)
    except OSError as error:
        raise disk_problem(error, target) from None


def _download(
    client: httpx2.Client, wanted: RemoteFile, part: _Part, progress: Progress, patience: RetrySettings
) -> None:
    import httpx2

    failures = 0
    for _ in range(_MOST_REQUESTS):
        if part.total is not None and part.size == part.total and part.note.exists():
            return
        before, retry_after = part.size, None
        try:
            status, retry_after = _request(client, wanted, part, progress)
            if status == 200 and part.total is None:
                return  # the protocol marked its end
            problem = refused(status, wanted.address) if status != 200 else _cut(wanted, part)
            if status not in (200, *BUSY):
                raise problem
        except (httpx2.TooManyRedirects, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise unreachable(wanted.address, error) from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            problem = unreachable(wanted.address, error)
        if part.total is not None and part.size == part.total:
            continue
        failures = 1 if part.size > before else failures + 1
        if failures >= patience.tries:
            raise problem
        time.sleep(patience.wait(failures, retry_after))
    raise UsageProblem(
        f"{wanted.shown} gave no more than {part.size} bytes in {_MOST_REQUESTS} requests; run the command again later"
    )


def _cut(wanted: RemoteFile, part: _Part) -> UsageProblem:
    return UsageProblem(
        f"{wanted.shown} ends after {part.size} of {part.total} bytes in every attempt; "
        "try another --mirror, or run the command again later"
    )


def _request(client: httpx2.Client, wanted: RemoteFile, part: _Part, progress: Progress) -> tuple[int, str | None]:
    """Request the missing bytes once and write them. Returns 200, or the status of a refusal and its
    ``Retry-After``."""
    headers = dict(wanted.headers)
    if part.size and not part.resumable:
        _restart(part, progress)
    if part.size:
        headers["Range"] = f"bytes={part.size}-"
        if part.validator:
            headers["If-Range"] = part.validator
    with client.stream("GET", wanted.address, headers=headers) as answer:
        if answer.status_code == 416 or (answer.status_code == 206 and not _continues(answer, part)):
            _restart(part, progress)
            return 503, "0"  # once more from the start
        if answer.status_code not in (200, 206):
            return answer.status_code, answer.headers.get("Retry-After")
        if answer.status_code == 200:
            _restart(part, progress)
            coded = answer.headers.get("Content-Encoding", "identity") != "identity"
            length = answer.headers.get("Content-Length", "")
            if part.total is None and length.isdecimal() and len(length) < 20 and not coded:
                part.total = int(length)
            part.begin(answer, coded=coded)
        with part.path.open("ab", buffering=0) as stream:
            for chunk in answer.iter_bytes():
                stream.write(chunk)
                part.size += len(chunk)
                progress.add(len(chunk))
                if part.total is not None and part.size > part.total:
                    part.forget()
                    raise DataProblem(
                        f"{wanted.shown} is longer than the published {part.total} bytes; it is not the published file"
                    )
    return 200, None


def _restart(part: _Part, progress: Progress) -> None:
    progress.found(-part.size)
    part.forget()


def _continues(answer: httpx2.Response, part: _Part) -> bool:
    """Whether a partial answer continues exactly this part; adopts the total that it names."""
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if not part.size or not found or found[1] is None or int(found[1]) != part.size:
        return False
    if found[2] != "*":
        part.total = int(found[2]) if part.total is None else part.total
        if int(found[2]) != part.total:
            return False
    tag = answer.headers.get("ETag")
    return not (tag and part.validator and part.validator.startswith('"') and tag != part.validator)


def _checked(wanted: RemoteFile, path: Path) -> Downloaded:
    """Raises DataProblem, and removes the file, where its content is not the published one."""
    count, sha256 = path.stat().st_size, hashlib.sha256()
    git = hashlib.sha1(b"blob %d\0" % count, usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            sha256.update(chunk)
            if wanted.git_sha1:
                git.update(chunk)
    checks: list[tuple[str, Any, Any]] = [
        ("size", wanted.size, count),
        ("SHA-256", wanted.sha256, sha256.hexdigest()),
        ("git checksum", wanted.git_sha1, git.hexdigest()),
    ]
    for what, published, found in checks:
        if published is not None and published != found:
            path.unlink()
            raise DataProblem(
                f"{wanted.name} from {wanted.shown} is not the published file: {what} {found} instead of {published};"
                " it was removed, run the command again, or use another --mirror"
            )
    return Downloaded(path, count, sha256.hexdigest())


def disk_problem(error: OSError, target: Path) -> UsageProblem:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UsageProblem(
            f"no space is left in {target.parent}; free some and run the command again (it resumes), or give"
            " another --dir"
        )
    where = os.fspath(error.filename or target)
    return UsageProblem(
        f"{where} cannot be written or read: {error.strerror or error}; check the path and its permissions, or give"
        " another --dir"
    )

"""Fetches one data set: downloads, checks, unpacks, puts it in its place and verifies it. Existing files are kept."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import write_whole
from agentgauge.core.redaction import without_logins
from agentgauge.core.registry import Registry
from agentgauge.core.text import counted, parse_json
from agentgauge.data.fetch.dataset import (
    FIRST_USE,
    NOTE,
    PUBLISHED,
    DataSet,
    FetchedFile,
    FetchNote,
    Verified,
    read_note,
    served,
    shortened,
    size,
    write_note,
)
from agentgauge.data.fetch.sources import Hub, Listing, Notify, RemoteFile, Source, disk_problem, named
from agentgauge.data.fetch.unpack import archives, stays_inside, unpack

CHECKSUMS = "checksums.json"
"""File in the data folder: by URL the SHA-256 of each file without a published one, as it was at the first fetch."""

_WORK = ".fetch"
"""Folder below the data folder for incomplete data sets; no search for data looks into it."""

_SHOWN = 8
"""Notes that are printed, and problems."""

_RESERVE = 64 << 20
"""Bytes that stay free."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FetchOptions:
    base: Path  # data folder
    mirror: str | None = None
    origin: str | None = None  # github, hub, hub:OWNER/NAME[@REVISION]; None: the data set's usual one
    only: tuple[str, ...] = ()  # task names and file name patterns; empty: everything


def fetch(tasks: Registry, data_set: DataSet, options: FetchOptions, report: Notify) -> bool:
    """Fetch a data set of some of these tasks to ``options.base``. Returns whether it was verified without problems.

    Raises UsageProblem, DataProblem.
    """
    if options.only and not data_set.divisible:
        raise UsageProblem(f"{data_set.title} can only be used as a whole; fetch it without --only")
    source = source_of(data_set, options.origin)
    target = options.base / data_set.folder
    report(f"{data_set.title}: {data_set.licence}")
    for line in data_set.citation:
        report(f"  {line}")
    report(f"  {data_set.homepage}" + ("; please cite it where you report figures" if data_set.citation else ""))
    note = read_note(target)
    if note is None and target.exists():
        return _users_own(data_set, target, report)
    if note is not None and note.complete:
        _chosen(tasks, data_set, [RemoteFile(name, one.url, one.url) for name, one in note.files.items()], options.only)
        report(f"{data_set.title} is already here: {target}, from {note.source} at {note.revision}")
        return _verify(tasks, data_set, target, note, report)
    mirror = options.mirror and options.mirror.rstrip("/")
    report(f"from {source.shown}" + (f", by {without_logins(mirror)}" if mirror else ""))
    with _work_folder(options.base, data_set.name) as work:
        offered = _offered(data_set, source, options, report)
        chosen = _chosen(tasks, data_set, offered.files, options.only)
        have = note.files if note and (note.source, note.revision) == (offered.source, offered.revision) else {}
        if note and not have:
            raise UsageProblem(
                f"{target} holds a part of {data_set.title} from {note.source} at {note.revision}, and"
                f" {offered.source} is at {offered.revision}; parts of both are not mixed: move the folder away, or"
                " fetch from the same source"
            )
        missing = [one for one in chosen if one.name not in have]
        if note and not missing:
            report(f"{data_set.title}: the requested files are already in {target}")
            return _verify(tasks, data_set, target, note, report)
        try:
            got = _download(source, offered.revision, missing, options.base, work, mirror)
            staged = _stage(data_set, got, work, report)
            _remember(options.base / CHECKSUMS, [one for one, _ in got.values()])
            fetched = {name: one for name, (one, _) in got.items()}
            complete = {*have, *fetched} >= {one.name for one in offered.files}
            note = FetchNote(data_set.name, offered.source, offered.revision, {**have, **fetched}, complete=complete)
            write_note(staged, note)
            _put(staged, target)
        except OSError as error:
            raise disk_problem(error, target) from None
        shutil.rmtree(work, ignore_errors=True)
    report(
        f"{counted(len(fetched), 'file')}, {size(sum(one.size for one in fetched.values()))},"
        " checksums: " + _kinds(fetched)
    )
    if any(one.checksum == FIRST_USE for one in fetched.values()):
        report(f"  {options.base / CHECKSUMS} holds the unpublished checksums; every later fetch is checked against it")
    return _verify(tasks, data_set, target, note, report)


def source_of(data_set: DataSet, origin: str | None) -> Source:
    """Raises UsageProblem for a source that a data set does not have."""
    if origin is None:
        return next(iter(data_set.sources.values()))
    if origin.startswith("hub:"):
        usual = data_set.sources.get("hub")
        patterns = (*data_set.main, *(f"*/{name}" for name in data_set.main))
        return named(origin, usual if isinstance(usual, Hub) else None, patterns, data_set.kind)
    if origin not in ("github", "hub"):
        raise UsageProblem(f"--from {origin!r} is unknown; give github, hub, or hub:OWNER/NAME[@REVISION]")
    if origin not in data_set.sources:
        more = "; name a copy with --from hub:OWNER/NAME" if origin == "hub" else ""
        raise UsageProblem(f"{data_set.title} is not published on {origin}, but on {', '.join(data_set.sources)}{more}")
    return data_set.sources[origin]


@contextmanager
def _work_folder(base: Path, name: str) -> Iterator[Path]:
    """The folder that a data set is built in, for one process at a time. Raises UsageProblem where another uses it."""
    import fcntl

    work = base / _WORK / name
    try:
        work.mkdir(parents=True, exist_ok=True)
        handle = os.open(work / "in-use", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise disk_problem(error, work) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageProblem(
                f"another process is fetching {name} to {base}; wait for its end, or give another --dir"
            ) from None
        except OSError as error:
            raise UsageProblem(
                f"{base} is on a file system without locks ({error.strerror}); give a --dir on a local disk"
            ) from None
        yield work
    finally:
        os.close(handle)
        with suppress(OSError):  # another data set is being fetched, or this one is incomplete
            work.parent.rmdir()


# -- what is offered, and what is wanted of it


def _offered(data_set: DataSet, source: Source, options: FetchOptions, report: Notify) -> Listing:
    """The source's files, with the checksums that the data set's declaration has. Raises UsageProblem, DataProblem."""
    offered = source.listing(options.mirror and options.mirror.rstrip("/"), report)
    if outside := next((one.name for one in offered.files if not stays_inside(one.name)), None):
        raise DataProblem(
            f"{offered.source} lists a file {outside!r}, which is not a plain relative path; nothing was downloaded"
        )
    if lacking := [name for name in data_set.needed if not any(fnmatchcase(one.name, name) for one in offered.files)]:
        raise DataProblem(f"{offered.source} at {offered.revision} has no {lacking[0]}, which {data_set.title} needs")
    if (options.origin or "").startswith("hub:"):  # a copy that the user names may be another version
        return offered
    return replace(offered, files=tuple(_pinned(data_set, one) for one in offered.files))


def _pinned(data_set: DataSet, one: RemoteFile) -> RemoteFile:
    """A file with its checksum in the declaration. Raises DataProblem where its publisher names another one."""
    known = data_set.checksums.get(one.name)
    if known and one.sha256 not in (None, known):
        raise DataProblem(
            f"{one.name} of {data_set.title} is not the file that this version of AgentGauge knows: its publisher names"
            f" SHA-256 {one.sha256} instead of {known}; nothing was downloaded; look for a newer AgentGauge,"
            " or name a copy with --from hub:OWNER/NAME"
        )
    return replace(one, sha256=known) if known else one


def _chosen(tasks: Registry, data_set: DataSet, files: Sequence[RemoteFile], only: Sequence[str]) -> list[RemoteFile]:
    """Raises UsageProblem for a word that fits nothing."""
    if not only:
        return list(files)
    own, chosen = data_set.tasks_among(tasks), dict[str, RemoteFile]()
    for word in only:
        fitting = [
            one for one in files if (data_set.serves(word, one.name) if word in own else fnmatchcase(one.name, word))
        ]
        if not fitting:
            there = ", ".join(one.name for one in files)
            raise UsageProblem(
                f"--only {word!r} matches no file of {data_set.title}; there are {there}; task names are accepted too"
            )
        chosen |= {one.name: one for one in fitting}
    return [one for one in files if one.name in chosen]


# -- download and checksums

Got = Mapping[str, tuple[FetchedFile, Path]]
"""By name what was downloaded, and where it lies."""


def _download(
    source: Source, revision: str, missing: Sequence[RemoteFile], base: Path, work: Path, mirror: str | None
) -> Got:
    """Files that an earlier process has downloaded whole from the same place are kept; another one begins again."""
    folder = work / hashlib.sha256(f"{source.identity}@{revision}".encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    # Archives need space for their content too, at least as much again; it is checked exactly before unpacking.
    needed = sum(
        (one.size or 0) * ((not (folder / one.name).exists()) + (".zip" in one.name or ".part" in one.name))
        for one in missing
    )
    _check_space(work, needed, "this")
    known, got = _first_checksums(base / CHECKSUMS), {}
    for one in missing:
        path = folder / one.name
        if not path.exists():
            source.download(one, folder, revision, mirror)
        got[one.name] = (_checked(one, path, known.get(one.url), base / CHECKSUMS), path)
    return got


def _checked(wanted: RemoteFile, path: Path, first: str | None, record: Path) -> FetchedFile:
    """Raises DataProblem, and removes the file, where its content is not the published one, or not that of the first
    fetch."""
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
                f"{wanted.name} from {wanted.address} is not the published file: {what} {found} instead of {published};"
                " it was removed, run the command again, or use another --mirror"
            )
    if not wanted.published and first not in (None, sha256.hexdigest()):
        path.unlink()
        raise DataProblem(
            f"{wanted.name} from {wanted.address} is not the file of the first fetch: SHA-256 {sha256.hexdigest()}"
            f" instead of {first}; it was removed; if the publisher changed it on purpose, remove its line from"
            f" {record} and fetch again"
        )
    return FetchedFile(wanted.url, count, sha256.hexdigest(), PUBLISHED if wanted.published else FIRST_USE)


def _first_checksums(record: Path) -> dict[str, str]:
    """By URL the checksums of first fetches. Raises DataProblem for a damaged record."""
    try:
        found = parse_json(record.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise _damaged_record(record, error) from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise _damaged_record(record, "it is no table of checksums")
    return found


def _damaged_record(record: Path, why: object) -> DataProblem:
    return DataProblem(f"{record} is damaged ({why}); restore it from a copy, or remove it to trust the next fetch")


def _remember(record: Path, files: Sequence[FetchedFile]) -> None:
    """Record the checksums of files that have no published one."""
    new = {one.url: one.sha256 for one in files if one.checksum == FIRST_USE}
    if new:
        content = json.dumps({**_first_checksums(record), **new}, indent=2, sort_keys=True, ensure_ascii=False)
        write_whole(record, f"{content}\n".encode())


def _kinds(files: Mapping[str, FetchedFile]) -> str:
    published = sum(one.checksum == PUBLISHED for one in files.values())
    rest = len(files) - published
    return " and ".join([f"{published} as published"] * bool(published) + [f"{rest} {FIRST_USE}"] * bool(rest))


def _check_space(folder: Path, needed: int, what: str) -> None:
    """Raises UsageProblem where the disk of ``folder`` is too full."""
    free = shutil.disk_usage(folder).free
    if free < needed + _RESERVE:
        raise UsageProblem(
            f"{what} needs {size(needed + _RESERVE)} of space in {folder}, and {size(free)} are free; free some, or"
            " give another --dir"
        )


# -- from downloaded files to a data set's folder, which appears complete or not at all


def _stage(data_set: DataSet, got: Got, work: Path, report: Notify) -> Path:
    """Put a data set together from its downloaded files, in a folder of ``work``.

    Raises DataProblem for archives that cannot be used, which are removed, OSError where the disk is full.
    """
    staged = work / "staged"
    shutil.rmtree(staged, ignore_errors=True)  # left by a killed process
    staged.mkdir()
    packed = archives(got)
    for name, (_, path) in got.items():
        if not any(name in parts for parts in packed.values()):
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(path, staged / name)
    for archive, parts in packed.items():
        target = staged / data_set.unpacked_below.get(archive, "")
        target.mkdir(parents=True, exist_ok=True)
        paths = [got[part][1] for part in parts]
        try:
            for note in unpack(archive, paths, target, lambda total: _check_space(work, total, "unpacking it")):
                report(f"note: {note}")
        except FileExistsError as error:
            raise DataProblem(
                f"{archive} holds {error.filename}, which another file of the source also holds"
            ) from None
        except DataProblem:
            for path in paths:
                path.unlink()
            raise
    return _root(data_set, staged)


def _link_or_copy(source: Path, target: Path) -> None:
    """Link or copy a file: the downloaded one stays, should the rest fail."""
    try:
        os.link(source, target)
    except OSError:  # not every file system has links
        shutil.copyfile(source, target)


def _root(data_set: DataSet, staged: Path) -> Path:
    """The folder of ``staged`` that is the data set: itself, or the only folder in it. Raises DataProblem where
    neither is."""
    folders = [staged, *(path for path in sorted(staged.iterdir()) if path.is_dir())]
    for folder in folders:
        if any(next(folder.glob(pattern), None) for pattern in data_set.main):
            return folder
    there = ", ".join(sorted(path.name for path in staged.iterdir())[:8])
    raise DataProblem(
        f"the download is not {data_set.title}: it holds none of {', '.join(data_set.main)}; it holds {there}"
    )


def _put(staged: Path, target: Path) -> None:
    """Move a complete data set to its final folder, or its new files into that folder."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(target)
        return
    # the note comes last: it marks the rest as complete
    for path in sorted(staged.iterdir(), key=lambda path: path.name == NOTE):
        goal = target / path.name
        if goal.is_dir():
            raise UsageProblem(
                f"{goal} exists already and would be mixed with new files; move it away and run the command again"
            )
        path.replace(goal)


# -- verification


def _users_own(data_set: DataSet, target: Path, report: Notify) -> bool:
    """A folder that this command did not make."""
    try:
        verified = data_set.verify(target)
    except UsageProblem as problem:
        raise UsageProblem(
            f"{target} exists, was not fetched by this command and is not a valid {data_set.title} ({problem}); "
            "move it, or give another --dir"
        ) from None
    report(f"{data_set.title} is already here: {target}, not fetched by this command; it is left as it is")
    return report_verification(verified, report)


def _verify(tasks: Registry, data_set: DataSet, target: Path, note: FetchNote, report: Notify) -> bool:
    try:
        verified = data_set.verify(target)
    except DataProblem as problem:
        verified = Verified(0, (), (str(problem),))
    try:
        write_note(target, note.after(verified))
    except OSError as error:
        report(f"note: {target} cannot be written ({error.strerror}), so the result of the verification is not stored")
    good = report_verification(verified, report)
    if good:
        use = data_set.use or ", ".join(shortened(tasks, served(tasks, data_set, target.parent))) or "no task"
        report(f"ready: {target}, for {use}")
    else:
        report(f"to download it again, remove {target} and run the command again")
    return good


def report_verification(verified: Verified, report: Notify) -> bool:
    """Print what a verification found. Returns whether there was no problem."""
    for text in verified.found:
        report(f"  {text}")
    for title, texts in (("note", verified.strange), ("problem", verified.problems)):
        for text in texts[:_SHOWN]:
            report(f"  {title}: {text}")
        if len(texts) > _SHOWN:
            report(f"  {title}: ... and {len(texts) - _SHOWN} more, in {NOTE} of the data set's folder")
    if verified.problems:
        report(f"{counted(len(verified.problems), 'problem')} in the data")
    return not verified.problems

"""Fetches one data set and verifies it; existing files are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import httpx2

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.redaction import without_logins
from agentgauge.data.fetch.dataset import DataSet, Verified, served, shortened
from agentgauge.data.fetch.hub import Hub, named
from agentgauge.data.fetch.lock import (
    FIRST_USE,
    NAME,
    PUBLISHED,
    Entry,
    LockedFile,
    Marker,
    compare,
    lock_path,
    read_lock,
    read_marker,
    refuse_unwritable,
    write_lock,
    write_marker,
)
from agentgauge.data.fetch.net import RetrySettings, open_client
from agentgauge.data.fetch.placement import check_space, clear, put, stage, work_folder
from agentgauge.data.fetch.progress import Progress, size
from agentgauge.data.fetch.source import RemoteFile, Report, Source, stays_inside
from agentgauge.data.fetch.transfer import Downloaded, disk_problem, fetch_file

_SHOWN = 8
"""Notes that are printed, and problems."""


@dataclass(frozen=True, slots=True)
class FetchOptions:
    base: Path  # data folder
    mirror: str | None = None
    origin: str | None = None  # github, hub, hub:OWNER/NAME[@REVISION]; None: the data set's usual one
    only: tuple[str, ...] = ()  # task names and file name patterns; empty: everything
    patience: RetrySettings = field(default_factory=RetrySettings)


def fetch(data_set: DataSet, options: FetchOptions, report: Report) -> bool:
    """Fetch a data set to ``options.base``. Returns whether it was verified without problems.

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
    marker = read_marker(target)
    if marker is None and target.exists():
        return _users_own(data_set, target, report)
    if marker is not None:
        _check_lock(options, data_set, marker)
        if marker.complete:
            _chosen(data_set, [RemoteFile(name, one.url, one.url) for name, one in marker.files.items()], options.only)
            report(f"{data_set.title} is already here: {target}, from {marker.source} at {marker.revision}")
            return _verify(data_set, target, marker, report)
    report(f"from {source.shown}" + (f", by {without_logins(options.mirror)}" if options.mirror else ""))
    with work_folder(options.base, data_set.name) as work:
        return _fetch(data_set, source, options, marker, target, work, report)


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


def _fetch(
    data_set: DataSet,
    source: Source,
    options: FetchOptions,
    marker: Marker | None,
    target: Path,
    work: Path,
    report: Report,
) -> bool:
    lock = lock_path(options.base)
    refuse_unwritable(lock)
    known = read_lock(lock).get(data_set.name, {}).get(source.identity)
    with open_client(options.patience) as client:
        offered = source.listing(client, options.mirror, known.revision if known else None, report)
        if outside := next((one.name for one in offered.files if not stays_inside(one.name)), None):
            raise DataProblem(
                f"{offered.source} lists a file {outside!r}, which is not a plain relative path; nothing was downloaded"
            )
        if lacking := [
            name for name in data_set.needed if not any(fnmatchcase(one.name, name) for one in offered.files)
        ]:
            raise DataProblem(
                f"{offered.source} at {offered.revision} has no {lacking[0]}, which {data_set.title} needs"
            )
        if not (options.origin or "").startswith("hub:"):  # a copy that the user names may be another version
            offered = replace(offered, files=tuple(_pinned(data_set, one) for one in offered.files))
        chosen = _chosen(data_set, offered.files, options.only)
        have = (
            marker.files if marker and marker.source == offered.source and marker.revision == offered.revision else {}
        )
        if marker and not have:
            raise UsageProblem(
                f"{target} holds a part of {data_set.title} from {marker.source} at {marker.revision}, and"
                f" {offered.source} is at {offered.revision}; parts of both are not mixed: move the folder away, or"
                " fetch from the same source"
            )
        missing = [one for one in chosen if one.name not in have]
        if marker and not missing:
            report(f"{data_set.title}: the requested files are already in {target}")
            return _verify(data_set, target, marker, report)
        held = known.files if known else {}
        for one in missing:
            compare(lock, data_set.name, one.name, held.get(one.name), one.size, one.sha256)
        missing = [
            replace(one, size=held[one.name].size) if one.size is None and one.name in held else one for one in missing
        ]
        _check_space(missing, work)
        got = _download(client, data_set, missing, options, work)
    locked = {one.name: _locked(one, got[one.name]) for one in missing}
    for one in missing:
        compare(lock, data_set.name, one.name, held.get(one.name), got[one.name].size, got[one.name].sha256)
    staged, notes = stage(data_set, got, work)
    for note in notes:
        report(f"note: {note}")
    # published entries of the lock file stay, which a fetch from a mirror must not turn into recorded ones
    kept = {name: one for name, one in held.items() if name in locked and one.checksum == PUBLISHED}
    write_lock(lock, data_set.name, offered.source, Entry(offered.revision, {**locked, **kept}))
    files = {**have, **locked}
    complete = set(files) >= {one.name for one in offered.files}
    marker = Marker(data_set.name, offered.source, offered.revision, files, complete=complete)
    try:
        write_marker(staged, marker)
    except OSError as error:
        raise disk_problem(error, staged) from None
    put(staged, target)
    clear(work)
    report(
        f"{len(locked)} {'file' if len(locked) == 1 else 'files'}, {size(sum(one.size for one in locked.values()))},"
        " checksums: " + _checksums(locked)
    )
    if any(one.checksum == FIRST_USE and name not in held for name, one in locked.items()):
        report(f"  {lock} holds the unpublished checksums; commit it, because every later fetch is checked against it")
    return _verify(data_set, target, marker, report)


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


def _checksums(locked: Mapping[str, LockedFile]) -> str:
    published = sum(one.checksum == PUBLISHED for one in locked.values())
    rest = len(locked) - published
    return " and ".join([f"{published} as published"] * bool(published) + [f"{rest} {FIRST_USE}"] * bool(rest))


def _locked(wanted: RemoteFile, got: Downloaded) -> LockedFile:
    return LockedFile(wanted.url, got.size, got.sha256, PUBLISHED if wanted.published else FIRST_USE)


def _chosen(data_set: DataSet, files: Sequence[RemoteFile], only: Sequence[str]) -> list[RemoteFile]:
    """Raises UsageProblem for a word that fits nothing."""
    if not only:
        return list(files)
    tasks, chosen = data_set.tasks, dict[str, RemoteFile]()
    for word in only:
        fitting = [
            one for one in files if (data_set.serves(word, one.name) if word in tasks else fnmatchcase(one.name, word))
        ]
        if not fitting:
            there = ", ".join(one.name for one in files)
            raise UsageProblem(
                f"--only {word!r} matches no file of {data_set.title}; there are {there}; task names are accepted too"
            )
        chosen |= {one.name: one for one in fitting}
    return [one for one in files if one.name in chosen]


def _check_space(missing: Sequence[RemoteFile], work: Path) -> None:
    """Archives need space for their content too, at least as much again; it is checked exactly before unpacking."""
    needed = 0
    for one in missing:
        paths = (work / "files" / one.name, work / "files" / f"{one.name}.part")
        there = sum(path.stat().st_size for path in paths if path.exists())
        packed = ".zip" in one.name or ".part" in one.name
        needed += max((one.size or 0) - there, 0) + (one.size or 0) * packed
    check_space(work, needed, "this")


def _download(
    client: httpx2.Client, data_set: DataSet, missing: Sequence[RemoteFile], options: FetchOptions, work: Path
) -> dict[str, Downloaded]:
    sizes = [one.size for one in missing if one.size is not None]
    progress = Progress(data_set.name, sum(sizes) if len(sizes) == len(missing) else None)
    try:
        return {
            one.name: fetch_file(client, one, work / "files" / one.name, progress, options.patience) for one in missing
        }
    finally:
        progress.close()


def _check_lock(options: FetchOptions, data_set: DataSet, marker: Marker) -> None:
    """Check what is here against the lock file, and add what the lock file lacks. Raises DataProblem."""
    lock = lock_path(options.base)
    known = read_lock(lock).get(data_set.name, {}).get(marker.source)
    for name, one in marker.files.items():
        compare(lock, data_set.name, name, known.files.get(name) if known else None, one.size, one.sha256)
    if known is None or not set(marker.files) <= set(known.files):
        write_lock(lock, data_set.name, marker.source, Entry(marker.revision, marker.files))


def _users_own(data_set: DataSet, target: Path, report: Report) -> bool:
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


def _verify(data_set: DataSet, target: Path, marker: Marker, report: Report) -> bool:
    try:
        verified = data_set.verify(target)
    except DataProblem as problem:
        verified = Verified(0, (), (str(problem),))
    try:
        write_marker(target, marker.after(verified))
    except OSError as error:
        report(f"note: {target} cannot be written ({error.strerror}), so the result of the verification is not stored")
    good = report_verification(verified, report)
    if good:
        use = data_set.use or ", ".join(shortened(served(data_set, target.parent))) or "no task"
        report(f"ready: {target}, for {use}")
    else:
        lock = lock_path(target.parent)
        report(
            f"to download it again, remove {target} and run the command again; if {lock} has an entry"
            " of a wrong file, remove that entry too"
        )
    return good


def report_verification(verified: Verified, report: Report) -> bool:
    """Print what a verification found. Returns whether there was no problem."""
    for text in verified.found:
        report(f"  {text}")
    for title, texts in (("note", verified.strange), ("problem", verified.problems)):
        for text in texts[:_SHOWN]:
            report(f"  {title}: {text}")
        if len(texts) > _SHOWN:
            report(f"  {title}: ... and {len(texts) - _SHOWN} more, in {NAME} of the data set's folder")
    if verified.problems:
        report(f"{len(verified.problems)} {'problem' if len(verified.problems) == 1 else 'problems'} in the data")
    return not verified.problems

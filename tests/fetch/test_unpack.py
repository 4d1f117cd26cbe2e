"""Untrusted archives: names, numbers, parts."""

from __future__ import annotations

import contextlib
import io
import stat
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from agentgauge.core.errors import DataProblem
from agentgauge.data.fetch.unpack import LIMITS, ArchiveLimits, JoinedFiles, archives, listed, unpack

GOOD = ("dataset.json", b"{}")


def packed(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in entries:
            archive.writestr(name, content, method)
    return stream.getvalue()


def put(folder: Path, content: bytes) -> Path:
    path = folder / "a.zip"
    path.write_bytes(content)
    (folder / "out").mkdir()
    return path


def of_kind(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ("../a", "is not a plain relative path"),
        ("x/../../a", "is not a plain relative path"),
        ("/etc/a", "is not a plain relative path"),
        ("C:/a", "is not a plain relative path"),
        ("c:a", "is not a plain relative path"),
        ("x\\..\\a", "is not a plain relative path"),
        ("x//a", "is not a plain relative path"),
        ("./a", "is not a plain relative path"),
        ("a\nb", "is not a plain relative path"),
        ("x" * 256, "too long for a file system"),
        ("a/" * 64 + "b", "too long for a file system"),
        ("a/" * 30_000 + "b", "too long for a file system"),
        ("/".join(["x" * 200] * 6), "too long for a file system"),
        (of_kind("a", stat.S_IFLNK), "'a' is a link"),
        (of_kind("a", stat.S_IFIFO), "'a' is a special file"),
        (of_kind("a", stat.S_IFCHR), "'a' is a special file"),
        ("DATASET.json", "which are one file on some systems"),
        ("dataset.json/x", "as a file and, in 'dataset.json/x', as a folder"),
        ("Dataset.json/", "as a folder"),
        ("dataset.json", "which are one file on some systems"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_no_data_set_needs_is_refused_before_a_byte_is_written(
    tmp_path: Path, entry: str | zipfile.ZipInfo, what: str
) -> None:
    path = put(tmp_path, packed(GOOD, (entry, b"")))
    with pytest.raises(DataProblem, match=r"^a\.zip") as problem:
        unpack("a.zip", [path], tmp_path / "out", lambda _: None)
    assert what in str(problem.value)
    assert not list((tmp_path / "out").iterdir())


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    content = bytearray(packed(GOOD))
    content[6] |= 1  # of the entry
    content[content.index(b"PK\x01\x02") + 8] |= 1  # of the directory
    with pytest.raises(DataProblem, match="is encrypted"):
        unpack("a.zip", [put(tmp_path, bytes(content))], tmp_path / "out", lambda _: None)


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (ArchiveLimits(entries=1), "holds 2 entries, more than the 1"),
        (ArchiveLimits(total=10), "would unpack to 100.0 MB, more than the 10 B"),
        (ArchiveLimits(), "as a bomb does"),
    ],
)
def test_what_is_larger_than_it_may_be_is_refused(tmp_path: Path, limits: ArchiveLimits, what: str) -> None:
    path = put(tmp_path, packed(GOOD, ("zeros", bytes(100_000_000))))
    with pytest.raises(DataProblem, match=what):
        unpack("a.zip", [path], tmp_path / "out", lambda _: None, limits)
    assert not list((tmp_path / "out").iterdir())


def test_entries_that_overlap_are_refused() -> None:
    infos = zipfile.ZipFile(
        io.BytesIO(packed(("a", b"x" * 50), ("b", b"y" * 50), method=zipfile.ZIP_STORED))
    ).infolist()
    with pytest.raises(DataProblem, match="overlap"):
        listed("a.zip", infos, 99, LIMITS)


def test_a_lie_about_the_size_is_found(tmp_path: Path) -> None:
    content = bytearray(packed(("dataset.json", b"x" * 5000)))
    for start, offset in ((0, 22), (content.index(b"PK\x01\x02"), 24)):
        content[start + offset : start + offset + 4] = (100).to_bytes(4, "little")
    with pytest.raises(DataProblem, match=r"a\.zip, dataset\.json is damaged"):
        unpack("a.zip", [put(tmp_path, bytes(content))], tmp_path / "out", lambda _: None)
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) <= 100


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_way_of_packing_that_no_data_set_needs_is_refused(tmp_path: Path, method: int) -> None:
    with pytest.raises(DataProblem, match=f"has compression method {method}"):
        unpack("a.zip", [put(tmp_path, packed(("b", b"12345"), method=method))], tmp_path / "out", lambda _: None)


def test_a_directory_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    path = put(tmp_path, packed(*((f"{number:065000}", b"") for number in range(520))))
    with pytest.raises(DataProblem, match=r"it asks for .* bytes at once"):
        unpack("a.zip", [path], tmp_path / "out", lambda _: None)


_WHOLE = packed(GOOD, ("top/x", b"abc" * 50), ("top/y", b"12345"), method=zipfile.ZIP_STORED) + b"  "


@given(
    changes=some.lists(
        some.tuples(some.integers(0, len(_WHOLE)), some.integers(0, 3), some.binary(max_size=4)), min_size=1, max_size=4
    )
)
@settings(max_examples=100, deadline=None)
def test_a_damaged_archive_is_read_or_refused_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, bytes]]
) -> None:
    content = bytearray(_WHOLE)
    for place, removed, added in changes:
        content[place : place + removed] = added
    folder = tmp_path_factory.mktemp("damaged")
    with contextlib.suppress(DataProblem):
        unpack("a.zip", [put(folder, bytes(content))], folder / "out", lambda _: None)
    assert {path.name for path in folder.iterdir()} == {"a.zip", "out"}


@pytest.mark.parametrize(
    ("names", "out"),
    [
        (["top/dataset.json", "top/image/a.png"], ["dataset.json", "image/a.png"]),
        (["top/", "top/dataset.json", "top/image/", "top/image/a.png"], ["dataset.json", "image/a.png"]),
        (["dataset.json", "image/a.png"], ["dataset.json", "image/a.png"]),
        (["top/dataset.json", "__MACOSX/top/._dataset.json", "top/.DS_Store"], ["dataset.json"]),
        (["top/数据.csv", "top/é.txt"], ["é.txt", "数据.csv"]),
    ],
)
def test_one_common_folder_and_litter_are_taken_off(tmp_path: Path, names: list[str], out: list[str]) -> None:
    unpack("a.zip", [put(tmp_path, packed(*((name, b"") for name in names)))], tmp_path / "out", lambda _: None)
    found = sorted(
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()
    )
    assert found == out


def test_a_name_in_utf_8_that_does_not_say_so_is_read_as_that_and_told(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("\u6570.csv".encode().decode("cp437"))
    content = bytearray(packed((info, b"")))
    raw = info.filename.encode()
    assert raw in content, "the module writes such names as UTF-8 and says so"
    plain = "\u6570.csv".encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x" * len(plain), b"")
    content = bytearray(stream.getvalue().replace(b"x" * len(plain), plain))
    notes = unpack("a.zip", [put(tmp_path, bytes(content))], tmp_path / "out", lambda _: None)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["\u6570.csv"]
    assert len(notes) == 1
    assert "is read as UTF-8" in notes[0]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a.zip"], {"a.zip": ["a.zip"]}),
        (["b.zip", "a.zip", "x.json"], {"a.zip": ["a.zip"], "b.zip": ["b.zip"]}),
        (["a.zip.002", "a.zip.001"], {"a.zip": ["a.zip.001", "a.zip.002"]}),
        ([f"a.zip.{n}" for n in range(11)], {"a.zip": [f"a.zip.{n}" for n in range(11)]}),
        (["a.zip.part-ab", "a.zip.part-aa"], {"a.zip": ["a.zip.part-aa", "a.zip.part-ab"]}),
        (["a.zip.ab", "a.zip.aa"], {"a.zip": ["a.zip.aa", "a.zip.ab"]}),
        (["a.part-aa", "a.part-ab"], {"a": ["a.part-aa", "a.part-ab"]}),
        (["a.zip_part2", "a.zip_part1"], {"a.zip": ["a.zip_part1", "a.zip_part2"]}),
        (["data.json", "a.zip.txt.md"], {}),
    ],
)
def test_parts_are_put_in_order(names: list[str], found: dict[str, list[str]]) -> None:
    assert archives(names) == found


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["a.zip.001", "a.zip.003"], "parts of a.zip are missing"),
        (["a.zip.002", "a.zip.003"], "parts of a.zip are missing"),
        (["a.zip", "a.zip.001"], "both whole and in parts"),
        (["a.zip", "a.z01"], "spanned archive"),
    ],
)
def test_parts_that_make_no_whole_are_refused(names: list[str], what: str) -> None:
    with pytest.raises(DataProblem, match=what):
        archives(names)


@given(
    content=some.binary(max_size=60),
    cuts=some.lists(some.integers(0, 60), max_size=4),
    reads=some.lists(some.tuples(some.integers(0, 70), some.integers(0, 30))),
)
@settings(max_examples=60, deadline=None)
def test_joined_files_read_as_their_content_does(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cuts: list[int], reads: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    places = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    paths = []
    for number, (start, end) in enumerate(pairwise(places)):
        paths.append(folder / str(number))
        paths[-1].write_bytes(content[start:end])
    with JoinedFiles(paths) as raw, io.BufferedReader(raw, 7) as stream:
        whole = io.BytesIO(content)
        for place, count in reads:
            assert (stream.seek(place), stream.read(count)) == (whole.seek(place), whole.read(count))

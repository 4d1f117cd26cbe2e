"""Hostile deliverables: each is told about, within its limits, and the run goes on."""

from __future__ import annotations

import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgauge import sandbox
from bench_gta.workflow import confined, rendering
from bench_gta.workflow.rendering import ShownFile
from tests.gta.deliverables import claiming, conversions, letter, png, show, word
from tests.tools.media import BROKEN, make_video

for package in ("PIL", "av", "docx", "pptx", "openpyxl", "pypdf", "reportlab"):
    pytest.importorskip(package)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not sandbox.layers(), reason="no sandbox on this machine")]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of what was delivered."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < SECONDS


SECONDS = 20.0  # far above what is measured


def bomb(path: Path) -> None:
    word(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/extra.bin", bytes(40 << 20))


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


ENTITIES = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>'


def evil_word(path: Path) -> None:
    word(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/evil.xml", f"{ENTITIES}<a>&b;</a>")


def lying_member(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", b"x")
    data = bytearray(path.read_bytes())
    struct.pack_into("<L", data, data.find(b"PK\x01\x02") + 42, 2**31)
    path.write_bytes(data[:-30])


HOSTILE: dict[str, tuple[str, Any, str]] = {
    "bomb": ("a.docx", bomb, "times its size"),
    "entities": ("a.docx", evil_word, "declares a document type"),
    "no office file": ("a.pptx", b"hello", "no zip archive"),
    "bomb of OpenDocument": ("a.odt", bomb, "LibreOffice would" if confined.office() is None else "times its size"),
    "sparse": ("a.pdf", sparse, "it has 3,072 MB; at most 256 MB are looked at"),
    "empty": ("a.pdf", b"", "the file is empty"),
    "huge picture": ("a.png", claiming(60_000, 60_000), "more than 128 million pixels"),
    "truncated picture": ("a.png", png()[:60], "not a picture"),
    "truncated jpeg": ("a.jpg", png(900, 900, kind="JPEG")[:900], "not a picture"),
    "truncated PDF": ("a.pdf", letter(3)[:300], "not a PDF"),
    "no PDF": ("a.pdf", b"<html>", "not a PDF"),
    "no zip": ("a.zip", lying_member, "no archive"),
    "rar": ("a.tar", b"Rar!\x1a\x07" * 50, "no archive"),
    "empty text": ("a.txt", b"  \n", "holds no text"),
    "binary text": ("a.md", bytes(range(256)), "no text in UTF-8"),
    **{f"video, {kind}": ("a.mp4", content, "") for kind, content in BROKEN.items()},
    **{f"sound, {kind}": ("a.mp3", content, "") for kind, content in BROKEN.items()},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_told_and_no_more(case: str, out: Path) -> None:
    name, content, why = HOSTILE[case]
    shown = show(out, name, content)
    assert why in shown.why and shown.why and "\n" not in shown.why and str(out.parent) not in shown.why
    assert shown.files == () and shown.text == ""
    assert list((out.parent / "scratch").glob("code-*")) == []


def test_links_are_not_followed(out: Path) -> None:
    (out.parent / "secret.txt").write_text("secret")
    for name, target in (("a.txt", out.parent / "secret.txt"), ("b.png", Path("/etc/passwd")), ("c.md", Path("c.md"))):
        (out / name).symlink_to(target)
        assert conversions(out).show(str(out / name), 8) == ShownFile(why="it is a link")


def test_a_page_gets_nothing_but_pictures_below_its_folder(out: Path) -> None:
    (out.parent / "up.png").write_bytes(png())
    (out / "link.png").symlink_to(out.parent / "up.png")
    (out / "deep").mkdir()
    (out / "deep" / "real.png").write_bytes(png())
    names = [
        "../up.png",
        "link.png",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1:9/a.png",
        "out/../../up.png",
        "deep/real.png?v=1",
    ]
    (out / "a.html").write_text("".join(f'<img src="{name}">' for name in names))
    assert list(confined.take(out / "a.html").companions) == ["deep/real.png?v=1"]


def test_a_conversion_that_does_not_end_is_ended(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "SECONDS", 0.05)
    assert "it ran longer than 0.05 s" in show(out, "a.txt", "hello").why


def test_a_conversion_that_takes_too_much_memory_is_ended(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "MEMORY", 60)
    assert show(out, "a.mp4", lambda path: make_video(path, 20)).why.startswith(
        "the program that looked at it was ended"
    )


TakenOver = Callable[[Callable[..., Any]], None]


@pytest.fixture
def taken_over(monkeypatch: pytest.MonkeyPatch) -> TakenOver:
    """From its call on, this runs in the child's place."""
    return lambda child: monkeypatch.setattr(rendering, "run_child", child)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"note": 5},
        {"note": "x", "files": "a.pdf"},
        {"note": "x", "files": ["../a.pdf"]},
        {"note": "x", "files": ["none.pdf"]},
    ],
)
def test_a_child_that_was_taken_over_gains_nothing(answer: Any, out: Path, taken_over: TakenOver) -> None:
    taken_over(lambda *words, **options: answer)
    shown = show(out, "a.txt", "hello")
    assert shown.why and shown.files == ()

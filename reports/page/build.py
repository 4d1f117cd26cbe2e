"""Puts the page together: markup, style, script, figures, and transcripts in chunks."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from harness.store.folder import Outline
from harness.task import configure_tasks
from reports.load import Run, load_run
from reports.page.boards import boards
from reports.page.figures import Seen, figures, times
from reports.page.files import Files
from reports.page.plots import radar
from reports.page.transcript import transcript

CHUNK = 400_000
"""Characters of JSON after which a new file of transcripts begins; compressed it is about a tenth."""

_HERE = Path(__file__).parent


def write_page(run: Path, target: Path, *, embed: bool = False, outlines: Iterable[Outline] | None = None) -> Path:
    """Write ``target`` and return it. ``outlines``: see ``load_run``.

    Transcripts go to the folder ``<target's stem>-data`` beside it and are loaded when one is opened, also from a disk. With
    ``embed`` they are inside the page, with the pictures. Raises UsageProblem for a folder that holds no finished run.
    """
    read = load_run(run, outlines)
    configure_tasks(read.about["settings"]["options"])  # exhibits depend on them
    beside = target.with_name(f"{target.stem}-data")
    target.parent.mkdir(parents=True, exist_ok=True)
    files = Files(read, None if embed else beside)
    seen = Seen()
    chunks = []
    if not embed:
        _empty(beside)
    for number, text in enumerate(_chunks(read, files, seen)):
        if embed:
            chunks.append(text)
        else:
            beside.mkdir(parents=True, exist_ok=True)
            (beside / f"{number}.js").write_text(f'agentgaugeChunk({number}, "{text}");\n', encoding="ascii")
    data = figures(read, seen) | {"boards": boards(read.summary), "embedded": embed}
    local = times(read, seen) | {"beside": beside.name, "files": files.base(target.parent), "unseen": files.problem}
    scratch = target.with_name(f".{target.name}.part")
    scratch.write_text(_page(read, data, local, chunks, files.embedded), encoding="utf-8")
    scratch.replace(target)
    return target


def _empty(folder: Path) -> None:
    """Take away what an earlier page left, and nothing else."""
    for file in folder.glob("*"):
        if file.is_file() and ((file.stem.isdecimal() and file.suffix == ".js") or file.name.startswith("file-")):
            file.unlink()


def _chunks(run: Run, files: Files, seen: Seen) -> Iterator[str]:
    """Transcripts in the order of the cases, as many together as make ``CHUNK``; each chunk as base64 of gzip of JSON.

    What times a case took does not decide where a chunk ends, so that equal runs have equal chunks.
    """
    parts: list[str] = []
    size = 0
    with run.reading() as read:
        for case in run.cases:
            record = read(case) if case.start >= 0 else None
            said, seconds = transcript(record, files, run.summary["run"]["scoring"]) if record else ({}, [])
            seen.add(case, record)
            text = json.dumps(said, separators=(",", ":"))
            seen.chunk_of.append(seen.chunks)
            parts.append(f'{{"said":{text},"seconds":{json.dumps(seconds)}}}')
            size += len(text)
            if size >= CHUNK:
                yield _packed(parts)
                parts, size = [], 0
                seen.chunks += 1
    if parts:
        yield _packed(parts)
        seen.chunks += 1


def _packed(parts: list[str]) -> str:
    return base64.b64encode(gzip.compress(f"[{','.join(parts)}]".encode("ascii"), 5, mtime=0)).decode("ascii")


def _page(run: Run, data: dict[str, Any], local: dict[str, Any], chunks: list[str], embedded: dict[str, str]) -> str:
    style, script = ((_HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    markup = (_HERE / "page.html").read_text(encoding="utf-8")
    # 'strict-dynamic' lets our script, known by its hash, load the files of transcripts, and nothing else run
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' 'strict-dynamic'; style-src '{_hash(style)}'; "
        "img-src 'self' file: data:; media-src 'self' file: data:; base-uri 'none'; form-action 'none'"
    )
    inside = {f"chunk-{number}": text for number, text in enumerate(chunks)} | embedded
    values = {
        "policy": policy,
        "title": escape(f"{run.model} · AgentGauge"),
        "style": style,
        "radar": radar(data["capabilities"]),
        "data": _json(data),
        "times": _json(local),
        "chunks": "".join(f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in inside.items()),
        "script": script,
    }
    parts = markup.split("@@")  # odd ones are names: nothing inside a value is taken for a place
    return "".join(values[part] if number % 2 else part for number, part in enumerate(parts))


def _json(value: Any) -> str:
    """JSON that can end no script element and begin no comment in one; ASCII, so that no text can damage the file."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

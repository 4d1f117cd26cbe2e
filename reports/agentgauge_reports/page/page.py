"""Puts the page together, from markup, style, script, figures, and transcripts in chunks.

``write_page`` calls the functions that make the figures. The files in ``script/`` draw them, and add up counts, tokens
and costs.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from agentgauge.core.files import refuse_device, replacing
from agentgauge.core.registry import Registry
from agentgauge.core.types import Record, Scoring
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.load import Omitted, Reader, Run, load_run
from agentgauge_reports.notices import alarm, broken, doubts, not_attempted, remarks
from agentgauge_reports.page.facts import CaseFacts, PageFacts
from agentgauge_reports.page.figures import figures, leaderboards, times
from agentgauge_reports.page.opening import opening
from agentgauge_reports.page.transcript import PageFiles, Took, clock, transcript
from agentgauge_reports.tables import breakdowns_of, keywords_of
from agentgauge_reports.terminal import meaning, of_benchmarks
from agentgauge_reports.text import policy_hash

_HERE = Path(__file__).parent
_PARTS = ("elements", "overview", "filter", "cases", "case")
"""Parts of the script, in the order in which they are needed."""


def write_page(
    run: Path,
    target: Path,
    *,
    tasks: Registry | None = None,
    loaded: Run | None = None,
    embed: bool = False,
    omitted: Omitted | None = None,
    links_from: Path | None = None,
    home: str = "",
    roots: Mapping[str, Path] | None = None,
) -> Path:
    """Write ``target`` and return it. ``tasks``: all that are known (default: those of all installed packages).
    ``loaded``: the run with its tasks, if it has been read already.

    Transcripts go to the folder ``<target's stem>-data`` beside it and are loaded when one is opened, also from a disk.
    With ``embed`` they are inside the page, with the pictures. A case that cannot be shown is replaced by the reason;
    ``omitted`` collects these cases. ``links_from``: the folder of the page as browsers see it, if that is not the
    folder of ``target``. ``home``: the address of the list of runs, if the page is served beside one. ``roots``:
    task → its data, if the user has named it. Raises UsageProblem for a folder that holds no finished run, and OSError
    where the disk is full.
    """
    refuse_device(target)
    read = loaded or load_run(run, tasks=tasks or Registry.installed(), tolerant=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f"{target.stem}-data")
    files = PageFiles(run, read.about, read.tasks, None if embed else beside, roots)
    omitted = omitted or Omitted()
    omitted.problems += read.problems
    scoring = read.summary["run"]["scoring"]
    transcripts = Transcripts(files, read.tasks, scoring, None if embed else beside, omitted)
    with read.reading() as record:
        for case in read.cases:
            transcripts.add(case, record)
    transcripts.close()
    shown = of_benchmarks(read.summary, read.tasks)
    tables = {
        "alarm": alarm(shown),
        "doubts": doubts(shown, read.tasks),
        "opening": opening(read),
        "meaning": meaning(shown, read.tasks),
        "cut": list(remarks(read.summary)),
        "faulty": [text for text in (broken(shown), not_attempted(shown)) if text],
        "boards": leaderboards(shown, read.tasks),
        "breakdowns": [*keywords_of(read), *breakdowns_of(read.summary, read.tasks)],
    }
    data = figures(read, transcripts.facts) | tables | {"embedded": embed}
    places = {"beside": beside.name, "files": files.base(links_from or target.parent), "unseen": files.problem}
    local = times(read, transcripts.facts) | places
    with replacing(target) as scratch, scratch.open("w", encoding="utf-8") as page:
        page.writelines(_page(read, data, local, transcripts.embedded, files.embedded, home))
    return target


def _page(
    run: Run, data: dict[str, Any], local: dict[str, Any], chunks: list[str], embedded: dict[str, str], home: str
) -> Iterator[str]:
    style, script = _style(), _script()
    markup = (_HERE / "page.html").read_text(encoding="utf-8")
    inside = {f"chunk-{number}": text for number, text in enumerate(chunks)} | embedded
    values = {
        "policy": policy(),
        "brand": brand(home),
        "title": escape(f"{run.model} · AgentGauge"),
        "style": style,
        "data": _json(data),
        "times": _json(local),
        "chunks": "".join(f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in inside.items()),
        "script": script,
    }
    parts = markup.split("@@")  # odd ones are names: nothing inside a value is taken for a place
    return (values[part] if number % 2 else part for number, part in enumerate(parts))


def brand(home: str) -> str:
    """The line above a page's title; with ``home`` it leads to the list of runs."""
    return f'<a href="{escape(home)}">AgentGauge · all runs</a>' if home else "AgentGauge"


def policy() -> str:
    """The page's Content-Security-Policy: our script, known by its hash, may load the files of transcripts
    (``strict-dynamic``); nothing else runs."""
    return (
        f"default-src 'none'; script-src '{policy_hash(_script())}' 'strict-dynamic';"
        f" style-src '{policy_hash(_style())}'; img-src 'self' file: data:;"
        " media-src 'self' file: data:; base-uri 'none'; form-action 'none'"
    )


def _style() -> str:
    return (_HERE.parent / "style.css").read_text(encoding="utf-8")


def _script() -> str:
    """One script of all parts, in a scope of its own."""
    parts = ((_HERE / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _PARTS)
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def _json(value: Any) -> str:
    """JSON that can end no script element and begin no comment in one; ASCII, so that no text can damage the file."""
    if isinstance(value, dict):  # part by part: the encoder takes four times the memory of what it writes
        return "{" + ",".join(f"{_json(name)}:{_json(part)}" for name, part in value.items()) + "}"
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- the transcripts of a page, many cases in each file

CHUNK = 400_000
"""Characters of JSON after which a new file of transcripts begins; compressed it is about a tenth."""


class Transcripts:
    """Collects cases in the order of the page into chunks of about ``CHUNK`` characters; each chunk is base64 of gzip
    of JSON.

    With ``beside`` a full chunk is written to that folder, ``0.js`` first; files of an earlier page are removed. With
    None all chunks are in ``embedded``. ``facts``: facts for the page's lists, collected on the way. ``omitted``
    collects cases that could not be shown.
    """

    def __init__(
        self, files: PageFiles, tasks: Registry, scoring: Scoring, beside: Path | None, omitted: Omitted
    ) -> None:
        self.facts = PageFacts()
        self.embedded: list[str] = []
        self._files, self._tasks, self._scoring, self._omitted = files, tasks, scoring, omitted
        self._beside = beside
        self._parts: list[str] = []
        self._size = 0
        for file in beside.glob("*") if beside else ():  # what an earlier page left, and nothing else
            if file.is_file() and ((file.stem.isdecimal() and file.suffix == ".js") or file.name.startswith("file-")):
                file.unlink()

    def add(self, case: CaseOutline, read: Reader) -> None:
        """Take the next case. Raises OSError where the disk is full."""
        try:
            record = read(case) if case.start >= 0 else None
            content, seconds = self._shown(record) if record else ({}, [])
            text, times = json.dumps(content, separators=(",", ":")), json.dumps(seconds)
            began = json.dumps(clock(record) if record else {})
            case_facts = CaseFacts.of(record, content) if record else CaseFacts()
        except Exception as error:  # whatever is in a record, the others are shown
            content = {"unshown": self._omitted.add(f"{case.task} {case.sample}", error)}
            text, times, began = json.dumps(content, separators=(",", ":")), "[]", "{}"
            case_facts = CaseFacts()
        self.facts.add(case.task, case.sample, case_facts)
        self._parts.append(f'{{"said":{text},"seconds":{times},"clock":{began}}}')
        # what times a case took does not decide where a chunk ends, so that equal runs have equal chunks
        self._size += len(text)
        if self._size >= CHUNK:
            self.close()

    def _shown(self, record: Record) -> tuple[dict[str, Any], list[Took]]:
        return transcript(record, self._tasks[record.task], self._files, self._scoring)

    def close(self) -> None:
        """Write the remaining cases."""
        if not self._parts:
            return
        text = base64.b64encode(gzip.compress(f"[{','.join(self._parts)}]".encode("ascii"), 5, mtime=0)).decode("ascii")
        if self._beside is None:
            self.embedded.append(text)
        else:
            self._beside.mkdir(parents=True, exist_ok=True)
            number = self.facts.chunks
            (self._beside / f"{number}.js").write_text(f'agentgaugeChunk({number}, "{text}");\n', encoding="ascii")
        self._parts, self._size = [], 0
        self.facts.chunks += 1

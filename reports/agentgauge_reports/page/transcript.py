"""A case as the page shows it: its messages and calls beside the expected answer, and links to its files."""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import is_cut, limit_words
from agentgauge.core.task import Task
from agentgauge.core.tracebacks import traceback_text
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Event, Json, Record, Scoring
from agentgauge_reports.conversation import GoldRow, Replies, side_by_side
from agentgauge_reports.load import RunFiles, plain_file, shown_data
from agentgauge_reports.text import WAITS

Took = float | tuple[float, float]
"""Seconds of a step; for a cached result also those that the tool worked in the earlier call."""


def transcript(record: Record, task: Task, files: PageFiles, scoring: Scoring) -> tuple[dict[str, Any], list[Took]]:
    """A case as plain data, and separately the seconds of each of its steps. ::

    {"steps": [{"is": "message" | "model" | "tool", ...}], "asked": number of the step with the question or None,
     "verdict": text, "error", "cause", "labels", "tools": {name: description}, "values", "gold": [row of side_by_side],
     "artifacts": [tree of [tag, children]], "delivered": [path], "files": {path: link}}
    """
    recorded, score = record.transcript, record.score
    events = recorded.events if recorded else ()
    steps = list(_steps(events))
    shown = (
        task.shown.artifacts(recorded.output, score, scoring)
        if recorded and score and recorded.output is not None
        else ()
    )
    content: dict[str, Any] = {
        "steps": steps,
        "asked": _asked(steps),
        "verdict": _verdict(record, task),
        "error": "\n".join(filter(None, (record.error, traceback_text(record.traceback, "short")))) or None,
        "cause": record.cause,
        "labels": list(score.labels) if score else [],
        "tools": {
            str(tool["name"]): str(tool["description"])
            for event in events
            if not event.detail.get("role")
            for tool in event.detail.get("tools", ())
        },
        "values": {name: value for name, value in score.values.items() if value}
        if score and not task.data.in_run_folder
        else {},
        "usage": [
            recorded.usage.requests,
            recorded.usage.prompt_tokens,
            recorded.usage.completion_tokens,
            recorded.usage.usd,
        ]
        if recorded
        else None,
        "gold": [_exact(row) for row in side_by_side(recorded.output, task.shown.in_words)] if recorded else [],
        "artifacts": [tree(artifact.html) for artifact in shown if artifact.html],
        "delivered": [artifact.path for artifact in shown if artifact.path],
    }
    named: list[str] = []
    _gather([content["delivered"], content["gold"], steps], named)
    content["files"] = files.links(record.task, named)
    return content, [_took(event) for event in events]


def _verdict(record: Record, task: Task) -> str:
    """The explanation; for a passed case without one, what passed cases of the task have done."""
    told = record.score.explanation if record.score else ""
    return told or (task.shown.passes if record.status == "passed" else "")


def _exact(row: GoldRow) -> GoldRow:
    """A row whose arguments are JSON texts: a script reads 18.0 as 18."""
    return {**row, **{side: [_with_text(act) for act in row[side]] for side in ("expected", "got")}}


def _with_text(act: Mapping[str, Any]) -> Mapping[str, Any]:
    given = act.get("arguments")
    return act if isinstance(given, str | None) else {**act, "arguments": json.dumps(given, ensure_ascii=False)}


def _asked(steps: Sequence[Mapping[str, Any]]) -> int | None:
    """The last thing that the user said before the tested model's first reply: what came earlier is a dialogue's
    history, and what other models were asked, such as a simulated user, is no question to it."""
    first: int | None = None
    found: int | None = None
    for number, step in enumerate(steps):
        if step["is"] == "message" and step.get("role") == "user":
            found = number
        elif step["is"] == "model" and not step.get("role") and found is not None:
            return found
        elif step["is"] == "model":
            first, found = found if first is None else first, None
    return found if first is None else first


def _took(event: Event) -> Took:
    seconds, cached = round(event.seconds, 3), event.detail.get("cached")
    return seconds if cached is None else (seconds, round(cached, 3))


def clock(record: Record) -> dict[str, Any]:
    """When a case's steps began, in seconds since its first one, and for what it waited: see ``Transcript.times``."""
    recorded = record.transcript
    if recorded is None:
        return {}
    began = min((event.start for event in recorded.events), default=0.0)
    starts = [round(event.start - began, 3) for event in recorded.events]
    waits = {kind: round(recorded.times[kind], 3) for kind in WAITS if recorded.times.get(kind)}
    return {"starts": starts, "seconds": round(recorded.seconds, 3), "waits": waits}


def _steps(events: Sequence[Event]) -> Iterator[dict[str, Any]]:
    """Messages, replies and tool calls in their order. ``at``: number of the event that a step is, for its seconds.

    A request repeats the last reply and the tools' results; these are left out, so that what stays is what was said
    anew. What a benchmark says in the model's name (the gold of the steps before) is marked as given.
    """
    replies: Replies[Event] = Replies()
    results: list[str] = []
    for number, event in enumerate(events):
        detail = event.detail
        if event.kind == "tool":
            outputs = [dict(output) for output in detail.get("result", ())]
            results += [str(output.get("content")) for output in outputs]
            results += [event.error] if event.error else []
            step = {"is": "tool", "name": event.name, "arguments": detail.get("arguments"), "result": outputs}
            yield {**step, "error": event.error, "at": number}
            continue
        role = str(detail.get("role", "")).removeprefix("--")
        for message in detail.get("messages", ()):
            if message.get("role") == "assistant" and replies.repeated(role, message):
                continue
            if message.get("role") == "tool" and results and _repeats(message.get("content"), results):
                continue
            shown = {key: message.get(key) for key in ("role", "name", "content", "tool_calls") if message.get(key)}
            given = "" if results and message.get("role") == "tool" else _GIVEN.get(str(message.get("role")), "")
            yield {"is": "message", **shown, **({"given": given} if given else {})}
        results = []
        if "reply" in detail:
            replies.add(role, detail, event)
        extra = {key: detail[key] for key in ("reasoning", "refusal") if detail.get(key)}
        extra |= {"role": role} if role else {}
        if is_cut(str(detail.get("finish_reason", ""))):
            extra["cut"] = f"cut at {limit_words(detail.get('max_tokens'))}"
        calls = list(detail.get("tool_calls", ()))
        step = {"is": "model", "name": event.name, "reply": detail.get("reply"), "calls": calls}
        yield {**step, "error": event.error, "at": number, **extra}


_GIVEN = {"assistant": "not written by the model", "tool": "given by the benchmark, not executed"}
"""Role of a message → what it is if it repeats no reply and no tool's result."""


def _repeats(content: Json, results: Sequence[str]) -> bool:
    return isinstance(content, str) and any(result.strip() and result.strip() in content for result in results)


def _gather(value: Json, named: list[str]) -> None:
    """Add the texts, in order, that may name a file: by far most do not."""
    if isinstance(value, str):
        if RUN_TOKEN in value or ROOT_TOKEN in value:
            named.append(value)
    elif isinstance(value, (dict, list, tuple)):
        for inner in value.values() if isinstance(value, dict) else value:
            _gather(inner, named)


_TABLE = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
KEPT = _TABLE | {"b", "i", "small", "p", "ul", "ol", "li", "h3", "h4", "pre", "code"}
EMPTY = {"br"}


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[list[Any]] = [["div", []]]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        node: list[Any] = [tag, []]
        if tag in KEPT | EMPTY:
            self.open[-1][1].append(node)
        if tag in KEPT:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if any(node[0] == tag for node in self.open[1:]):
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.open[-1][1].append(data)


def tree(html: str) -> list[Any]:
    """An artifact's page as ``[tag, [child, ...]]``, children being texts or trees: harmless tags, no attributes."""
    parser = _Tree()
    parser.feed(html)
    parser.close()
    return parser.open[0]


# -- pictures, sound and documents of a case: where the page finds them

SHOWN = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".mp3", ".wav", ".ogg", ".flac", ".mp4", ".webm"}
LINKED = {".pdf", ".docx", ".xlsx", ".pptx", ".csv", ".txt", ".md", ".json"}
"""Kinds that a browser only shows or saves; pages (HTML) are left out, for a model may have written them."""

LARGEST = 4_000_000
"""Bytes of a file that is copied or embedded."""

_PATHS = re.compile(r"\{(?:RUN|ROOT)\}/[^\s\"'`<>|*?\\()\[\]{}]{1,4096}\.\w{2,5}")
"""A path ends before the next one, so that the time grows with the text's length alone."""


class PageFiles:
    """Finds the files that texts name, and returns the page's link to each.

    The run's files are linked where they are, files of the data set are copied beside the page (there they have names
    by content). With ``beside`` None everything is embedded.
    """

    def __init__(
        self,
        run: Path,
        about: Mapping[str, Any],
        tasks: Registry,
        beside: Path | None,
        roots: Mapping[str, Path] | None = None,
    ) -> None:
        """``about``: the run's run.json. ``roots``: task → the data that the user named; None: see ``shown_data``."""
        self._run_files = RunFiles(run, about)
        self._beside = beside
        self._links: dict[tuple[str, str], str | None] = {}
        self.embedded: dict[str, str] = {}  # name by content → data URL
        self._roots, self._lacking = shown_data(about, tasks) if roots is None else (roots, "")
        self.problem = ""  # why files of the data set that texts name are not shown

    def base(self, page: Path) -> str:
        """The folder that links of the run start from, relative to the page's folder."""
        return quote(os.fsencode(os.path.relpath(self._run_files.folder, page.absolute()))) + "/"

    def links(self, task: str, texts: Iterable[str]) -> dict[str, str]:
        """Path as in ``texts`` → link: ``run:`` below ``base``, or ``page:`` beside the page or in ``embedded``."""
        paths = (path for text in texts for path in ([text] if _is_path(text) else _PATHS.findall(text)))
        return {path: link for path in dict.fromkeys(paths) if (link := self._link(task, path))}

    def _link(self, task: str, path: str) -> str | None:
        key = (task if path.startswith(ROOT_TOKEN) else "", path)
        if key not in self._links:
            self._links[key] = self._made(task, path)
        return self._links[key]

    def _made(self, task: str, path: str) -> str | None:
        token, _, rest = path.partition("/")
        suffix = Path(rest).suffix.lower()
        if suffix not in SHOWN | LINKED:
            return None
        if token == RUN_TOKEN:
            file = self._run_files.find(path)
        elif task in self._roots:
            file = plain_file(self._roots[task], rest)
        else:
            file, self.problem = None, self._lacking
        if file is None:
            return None
        if self._beside is not None and token == RUN_TOKEN:
            return "run:" + quote(file.relative_to(self._run_files.folder.resolve()).as_posix())
        if file.stat().st_size > LARGEST:
            return None
        content = file.read_bytes()
        name = f"file-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
        if self._beside is None:
            kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
            self.embedded[name] = f"data:{kind};base64,{base64.b64encode(content).decode()}"
        else:
            self._beside.mkdir(parents=True, exist_ok=True)
            (self._beside / name).write_bytes(content)
        return f"page:{name}"


def _is_path(text: str) -> bool:
    """Whether a text is nothing but a path, as a tool's result is."""
    return len(text) < 500 and "\n" not in text and text.startswith((f"{RUN_TOKEN}/", f"{ROOT_TOKEN}/"))

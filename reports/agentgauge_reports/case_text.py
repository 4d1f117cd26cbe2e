"""A case as plain text: for ``agentgauge show``, and for Allure."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.files import open_plain
from agentgauge.core.reply_ends import is_cut, limit_words
from agentgauge.core.text import clean, counted
from agentgauge.core.tracebacks import traceback_text
from agentgauge.core.types import Event, Record
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId, decoded
from agentgauge_reports.conversation import Replies
from agentgauge_reports.text import cut, line


def cases_of_run(path: Path, names: Sequence[str]) -> Iterator[tuple[str, Record]]:
    """The names of cases and their records, in the order of the run: those that ``names`` are, or match as patterns;
    without names those that did not pass. A case is named ``TASK/SAMPLE``, ``TASK/SAMPLE/ATTEMPT`` or by its pytest
    node id.

    Raises UsageProblem for what is no finished run, for a damaged record, and for a name that no attempted case has.
    """
    folder = RunFolder(path)
    nodes = folder.plan()
    found, known = set[str](), set[str]()
    cases = list(folder.outlines())
    with open_plain(path / "records.jsonl") as stream:
        for case in cases:
            called = [f"{case.task}/{case.sample}", _name(case.id), nodes.get(case.id, "")]
            known.update(called[:2])
            matching = [name for name in names if name in called or any(fnmatchcase(one, name) for one in called[:2])]
            found.update(matching)
            if matching or (not names and case.status != "passed"):
                stream.seek(case.start)
                yield _name(case.id), decoded(stream.read(case.size))
    for name in names:
        if name not in found:
            raise UsageProblem(
                f"{path} has no attempted case {name!r}{did_you_mean(name, known)}; accepted are TASK/SAMPLE, patterns"
                " such as 'wild/*', and pytest's node ids"
            )


def _name(case: CaseId) -> str:
    task, sample, attempt = case
    return f"{task}/{sample}/{attempt}"


def case_text(name: str, record: Record) -> str:
    """What became of a case, why, and its transcript."""
    parts = [f"{record.status}  {name}", _why(record), traceback_text(record.traceback, "short")]
    if found := record.transcript:
        facts = [
            counted(found.usage.requests, "request"),
            f"{found.usage.prompt_tokens:,} + {found.usage.completion_tokens:,} tokens",
            f"{found.seconds:.1f} s",
        ]
        parts[0] += f"\n{' · '.join([*facts, *record.tags])}"
        parts.append(transcript(found.events))
    return "\n\n".join(part for part in parts if part)


def case_line(name: str, record: Record) -> str:
    """Its state, its name, and the beginning of why: up to the first line that is indented, such as ``expected:``."""
    beginning = takewhile(lambda text: not text.startswith(" "), _why(record).splitlines())
    return f"{record.status:6}  {name}  {line('; '.join(beginning), 200)}".rstrip()


def _why(record: Record) -> str:
    return record.error or (record.score.explanation if record.score else None) or ""


def transcript(events: Sequence[Event], limit: int = sys.maxsize) -> str:
    """Messages, replies, calls and their results in order, in at most about ``limit`` bytes: every part is cut alike.

    Replies and results that a request repeats are shown once; what the benchmark gave in their place is ``given``.
    """
    parts = list(_parts(events))
    each = limit
    while parts and sum(min(len(body), each) for _, body in parts) > limit and each > 100:
        each = each * 3 // 4
    return cut("\n\n".join(f"── {head}\n{cut(body, each)}" for head, body in parts), limit)


def _parts(events: Sequence[Event]) -> Iterator[tuple[str, str]]:
    has_result = False  # whether a tool's result was shown since the last request
    replies = Replies[bool]()
    for event in events:
        detail = event.detail
        cached = f", cached instead of {detail['cached']:.2f} s" if "cached" in detail else ""
        seconds = f"({event.seconds:.2f} s{cached})"
        if event.kind == "tool":
            has_result = True
            results = [content_text(output["content"]) for output in detail.get("result", ())]
            arguments = content_text(detail.get("arguments") or {})
            yield f"tool {clean(event.name)} {seconds}", "\n".join([arguments, *(f"→ {result}" for result in results)])
        else:
            role = str(detail.get("role", ""))
            for message in detail.get("messages", ()):
                body = content_text(message.get("content") or "")
                if message["role"] == "tool" and not has_result:
                    yield "tool (given)", body
                elif message["role"] == "assistant" and not replies.repeated(role, message):
                    calls = [call.get("function") or call for call in message.get("tool_calls") or ()]
                    yield "assistant (given)", _reply(body, calls)
                elif message["role"] in ("system", "user"):
                    yield clean(message["role"]), body
            has_result = False
            if "reply" in detail:
                replies.add(role, detail, True)
            calls = detail.get("tool_calls", ())
            yield f"{clean(event.name)} {seconds}{_cut_words(detail)}", _reply(detail.get("reply") or "", calls)
        if event.error:
            yield "error", event.error


def _reply(text: str, calls: Iterable[Mapping[str, Any]]) -> str:
    made = [f"→ {call.get('name')}({content_text(call.get('arguments') or '')})" for call in calls]
    return "\n".join([*filter(None, [text]), *made]) or "(empty)"


def _cut_words(detail: Mapping[str, Any]) -> str:
    """That a reply was cut, and where; empty for another."""
    if not is_cut(str(detail.get("finish_reason", ""))):
        return ""
    return f", cut at {limit_words(detail.get('max_tokens'))}"


def content_text(value: Any) -> str:
    """A message's content, an argument or a result; of pictures that a message holds only that they are there."""
    if isinstance(value, list) and all(isinstance(part, dict) and "type" in part for part in value):
        return "\n".join(str(part.get("text") or f"[{part['type']}]") for part in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

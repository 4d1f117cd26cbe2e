"""JSON Lines end at line feeds and nowhere else, in every reader of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.core.index import line_entries
from agentgauge.core.text import json_lines
from agentgauge.model.embedded.view import look
from bench_mmau.files import _lines as mmau_lines
from bench_wild.check import read_tool_lists
from bench_wild.files import _lines as wild_lines
from bench_wild.layout import sessions

SIGNS = "\u2028\u2029\x85\x7f"
"""Signs that JSON leaves as they are; ``str.splitlines`` ends a line at most of them."""

BLANK = " \r\t"  # between values; the carriage return ends no line


def written(path: Path, *values: object) -> bytes:
    lines = (json.dumps(value, ensure_ascii=False).replace(": ", f":{BLANK}") + "\n" for value in values)
    path.write_bytes("".join(lines).encode())
    return path.read_bytes()


def of_batch(path: Path) -> list[object]:
    from agentgauge.plugins.batch.batch import Batch

    batch = Batch("b")
    batch.take(path.read_bytes(), lambda line: 0)
    return [json.loads(line) for line in batch.answers.values()]


def of_journal(path: Path) -> list[object]:
    from agentgauge.plugins.batch.journal import Journal

    return [{"id": identity} for identity in sorted(Journal(path).identities)]


READERS: dict[str, tuple[Callable[[int], object], Callable[[Path], list[object]]]] = {
    "index": (lambda number: {"id": f"{number}{SIGNS}"}, lambda path: [entry.value for entry in line_entries(path)]),
    "text file": (
        lambda number: {"id": f"{number}{SIGNS}"},
        lambda path: [json.loads(line) for _, line in json_lines(path)],
    ),
    "batch": (lambda number: {"custom_id": f"b-{number}", "text": SIGNS}, of_batch),
    "journal": (lambda number: {"id": f"{number}{SIGNS}", "batch": "b", "at": 1.0, "requests": [SIGNS]}, of_journal),
    "mmau": (lambda number: {"id": number, "response": SIGNS}, lambda path: list(mmau_lines(path))),
    "wild results": (lambda number: {"id": f"{number}{SIGNS}"}, lambda path: [one for _, one in wild_lines(path)]),
    "wild sessions": (lambda number: {"id": f"{number}{SIGNS}"}, lambda path: [one.value for one in sessions(path)]),
    "wild tools": (
        lambda number: [{"function": {"name": f"{number}{SIGNS}"}}],
        lambda path: list(read_tool_lists(path)),
    ),
}


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "last line ended": lambda lines: lines,
    "last line open": lambda lines: lines.removesuffix(b"\n"),
    "blank lines": lambda lines: b"\n" + lines.replace(b"\n", b"\r\n \t\n") + b"\n\n",
    "byte order mark": lambda lines: b"\xef\xbb\xbf" + lines,
}


@pytest.mark.parametrize(
    "reader",
    [pytest.param(name, marks=pytest.mark.uses("batch") if name in ("batch", "journal") else ()) for name in READERS],
)
@pytest.mark.parametrize("form", FORMS)
def test_lines_end_at_line_feeds_alone(reader: str, form: str, tmp_path: Path) -> None:
    make, read = READERS[reader]
    values = [make(number) for number in range(3)]
    content = written(tmp_path / "a.jsonl", *values)
    (tmp_path / "a.jsonl").write_bytes(FORMS[form](content))
    found = read(tmp_path / "a.jsonl")
    assert found == ([{"id": value["id"]} for value in values] if reader == "journal" else values)  # type: ignore[index]


def test_tools_in_a_prompt_are_read_line_by_line() -> None:
    tool = {"name": "find", "description": SIGNS, "parameters": {"properties": {"a": {"type": "string"}, "b": True}}}
    prompt = f"Tools:\n{json.dumps(tool, ensure_ascii=False)}\n{json.dumps({**tool, 'name': 'go'}, ensure_ascii=False)}"
    view = look(ChatRequest(({"role": "system", "content": prompt}, {"role": "user", "content": "Go."})))
    found = [(tool.name, [(each.name, each.type) for each in tool.parameters]) for tool in view.tools]
    assert found == [("find", [("a", "string"), ("b", "")]), ("go", [("a", "string"), ("b", "")])]

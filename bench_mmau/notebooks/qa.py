"""The questions about a notebook's output: the request to the QA model and its answer (MMAU spec 7.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.notebooks.cells import Solution, decoded, the_same, without_fences
from bench_mmau.notebooks.execute import Execution
from bench_mmau.notebooks.outputs import NoFigure, NoPicture, Render, Shown, organise
from bench_mmau.tool_use.errors import NotScorable, StopsOnReply
from bench_mmau.tool_use.replies import record_id, text_of

QUESTIONS = """The code was run. This is the notebook's last cell that shows something, with its outputs, as JSON:

{cell}

Where an output was a picture, <image_1>, <image_2> and so on stand in its place; the pictures follow this text in \
that order.

Now answer these multiple-choice questions, given as a JSON list, from what the outputs show:

{questions}

Reply with one JSON list and nothing else: one upper-case letter per question, in the order of the questions, such as \
["A", "C"]."""

Message = Mapping[str, Any]


def request(
    record: Mapping[str, Any],
    solution: Solution,
    execution: Execution,
    *,
    sees: bool,
    render: Render | None = None,
    fixes: Fixes = PARITY,
) -> list[Message] | None:
    """The messages for the QA model; None if it is not asked: the code failed, or there is no output.

    The published code sends a model that cannot see (not ``sees``) the conversation without a question where an image
    is expected [Q29]. Our runs plan no such case. Raises NotScorable for a record without questions and where Plotly
    figures cannot be drawn here, StopsOnReply for a cell that cannot be shown.
    """
    if not execution.success or execution.last_cell is None:
        return None
    if image_expected(record) and not sees:
        return list(solution.messages)
    try:
        shown = organise(execution.last_cell, image_expected=image_expected(record), render=render, fixes=fixes)
    except NoPicture as error:
        raise NotScorable(record_id(record), str(error)) from error
    except NoFigure as error:
        raise StopsOnReply(record_id(record), str(error)) from error
    try:
        return [*solution.messages, {"role": "user", "content": _content(record, shown)}]
    except RecursionError as error:
        raise StopsOnReply(record_id(record), "the last cell is nested too deeply to be shown") from error


def image_expected(record: Mapping[str, Any]) -> bool:
    """Whether the record expects an image. Raises NotScorable if the record does not say it."""
    if "image_expected" not in record:
        raise NotScorable(
            record_id(record), "the field 'image_expected' is missing; score a response file of the notebook tasks"
        )
    return bool(record["image_expected"])


def _content(record: Mapping[str, Any], shown: Shown) -> str | list[dict[str, Any]]:
    """Plain text; with images a list of parts, the text first."""
    if "questions" not in record:
        raise NotScorable(
            record_id(record), "the field 'questions' is missing; score a response file of the notebook tasks"
        )
    before, _, rest = QUESTIONS.partition("{cell}")
    between, _, after = rest.partition("{questions}")
    text = before + json.dumps(shown.cell) + between + json.dumps(record["questions"]) + after
    if not shown.images:
        return text
    return [
        {"type": "text", "text": text},
        *({"type": "image_url", "image_url": {"url": image}} for image in shown.images),
    ]


def read_answers(content: str | None, number: str = "", *, questions: int = 0, fixes: Fixes = PARITY) -> Any:
    """The decoded answers, in any shape; None if the reply is no JSON, which counts as unanswered.

    In parity single quotes count as double ones, and StopsOnReply is raised for a reply without content and for JSON
    that cannot be decoded. ``questions``: how many there are; 0 if unknown.
    """
    text = text_of(content, number, fixes)
    plain = text if fixes.flat_answers else without_fences(text).replace("'", '"')

    def chosen(values: Sequence[Any]) -> Any:
        lists = [one for one in values if isinstance(one, list) and {*map(type, one)} == {str}]
        return the_same([one for one in lists if len(one) == questions] or lists)

    try:
        return decoded(plain, number, choose=chosen if fixes.flat_answers else None)
    except ValueError:
        return None

"""The cells of a reply, and the notebook of these and the earlier cells (docs/benchmarks/mmau.md#cells)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentgauge.agent.model_json import values_in
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.replies import NotScorable, StopsOnReply, record_id, text_of

UNREADABLE = "The reply is not a JSON list of notebook cells."


@dataclass(frozen=True, slots=True)
class Solution:
    """One candidate: its conversation and its notebook.

    ``number``: its place among all candidates of the record, from 0, those that could not be read included.
    ``given``: the cells before the turn; ``generated``: the reply's, which need not be objects [Q27].
    ``problem``: why there is nothing to run; empty but where ``retry_unreadable`` keeps an unreadable reply [Q26].
    """

    number: int
    messages: tuple[Mapping[str, Any], ...]
    given: tuple[Any, ...]
    generated: tuple[Any, ...]
    problem: str = ""

    @property
    def cells(self) -> tuple[Any, ...]:
        return self.given + self.generated


class NoCells(ValueError):
    """A reply that cannot be decoded: its candidate is skipped."""


def build(record: Mapping[str, Any], contents: Sequence[str | None], *, fixes: Fixes = PARITY) -> tuple[Solution, ...]:
    """The solutions of a record; ``contents`` are those of all messages of all its responses, in order.

    A record without ``notebook`` has none. An undecodable candidate is skipped and leaves its number unused [Q26].
    Raises, in parity only, StopsOnReply for a reply without content, and as ``read_cells``.
    """
    if not record.get("notebook"):
        return ()
    given = tuple(_list_of(record, "cells", record["notebook"]))
    found = []
    for number, content in enumerate(contents):
        text = text_of(content, record_id(record), fixes)
        messages = (*_list_of(record, "messages", record), {"role": "assistant", "content": text})
        solution = Solution(number, messages, given, ())
        try:
            found.append(replace(solution, generated=read_cells(text, record_id(record), fixes=fixes)))
        except NoCells:
            if fixes.retry_unreadable:
                found.append(replace(solution, problem=UNREADABLE))
    return tuple(found)


def oracle(record: Mapping[str, Any]) -> Solution:
    """The solution that the record stores, for which no code is run (docs/benchmarks/mmau.md#questions). Raises
    NotScorable if there is none."""
    if "oracle_response" not in record or "last_cell" not in record:
        raise NotScorable(
            record_id(record),
            "the fields 'oracle_response' and 'last_cell' are needed; score the oracle task's own file",
        )
    turn = {"role": "assistant", "content": json.dumps(record["oracle_response"])}
    return Solution(0, (*_list_of(record, "messages", record), turn), (), ())


def without_fences(text: str) -> str:
    """The text without any code fence, stripped."""
    return text.replace("```json", "").replace("```", "").strip()


def decoded(text: str, number: str, *, choose: Callable[[list[Any]], Any] | None = None) -> Any:
    """The JSON value in a reply. Raises ValueError for a text that is no JSON.

    The published evaluator catches errors of JSON alone: it stops on a value that is nested too deeply, and on an
    integer of more digits than Python converts. Without ``choose``, these raise StopsOnReply.

    ``choose``: which of the lists and objects in a text that is no JSON as a whole is meant, or a ValueError.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if choose:
            return choose(values_in(text))
        if isinstance(error, json.JSONDecodeError):
            raise ValueError(str(error)) from error
        raise StopsOnReply(number, f"the JSON in the reply cannot be decoded ({error})") from error


def the_same(found: Sequence[Any]) -> Any:
    """What all of them are. Raises ValueError where they differ, and where there are none."""
    if not found or any(one != found[0] for one in found):
        raise ValueError(f"one value is needed, possibly repeated; the reply holds {len(found)} that may be meant")
    return found[0]


def read_cells(text: str, number: str, *, fixes: Fixes = PARITY) -> tuple[Any, ...]:
    """The cells of a reply, ready to run. Raises NoCells for a text that is no JSON.

    Raises StopsOnReply, in parity only, for a JSON number, true, false and null, for JSON that cannot be decoded, and
    for a code cell whose source is no string and no list of strings.
    """
    try:
        value = decoded(text, number, choose=_chosen) if fixes.any_cells else decoded(without_fences(text), number)
    except ValueError as error:
        raise NoCells(UNREADABLE) from error
    if fixes.any_cells:
        value = _cells_in(value)
    elif not isinstance(value, list | dict | str):
        shown = json.dumps(value)[:80]
        raise StopsOnReply(number, f"the reply is the JSON value {shown} where a list of cells is needed")
    # an object gives its keys, a text its characters [Q27]
    return tuple(_prepared(cell, place, number, fixes) for place, cell in enumerate(value))


def _chosen(values: Sequence[Any]) -> Any:
    """What holds cells among the lists and objects of a reply: several that are one cell each, or the only list or
    notebook. Raises ValueError."""
    found = [value for value in values if _holds_cells(value)]
    if found and all("cell_type" in value for value in found):
        return found
    return the_same(found)


def _holds_cells(decoded: Any) -> bool:
    try:
        return bool(_cells_in(decoded))
    except NoCells:
        return False


def _cells_in(decoded: Any) -> list[Any]:
    """The cells of any sensible shape: a list, one cell, a notebook. Raises NoCells for others (``any_cells``)."""
    if isinstance(decoded, dict):
        decoded = decoded.get("cells", [decoded])
    if isinstance(decoded, list) and all(isinstance(cell, dict) and "cell_type" in cell for cell in decoded):
        return decoded
    raise NoCells(UNREADABLE)


def _prepared(cell: Any, place: int, number: str, fixes: Fixes) -> Any:
    """A cell with an id and, for code, with closed lines and without outputs. What is no object stays what it is [Q27].

    The id looks like the reference's, but is the same in every run: the QA model is shown it.
    """
    if not isinstance(cell, dict):
        return cell
    prepared = {**cell, "id": hashlib.sha256(f"{number}/{place}".encode()).hexdigest()[:8]}
    if cell.get("cell_type") != "code":
        return prepared
    return {**prepared, "source": _lines(cell.get("source", []), number, fixes), "outputs": [], "execution_count": None}


def _lines(source: Any, number: str, fixes: Fixes) -> Any:
    """Each element with a final line break. One text is gone through by character, which breaks the code [Q27].

    An object gives its keys. Anything else stops the published evaluator; under ``any_cells`` the cell fails.
    """
    if fixes.any_cells:
        if isinstance(source, str):  # not splitlines: a text in the code may hold U+2028
            source = source.removesuffix("\n").split("\n") if source else []
    elif isinstance(source, str | dict):
        source = list(source)
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return [line if line.endswith("\n") else line + "\n" for line in source]
    if fixes.any_cells:
        return source
    raise StopsOnReply(number, "the source of a code cell is neither a string nor a list of strings")


def _list_of(record: Mapping[str, Any], name: str, where: Any) -> list[Any]:
    value = where.get(name) if isinstance(where, Mapping) else None
    if not isinstance(value, list):
        raise NotScorable(
            record_id(record), f"{name!r} is {value!r:.80} where a list is needed; correct or remove the record"
        )
    return value

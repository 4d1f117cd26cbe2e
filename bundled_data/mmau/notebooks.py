"""The bundled notebook turns: five conversations over three small tables (MMAU spec 2.7, 7).

Everything that a notebook shows was really shown by its cells, which the build runs; answers are computed with the same
variables. The pictures' bytes may differ between versions of matplotlib; everything else is the same everywhere.
"""

from __future__ import annotations

import contextlib
import csv
import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from bundled_data.mmau.notebook_run import Cell, Shell, bare, last_with_output, without_pictures
from bundled_data.mmau.notebook_tables import TABLES
from bundled_data.mmau.notebook_turns import CONVERSATIONS, Conversation, Question, Turn

_INPUT = Path("code_kaggle_source") / "input"
_LETTERS = "ABCDE"
_SHOWN = 3  # rows of a table that the message quotes

_PROMPT = """\
You are a data scientist and continue a Jupyter notebook by one request.

# Data files
{files}

# Notebook so far
{notebook}

# Request
{request}

# Reply
Reply with one JSON list of the notebook cells that are to be added, and nothing else. A cell is an object with \
"cell_type" ("code" or "markdown"), "metadata" ({{}}) and "source", a list of lines that each end with a line break, \
such as
[{{"cell_type": "code", "metadata": {{}}, "source": ["total = 1 + 1\\n", "print(total)\\n"]}}]
The cells are run after those of the notebook so far, whose variables they can use. pandas, numpy, matplotlib and the \
standard library are at hand. Afterwards only the last cell that shows anything is looked at, so what was asked for \
must be in its output."""


def write_more(folder: Path) -> list[Path]:
    """Write the tables where the cells read them as ``../input/<name>.csv``. Returns their paths."""
    written = []
    for name, table in TABLES.items():
        path = folder / _INPUT / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = table()
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        written.append(path)
    return written


def files() -> dict[str, list[dict[str, Any]]]:
    """The records of the file by its official name."""
    with tempfile.TemporaryDirectory() as scratch:
        write_more(Path(scratch))
        work = Path(scratch) / "code_kaggle_source" / "tmp"
        work.mkdir()
        with contextlib.chdir(work):
            records = [record for conversation in CONVERSATIONS for record in _records(conversation)]
    return {"code_kaggle_20240712.jsonl": records}


def _records(conversation: Conversation) -> list[dict[str, Any]]:
    shell = Shell(conversation.name)
    before = shell.run(conversation.given)
    return [_record(conversation, turn, number, shell, before) for number, turn in enumerate(conversation.turns, 1)]


def _record(conversation: Conversation, turn: Turn, number: int, shell: Shell, before: list[Cell]) -> dict[str, Any]:
    """One turn; afterwards its cells stand in ``before``, without their pictures."""
    name = f"notebook-{conversation.name}-{number}"
    given = list(before)
    done = shell.run(turn.cells)
    before += [without_pictures(cell) for cell in done]
    asked = [_asked(question, shell, f"{name}/{place}") for place, question in enumerate(turn.questions)]
    prompt = _PROMPT.format(
        files="\n\n".join(map(_described, conversation.files)), notebook=_listed(given), request=turn.request
    )
    return {
        "id": name,
        "messages": [{"role": "user", "content": prompt}],
        "notebook": {"cells": given, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5},
        "image_expected": turn.image,
        "questions": [text for text, _ in asked],
        "gt_answers": [letter for _, letter in asked],
        "oracle_response": [_closed(bare(source)) for source in turn.cells],
        "last_cell": last_with_output(done),
    }


_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _closed(cell: Cell) -> Cell:
    """Every line with its line break, as the message asks."""
    return cell | {"source": [line.rstrip("\n") + "\n" for line in cell["source"]]}


def _described(name: str) -> str:
    """Path, size and first rows of a table."""
    rows = TABLES[name]()
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows[:_SHOWN])]
    return f"../input/{name}.csv ({len(rows)} rows), which begins with\n" + "\n".join(f"    {line}" for line in lines)


def _listed(cells: list[Cell]) -> str:
    """The cells as JSON, one a line."""
    if not cells:
        return "[]"
    lines = [
        json.dumps({key: cell[key] for key in ("cell_type", "metadata", "source")}, ensure_ascii=False)
        for cell in cells
    ]
    return "[" + ",\n ".join(lines) + "]"


def _asked(question: Question, shell: Shell, name: str) -> tuple[str, str]:
    """The question with its options, and the letter of the right one. Raises ValueError where two options are the
    same."""
    options = [str(eval(one, shell.names)) for one in (question.right, *question.wrong)]
    if len(set(options)) != len(options):
        raise ValueError(f"{name}: the options of {question.text!r} are not all different: {options}")
    right = options[0]
    Random(f"letters of {name}").shuffle(options)
    lines = [question.text, *(f"{letter}. {option}" for letter, option in zip(_LETTERS, options, strict=False))]
    return "\n".join(lines), _LETTERS[options.index(right)]

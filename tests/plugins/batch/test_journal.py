"""A damaged journal of batches: nothing that may be away is paid twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.plugins.batch.journal import CHECK, FILE
from tests.plugins.batch.asking import ask, words
from tests.plugins.batch.stand_ins import STAND_INS, OpenAIStandIn

TEXTS = [f"w{number}" for number in range(3)]

Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(params=STAND_INS, ids=lambda kind: kind.provider)
def server(request):
    with request.param() as running:
        yield running


def damaged(folder: Path, which: str, change: Change, *, keeps_checksum: bool = True) -> None:
    """Change the line with the key ``which``. Without checksums, the journal is as an earlier version has written
    it."""
    lines = [json.loads(line) for line in (folder / FILE).read_text().split("\n") if line]
    if not keeps_checksum:
        lines = [{key: value for key, value in line.items() if key != CHECK} for line in lines]
    texts = [change(line) if which in line else line for line in lines]
    written = [text if isinstance(text, str) else json.dumps(text) for text in texts]
    (folder / FILE).write_text("".join(f"\n{text}\n" for text in written if text), errors="surrogateescape")


@pytest.mark.parametrize(
    ("which", "change"),
    [
        ("id", lambda line: {**line, "id": "batch_77"}),
        ("requests", lambda line: {**line, "at": 4e9}),
        ("requests", lambda line: {**line, "requests": line["requests"][::-1]}),
        ("requests", lambda line: {**line, "batch": "0123456789abcdef"}),
        ("requests", lambda line: ""),
        ("requests", lambda line: "[" * 100_000),
        ("requests", lambda line: "[]"),
        ("id", lambda line: "\udcff\udcfe"),
        ("id", lambda line: {**line, "id": 7}),
        ("id", lambda line: json.dumps(line)[1:]),
    ],
)
def test_it_is_refused_in_one_sentence(which, change, tmp_path):
    with OpenAIStandIn() as server:
        ask(server, tmp_path, TEXTS)
        damaged(tmp_path, which, change)
        with pytest.raises(UsageProblem, match=f"{FILE} is damaged in line .* could be paid twice; restore the file"):
            ask(server, tmp_path, TEXTS)
        assert len(server.jobs) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda line: "",
        lambda line: json.dumps(line)[:20],
        lambda line: {**line, "id": "batch_77"},
        lambda line: {**line, "id": "batch_0"},
    ],
    ids=["missing", "cut off", "unknown", "of another batch"],
)
def test_a_batch_whose_id_is_lost_or_wrong_is_found_at_the_provider(server, change, tmp_path):
    (tmp_path / "other").mkdir()
    ask(server, tmp_path / "other", ["x"])  # batch_0
    ask(server, tmp_path, TEXTS)
    damaged(tmp_path, "id", change, keeps_checksum=False)
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert len(server.jobs) == 2


def test_a_line_that_stands_twice_is_one(tmp_path):
    with OpenAIStandIn() as server:
        ask(server, tmp_path, TEXTS)
        (tmp_path / FILE).write_text((tmp_path / FILE).read_text() * 2)
        assert words(ask(server, tmp_path, TEXTS)) == TEXTS
        assert len(server.jobs) == 1

"""Every command that a page shows is one that pytest or ``agentgauge`` understands. Nothing is run here."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import pytest

from agentgauge.cli.main import main
from tests.docs.pages import PAGES, ROOT, commands, of_all_plugins
from tests.plugin.project import PYTEST

SHOWN = [
    *(page for page in PAGES if page.name != "CHANGELOG.md"),  # which names commands of earlier versions
    *sorted((ROOT / "examples").glob("*/README.md")),
]

PARSER = """
import json, sys
import pytest

class Parsing:
    def pytest_addoption(self, parser):
        self.parser = parser

    def pytest_cmdline_main(self, config):
        return 0

def unknown(words):
    try:
        return parsing.parser.parse_known_and_unknown_args(words)[1]
    except pytest.UsageError as problem:
        return [str(problem)]

parsing = Parsing()
# an option of a benchmark, so that those of all benchmarks are there
assert pytest.main([*sys.argv[1:], "--wild-language=en"], plugins=[parsing]) == 0
print(json.dumps([unknown(words) for words in json.load(sys.stdin)]))
"""
"""Prints for each command line on standard input what pytest, with all plugins, does not understand of it."""

ELSEWHERE = ("--benchmark-only", "--benchmark-json", "--figures", "--user-model", "--run-eval", "--lf")
"""Options of pytest-benchmark, of ``benchmarks/conftest.py``, of an example, of pytest-evals, and of pytest's cache."""

FRAGMENTS = {
    "compare",
    "fetch",
    "generate wild",
    "launch",
    "merge",
    "new",
    "report",
    "report --format",
    "report --table",
    "score",
    "score --similarity",
}
"""Commands that a sentence names without what they need."""


@of_all_plugins
def test_pytest_knows_every_option_of_every_command() -> None:
    shown = [words for page in SHOWN for words in commands(page.read_text(encoding="utf-8"), "pytest")]
    lines = [[word for word in words if not word.startswith(ELSEWHERE)] for words in shown if words != ["--model"]]
    done = subprocess.run(
        [sys.executable, "-c", PARSER, *PYTEST[2:]],
        cwd=ROOT,
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout.splitlines()[-1])
    assert len(answers) > 60
    assert [(words, unknown) for words, unknown in zip(lines, answers, strict=True) if unknown] == []


class Understood(Exception):
    """A command's parser has taken the words."""


def _commands_of_agentgauge() -> list[Any]:
    return [
        pytest.param(words, id=f"{page.name}: {' '.join(words)}"[:150])
        for page in SHOWN
        for words in commands(page.read_text(encoding="utf-8"), "agentgauge")
        if " ".join(words) not in FRAGMENTS
    ]


def test_every_fragment_stands_on_a_page() -> None:
    shown = {" ".join(words) for page in SHOWN for words in commands(page.read_text(encoding="utf-8"), "agentgauge")}
    assert FRAGMENTS - shown == set()


@of_all_plugins
@pytest.mark.parametrize("words", _commands_of_agentgauge())
def test_agentgauge_understands_every_command(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    parse = argparse.ArgumentParser.parse_known_args

    def parse_only(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> NoReturn:
        _, unknown = parse(parser, arguments)
        assert unknown == []
        raise Understood

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    while words[0] == "--tasks":  # the file of a reader
        words = words[2:]
    if words == ["--help"]:
        return
    with pytest.raises(Understood):
        main(words)

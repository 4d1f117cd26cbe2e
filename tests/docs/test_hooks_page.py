"""The page about hooks, and the examples in agentgauge/hookspec.py."""

from __future__ import annotations

import csv
import inspect
import re
import textwrap
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from agentgauge import hookspec
from agentgauge.run.hooks import ANNOUNCING, OF_CASES, PREFIX
from tests.docs.pages import blocks, rows, text
from tests.plugin.project import pytest_here, records, summary

PAGE = text("docs/hooks.md")
HOOKS = {name: hook for name, hook in vars(hookspec).items() if name.startswith(PREFIX) and name not in ANNOUNCING}


def test_the_table_has_every_hook_with_its_process_and_arguments() -> None:
    listed = [
        (PREFIX + row[0].strip("`"), row[1], re.findall(r"`(\w+)`", row[3]))
        for row in rows(PAGE, "hook", "process", "called", "arguments", "answer")
    ]
    expected = [
        (name, "worker" if name in OF_CASES else "first", list(inspect.signature(hook).parameters))
        for name, hook in HOOKS.items()
    ]
    assert listed == expected


def test_the_table_of_what_packages_announce_is_whole() -> None:
    listed = [PREFIX + row[0].strip("`") for row in rows(PAGE, "hook of a package", "returns", "see")]
    assert listed == [*ANNOUNCING]


def test_every_argument_is_described() -> None:
    listed = {row[0].strip("`") for row in rows(PAGE, "argument", "what to read from it")}
    every = {argument for hook in HOOKS.values() for argument in inspect.signature(hook).parameters}
    assert every - listed == {"name", "arguments"}  # of a tool; they say it themselves
    assert listed <= every


def example(name: str) -> str:
    """The example in the docstring of a hook."""
    words = inspect.getdoc(HOOKS[name]) or ""
    return textwrap.dedent("\n".join(line for line in words.splitlines() if not line or line.startswith("    ")))


NOTED = """
import functools

def noted(hook):
    @functools.wraps(hook)
    def call(*given, **named):
        with open("called", "a") as stream:
            print(hook.__name__, file=stream)
        return hook(*given, **named)
    return call

def refused(hook):
    calls = []

    @functools.wraps(hook)
    def call(*given, **named):
        calls.append(named)
        if len(calls) == 1:
            raise ToolError("once")
        return hook(*given, **named)
    return call

from agentgauge.core.errors import ToolError

pytest_agentgauge_tool_call = refused(pytest_agentgauge_tool_call)
for name, hook in list(globals().items()):
    if name.startswith("pytest_agentgauge_"):
        globals()[name] = noted(hook)
"""


@pytest.mark.uses("allure")
@pytest.mark.heavy
@pytest.mark.slow
def test_the_example_of_every_hook_is_called(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("\n\n".join([*map(example, HOOKS), NOTED]))
    cases = (
        "bench_gta",
        "bench_wild",
        "-k",
        "wild or (gta_workflow and VideoClip) or (gta_atomic_e2e and Calculator)",
        "--limit=4",
    )
    output = solved(tmp_path, *cases, "--alluredir=allure")
    nothing = pytest_here("--pyargs", "bench_wild", "-k", "s1 and not s1", "--model=oracle", "--limit=1", cwd=tmp_path)
    assert nothing.status == 0 and "this machine has nothing to do" in nothing.output
    called = set((tmp_path / "called").read_text().split())
    assert called == set(HOOKS)
    assert "a copy of" in output
    assert "Seconds" in output
    assert FAILED not in output


FAILED = "the run went on without it"


def solved(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> str:
    """What a run with the oracle writes; its folder is ``run``."""
    result = pytest_here("--pyargs", *words, "--model=oracle", "--run-dir=run", cwd=folder, env=env)
    assert result.status == 0, result.output
    return result.output


STEPS = PAGE.partition("## Send results elsewhere")[2].partition("\n## ")[0]


@pytest.mark.uses("allure")
@pytest.mark.slow
def test_the_other_examples_of_the_page_work(tmp_path: Path) -> None:
    """Each with a bound that this run reaches."""
    examples = "\n\n".join(blocks(PAGE.partition("## Send results elsewhere")[0], "python"))
    bounds = [("> 60", ">= 0"), ("% 10", "% 1"), ('["usd"] > 20', '["requests"] > 7'), ('("wrong"', '("passed"')]
    for old, new in bounds:
        assert old in examples
        examples = examples.replace(old, new)
    (tmp_path / "conftest.py").write_text(examples)
    cases = ("bench_gta", "bench_wild", "-k", "wild or (gta_atomic_e2e and OCR)", "--limit=8")
    result = pytest_here("--pyargs", *cases, "--model=oracle", "--run-dir=run", cwd=tmp_path)
    assert result.status == 1 and "the run cost more than 20 dollars" in result.output
    assert "the slowest case: " in result.output and "Requests" in result.output
    assert FAILED not in result.output
    found = records(tmp_path / "run")
    ended = [line.split() for line in (tmp_path / "failed.txt").read_text().splitlines()]
    assert sorted(ended) == sorted([record["status"], record["task"], record["sample"]] for record in found)
    lines = (tmp_path / "slow.txt").read_text().splitlines()
    assert len(lines) == sum(record["transcript"]["usage"]["requests"] for record in found)
    assert {line.split()[0] for line in lines} == {"wild", "gta_atomic.e2e"}
    asked = [event for record in found for event in record["transcript"]["events"] if event["name"] == "OCR"]
    assert asked and all("OCR is out of order" in event["error"] for event in asked)
    figure = summary(tmp_path / "run")["tasks"]["wild"]["metrics"]["Requests"]
    assert figure["added"] and figure["low"] is not None


class Webhook(BaseHTTPRequestHandler):
    received: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append(body.decode())
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_the_reporter_works(options: tuple[str, ...], tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Webhook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/hook"
        output = reported(tmp_path, address, *options)
        server.shutdown()
    assert f"sent to {address}" in output
    assert FAILED not in output
    said = re.search(r"gets `(.*?)`", STEPS)
    assert said
    assert Webhook.received[-1] == said[1]
    with (tmp_path / "run" / "cases.csv").open() as stream:
        cases = list(csv.DictReader(stream))
    assert [(case["task"], case["status"]) for case in cases] == [("wild", "passed")] * 8


@pytest.mark.slow
def test_the_reporter_without_an_answer_is_a_note(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Webhook) as server:
        port = server.server_port  # free again, once it is closed
    output = reported(tmp_path, f"http://127.0.0.1:{port}/hook")
    note = next(line for line in STEPS.splitlines() if "has failed once" in line)
    assert note.strip() in output.splitlines()


def reported(folder: Path, address: str, *options: str) -> str:
    (folder / "conftest.py").write_text("\n\n".join(blocks(STEPS, "python")))
    return solved(folder, "bench_wild", "--limit=8", *options, env={"WEBHOOK": address})

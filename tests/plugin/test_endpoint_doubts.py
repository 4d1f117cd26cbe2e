"""What a run says of endpoints that answer with another model, drop the tools, or count no tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.notices import endpoint_doubts, model_title

from tests.model.fault_server import FaultServer, Seen, completion, data
from tests.plugin.project import PYTEST, Result, python, summary

SHOP = '''
from agentgauge import Score, benchmark

def find_orders(customer: str, since: str = "") -> str:
    """DESCRIPTION

    Args:
        customer: the number of the customer whose orders are looked for
        since: the first day on which an order may have been placed
    """
    return "none"

@benchmark("shop", data="shop.jsonl", metrics={"Right": "mean right"})
class Shop:
    tools = [find_orders]

    async def run(self, case):
        return await case.converse("Where is my order?")

    def score(self, sample, talk):
        return Score(True, {"right": 1})
'''


def run(folder: Path, server: FaultServer, *options: str, model: str = "Qwen3-8B") -> Result:
    description = "Look up what has become of the orders of a customer. " * 12
    (folder / "shop.py").write_text(SHOP.replace("DESCRIPTION", description))
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "shop.jsonl").write_text('{"id": "a"}\n{"id": "b"}\n{"id": "c"}\n')
    words = ("shop.py", f"--model={model}", f"--model-url={server.url}", "--run-dir=run", *options)
    result = python(*PYTEST, *words, cwd=folder)
    assert result.status == 0, result.output
    return Result(result.status, " ".join(result.output.split()), folder)


def says(prompt_tokens: int = 300, **changes: Any):
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5}
    return lambda seen: data({**completion("It is on its way."), "usage": usage, "model": "Qwen3-8B", **changes})


def test_another_model_is_named_before_the_figures_and_on_every_row(tmp_path: Path) -> None:
    with FaultServer() as server:
        server.choose = says(model="gemma3-270m")
        result = run(tmp_path, server)
    sentence = "--model Qwen3-8B was answered by gemma3-270m, as the endpoint itself reports, in 3 of 3 replies"
    assert sentence in result.output
    assert result.output.index(sentence) < result.output.index("3 planned")
    folder, title = tmp_path / "run", "gemma3-270m (asked as Qwen3-8B)"
    about = json.loads((folder / "run.json").read_text())
    assert about["reported"] == {"--model": {"gemma3-270m": 3}}
    assert about["settings"]["model"]["name"] == "Qwen3-8B"  # which --resume compares
    found = summary(folder)
    assert found["run"]["answered_by"] == {"models": ["gemma3-270m"], "all": True}
    assert any(sentence in doubt for doubt in found["doubts"])
    board = (folder / "leaderboard.md").read_text()
    assert board.startswith(f"# {title}\n") and f"**{title} (this run)**" in board and sentence in board
    assert title in (folder / "report.html").read_text()
    (tmp_path / "other").mkdir()
    with FaultServer() as server:
        server.choose = says()
        run(tmp_path / "other", server)
    command = ("-c", "from agentgauge.cli.main import main; main()", "--tasks", "shop.py", "compare")
    assert title in python(*command, "run", "other/run", cwd=tmp_path).output


@pytest.mark.parametrize(
    ("run", "title", "asked"),
    [
        ({"model": "Qwen3-8B"}, "gemma3-270m (asked as Qwen3-8B)", "Qwen3-8B"),
        ({"model": "my (odd)"}, "gemma3-270m (asked as my (odd))", "my (odd)"),
        (
            {"model": "agent (Qwen3-8B)", "agent": "digest", "agent_name": "agent", "asked_model": "Qwen3-8B"},
            "agent (gemma3-270m, asked as Qwen3-8B)",
            "Qwen3-8B",
        ),
        (
            {"model": "my agent (beta) (gpt-4)", "agent_name": "my agent (beta)", "asked_model": "gpt-4"},
            "my agent (beta) (gemma3-270m, asked as gpt-4)",
            "gpt-4",
        ),
        ({"model": "agent", "agent": "digest"}, "gemma3-270m (asked as agent)", "agent"),
    ],
)
def test_an_agent_is_not_the_model_that_was_asked_for(run: dict[str, Any], title: str, asked: str) -> None:
    found = {"models": ["gemma3-270m"], "all": True}
    assert model_title({**run, "answered_by": found}) == title
    assert model_title(run) == run["model"]
    part = {"denied": {"gemma3-270m": 1}, "reported": {"gemma3-270m": 1}}
    tasks = {"toy": {"replies": {"--model": {"replies": 1}}}}
    (doubt,) = endpoint_doubts({"run": run, "tasks": tasks, "observed": {"--model": part}})
    assert doubt.startswith(f"--model {asked} was answered by gemma3-270m, ")
    assert "as the endpoint itself reports, in 1 of 1 reply: serve" in doubt


def test_a_name_stays_in_its_cell(tmp_path: Path) -> None:
    with FaultServer() as server:
        server.choose = says(model="gemma3 | 270m")
        run(tmp_path, server)
    assert "**gemma3 \\| 270m (asked as Qwen3-8B)" in (tmp_path / "run" / "leaderboard.md").read_text()


def test_a_model_that_answers_now_and_then_is_named(tmp_path: Path) -> None:
    turns = iter(["Qwen3-8B", "gpt-4o-mini", "Qwen3-8B"])

    def choose(seen: Seen):
        return says(model=next(turns))(seen)

    with FaultServer() as server:
        server.choose = choose
        result = run(tmp_path, server, "--in-flight=1")
    assert (
        "--model Qwen3-8B was answered by gpt-4o-mini, as the endpoint itself reports, in 1 of 3 replies"
        in result.output
    )
    board = (tmp_path / "run" / "leaderboard.md").read_text()
    assert board.startswith("# Qwen3-8B (partly answered by gpt-4o-mini)\n")


@pytest.mark.parametrize("name", ["/models/qwen3-8b-q4_k_m.gguf", "qwen/qwen3-8b:free", "gpt-3.5-turbo", "", None])
def test_another_spelling_is_no_denial(tmp_path: Path, name: str | None) -> None:
    with FaultServer() as server:
        server.choose = says(model=name)
        result = run(tmp_path, server)
    assert "answered by" not in result.output
    assert (tmp_path / "run" / "leaderboard.md").read_text().startswith("# Qwen3-8B\n")
    reported = json.loads((tmp_path / "run" / "run.json").read_text())["reported"]
    assert reported == ({"--model": {name: 3}} if name else {})


def test_models_that_follow_each_other_under_an_alias_are_named(tmp_path: Path) -> None:
    turns = iter(["gemma3-270m", "gemma3-270m", "qwen3-8b"])

    def choose(seen: Seen):
        return says(model=next(turns))(seen)

    with FaultServer() as server:
        server.choose = choose
        result = run(tmp_path, server, "--in-flight=1", model="my-alias")
    words = "the endpoint of --model my-alias reports that different models have answered: gemma3-270m (2 replies) and"
    assert words in result.output
    assert (tmp_path / "run" / "leaderboard.md").read_text().startswith("# my-alias\n")


def test_one_reply_is_a_reply() -> None:
    part = {"reported": {"gemma3-270m": 1, "qwen3-8b": 2}}
    (doubt,) = endpoint_doubts({"run": {"model": "mine"}, "tasks": {}, "observed": {"--model": part}})
    assert "reports that different models have answered: gemma3-270m (1 reply) and qwen3-8b (2 replies); the" in doubt


def test_dropped_tools_are_named_with_figures(tmp_path: Path) -> None:
    with FaultServer() as server:
        server.choose = says(prompt_tokens=12)
        result = run(tmp_path, server)
    assert "the endpoint of --model Qwen3-8B seems to drop the tools: it counted 12 prompt tokens for a request" in (
        result.output
    )
    assert result.output.count("seems to drop the tools") == 1
    assert "seems to drop the tools" in (tmp_path / "run" / "leaderboard.md").read_text()


def test_one_request_whose_count_holds_the_tools_is_enough(tmp_path: Path) -> None:
    """A server that leaves what it has in its cache out of the count."""
    counts = iter([300, 12, 12])

    def choose(seen: Seen):
        return says(prompt_tokens=next(counts))(seen)

    with FaultServer() as server:
        server.choose = choose
        result = run(tmp_path, server, "--in-flight=1")
    assert "drop the tools" not in result.output


def test_tokens_are_estimated_once_and_the_odd_usage_is_named(tmp_path: Path) -> None:
    prices = "prices = { prompt = 1, completion = 2 }\n"
    with FaultServer() as server:
        (tmp_path / "agentgauge.toml").write_text(f'[models.mine]\nmodel = "m"\nurl = "{server.url}"\n{prices}')
        server.choose = says(usage={"tokens_used": 7})
        result = run(tmp_path, server, model="mine")
    assert result.output.count("gave no usable token counts") == 1
    assert 'for 3 of 3 replies (its usage is {"tokens_used": 7}): their tokens' in result.output
    assert "cost: about $" in result.output
    assert "the tokens of 3 of 3 requests are estimated" in result.output
    usage = summary(tmp_path / "run")["usage"]
    assert usage["estimated_requests"] == 3 and usage["prompt_tokens"] > 450 and usage["usd"] > 0

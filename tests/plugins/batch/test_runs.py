"""Runs with --batch, as a user starts them: the same results as without, for half the price, however they end."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.model.embedded.baseline import baseline_reply
from agentgauge.plugins.batch.journal import FILE
from tests.plugin.project import (
    OFTEN,
    PYTEST,
    ROOT,
    Project,
    Result,
    interrupt,
    python,
    records,
    summary,
    without_times,
)
from tests.plugins.batch.stand_in import COMPLETION, PROMPT, StandIn
from tests.plugins.batch.stand_ins import AnthropicStandIn, OpenAIStandIn

pytestmark = pytest.mark.slow

KEY = {"TEST_KEY": "a-key-of-the-stand-in-4711"}
MMAU = str(ROOT / "bench_mmau")


def toy(path: Path, server: StandIn, samples: int = 6) -> Project:
    project = Project.make(path, samples)
    settle(path, server)
    return project


def settle(path: Path, server: StandIn) -> None:
    """The model ``m``, with prices."""
    address = "endpoint" if server.provider == "azure" else "url"
    (path / "agentgauge.toml").write_text(
        f'[models.m]\nprovider = "{server.provider}"\nmodel = "m-1"\n{address} = "{server.url}"\nkey_env = "TEST_KEY"\n'
        "vision = true\n"  # no request asks the model whether it sees pictures
        f"prices = {{prompt = {PROMPT}, completion = {COMPLETION}}}\n"
    )


def figures(run: Path) -> dict[str, Any]:
    """The summary without times and dollars."""

    def free(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: free(inner) for key, inner in value.items() if not key.startswith("usd")}
        return [free(inner) for inner in value] if isinstance(value, list) else value

    return free(without_times(summary(run)))


def answers(run: Path) -> dict[tuple[str, str], Any]:
    return {(one["task"], one["sample"]): one["transcript"]["output"] for one in records(run)}


def usd(run: Path) -> float:
    return sum(one["transcript"]["usage"]["usd"] for one in records(run))


@pytest.fixture(params=[OpenAIStandIn, AnthropicStandIn], ids=lambda kind: kind.provider)
def server(request):
    with request.param() as running:
        yield running


def test_a_run_in_batches_is_equal_to_one_without(server, tmp_path):
    with type(server)() as other:
        done = toy(tmp_path, other).run_process("--model", "m", "--run-dir", "plain", env=KEY)
        assert done.status == 0, done.output
    project = toy(tmp_path, server)
    done = project.run_process("--model", "m", "--batch", "--run-dir", "run", "-n", "2", env=KEY)
    assert done.status == 0, done.output
    assert "batches of up to 5,000 requests" in done.output
    assert figures(tmp_path / "run") == figures(tmp_path / "plain")
    assert answers(tmp_path / "run") == answers(tmp_path / "plain")
    assert usd(tmp_path / "run") == pytest.approx(server.usd)
    assert server.usd == pytest.approx(other.usd / 2)
    assert len(server.jobs) == 2
    assert not any(path.split("?")[0].endswith("/chat/completions") for _, path, _ in server.seen)


def baseline(body: dict[str, Any]) -> str:
    request = ChatRequest(messages=tuple(body["messages"]), tools=tuple(body.get("tools", ())))
    return baseline_reply(request).text or "I do not know"


def run_mmau(*arguments: str, cwd: Path) -> Result:
    return python(*PYTEST, *mmau(cwd), *arguments, cwd=cwd, env=KEY, seconds=300)


def mmau(cwd: Path) -> tuple[str, ...]:
    """All cases of the bundled data, of a project of its own."""
    (cwd / "pytest.ini").write_text("[pytest]\n")
    return ("-c", "pytest.ini", "--rootdir", ".", MMAU, "--data", "mini", "--model", "m")


def test_all_of_mmau_killed_in_the_middle_and_resumed(tmp_path):
    """513 cases, batches that are cut in the middle and lose requests, two kills: the same results for half the
    dollars, and nothing is paid twice."""
    with OpenAIStandIn(baseline) as server:
        settle(tmp_path, server)
        done = run_mmau("--run-dir", "plain", cwd=tmp_path)
        assert done.status == 0, done.output
        price, requests = server.usd, server.answered
    with OpenAIStandIn(baseline) as server:
        settle(tmp_path, server)
        server.fate = lambda batch, number: ("error", "expired", "lost", "")[number % 4] if batch == 1 else ""
        words = (*PYTEST, *mmau(tmp_path), "--batch", "--in-flight", "200")
        killed: list[int] = []

        def kill(job):
            """While the creation of a batch is not answered."""
            if job.number == 2:
                killed.append(job.number)
                process.kill()

        server.on_create = kill
        process = Project(tmp_path).start("--run-dir", "run", *words[len(PYTEST) :], data="mini", env=KEY)
        process.communicate()
        assert killed == [2]
        process = Project(tmp_path).start("--resume", "run", *words[len(PYTEST) :], data="mini", env=KEY)
        server.wait_for(4)
        process.kill()  # batches are away
        process.communicate()
        done = run_mmau("--resume", "run", "--batch", cwd=tmp_path)
        assert done.status == 0, done.output
        assert figures(tmp_path / "run") == figures(tmp_path / "plain")
        assert answers(tmp_path / "run") == answers(tmp_path / "plain")
        assert server.answered == requests
        assert server.usd == pytest.approx(price / 2)
        assert usd(tmp_path / "run") == pytest.approx(price / 2)


def test_a_judge_whose_provider_has_no_batches_is_asked_one_by_one(tmp_path):
    with OpenAIStandIn(lambda body: "#ANSWER# 5") as server, OpenAIStandIn(lambda body: "wrong") as other:
        settle(tmp_path, server)
        with (tmp_path / "agentgauge.toml").open("a") as file:
            file.write(f'[models.judge]\nurl = "{other.url}"\nmodel = "j"\n')
        options = ("--mmau-judge", "judge", "-k", "math_standard", "--limit", "6", "--run-dir", "run")
        done = run_mmau("--batch", *options, cwd=tmp_path)
        assert done.status == 0, done.output
        assert (len(server.jobs), server.answered) == (1, 6)
        assert (len(other.jobs), other.answered) == (0, 6)


def test_a_run_may_be_closed_while_batches_are_away(server, tmp_path):
    server.ends = {0: "never"}
    project = toy(tmp_path, server)
    process = project.start("--model", "m", "--batch", "--run-dir", "run", env=KEY)
    server.wait_for(1, polls=1)
    interrupt(process, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    server.ends = {}
    done = project.run_process("--resume", "run", env=KEY)  # it goes on in batches
    assert done.status == 0, done.output
    assert len(server.jobs) == 1
    assert server.answered == 6


@pytest.mark.uses("budget")
def test_a_budget_stops_between_batches_and_counts_their_prices(tmp_path):
    with OpenAIStandIn() as server:
        project = toy(tmp_path, server)
        words = ("--model", "m", "--batch", "--in-flight", "2")
        done = project.run_process(*words, "--run-dir", "run", "--budget", "0.00001usd", env=KEY)
        assert done.status == 1, done.output
        assert "the budget of 0.00001usd is used up" in done.output
        assert 0 < server.answered < 6
        assert project.run_process("--resume", "run", env=KEY).status == 0
        assert server.answered == 6
        assert all(len(job.items) <= 2 for job in server.jobs.values())  # the first case shows alone what cases cost


@pytest.mark.uses("progress")
def test_progress_says_what_is_where(tmp_path):
    with OpenAIStandIn() as server:
        server.ends = {0: "never"}
        project = toy(tmp_path, server)
        project.add_to_conftest(OFTEN)
        process = project.start("--model", "m", "--batch", "--run-dir", "run", env=KEY)
        assert process.stdout is not None
        late = threading.Timer(60, process.kill)  # ends the lines below where the words never come
        late.start()
        assert any(line.startswith("0/6 · ") and "6 submitted in 1 batch" in line for line in process.stdout)
        late.cancel()
        server.ends = {}
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "6/6 · " in output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "oracle", "--batch"), "no batches are known for --model oracle; they are known for"),
        (("--batch", "--replay", "x"), "--batch and --replay cannot be used together: a replayed run sends no"),
        (("--batch", "--rescore", "x"), "--batch and --rescore cannot be used together: a rescored run sends no"),
        (
            ("--model", "r", "--batch"),
            'the batches of --model r hold chat completions; take api = "responses"',
        ),
    ],
)
def test_what_batches_cannot_do_is_refused_in_one_sentence(tmp_path, options, said):
    project = Project.make(tmp_path)
    table = '[models.r]\nprovider = "openai"\nmodel = "m"\nkey_env = "TEST_KEY"\napi = "responses"\n'
    (tmp_path / "agentgauge.toml").write_text(table)
    done = project.run_process(*options, env=KEY)
    assert done.status == 4
    assert said in " ".join(done.output.split())


def test_the_journal_holds_digests_and_no_text(tmp_path):
    with OpenAIStandIn() as server:
        assert toy(tmp_path, server).run_process("--model", "m", "--batch", "--run-dir", "run", env=KEY).status == 0
    journal = (tmp_path / "run" / FILE).read_text()
    assert "word1" not in journal
    planned = json.loads(journal.split("\n")[1])
    assert len(planned["requests"]) == 6

"""``agentgauge generate wild`` as its user runs it: a real endpoint on loopback, kills, budgets, cassettes, refused
options; and each sequence of task types, over bundled and published tool lists.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.types import Usage
from bench_wild.generate.command import COVERAGE, main
from bench_wild.generate.folder import FAILURES, alone
from bench_wild.generate.texts import all_sequences, name_of, tool_lists
from bench_wild.generate.transcript import (
    DIALOGUES,
    LANGUAGES,
    TYPES,
    is_switch,
    kept_messages,
    read_dialogues,
    speaker,
)
from tests.plugin.project import Project, prepared
from tests.wild.generate.player import ClumsyModel, PlayerModel, PlayerServer

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
URL = "http://127.0.0.1:9/v1"


def command(out: Path, url: str, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "agentgauge.cli.main",
        "generate",
        "wild",
        "--out",
        str(out),
        "--model",
        "p",
        "--model-url",
        url,
        *more,
    ]


def run(out: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    words, environment = command(out, url, *more)[1:], Project(out.parent).environment()
    return subprocess.run(
        [*prepared(), *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def covered(out: Path) -> list[str]:
    return [name_of(dialogue.sequence) for dialogue in read_dialogues(out / DIALOGUES)]


def files(out: Path) -> dict[str, bytes]:
    """Content of everything that a run writes, without the time in names."""
    found = [path for path in out.rglob("*") if path.is_file() and path.name != "settings.json"]
    return {
        re.sub(r"[\d-]+_[\d:]+(?=_train)", "TIME", path.relative_to(out).as_posix()): path.read_bytes()
        for path in found
    }


# -- over HTTP


def test_the_command_covers_all_pairs_over_http_and_sends_messages_and_model_only(tmp_path: Path) -> None:
    with PlayerServer() as server:
        done = run(
            tmp_path / "out", server.url, "--layer-num-total", "2", "--user-model", "u", "v", "--agent-model", "a"
        )
        assert (done.returncode, "16 of 16 sequences are covered" in done.stdout) == (0, True), done.stderr
        assert len(covered(tmp_path / "out")) == 16
        assert {tuple(sorted(body)) for body in server.bodies} == {("messages", "model")}
        assert {body["model"] for body in server.bodies} == {"u", "v", "a", "p"}
        sent = len(server.bodies)
        again = run(
            tmp_path / "out", server.url, "--layer-num-total", "2", "--user-model", "u", "v", "--agent-model", "a"
        )
        assert (again.returncode, len(server.bodies)) == (0, sent), again.stderr


def test_a_temperature_is_sent_where_it_is_given(tmp_path: Path) -> None:
    with PlayerServer(clumsy=False) as server:
        assert run(tmp_path / "out", server.url, "--sequences", "CC", "--temperature", "0.5").returncode == 0
        assert {body["temperature"] for body in server.bodies} == {0.5}


def test_a_killed_run_loses_no_finished_dialogue_and_the_same_command_ends_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with PlayerServer(delay=0.02) as server:
        killed = subprocess.Popen(
            command(out, server.url, "--layer-num-total", "2", "--in-flight", "2"), cwd=ROOT, stderr=subprocess.DEVNULL
        )
        wait_for(lambda: (out / DIALOGUES).exists() and (out / DIALOGUES).read_bytes().count(b"\n") >= 3)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(10)
        before = (out / DIALOGUES).read_bytes()
        finished = covered(out)
        assert 3 <= len(finished) < 16
        with (out / DIALOGUES).open("ab") as stream:
            stream.write(b'{"sequence": ["ST"')  # as a kill in the middle of a write leaves it
        done = run(out, server.url, "--layer-num-total", "2")
    assert done.returncode == 0, done.stderr
    assert f"{16 - len(finished)} of {16 - len(finished)} dialogues · " in done.stderr
    after = (out / DIALOGUES).read_bytes()
    assert all(line in after.splitlines() for line in before.splitlines())
    assert len(covered(out)) == len(set(covered(out))) == 16
    assert len(list(out.glob("*_train.jsonl"))) == 1, "the files keep the time of the first start"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_writes_what_is_finished_and_tells_the_coverage(number: signal.Signals, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with PlayerServer(delay=0.02) as server:
        running = subprocess.Popen(
            command(out, server.url, "--layer-num-total", "3", "--in-flight", "2"),
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        wait_for(lambda: (out / DIALOGUES).exists() and (out / DIALOGUES).stat().st_size > 0)
        os.kill(running.pid, number)
        told, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "missing: interrupted" in told and "stopped early: interrupted; the same command continues" in told
    count = len(covered(out))
    assert count and f"{count} of 64 sequences are covered" in told
    (clean,) = out.glob("*_train.jsonl")
    assert clean.read_bytes().count(b"\n") == count


def test_a_table_of_the_configuration_gives_address_temperature_and_prices(tmp_path: Path) -> None:
    with PlayerServer(clumsy=False) as server:
        (tmp_path / "agentgauge.toml").write_text(
            f'[models.mine]\nurl = "{server.url}"\nmodel = "big"\ntemperature = 0.7\nprices = {{prompt = 1000.0,'
            " completion = 2000.0}\n"
        )
        argv = [
            sys.executable,
            "-m",
            "agentgauge.cli.main",
            "generate",
            "wild",
            "--out",
            "out",
            "--model",
            "mine",
            "--sequences",
            "CC,ST,MT",
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [*argv, "--budget", "0.1usd", "--in-flight", "1"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 1, done.stderr
    assert {(body["model"], body["temperature"]) for body in server.bodies} == {("big", 0.7)}
    assert len(server.bodies) == 5 and "5 requests, 75 tokens, 0.10 USD" in done.stdout
    assert "the budget of 0.1usd is used up" in done.stdout


def test_an_endpoint_that_refuses_fails_the_dialogues_with_its_cause(tmp_path: Path) -> None:
    with PlayerServer(broken=("bad",)) as server:
        done = run(tmp_path / "out", server.url, "--sequences", "ST,CC", "--planner-model", "bad", "--attempts", "2")
    assert done.returncode == 1
    assert "0 of 2 sequences are covered, 2 failed" in done.stdout
    assert "HTTP 400: no such model" in done.stdout
    failures = [json.loads(line) for line in (tmp_path / "out" / FAILURES).read_text().splitlines()]
    assert sorted((one["sequence"], one["attempt"], one["cause"]) for one in failures) == [
        (name, attempt, "http 400") for name in ("CC", "ST") for attempt in (1, 2)
    ]


def wait_for(ready: Any) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end, "nothing was written within 60 s"
        time.sleep(0.02)


# -- in this process


def generate(out: Path, *more: str, model: Any = ClumsyModel) -> int:
    argv = ["wild", "--out", str(out), "--model", "p", "--model-url", URL, "--layer-num-total", "2", *more]
    return main(argv, model)


def test_the_same_seed_gives_the_same_bytes_whatever_is_in_flight_and_another_seed_others(tmp_path: Path) -> None:
    assert [
        generate(tmp_path / "a", "--in-flight", "1"),
        generate(tmp_path / "b"),
        generate(tmp_path / "c", "--seed", "1"),
    ] == [0, 0, 0]
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a")[DIALOGUES] != files(tmp_path / "c")[DIALOGUES]


@pytest.mark.uses("recording")
def test_a_replay_asks_nobody_and_gives_the_recorded_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tape = tmp_path / "tape.jsonl"
    assert generate(tmp_path / "a", "--record", str(tape), "--sequences", "ST-MT,CQ-CC,MT-MT") == 0
    assert (
        generate(
            tmp_path / "b", "--replay", str(tape), "--sequences", "ST-MT,CQ-CC,MT-MT", "--in-flight", "1", model=None
        )
        == 0
    )
    assert files(tmp_path / "a") == files(tmp_path / "b")
    capsys.readouterr()
    assert generate(tmp_path / "c", "--replay", str(tape), "--sequences", "ST-MT,CC-CC", model=None) == 1
    told = capsys.readouterr().out
    assert "ST-MT  done" in told and "CC-CC  failed 1 time: the cassette" in told and "lacks a reply" in told
    with pytest.raises(UsageProblem, match="was recorded with another --seed"):
        generate(tmp_path / "d", "--replay", str(tape), "--seed", "5")
    assert not (tmp_path / "d").exists()


def test_a_budget_stops_between_requests_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert generate(out, "--budget", "1000tok", "--in-flight", "2") == 1
    told = capsys.readouterr().out
    first = covered(out)
    assert 0 < len(first) < 16
    assert "missing: the budget of 1000tok is used up" in told and f"{len(first)} of 16 sequences are covered" in told
    assert "67 requests, 1005 tokens" in told
    assert not (out / FAILURES).exists(), "a dialogue that was stopped has not failed"
    assert generate(out) == 0
    assert len(covered(out)) == 16


class SometimesSilent(PlayerModel):
    """Its first tries of each dialogue fail."""

    async def complete(self, request: Any) -> Any:
        reply = await super().complete(request)
        if request.case.attempt < 3 and request.case.turn == 0:
            return type(reply)("I would rather not.")
        return reply


def test_failures_are_in_the_order_of_sequences_and_attempts(tmp_path: Path) -> None:
    class Unsteady(SometimesSilent):
        async def complete(self, request: Any) -> Any:
            await asyncio.sleep(0.002 * len(request.case.sample) if request.case.sample.startswith("ST") else 0)
            return await super().complete(request)

    assert generate(tmp_path / "a", "--in-flight", "1", model=Unsteady) == 0
    assert generate(tmp_path / "b", model=Unsteady) == 0
    assert files(tmp_path / "a") == files(tmp_path / "b")
    failures = [json.loads(line) for line in (tmp_path / "b" / FAILURES).read_text().splitlines()]
    assert [(one["sequence"], one["attempt"]) for one in failures[:3]] == [("ST-ST", 1), ("ST-ST", 2), ("ST-MT", 1)]


def test_failed_sequences_are_attempted_again_until_covered_or_the_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generate(tmp_path / "a", "--sequences", "ST-CC", "--attempts", "3", model=SometimesSilent) == 0
    assert "ST-CC  done, failed 2 times before" in capsys.readouterr().out
    assert generate(tmp_path / "b", "--sequences", "ST-CC", "--attempts", "1", model=SometimesSilent) == 1
    told = capsys.readouterr().out
    assert "ST-CC  failed 1 time: user_single_tool wrote no JSON object of tasks: 'I would rather not.'" in told
    assert "the same command attempts again what failed" in told
    assert generate(tmp_path / "b", "--sequences", "ST-CC", "--attempts", "2", model=SometimesSilent) == 0, (
        "attempts go on behind those of the first run"
    )
    assert files(tmp_path / "a")[DIALOGUES] == files(tmp_path / "b")[DIALOGUES]


def test_a_full_disk_is_told_in_a_sentence_and_nothing_finished_is_lost(tmp_path: Path) -> None:
    assert generate(tmp_path / "out", "--sequences", "CC-CC") == 0
    size, limits = (tmp_path / "out" / DIALOGUES).stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
    try:
        with pytest.raises(UsageProblem, match=r"cannot be written \(File too large\); raise the limit of file sizes"):
            generate(tmp_path / "out", "--sequences", "CC-CC,CC-ST")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "out" / DIALOGUES).read_bytes().endswith(b"\n"), "half a line would damage the next"
    assert generate(tmp_path / "out", "--sequences", "CC-CC,CC-ST") == 0
    assert covered(tmp_path / "out") == ["CC-ST", "CC-CC"]


def test_so_is_one_that_fails_when_the_coverage_is_written(tmp_path: Path) -> None:
    assert generate(tmp_path / "out", "--sequences", "CC-CC") == 0
    (tmp_path / "out" / COVERAGE).unlink()
    (tmp_path / "out" / COVERAGE).mkdir()
    with pytest.raises(UsageProblem, match=r"out cannot be written \(Is a directory\); check the folder"):
        generate(tmp_path / "out", "--sequences", "CC-CC")
    assert covered(tmp_path / "out") == ["CC-CC"]


def test_what_a_model_calls_its_tools_stays_in_its_line_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Rude(PlayerModel):
        async def complete(self, request: Any) -> Any:
            reply = await super().complete(request)
            return replace(reply, text=re.sub('"name": "[^"]*"', lambda _: r'"name": "x\n\u001b[2Jy"', reply.text))

    assert generate(tmp_path / "out", "--sequences", "CC-CC", "--attempts", "1", model=Rude) == 1
    told = capsys.readouterr()
    assert "there is no tool x  [2Jy" in told.out
    assert "\x1b" not in told.out + told.err + (tmp_path / "out" / "coverage.txt").read_text(encoding="utf-8")


def test_long_tables_put_what_is_alike_together_and_failures_are_told_a_few_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Dead(PlayerModel):
        async def complete(self, request: Any) -> Any:
            if request.case.sample.startswith("ST"):
                raise ModelFault("model p: the endpoint answered HTTP 401: no", cause="http 401")
            return await super().complete(request)

    assert generate(tmp_path / "out", "--layer-num-total", "3", model=Dead) == 1
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert (
        lines[0]
        == "  ST-ST-ST, ST-ST-MT, ST-ST-CQ, ST-ST-CC and 12 more  failed 3 times: model p: the endpoint answered HTTP"
        " 401: no"
    )
    assert lines[1] == "48 of 64 sequences are covered, 16 failed"
    assert (
        told.err.count("HTTP 401") == 5
        and "only failures.jsonl lists further failures of this kind (http 401)" in told.err
    )
    assert len((tmp_path / "out" / "coverage.txt").read_text().splitlines()) == 65
    assert len((tmp_path / "out" / FAILURES).read_text().splitlines()) == 48


def test_progress_is_shown_while_no_dialogue_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(PlayerModel):
        async def complete(self, request: Any) -> Any:
            await asyncio.sleep(0.3)
            return await super().complete(request)

    monkeypatch.setattr("bench_wild.generate.runner.PLAIN_SECONDS", 0.05)
    assert generate(tmp_path / "out", "--sequences", "ST-ST,CC-CC", model=Slow) == 0
    lines = capsys.readouterr().err.splitlines()
    assert "0 of 2 dialogues · 2 requests running · 0 tokens" in lines
    (end,) = [line for line in lines if line.startswith("2 of 2 dialogues")]
    assert end == lines[-1] and "running" not in end and "written" not in "".join(lines)


def test_a_progress_that_cannot_be_shown_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(text: str) -> None:
        raise ValueError("I/O operation on closed file")

    class Endless(PlayerModel):
        async def complete(self, request: Any) -> Any:
            await asyncio.Event().wait()

    monkeypatch.setattr("bench_wild.generate.runner.PLAIN_SECONDS", 0.05)
    monkeypatch.setattr("bench_wild.generate.command._tell", closed)
    with pytest.raises(ValueError, match="closed file"):
        generate(tmp_path / "out", "--sequences", "ST-ST", model=Endless)


@pytest.mark.parametrize("reason", ["stop", "content_filter"])
def test_a_refusal_fails_the_attempt_and_is_kept(reason: str, tmp_path: Path) -> None:
    class Refusing(PlayerModel):
        async def complete(self, request: Any) -> Any:
            return ChatReply(refusal="I cannot help with that.", finish_reason=reason, usage=Usage(1, 10, 5))

    assert generate(tmp_path / "out", "--sequences", "ST-ST", "--attempts", "1", model=Refusing) == 1
    failed = json.loads((tmp_path / "out" / FAILURES).read_text())
    assert (failed["cause"], failed["message"]) == ("refusal", "p refused: I cannot help with that.")
    assert [one["reply"] for one in failed["replies"]] == ["I cannot help with that."]


def test_the_replies_of_a_failed_attempt_are_kept_whole(tmp_path: Path) -> None:
    class Empty(PlayerModel):
        async def complete(self, request: Any) -> Any:
            reply = await super().complete(request)
            return replace(reply, text="no tasks: " + "x" * 500) if request.case.turn == 0 else reply

    assert generate(tmp_path / "out", "--sequences", "ST-ST", "--attempts", "1", model=Empty) == 1
    (line,) = (tmp_path / "out" / FAILURES).read_text().splitlines()
    failed = json.loads(line)
    assert failed["message"].endswith("x'") and len(failed["message"]) < 200
    assert [one["reply"] for one in failed["replies"]] == ["no tasks: " + "x" * 500]
    assert {*failed["replies"][0]} == {"part", "model", "reply"}
    assert generate(tmp_path / "out", "--sequences", "ST-ST", "--attempts", "1", model=PlayerModel) == 0


def attempt(out: Path, *more: str) -> int:
    return main(
        [
            "wild",
            "--out",
            str(out),
            "--model",
            "p",
            "--model-url",
            "http://127.0.0.1:9/v1",
            "--layer-num-total",
            "2",
            *more,
        ],
        PlayerModel,
    )


def test_a_folder_that_was_begun_refuses_other_settings_by_name(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert attempt(out, "--sequences", "CC-CC") == 0
    for more, name in (
        (["--seed", "1"], "--seed"),
        (["--language", "zh"], "--language"),
        (["--layer-num-total", "3"], "--layer-num-total"),
        (["--checker-model", "c"], "--checker-model"),
        (["--temperature", "0"], "--temperature"),
        (["--user-model", "a", "b"], "--user-model"),
    ):
        with pytest.raises(UsageProblem, match=f"was begun with another {name};"):
            attempt(out, *more)
    assert attempt(out, "--sequences", "CC-CC,CC-ST", "--attempts", "9", "--in-flight", "1") == 0, (
        "what shapes no dialogue may change"
    )


def test_a_folder_that_was_begun_refuses_other_settings_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = Path("agentgauge.toml")
    words = ["wild", "--out", "out", "--model", "p", "--layer-num-total", "2", "--sequences", "CC-CC"]
    table.write_text('[models.p]\nurl = "http://127.0.0.1:9/v1"\nmodel = "p"\n')
    assert main(words, PlayerModel) == 0
    table.write_text('[models.p]\nurl = "http://127.0.0.1:9/v1"\nmodel = "q"\n')
    with pytest.raises(UsageProblem, match=r"was begun with another \[models\.p\] table;"):
        main(words, PlayerModel)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--sequences", "ST-XX"], "'ST-XX' is not a sequence of task types"),
        (["--sequences", "ST"], "ST has 1 task, and --layer-num-total is 2"),
        (["--layer-num-total", "0"], "--layer-num-total is 0"),
        (["--layer-num-total", "9"], "1 to 8"),
        (["--attempts", "0"], "--attempts is 0; it must be 1 or more"),
        (["--in-flight", "0"], "--in-flight is 0"),
        (["--temperature", "-1"], "--temperature is -1"),
        (["--budget", "much"], "--budget 'much' cannot be read"),
        (["--budget", "5usd"], "--budget 5usd needs the prices of p"),
        (["--tools", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["--prompts", "nowhere"], "there is no folder nowhere"),
        (["--record", "a", "--replay", "b"], "do not go together"),
        pytest.param(["--replay", "nowhere"], "nowhere cannot be read", marks=pytest.mark.uses("recording")),
        (["--model", "oracle", "--user-model", "u"], "built in and has no address"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence_before_anything_is_written(
    more: list[str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageProblem) as problem:
        attempt(tmp_path / "out", *more)
    assert words in str(problem.value)
    assert not (tmp_path / "out").exists()


def test_without_the_plugin_of_cassettes_its_options_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_wild.generate.command.features", tuple)
    with pytest.raises(UsageProblem, match="--record and --replay need agentgauge/plugins/recording"):
        attempt(tmp_path / "out", "--record", "tape.jsonl")


def test_a_built_in_model_and_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot write dialogues"):
        main(["wild", "--out", str(tmp_path / "out"), "--model", "baseline"])
    with pytest.raises(UsageProblem, match="no model is named"):
        main(["wild", "--out", str(tmp_path / "out")])


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    assert attempt(tmp_path / "out", "--sequences", "CC-CC") == 0
    with alone(tmp_path / "out"), pytest.raises(UsageProblem, match="another run writes to"):
        attempt(tmp_path / "out", "--sequences", "CC-CC")
    assert attempt(tmp_path / "out", "--sequences", "CC-CC") == 0


def test_a_folder_of_something_else_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageProblem, match="holds other files"):
        attempt(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "wild_tools"


@pytest.mark.parametrize(
    ("language", "length", "lists"),
    [
        ("en", 2, "published"),
        ("en", 3, "bundled"),
        pytest.param("en", 4, "bundled", marks=pytest.mark.long),
        ("zh", 2, "bundled"),
        ("zh", 3, "published"),
        *(pytest.param(language, 4, "published", marks=pytest.mark.long) for language in LANGUAGES),
    ],
)
def test_every_sequence_is_covered_by_one_dialogue_each(
    language: str, length: int, lists: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [
        "wild",
        "--out",
        str(tmp_path / "out"),
        "--model",
        "p",
        "--model-url",
        "http://127.0.0.1:9/v1",
        "--language",
        language,
    ]
    argv += ["--layer-num-total", str(length)]
    file = PUBLISHED / f"tools_{language}.jsonl" if lists == "published" else None
    if file and not file.is_file():
        file = None  # the bundled ones again
    assert main([*argv, "--tools", str(file)] if file else argv, ClumsyModel) == 0
    assert f"{4**length} of {4**length} sequences are covered" in capsys.readouterr().out
    known = tool_lists(file, language)  # type: ignore[arg-type]
    dialogues = list(read_dialogues(tmp_path / "out" / DIALOGUES))
    assert [dialogue.sequence for dialogue in dialogues] == all_sequences(length)
    for dialogue in dialogues:
        assert dialogue.language == language
        assert [turn.type for turn in dialogue.turns] == list(dialogue.sequence)
        assert dialogue.tools[:-2] in known
        edges = [0, *(turn.end for turn in dialogue.turns)]
        assert [turn.start for turn in dialogue.turns] == edges[:-1] and edges[-1] == len(dialogue.messages)
        kept, ranges = kept_messages(dialogue)
        assert all(speaker(message["content"]) in ("user", "planner", "tool", "agent") for message in kept)
        for turn, (start, end) in zip(dialogue.turns, ranges, strict=True):
            said = [speaker(message["content"]) for message in kept[start:end]]
            assert said[0] == "user" and said[-1] == "agent" and said[1] == "planner"
            assert ("tool" in said) == (turn.type != "CC")
    refused = [
        message for dialogue in dialogues for message in dialogue.messages if '"correct": "no"' in message["content"]
    ]
    assert refused, "a clumsy player is refused at times"
    assert {kind for dialogue in dialogues for kind in dialogue.sequence} == set(TYPES)


def test_the_three_files_hold_what_the_original_writes(tmp_path: Path) -> None:
    argv = [
        "wild",
        "--out",
        str(tmp_path / "out"),
        "--model",
        "p",
        "--model-url",
        "http://127.0.0.1:9/v1",
        "--sequences",
        "ST-MT-CQ-CC",
    ]
    assert main(argv, ClumsyModel) == 0
    (dialogue,) = read_dialogues(tmp_path / "out" / DIALOGUES)
    files = {path.name[len("2026-01-01_00:00:00") :]: path for path in (tmp_path / "out").glob("*_train*.jsonl")}
    assert sorted(files) == ["_train.jsonl", "_train_fetch_data.jsonl", "_train_origin.jsonl"]
    (origin,) = map(json.loads, files["_train_origin.jsonl"].read_text("utf-8").splitlines())
    assert origin == {"tools": dialogue.tools, "env_info": dialogue.env_info, "messages": dialogue.messages}
    (clean,) = map(json.loads, files["_train.jsonl"].read_text("utf-8").splitlines())
    assert clean["messages"] == kept_messages(dialogue)[0]
    requests = [json.loads(line) for line in files["_train_fetch_data.jsonl"].read_text("utf-8").splitlines()]
    assert {request["task"] for request in requests} >= {
        "user_single_tool",
        "user_continue_question",
        "planner",
        "tool",
        "agent_answer",
    }
    for request in requests:
        assert list(request) == ["task", "tools", "env_info", "messages", "answer"]
        if len(request["messages"]) > 1:
            assert is_switch(request["messages"][-1]["content"])
            assert request["messages"][1:-1] == dialogue.messages[: len(request["messages"]) - 2]
    answers = [request["answer"] for request in requests if request["task"] in ("planner", "tool")]
    assert answers == [
        message["content"] for message in clean["messages"] if speaker(message["content"]) in ("planner", "tool")
    ]

"""What ``agentgauge generate wild`` refuses before it writes anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from bench_wild.generate.command import main
from bench_wild.generate.folder import alone
from tests.wild.generate.player import PlayerModel


def generate(out: Path, *more: str) -> int:
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
    assert generate(out, "--sequences", "CC-CC") == 0
    for more, name in (
        (["--seed", "1"], "--seed"),
        (["--language", "zh"], "--language"),
        (["--layer-num-total", "3"], "--layer-num-total"),
        (["--checker-model", "c"], "--checker-model"),
        (["--temperature", "0"], "--temperature"),
        (["--user-model", "a", "b"], "--user-model"),
    ):
        with pytest.raises(UsageProblem, match=f"was begun with another {name};"):
            generate(out, *more)
    assert generate(out, "--sequences", "CC-CC,CC-ST", "--attempts", "9", "--in-flight", "1") == 0, (
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
        (["--replay", "nowhere"], "nowhere cannot be read"),
        (["--model", "oracle", "--user-model", "u"], "built in and served by the run itself"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence_before_anything_is_written(
    more: list[str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageProblem) as problem:
        generate(tmp_path / "out", *more)
    assert words in str(problem.value)
    assert not (tmp_path / "out").exists()


def test_a_built_in_model_and_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot write dialogues"):
        main(["wild", "--out", str(tmp_path / "out"), "--model", "baseline"])
    with pytest.raises(UsageProblem, match="no model is named"):
        main(["wild", "--out", str(tmp_path / "out")])


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    assert generate(tmp_path / "out", "--sequences", "CC-CC") == 0
    with alone(tmp_path / "out"), pytest.raises(UsageProblem, match="another run writes to"):
        generate(tmp_path / "out", "--sequences", "CC-CC")
    assert generate(tmp_path / "out", "--sequences", "CC-CC") == 0


def test_a_folder_of_something_else_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageProblem, match="holds other files"):
        generate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]

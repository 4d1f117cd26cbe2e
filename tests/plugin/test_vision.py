"""A model that sees no pictures does not get the cases that show it some; what sees is declared, or the model is asked.

The data has three turns of one question each; the last output of one of them is a picture.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from agentgauge_reports.comparison import compare

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.model.vision_probe import NUMBER
from agentgauge.run.preflight import FILE, blind_roles
from tests.mmau import records as made
from tests.model.fault_server import FaultServer, Seen, answer, status
from tests.plugin.project import Result, records, run_mmau, summary

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOWN = {
    **made.LAST,
    "outputs": [{"output_type": "display_data", "data": {"image/png": PIXEL}, "metadata": {}}],
}
ORACLE = ("-m", "mmau_ds_oracle")


class Model:
    """Answers every question with B; ``probe`` is what it does with the picture of the number."""

    def __init__(self, probe: str | int) -> None:
        self.probe = probe
        self.server = FaultServer(choose=lambda seen: self._act)

    def _act(self, connection: socket.socket, seen: Seen, stopped: threading.Event) -> bool:
        text = json.dumps(seen.body)
        if "number of three digits" not in text:
            act = answer('["B"]')
        elif isinstance(self.probe, str):
            act = answer(self.probe)
        else:
            act = status(self.probe) if "image_url" in text else answer("What picture?")
        return act(connection, seen, stopped)

    @property
    def asked(self) -> list[str]:
        """The last message of each request to it."""
        return [json.dumps(seen.body["messages"][-1]) for seen in self.server.requests]

    def count(self, part: str) -> int:
        return sum(part in text for text in self.asked)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    turns = [made.turn(1), made.turn(2), made.turn(3, image_expected=True, last_cell=SHOWN)]
    made.write(tmp_path / "data", code_kaggle=turns)
    return tmp_path


def run(folder: Path, model: Model, *options: str, name: str = "gpt-4-lookalike", status: int = 0) -> Result:
    address = ("--model", name, "--model-url", model.server.url) if name else ()
    return run_mmau(*address, "--data", "data", *options, cwd=folder, status=status)


@pytest.fixture
def blind() -> Iterator[Model]:
    model = Model("I see no picture.")
    with model.server:
        yield model


@pytest.fixture
def seeing() -> Iterator[Model]:
    model = Model(f"It is {NUMBER}.")
    with model.server:
        yield model


def figures(folder: Path, task: str = "mmau.ds_oracle") -> dict[str, float | None]:
    return {name: one["value"] for name, one in summary(folder)["tasks"][task]["metrics"].items()}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_blind_model_gets_no_pictures_and_no_figure_that_needs_them(data, blind, workers):
    """Whatever its name says."""
    result = run(data, blind, *ORACLE, "--run-dir", "run", *workers)
    text = " ".join(result.output.split())
    assert "1 case shows pictures to gpt-4-lookalike, which sees none (it replied" in text
    assert "set vision in its [models.NAME] table" in text
    assert "1 case is not applicable" in text
    assert [record["sample"] for record in records(data / "run")] == ["k1", "k2"]
    part = summary(data / "run")["tasks"]["mmau.ds_oracle"]
    assert (part["planned"], part["not_applicable"]["cases"]) == (2, 1)
    assert figures(data / "run") == {
        "Accuracy": None,
        "Text": 100,
        "Image": None,
        "Per Response": None,
        "Executed": None,
    }
    understanding = summary(data / "run")["capabilities"]["Apple MMAU"]["capabilities"]["understanding"]
    assert (understanding["value"], understanding["not_applicable"]) == (None, ["ds_oracle"])
    note = "gpt-4-lookalike sees no pictures; figures that need them are –"
    assert f"mmau.ds_oracle: 1 case is not applicable: {note}" in text
    assert note in (data / "run" / "leaderboard.md").read_text()
    assert blind.count("number of three digits") == 1, "one probe, whatever the number of processes"
    assert len(blind.asked) == 3


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_model_that_sees_gets_them_with_the_questions(data, seeing, workers):
    """A name that the published code takes for a blind one."""
    result = run(data, seeing, *ORACLE, "--run-dir", "run", *workers, name="qwen3-vl")
    assert "not applicable" not in result.output
    assert figures(data / "run") == dict.fromkeys(("Accuracy", "Text", "Image", "Per Response", "Executed"), 100)
    (asked,) = [text for text in seeing.asked if PIXEL in text]
    assert "How many lines?" in asked
    assert len(seeing.asked) == 4


def test_an_endpoint_that_refuses_pictures_is_blind(data):
    model = Model(400)
    with model.server:
        result = run(data, model, *ORACLE, "--run-dir", "run")
    assert "which sees none (it takes no pictures" in " ".join(result.output.split())
    assert summary(data / "run")["tasks"]["mmau.ds_oracle"]["planned"] == 2


def test_where_it_cannot_be_found_out_the_cases_are_asked(data):
    model = Model("")
    with model.server:
        result = run(data, model, *ORACLE, "--run-dir", "run")
    assert "whether it sees them is not known (it replied nothing" in " ".join(result.output.split())
    assert figures(data / "run")["Image"] == 100


@pytest.mark.parametrize(("vision", "planned"), [("true", 3), ("false", 2)])
def test_a_declared_ability_is_not_asked_for(data, blind, vision, planned):
    table = f'[models.mine]\nprovider = "vllm"\nmodel = "m"\nurl = "{blind.server.url}"\nvision = {vision}\n'
    (data / "agentgauge.toml").write_text(table)
    result = run_mmau(
        "--rootdir", str(data), "--model", "mine", "--data", "data", *ORACLE, "--run-dir", "run", cwd=data
    )
    assert summary(data / "run")["tasks"]["mmau.ds_oracle"]["planned"] == planned
    assert ("which sees none (its provider, or vision in its" in " ".join(result.output.split())) == (planned == 2)
    assert len(blind.asked) == planned


@pytest.mark.parametrize("selection", [("-m", "mmau_ds_oracle", "-k", "text"), ("-m", "mmau_math_standard")])
def test_without_pictures_nothing_is_asked_for(data, blind, selection):
    run(data, blind, *selection, "--run-dir", "run")
    assert blind.count("number of three digits") == 0
    assert not (data / "run" / "vision.json").exists()


def test_pictures_alone_leave_nothing_to_run(data, blind):
    result = run(data, blind, *ORACLE, "-k", "image", "--run-dir", "run", status=5)
    assert "which sees none (it replied" in " ".join(result.output.split())
    assert not (data / "run").exists()


@pytest.mark.uses("recording")
def test_the_decision_stays_when_a_run_goes_on(data, blind):
    """Resumed, scored again, replayed: the same plan, and no further probe."""
    run(data, blind, *ORACLE, "--run-dir", "run", "--record", "tape.jsonl")
    expected = summary(data / "run")
    blind.probe = f"It is {NUMBER}."  # another model would see
    for options in (
        ("--rescore", "run", "--run-dir", "rescored"),
        ("--replay", "tape.jsonl", "--run-dir", "replayed"),
        ("--resume", "run"),
    ):
        result = run(data, blind, *ORACLE, *options, name="")
        assert "1 case is not applicable" in " ".join(result.output.split())
    assert blind.count("number of three digits") == 1
    for folder in ("run", "rescored", "replayed"):
        assert summary(data / folder)["tasks"] == expected["tasks"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            b'{"models": {"": {"name": "m", "sees": true, "why": ""}}, "pictures": {}}',
            "vision.json has no entry for the model of --judge-model; start a new run",
        ),
        (
            b'{"models": {}, "pictures": {}}',
            "vision.json has no entry for the model of --model and --judge-model; start a new run",
        ),
        (b'{"models": {"": {"name": "m", "why": ""}}, "pictures": {}}', 'it has no models."".sees; restore what'),
        (b'{"models', "vision.json cannot be read: it is not JSON"),
    ],
)
def test_a_decision_that_is_not_there_is_not_made_up(tmp_path, content, problem):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(UsageProblem) as refused:
        blind_roles(SimpleNamespace(run_dir=tmp_path), {"": {"t": 1}, "--judge-model": {"t": 1}})
    assert problem in str(refused.value)


@pytest.mark.uses("gates")
def test_runs_with_and_without_pictures_are_not_compared_on_figures_that_need_them(data, blind, seeing):
    run(data, seeing, *ORACLE, "--run-dir", "sees", name="other")
    gate = "--gate=mmau.ds_oracle.Accuracy no significant regression against sees"
    why = "mmau.ds_oracle: 1 case is not applicable in one run: gpt-4-lookalike sees no pictures"
    result = run(data, blind, *ORACLE, "--run-dir", "blind", gate, status=1)
    assert f"the runs cannot be compared: {why}" in " ".join(result.output.split())
    (found,) = compare([data / "sees", data / "blind"], data, Registry.installed())["comparisons"]
    assert why in found["warnings"]
    shown = {name: (figure["a"], figure["b"]) for name, figure in found["tasks"]["mmau.ds_oracle"]["figures"].items()}
    assert (shown["Accuracy"], shown["Text"]) == ((None, None), (100, 100))


def test_the_model_that_is_shown_the_pictures_decides(data, blind, seeing):
    """In ds_codegen that is the one of --mmau-qa."""
    tables = "".join(
        f'[models.{name}]\nprovider = "vllm"\nmodel = "m"\nurl = "{model.server.url}"\n'
        for name, model in (("blind", blind), ("seeing", seeing))
    )
    (data / "agentgauge.toml").write_text(tables)
    for tested, qa, planned in (("blind", "seeing", 3), ("seeing", "blind", 2)):
        run_mmau(
            "--rootdir", str(data), "--model", tested, "--mmau-qa", qa, "--data", "data", "-m", "mmau_ds_codegen",
            "--run-dir", tested, cwd=data,
        )  # fmt: skip
        assert summary(data / tested)["tasks"]["mmau.ds_codegen"]["planned"] == planned
    assert blind.count("number of three digits") == seeing.count("number of three digits") == 1

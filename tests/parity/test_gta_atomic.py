"""Every case of every golden file of GTA-Atomic: what the original code did with invented data."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialect import CallError, Finish
from agentgauge.agent.react import React, parse
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.errors import ToolError
from agentgauge.core.placeholders import with_placeholders
from agentgauge.core.tools import Tool, ToolOutput
from agentgauge.core.types import ROOT_TOKEN, Sample
from bench_gta.atomic import data
from bench_gta.atomic.fixes import PARITY
from bench_gta.atomic.metrics import e2e_metrics, step_metrics
from bench_gta.atomic.prompts import Prompts
from bench_gta.atomic.run import run_e2e, run_step
from bench_gta.atomic.score import e2e_values, score_answer, step_values
from bench_gta.atomic.task import E2E, STEP
from bench_gta.similarity import cosine, similarity, trigram_vector
from tests.every import every
from tests.parity.golden import cases, close, listed, load, needs, parameters, vector

pytestmark = needs("gta_atomic")

FREE = Prompts()
"""Our wording, which stands for the tokens of the golden files."""

TOKENS = {
    "{PARAMETER_DESCRIPTION}": FREE.parameter_description,
    "{FILES_NOTE_PREFIX}": FREE.files_note,
    "{SUMMARISE_INSTRUCTION}": FREE.summarise,
    "{NO_ACTION_TEXT}": FREE.no_action,
    "{INVALID_ACTION_TEXT}": FREE.invalid_action,
}

trigram = similarity("trigram")


def golden(name: str) -> Any:
    return load("gta_atomic", name) or {}


def filled(value: Any, root: str) -> Any:
    """The tokens of a golden value replaced, in keys too."""
    if isinstance(value, str):
        for token, text in {**TOKENS, ROOT_TOKEN: root}.items():
            value = value.replace(token, text)
        return value
    if isinstance(value, dict):
        return {filled(key, root): filled(inner, root) for key, inner in value.items()}
    return [filled(inner, root) for inner in value] if isinstance(value, list) else value


def same_figures(got: Mapping[str, float | None], expected: Mapping[str, Any]) -> None:
    """Where the original fails on a zero denominator there is a figure that is not available."""
    if "raises" in expected:
        assert None in got.values()
    else:
        assert {name: got[name] for name in expected} == close(expected, 1e-6)


# -- similarity.json, answer_match.json


@every("case", cases("gta_atomic", "similarity.json"))
def test_similarity(case: dict[str, Any]) -> None:
    assert cosine(trigram_vector(case["a"]), trigram_vector(case["b"])) == pytest.approx(case["cosine"], abs=1e-6)
    assert trigram(case["a"], case["b"]) == pytest.approx(case["score"], abs=1e-6)


@every("case", cases("gta_atomic", "answer_match.json"))
def test_objective_answer(case: dict[str, Any]) -> None:
    assert score_answer(case["answer"], case["gt_answer"], trigram, PARITY) == float(case["correct"])


# -- score_step.json, score_e2e.json


VALUES = {"score_step.json": step_values, "score_e2e.json": e2e_values}
FIGURES = {"score_step.json": step_metrics, "score_e2e.json": e2e_metrics}
SCORE_FILES = sorted(VALUES)


def values_of(name: str, sample: Mapping[str, Any]) -> dict[str, float]:
    return VALUES[name](sample["prediction"], sample["gold"], sample["reference"], trigram, PARITY)


def scored(key: str) -> list[Any]:
    """The entries of both score files under ``key``, each with the name of its file."""
    return [
        parameter
        for name in SCORE_FILES
        for parameter in parameters(
            "gta_atomic",
            name,
            [
                (f"{name}-{one.get('index', place)}", (name, one))
                for place, one in enumerate(listed("gta_atomic", name, key))
            ],
        )
    ]


@every("case", scored("samples"))
def test_counters_of_a_sample(case: tuple[str, dict[str, Any]]) -> None:
    name, sample = case
    same_figures(values_of(name, sample), sample["counters"])


@every("case", scored("samples"))
def test_result_of_a_sample_alone(case: tuple[str, dict[str, Any]]) -> None:
    name, sample = case
    same_figures(FIGURES[name]([values_of(name, sample)], "parity"), sample["expected_alone"])


@every("case", scored("groups"))
def test_result_of_a_group(case: tuple[str, dict[str, Any]]) -> None:
    name, group = case
    samples = {sample["index"]: sample for sample in golden(name)["samples"]}
    values = [values_of(name, samples[index]) for index in group["indices"]]
    same_figures(FIGURES[name](values, "parity"), group["expected"])


# -- toolmeta.json


def meta() -> dict[str, Tool]:
    return {name: Tool.from_json(tool) for name, tool in golden("toolmeta.json").items()}


@every("name", parameters("gta_atomic", "toolmeta.json", [(name, name) for name in sorted(golden("toolmeta.json"))]))
def test_tool_metadata_survives_a_round_trip(name: str) -> None:
    """``optional`` of an output may be null; for us that is false."""
    expected = copy.deepcopy(golden("toolmeta.json")[name])
    for parameter in [*expected["inputs"], *expected["outputs"]]:
        parameter["optional"] = bool(parameter["optional"])
    assert meta()[name].to_json() == expected


# -- react_parse.json


needs_tools = needs("gta_atomic", "toolmeta.json")


def react() -> React:
    return React(FREE.call_protocol, FREE.parameter_description, FREE.no_action, FREE.invalid_action)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A data set folder with stand-ins for every file that a golden case wants to exist."""
    folder = tmp_path_factory.mktemp("gta")
    wanted = [path.removeprefix(f"{ROOT_TOKEN}/") for path in golden("react_parse.json").get("existing_paths", [])]
    for name in ("messages_step.json", "messages_e2e.json"):
        wanted += golden(name).get("existing_files", [])
    for path in wanted:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    return str(folder)


@needs_tools
@pytest.mark.parametrize("case", cases("gta_atomic", "react_parse.json"))
def test_reading_a_reply(case: dict[str, Any], root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # relative paths must not exist by accident
    case = filled(case, root)
    parsed = parse(case["reply"])
    assert {"thought": parsed.thought, "action": parsed.action, "action_input": parsed.action_input} == case["parse"]
    tools = {name: meta()[name] for name in golden("react_parse.json")["offered_tools"]}
    action = react().resolve(parsed, tools)
    if "step" not in case:  # the original breaks off here
        assert isinstance(action, CallError) and action.type == "ARGS_ERROR"
    elif "content" in case["step"]:
        assert action == Finish(case["step"]["content"])
    else:
        assert not isinstance(action, Finish)
        assert {"name": action.name, "arguments": action.arguments} == case["step"]["tool_calls"][0]["function"]
        error = case["step"].get("error")
        assert (action.type if isinstance(action, CallError) else None) == (error and error["type"])
        if error and error["msg"] in TOKENS.values():
            assert isinstance(action, CallError) and action.message == error["msg"]


# -- messages_step.json, messages_e2e.json


class ScriptedModel:
    """Answers with given texts, in order, and keeps the requests."""

    name = "scripted"

    def __init__(self, replies: Sequence[str]) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return ChatReply(text=self.replies.pop(0))

    async def close(self) -> None: ...

    @property
    def messages(self) -> list[list[dict[str, Any]]]:
        return [[dict(message) for message in request.messages] for request in self.requests]


class ScriptedTools:
    """Answers calls with given outcomes, in order."""

    def __init__(self, script: Sequence[Mapping[str, Any]]) -> None:
        self.script = list(script)

    async def catalog(self) -> dict[str, Tool]:
        return meta()

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        outcome = self.script.pop(0)
        if "raises" in outcome:
            raise ToolError(repr(ValueError(outcome["raises"])))
        return tuple(ToolOutput(**output) for output in outcome["returns"])

    async def close(self) -> None: ...


def data_set(name: str, root: str, prompts: Path) -> dict[str, Sample]:
    """The golden data set written as official files and read by the loader; its prompts as a folder of texts."""
    folder = Path(root)
    (folder / "dataset.json").write_text(
        json.dumps(golden(name)["dataset"], ensure_ascii=False, indent=2), encoding="utf-8"
    )
    (folder / "toolmeta.json").write_text(json.dumps(golden("toolmeta.json")), encoding="utf-8")
    for text, content in golden(name)["protocol"].items():
        (prompts / f"{text}.txt").write_text(content, encoding="utf-8")
    index = data.index(folder)
    return {row.id: data.load(index, row, "gta_atomic") for row in index.rows}


def new_case(sample: Sample, model: ScriptedModel, prompts: Path, toolbox: ScriptedTools | None = None) -> Case:
    return Case(sample, 1, 0, CaseSettings(dialect="react", prompts=prompts), model, toolbox, prompts)


def without_messages(value: Any) -> Any:
    """A prediction without the wording of its errors."""
    if isinstance(value, dict):
        return {key: without_messages(inner) for key, inner in value.items() if key != "msg"}
    return [without_messages(inner) for inner in value] if isinstance(value, list) else value


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    (tmp_path / "prompts").mkdir()
    return tmp_path / "prompts"


@needs_tools
@every("case", cases("gta_atomic", "messages_step.json", "loaded"))
def test_loading(case: dict[str, Any], root: str, prompts: Path) -> None:
    place = golden("messages_step.json")["loaded"].index(case)
    sample = list(data_set("messages_step.json", root, prompts).values())[place]
    loaded = data.resolve(sample)
    found = {"dialogs": loaded.dialogs, "resources": loaded.resources, "gt_answer": loaded.gt_answer}
    assert found == filled(case, root)
    assert data.resolve(sample, ROOT_TOKEN).dialogs == case["dialogs"]


def stored_prediction(key: str) -> Any:
    """The entry of the prediction file for a sample: entries are named by the sample's position, whatever its key."""
    content = golden("messages_step.json")
    return content["predictions"][str(list(content["dataset"]).index(key))]


@needs_tools
@every("case", cases("gta_atomic", "messages_step.json", "samples"))
def test_step_by_step(case: dict[str, Any], root: str, prompts: Path) -> None:
    sample = data_set("messages_step.json", root, prompts)[case["sample"]]
    expected = stored_prediction(case["sample"])
    case = filled(case, root)
    model = ScriptedModel(case["replies"])
    output = asyncio.run(run_step(new_case(sample, model, prompts)))
    assert model.messages == case["messages"]
    assert without_messages(output) == without_messages(filled(expected, root))
    assert without_messages(with_placeholders(output, {root: ROOT_TOKEN})) == without_messages(expected)


@vector("gta_atomic", "messages_step.json", "score")
@needs("gta_atomic", "messages_step.json", "toolmeta.json")
def test_score_of_a_step_by_step_run(root: str, prompts: Path) -> None:
    samples = data_set("messages_step.json", root, prompts)
    task, scores = STEP, []
    for case in golden("messages_step.json")["samples"]:
        model = ScriptedModel(filled(case["replies"], root))
        sample = samples[case["sample"]]
        output = with_placeholders(asyncio.run(task.run(new_case(sample, model, prompts))), {root: ROOT_TOKEN})
        scores.append(task.score(sample, output, "parity", "trigram"))
    same_figures(step_metrics([score.values for score in scores], "parity"), golden("messages_step.json")["score"])


def drop_thoughts(records: list[Any]) -> list[Any]:
    return [[record for record in part if (record.get("meta") or {}).get("type") != "thought"] for part in records]


def play(run: Mapping[str, Any], root: str, prompts: Path) -> tuple[Any, ScriptedModel, ScriptedTools]:
    sample = data_set("messages_e2e.json", root, prompts)[run["sample"]]
    model, tools = ScriptedModel(filled(run["replies"], root)), ScriptedTools(filled(run["tool_script"], root))
    output = asyncio.run(run_e2e(new_case(sample, model, prompts, tools), max_turns=run["max_turn"]))
    return output, model, tools


@needs_tools
@every("run", cases("gta_atomic", "messages_e2e.json", "runs"))
def test_end_to_end(run: dict[str, Any], root: str, prompts: Path) -> None:
    output, model, tools = play(run, root, prompts)
    assert model.messages == filled(run["messages"], root)
    assert (model.replies, tools.script) == ([], [])
    assert without_messages(output) == without_messages(filled(run["prediction"], root))
    stored = with_placeholders(output, {root: ROOT_TOKEN})
    assert without_messages(stored) == without_messages(run["prediction"])
    assert without_messages(drop_thoughts(stored["prediction"])) == without_messages(run["prediction_2024"])


@vector("gta_atomic", "messages_e2e.json", "score")
@needs("gta_atomic", "messages_e2e.json", "toolmeta.json")
def test_score_of_an_end_to_end_run(root: str, prompts: Path) -> None:
    task, values = E2E, []
    for run in golden("messages_e2e.json")["runs"]:
        output = with_placeholders(play(run, root, prompts)[0], {root: ROOT_TOKEN})
        sample = data_set("messages_e2e.json", root, prompts)[run["sample"]]
        values.append(task.score(sample, output, "parity", "trigram").values)
    same_figures(e2e_metrics(values, "parity"), golden("messages_e2e.json")["score"])


# -- rescore.json

TASKS = {"step": STEP, "e2e": E2E}
FORMS = [
    (mode, form) for mode in TASKS for form in golden("rescore.json").get(mode, {}) if form.startswith("prediction")
]


@pytest.mark.parametrize("case", parameters("gta_atomic", "rescore.json", [("-".join(form), form) for form in FORMS]))
@pytest.mark.parametrize("given", ["folder", "file"])
def test_rescoring_original_files(case: tuple[str, str], given: str, tmp_path: Path) -> None:
    """Whole and split files and those of the 2024 edition give what the original gave."""
    mode, form = case
    content = golden("rescore.json")[mode][form]
    (tmp_path / "dataset.json").write_text(json.dumps(golden("rescore.json")["dataset"]), encoding="utf-8")
    predictions = tmp_path / "predictions"
    predictions.mkdir()
    parts = content if isinstance(content, list) else [content]
    names = (
        [f"gta_bench_{number}.json" for number in range(len(parts))]
        if isinstance(content, list)
        else ["gta_bench.json"]
    )
    for name, part in zip(names, parts, strict=True):
        (predictions / name).write_text(json.dumps(part, ensure_ascii=False, indent=4), encoding="utf-8")
    path = predictions if given == "folder" else predictions / names[0]
    files = TASKS[mode].files
    assert files
    result = files.score(tmp_path / "dataset.json", path, scoring="parity", similarity="trigram")
    same_figures(result["metrics"], golden("rescore.json")[mode]["expected"])
    entries = sum(len(part) for part in parts)
    assert [sample["id"] for sample in result["samples"]] == list(golden("rescore.json")["dataset"])[:entries]

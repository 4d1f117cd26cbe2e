"""The reference steps earn full marks with the real tools, and a careless agent earns what is written down here."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.types import Sample
from agentgauge.model.embedded.scripted import ReplyScript
from bench_gta.workflow.oracle import with_paths
from tests.every import every
from tests.gta_mini.conftest import Rebuilt
from tests.gta_mini.workflow_agent import Done, act, files_below, judged, samples

pytestmark = pytest.mark.slow

for needed in ("PIL", "matplotlib", "av", "docx", "pptx", "openpyxl", "pypdf", "reportlab", "rapidocr", "sympy"):
    pytest.importorskip(needed, reason="the tools need agentgauge[tools]")

SAMPLES = samples()
SLOPPY = {
    "2": {"1": 10, "2.1": 5, "2.2": 10, "2.3": 0, "2.4": 5, "3": 10},
    "7": {"1.1": 10, "1.2": 10, "2.1": 20 / 3, "2.2": 10, "2.3.1": 10, "2.3.2": 0, "2.3.3": 10, "2.3.4": 0, "2.4": 6},
}
"""Task → leaf → score of the replies in sloppy.json. In task 7 at 2.1 the table has three columns and three of the four
shifts, but not all rows."""


def sloppy(sample: Sample, request: ChatRequest) -> ChatReply:
    assert request.case
    return SCRIPT.answer(request.case)


SCRIPT = ReplyScript.load(Path(__file__).with_name("sloppy.json"))


@pytest.fixture(scope="module")
def done(rebuilt: Rebuilt, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Done]]:
    """``reference``: what the calls of the data set made when it was built. A run of all of them over a tool server is
    in tests/plugin/test_workflow.py."""
    return {
        "reference": {
            id_: Done(sample, sample.payload["dialogs"][-1]["content"], files_below(rebuilt.scratch / id_))
            for id_, sample in SAMPLES.items()
        },
        "sloppy": act(dict.fromkeys(SLOPPY, sloppy), tmp_path_factory.mktemp("plans")),
    }


@pytest.fixture(scope="module")
def scores(
    done: dict[str, dict[str, Done]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, dict[str, tuple[float, str]]]]:
    both = {f"{who}/{id_}": one for who, tasks in done.items() for id_, one in tasks.items()}
    found = judged(both, tmp_path_factory.mktemp("judge"))
    return {who: {id_: found[f"{who}/{id_}"] for id_ in tasks} for who, tasks in done.items()}


@every("id_", SAMPLES)
def test_the_reference_steps_earn_ten_at_every_leaf(
    id_: str, scores: dict[str, dict[str, dict[str, tuple[float, str]]]]
) -> None:
    assert {leaf: verdict for leaf, verdict in scores["reference"][id_].items() if verdict[0] < 10} == {}


@pytest.mark.parametrize("id_", SLOPPY)
def test_a_careless_agent_earns_a_part(id_: str, scores: dict[str, dict[str, dict[str, tuple[float, str]]]]) -> None:
    assert {leaf: score for leaf, (score, _) in scores["sloppy"][id_].items()} == pytest.approx(SLOPPY[id_])


def test_a_careless_agent_is_told_what_is_missing(scores: dict[str, dict[str, dict[str, tuple[float, str]]]]) -> None:
    assert scores["sloppy"]["2"]["2.3"][1] == "0 of 1 conditions hold. Missing: memo.docx lacks the number 117."
    assert scores["sloppy"]["7"]["2.1"][1] == (
        "4 of 6 conditions hold. Missing: roster_without_ada.csv does not say 'Sunday afternoon'; "
        "roster_without_ada.csv has 4 rows, 5 were asked for."
    )


@every("id_", SAMPLES)
def test_the_plan_makes_the_files_that_the_reference_names(id_: str, done: dict[str, dict[str, Done]]) -> None:
    contents = [turn["content"] for turn in SAMPLES[id_].payload["dialogs"] if turn["role"] == "tool"]
    named = sorted(Path(content["content"]).name for content in contents if content["type"] != "text")
    assert sorted(path.name for path in done["reference"][id_].files) == named


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        ("output/a.png", "/run/a.png"),
        ("![x](output/a.png) and ![y](output/b.png).", "![x](/run/a.png) and ![y](/run/b-2.png)."),
        ("output/a.png, output/b.png", "/run/a.png, /run/b-2.png"),
        ("files/t.csv", "/data/files/t.csv"),
        ("/data/files/t.csv", "/data/files/t.csv"),
        ("my-output/a.png/x output/a.pngs", "my-output/a.png/x output/a.pngs"),
        (7, 7),
        (None, None),
    ],
)
def test_paths_are_replaced_wherever_they_stand_as_a_whole(value: object, replaced: object) -> None:
    paths = {"output/a.png": "/run/a.png", "output/b.png": "/run/b-2.png", "files/t.csv": "/data/files/t.csv"}
    assert with_paths(value, paths) == replaced


def test_without_any_file_nothing_is_replaced() -> None:
    assert with_paths("output/a.png", {}) == "output/a.png"

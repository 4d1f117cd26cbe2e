"""Where the golden data is, and how the parity tests read it.

The folder is ``tests/golden``, or the one that the environment variable ``AGENTGAUGE_GOLDEN`` names (same sub-folders,
one per benchmark). Any set of vectors will do: no test counts cases or looks for one by its name. What a case demands
follows from its own fields, and a case that records an error (``expected_error``) is met by raising it.

A benchmark folder that is missing is skipped as a whole, and so are the tests of a file that is missing; each says so.
``test_vectors.py`` fails for a file that no test reads, for a list without cases, and for a file that this repository's
own folder lacks.

In a parity module::

    from tests.parity.golden import cases, needs

    pytestmark = needs("gta_atomic")

    @pytest.mark.parametrize("case", cases("gta_atomic", "similarity.json"))
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "AGENTGAUGE_GOLDEN"
DEFAULT = Path(__file__).parent.parent / "golden"

WHOLE = ""
"""Stands for the name of a list where the file itself is the list."""

_CASES = ("cases",)
_MMAU = (
    *("tool_use_execution", "tool_use_execution_parts", "tool_use_plan", "math", "math_parts", "generation_parts"),
    *(
        "code_contests",
        "code_contests_parts",
        "code_contests_run",
        "code_contests_twostage",
        "code_contests_understand",
    ),
    *("code_kaggle", "code_kaggle_parts"),
)
_WORKFLOW = (
    *(
        "agent_steps",
        "attached_files",
        "dataset_loading",
        "judge_replies",
        "judge_uploads",
        "leaf_prompt_fields",
        "metrics",
    ),
    *("prediction_records", "run_scores", "tool_call_compression", "tool_list_injection", "tree_scoring"),
)

VECTORS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "agentlego": {
        "openapi.json": (),
        "remote_tools.json": ("tools",),
        "exchanges.json": ("exchanges",),
        "input_files.json": (),
    },
    "gta_atomic": {
        "similarity.json": _CASES,
        "answer_match.json": _CASES,
        "score_step.json": ("samples", "groups"),
        "score_e2e.json": ("samples", "groups"),
        "react_parse.json": _CASES,
        "messages_step.json": ("loaded", "samples"),
        "messages_e2e.json": ("runs",),
        "rescore.json": (),
        "toolmeta.json": (),
    },
    "gta_workflow": {
        **{f"{name}.json": _CASES for name in _WORKFLOW},
        "eval_pack.json": ("select_trace", "base_url", "summary", "resume"),
    },
    "mmau": {f"{name}.json": _CASES for name in _MMAU},
    "wild": {
        "abnormal_cases.json": (WHOLE,),
        "aggregation_cases.json": (WHOLE,),
        "argument_cases.json": _CASES,
        "earlier_release_scores.json": ("tasks",),
        "expected_messages.json": (WHOLE,),
        "expected_metrics.json": (),
        "expected_results.json": (WHOLE,),
        "graph_cases.json": (WHOLE,),
        "model_scripts.json": (WHOLE,),
        "record_shapes.json": (),
        "sessions.json": (WHOLE,),
        "string_cases.json": (WHOLE,),
        "tool_conversion.json": (WHOLE,),
    },
}
"""The files of each benchmark, and the lists of cases in each; () for a file that describes one whole."""


def golden_folder(benchmark: str) -> Path | None:
    """The folder of one benchmark's golden files; None where it does not exist."""
    folder = Path(os.environ.get(VARIABLE) or DEFAULT) / benchmark
    return folder if folder.is_dir() else None


@lru_cache
def load(benchmark: str, name: str) -> Any:
    """A golden file, decoded; None where it is missing. The value is shared: copy it before changing it."""
    folder = golden_folder(benchmark)
    if folder is None or not (folder / name).is_file():
        return None
    return json.loads((folder / name).read_text(encoding="utf-8"))


def listed(benchmark: str, name: str, key: str = "cases") -> list[Any]:
    """The cases of a list; empty where the file is missing."""
    content = load(benchmark, name)
    if content is None:
        return []
    return list(content if key == WHOLE else content[key])


def cases(benchmark: str, name: str, key: str = "cases") -> list[Any]:
    """The cases of a list as test parameters, named by themselves or by their place."""
    labelled = [(_label(case, place), case) for place, case in enumerate(listed(benchmark, name, key))]
    return parameters(benchmark, name, labelled)


def parameters(benchmark: str, name: str, labelled: list[tuple[str, Any]]) -> list[Any]:
    """Labelled values of a file as test parameters, which are counted as its vectors; where there are none, one that is
    skipped with the reason."""
    if labelled:
        places = _places(benchmark, name)
        return [
            pytest.param(value, id=label, marks=vector(benchmark, name, places.get(_identity(value), label)))
            for label, value in labelled
        ]
    reason = _lacks(benchmark, name) or f"{benchmark}/{name} holds no case for this test"
    return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))]


def vector(benchmark: str, name: str, place: str = "whole") -> pytest.MarkDecorator:
    """The mark of a test that holds a case of a file, or a file that describes one whole."""
    return pytest.mark.vector(f"{benchmark}/{name}", place)


def _places(benchmark: str, name: str) -> dict[int, str]:
    """Identity of each case of a file's lists → its place, so that several tests of one case count once."""
    keys = VECTORS[benchmark][name]
    return {id(case): f"{key}[{n}]" for key in keys for n, case in enumerate(listed(benchmark, name, key))}


def _identity(value: Any) -> int:
    return id(value[-1] if isinstance(value, tuple) else value)


def needs(benchmark: str, *names: str) -> pytest.MarkDecorator:
    """Skip what cannot be tested without a benchmark's folder, or without files in it; the reason names them."""
    lacking = next(filter(None, (_lacks(benchmark, name) for name in names or (".",))), "")
    return pytest.mark.skipif(bool(lacking), reason=lacking)


def _lacks(benchmark: str, name: str) -> str:
    folder = golden_folder(benchmark)
    if folder is None:
        return f"no golden data for {benchmark}"
    return "" if (folder / name).exists() else f"the golden data holds no {benchmark}/{name}"


def _label(case: Any, place: int) -> str:
    named = case if isinstance(case, Mapping) else {}
    return str(next((named[field] for field in ("id", "name") if field in named), place))


def unknown_files(benchmark: str) -> list[str]:
    """Files of a present folder that no test reads (README.md needs none)."""
    folder = golden_folder(benchmark)
    if folder is None:
        return []
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in files if str(path) not in {*VECTORS[benchmark], "README.md"})


def close(value: Any, within: float) -> Any:
    """What equals ``value`` if numbers may differ by ``within``, at any depth."""
    if isinstance(value, dict):
        return {key: close(inner, within) for key, inner in value.items()}
    if isinstance(value, list):
        return [close(inner, within) for inner in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return pytest.approx(value, abs=within, rel=0, nan_ok=True) if is_number else value


def met(case: Mapping[str, Any], run: Callable[[], Any], *errors: type[Exception], within: float = 0.0) -> bool:
    """Run a case and compare what comes out with ``expected``; True where the case has a result.

    Where the case records an ``expected_error`` the run must raise one of ``errors``: a number that is reported in
    silence fails the test.
    """
    if "expected_error" in case:
        with pytest.raises(errors):
            run()
        return False
    assert run() == close(case["expected"], within)
    return True

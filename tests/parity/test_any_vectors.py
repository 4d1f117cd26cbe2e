"""The parity tests read any set of vectors: sets with other cases pass, and wrong expectations fail."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.parity.golden import VARIABLE, VECTORS, WHOLE, listed, load, needs
from tests.parity.variants import Keep, every_second, metric_file, soft_totals, the_first, write_variant
from tests.plugin.project import python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = [
    "--deselect=tests/parity/test_mmau_contests.py::test_metric",
    "--deselect=tests/parity/test_mmau_contests.py::test_run",
    "--deselect=tests/parity/test_mmau_notebooks.py::test_metric",
]
"""Leaves out the tests that run programs and notebooks: with many cases they take minutes."""


def parity(folder: Path, *options: str) -> tuple[int, str]:
    """Exit status and output of the parity tests on the vectors in ``folder``."""
    words = ["-m", "pytest", "tests/parity", "--ignore=tests/parity/test_any_vectors.py"]
    words += ["-q", "-rfEs", "--tb=line", "-p", "no:cacheprovider", "--color=no", *options]
    done = python(*words, cwd=ROOT, env={VARIABLE: str(folder), "XDG_CACHE_HOME": str(folder / ".cache")})
    return done.status, done.output[-20_000:]


def reported(output: str, word: str) -> set[str]:
    """What the lines of pytest's summary that begin with ``word`` say."""
    return set(re.findall(rf"^{word} (.*)$", output, re.MULTILINE))


@pytest.mark.parametrize(
    ("keep", "left_out", "options"),
    [
        pytest.param(every_second, {"agentlego"}, PROGRAMS, id="every second, reversed"),
        pytest.param(the_first, {"gta_workflow"}, [], id="the first alone"),
        pytest.param(every_second, VECTORS.keys() - {"gta_workflow"}, ["-n", "2"], id="one benchmark alone"),
    ],
)
def test_other_sets_pass(keep: Keep, left_out: set[str], options: list[str], tmp_path: Path) -> None:
    """All of them are counted, also by the workers of pytest-xdist."""
    write_variant(tmp_path, keep, left_out=left_out)
    status, output = parity(tmp_path, *options)
    assert status == 0, output
    reasons = {line.rpartition(": ")[2] for line in reported(output, "SKIPPED")}
    assert reasons == {f"no golden data for {name}" for name in left_out}
    held = {file: int(count) for count, file in re.findall(r"^(\d+) vectors? of (\S+) held$", output, re.MULTILINE)}
    assert {file.partition("/")[0] for file in held} == VECTORS.keys() - left_out
    for name in ("gta_atomic/similarity.json", "gta_workflow/judge_replies.json", "wild/string_cases.json"):
        if name in held:
            cases = json.loads((tmp_path / name).read_text(encoding="utf-8"))
            assert held[name] == len(cases["cases"] if isinstance(cases, dict) else cases)


def put(*path: str | int, value: Any) -> Callable[[Any], None]:
    """Replace what stands at a path; a function makes the new value from the old one."""

    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value(content[path[-1]]) if callable(value) else value

    return change


def more(number: float) -> float:
    return number + 0.5


CHANGED: list[tuple[str, Callable[[Any], None], set[str]]] = [
    # the third exchange is the first that was made by hand
    (
        "agentlego/exchanges.json",
        put("exchanges", 2, "response", "status", value=more),
        {"test_agentlego.py::test_server_answers_as_the_original"},
    ),
    ("gta_atomic/similarity.json", put("cases", 0, "score", value=more), {"test_gta_atomic.py::test_similarity"}),
    (
        "gta_workflow/judge_replies.json",
        put("cases", 0, "expected", "score", value=more),
        {"test_gta_workflow.py::test_reading_a_reply_of_the_judge"},
    ),
    ("gta_workflow/eval_pack.json", put("resume", value=[]), {"test_vectors.py::test_every_list_holds_cases"}),
    (
        "mmau/tool_use_plan.json",
        put("cases", 0, "expected", "accuracy", value=more),
        {"test_mmau_plan_math.py::test_plan"},
    ),
    (
        "mmau/math_parts.json",
        put("cases", 0, "expected_error", value="TypeError"),
        {"test_mmau_plan_math.py::test_judgement"},
    ),
    ("wild/string_cases.json", put(0, "edit_ratio", value=more), {"test_wild_score.py::test_text"}),
    (
        "wild/expected_metrics.json",
        put("total_info", "task", "correct_count", value=more),
        {"test_wild_score.py::test_metric_file", "test_wild_score.py::test_original_result_file"},
    ),
]
"""A file, what is made wrong in it, and the tests that find it."""


def test_what_is_wrong_fails(tmp_path: Path) -> None:
    write_variant(tmp_path, the_first)
    wanted = {"test_vectors.py::test_every_file_is_read_by_a_test"}
    (tmp_path / "mmau" / "more.json").write_text("{}", encoding="utf-8")
    for name, change, tests in CHANGED:
        content = json.loads((tmp_path / name).read_text(encoding="utf-8"))
        change(content)
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        wanted |= tests
    status, output = parity(tmp_path, *PROGRAMS)
    failed = {re.sub(r"^tests/parity/|(\[| - ).*", "", line) for line in reported(output, "FAILED")}
    assert (status, failed) == (pytest.ExitCode.TESTS_FAILED, wanted), output
    assert "\n0 of 1 vector of gta_atomic/similarity.json held\n" in output


@needs("wild", *VECTORS["wild"])
def test_sums_of_a_variant_are_those_of_the_original() -> None:
    """Over all sessions they are what is recorded."""
    earlier, metrics = load("wild", "earlier_release_scores.json"), load("wild", "expected_metrics.json")
    sessions = listed("wild", "expected_results.json", WHOLE)
    results = {(session["id"], task["task_idx"]): task for session in sessions for task in session["tasks"]}
    assert soft_totals(earlier["tasks"], results) == earlier["aggregate"]
    assert metric_file(listed("wild", "sessions.json", WHOLE), results, metrics["model_name"]) == metrics

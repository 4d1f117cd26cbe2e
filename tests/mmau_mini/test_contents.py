"""The bundled records of Apple MMAU keep their promises."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from bench_mmau.contests.score import understand_match
from bench_mmau.fixes import PARITY
from bench_mmau.task import TASKS
from bundled_data.mmau.__main__ import build
from bundled_data.mmau.contests import PROBLEMS, printed
from tests.every import every

MINI = Path(__file__).parents[2] / "bench_mmau" / "mini"


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (MINI / f"{name}_20240712.jsonl").read_text(encoding="utf-8").splitlines()]


@every("task", TASKS, ids=lambda task: task.name)
def test_every_task_has_at_least_twelve_sound_records(task: Any) -> None:
    assert len(task.data.index(MINI).rows) >= 12
    assert task.data.check(MINI) == ([], [])


def test_the_script_writes_what_is_there(tmp_path: Path) -> None:
    """But for pictures, whose bytes depend on the version of matplotlib."""
    for path in build(tmp_path):
        there = MINI / path.relative_to(tmp_path)
        if path.name.startswith("code_kaggle_2"):
            assert without_pictures(path) == without_pictures(there)
        else:
            assert path.read_bytes() == there.read_bytes(), path.name


def without_pictures(path: Path) -> list[Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: "a picture" if key == "image/png" else plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return [plain(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_rules_that_tool_use_knows_are_all_there() -> None:
    names = (
        "execution_single_step",
        "execution_parallel",
        "execution_multi_step_double",
        "execution_multi_step_triple",
        "self_correct",
    )
    found = [record for name in names for record in records(f"tool_use_{name}")]
    kinds: Counter[str] = Counter()
    for record in found:
        for rule in record.get("target_message_match_rules") or ():
            kinds.update(kind for wanted in rule.get("arguments", {}).values() for kind in wanted)
            kinds["none"] += not rule
    assert set(kinds) == {"regex_match", "multi_choices", "date_match", "none"}
    assert any(not record["target_message"].get("tool_calls") for record in found), "a target that is a text"
    assert len({tool["function"]["name"] for record in found for tool in record["tools"]}) >= 20


def test_plans_have_one_right_answer_among_several() -> None:
    for name in ("with_reasoning_all", "no_reasoning_all"):
        found = records(f"tool_use_plan_{name}")
        assert len({record["target_plan_number"] for record in found}) > 2
        for record in found:
            text = record["messages"][0]["content"]
            assert f"Plan {record['target_plan_number']}" in text
            assert "Chosen Plan:" in text


def test_contests_have_groups_of_every_kind() -> None:
    found = records("code_contests_regular")
    assert any("generated_tests" not in record for record in found)
    assert any(record.get("generated_tests") == {"input": [], "output": []} for record in found)
    for record in found:
        for group in ("public_tests", "private_tests", "generated_tests"):
            tests = record.get(group, {"input": [], "output": []})
            assert [printed(record["solution"], given) for given in tests["input"]] == tests["output"]


def test_parsing_asks_for_what_the_program_prints() -> None:
    for problem, record in zip(PROBLEMS, records("code_contests_understand"), strict=True):
        assert understand_match(printed(problem.program, problem.private[0]), record["target_output"])
        assert problem.private[0] in record["messages"][0]["content"]
    assert not PARITY.whole_answer


def test_mathematics_is_of_many_subjects() -> None:
    standard, told = records("math_standard"), records("math_understand")
    assert len({record["subject"] for record in standard}) >= 20
    assert len({record["raw_problem"] for record in (*standard, *told)}) == len(standard) + len(told)
    assert all("#ANSWER#" in record["messages"][0]["content"] for record in standard)


def test_notebooks_have_texts_and_pictures() -> None:
    found = records("code_kaggle")
    assert Counter(record["image_expected"] for record in found) == {False: 11, True: 7}
    assert len({letter for record in found for letter in record["gt_answers"]}) == 5
    for record in found:
        kinds = {output["output_type"] for output in record["last_cell"]["outputs"]}
        assert ("display_data" in kinds) == record["image_expected"]
        assert all(
            f"\n{letter}. " in text for text, letter in zip(record["questions"], record["gt_answers"], strict=True)
        )

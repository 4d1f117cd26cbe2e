"""Verdicts, labels and explanations, and each named fix of strict scoring. Parity is pinned by tests/parity."""

from __future__ import annotations

from typing import Any

import pytest

from agentgauge.core.estimate import estimate
from bench_gta.atomic.fixes import PARITY, STRICT, Fix, Fixes
from bench_gta.atomic.metrics import e2e_formula, e2e_metrics, step_formula, step_metrics
from bench_gta.atomic.score import (
    broken_e2e,
    broken_step,
    e2e_values,
    matches,
    same_arguments,
    score_e2e,
    score_step,
    step_values,
)
from bench_gta.similarity import similarity

SIM = similarity("trigram")
REFERENCE = {"whitelist": [["42"]], "blacklist": None}


def call(name: str, error: str | None = None, **arguments: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "role": "assistant",
        "tool_calls": [{"type": "function", "function": {"name": name, "arguments": arguments}}],
    }
    return record | ({"error": {"type": error, "msg": "m"}} if error else {})


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


ASKED = {"role": "user", "content": "How much?"}
GOLD = [call("OCR", image="a"), says("42")]


@pytest.mark.parametrize(
    ("prediction", "labels", "told"),
    [
        ([call("OCR", image="a"), says("It is 42")], (), ""),
        (
            [call("Plot", x="a"), says("42")],
            ("wrong_tool",),
            'step 1 of 2: the wrong tool was called\n  expected: OCR(image="a")\n  got:      Plot(x="a")',
        ),
        ([call("OCR", image="b"), says("42")], ("wrong_argument",), 'OCR(image="b")'),
        ([call("OCR", "ARGS_ERROR", image="a"), says("42")], ("argument_error",), "[ARGS_ERROR: m]"),
        ([call("NoAction", "API_ERROR", text=""), says("42")], ("no_action",), "NoAction"),
        ([call("InvalidAction", "API_ERROR", text="x"), says("42")], ("invalid_action",), "InvalidAction"),
        ([says("42"), says("42")], ("stopped_early",), "got:      the text '42'"),
        ([call("OCR", image="a"), call("OCR", image="a")], ("no_answer",), "expected: the text '42'"),
        (
            [call("OCR", image="a"), says("41")],
            ("wrong_answer",),
            "expected: an answer with '42'\n  got:      the text '41'",
        ),
        ([], ("stopped_early",), "got:      nothing"),
    ],
)
def test_verdict_step_by_step(prediction: list[Any], labels: tuple[str, ...], told: str) -> None:
    score = score_step({"gold": GOLD, "prediction": prediction}, REFERENCE, SIM, PARITY)
    assert (score.passed, score.labels) == (not labels, labels)
    assert told in score.explanation and bool(told) == bool(score.explanation)


def test_all_wrong_steps_are_told_and_a_refused_text_once() -> None:
    cut = call("OCR")
    cut["tool_calls"][0]["function"]["arguments"] = '{"image": "a'
    cut["error"] = {"type": "ARGS_ERROR", "msg": 'invalid json format: {"image": "a'}
    gold = [call("Plot", x=number) for number in range(5)]
    told = score_step({"gold": gold, "prediction": [cut] * 5}, None, SIM, PARITY).explanation
    assert told.count("the wrong tool was called (also: the arguments of a call are not a JSON object)") == 5
    assert told.endswith('  got:      OCR({"image": "a (ends here)) [ARGS_ERROR: invalid json format]')


DRAWN = [call("DrawBox", image="a", bbox="(1, 1)")]


@pytest.mark.parametrize(
    ("steps", "gold", "reference", "labels", "told"),
    [
        ([call("OCR"), says("42")], GOLD, REFERENCE, (), ""),
        ([says("42")], GOLD, REFERENCE, (), ""),
        (
            [call("OCR"), says("41")],
            GOLD,
            REFERENCE,
            ("wrong_answer",),
            "after 1 tool call (OCR): the answer is wrong\n",
        ),
        (
            [says("41")],
            GOLD,
            REFERENCE,
            ("wrong_answer", "stopped_early"),
            "at the end: the answer is wrong (also: no tool was called)\n",
        ),
        ([call("Plot"), says("41")], GOLD, REFERENCE, ("wrong_answer", "missing_tool"), "got:      '41'"),
        ([call("OCR", "ARGS_ERROR"), says("41")], GOLD, REFERENCE, ("wrong_answer", "argument_error"), "41"),
        (
            [call("OCR"), call("NoAction", "API_ERROR"), says("41")],
            GOLD,
            REFERENCE,
            ("wrong_answer", "no_action"),
            "41",
        ),
        ([call("OCR"), {"role": "tool", "content": None}], GOLD, REFERENCE, ("no_answer",), "got:      no answer"),
        ([], GOLD, REFERENCE, ("no_answer", "stopped_early"), "no answer"),
        ([call("OCR"), says("a cat")], GOLD, ["a cat"], (), ""),
        ([call("OCR"), says("zzz")], GOLD, ["a cat"], ("wrong_answer",), "needed 0.5"),
        (DRAWN, DRAWN, None, (), ""),
        ([call("DrawBox", x="zzzzzzzz")], DRAWN, None, ("wrong_drawing",), 'got:      DrawBox(x="zzzzzzzz")'),
        ([says("done")], DRAWN, None, ("missing_drawing", "stopped_early"), "got:      no drawing"),
    ],
)
def test_verdict_end_to_end(
    steps: list[Any], gold: list[Any], reference: Any, labels: tuple[str, ...], told: str
) -> None:
    score = score_e2e({"gold": [gold], "prediction": [steps]}, reference, SIM, PARITY)
    assert (score.passed, score.labels) == (not labels, labels)
    assert told in score.explanation and bool(told) == bool(score.explanation)


# -- broken cases


def test_a_broken_case_keeps_the_denominators() -> None:
    values = broken_step(GOLD, REFERENCE, PARITY).values
    assert (values["gold_tool"], values["answer"], values["inst"], values["answer_score"]) == (1, 1, 0, 0)
    values = broken_e2e([ASKED, *GOLD], REFERENCE, PARITY).values
    assert (values["samples"], values["answer"], values["answer_score"], values["perception_gold"]) == (1, 1, 0, 1)
    assert broken_e2e([ASKED, *DRAWN], None, PARITY).values["image_score"] == 0


# -- strict


def step(prediction: list[Any], gold: list[Any], reference: Any, fix: Fix) -> tuple[dict[str, float], dict[str, float]]:
    return step_values(prediction, gold, reference, SIM, PARITY), step_values(
        prediction, gold, reference, SIM, frozenset({fix})
    )


def e2e(steps: list[Any], gold: list[Any], reference: Any, fix: Fix) -> tuple[dict[str, float], dict[str, float]]:
    return e2e_values([steps], [gold], reference, SIM, PARITY), e2e_values(
        [steps], [gold], reference, SIM, frozenset({fix})
    )


def test_errors_fail() -> None:
    parity, strict = step([call("OCR", "API_ERROR", image="a")], GOLD[:1], None, Fix.ERRORS_FAIL)
    assert (parity["tool"], parity["arg"], strict["tool"], strict["arg"]) == (1, 1, 0, 0)


def test_every_turn() -> None:
    parity, strict = step([], GOLD, REFERENCE, Fix.EVERY_TURN)
    assert (parity["gold_tool"], strict["gold_tool"], strict["gold_answer"]) == (0, 1, 1)


def test_answer_turns_keep_inst_acc_at_100() -> None:
    values = step_values([says("a"), says("b")], [says("a"), says("b")], None, SIM, PARITY) | {
        "gold_tool": 1.0,
        "inst": 3.0,
    }
    assert step_metrics([values], "parity")["inst_align"] == 300
    assert step_metrics([values], "strict")["inst_align"] == 100


def test_last_answer() -> None:
    parity, strict = step([says("42"), says("42")], [says("a"), says("b")], REFERENCE, Fix.LAST_ANSWER)
    assert (parity["answer_score"], strict["answer_score"]) == (2, 1)


@pytest.mark.parametrize(
    ("a", "b", "parity", "strict"),
    [
        ({"k": 1}, {"k": True}, True, False),
        ({"k": [0, {"x": 1}]}, {"k": [False, {"x": 1}]}, True, False),
        ({"k": 1}, {"k": 1.0}, True, True),
        ({"a": 1, "b": "2"}, {"b": "2", "a": 1}, True, True),
        ({"k": "3"}, {"k": 3}, False, False),
        ([1], [1, 2], False, False),
    ],
)
def test_typed_arguments(a: Any, b: Any, parity: bool, strict: bool) -> None:
    assert (same_arguments(a, b, PARITY), same_arguments(a, b, STRICT)) == (parity, strict)


@pytest.mark.parametrize(
    ("answer", "alias", "parity", "strict"),
    [
        ("42% off", "42%", False, True),
        ("costs $5 now", "$5", False, True),
        ("C++ code", "C++", False, True),
        ("it is -5", "-5", False, True),
        ("答案是北京", "北京", False, True),
        ("共有3只", "3", False, True),
        ("3.5", "3", True, False),
        ("13.5", "3.5", False, False),
        ("2.3", "3", True, False),
        ("1,300", "300", True, False),
        ("3,400", "3", True, False),
        ("3.0", "3", True, True),
        ("3.05", "3", True, False),
        ("It is 3.", "3", True, True),
        ("3, 4 and 5", "3", True, True),
        ("142", "42", False, False),
        ("cats", "cat", False, False),
        ("Straße", "STRASSE", False, True),
        ("４２", "42", False, True),
        ("anything", "", True, False),
    ],
)
def test_alias_edges(answer: str, alias: str, parity: bool, strict: bool) -> None:
    reference = {"whitelist": [[alias]], "blacklist": None}
    assert (matches(answer, reference, PARITY), matches(answer, reference, STRICT)) == (parity, strict)


@pytest.mark.parametrize("meta", [{"error": {}, "meta": {"type": "error"}}, {"meta": {"type": "thought"}}])
def test_real_answer(meta: dict[str, Any]) -> None:
    parity, strict = e2e([says("42", **meta)], GOLD, REFERENCE, Fix.REAL_ANSWER)
    assert (parity["answer_score"], strict["answer_score"]) == (1, 0)


def test_drawing_needed() -> None:
    parity, strict = e2e([says("x")], GOLD[:1], None, Fix.DRAWING_NEEDED)
    assert (parity["samples"], parity["image_score"], strict["samples"], strict["image_score"]) == (1, 1, 0, 0)


def test_drawings_paired() -> None:
    gold = [call("DrawBox", bbox="(1, 2, 3, 4)", image="one"), call("DrawBox", image="two", bbox="(55, 66, 77, 88)")]
    predicted = [call("DrawBox", image="zero", bbox="0"), call("DrawBox", image="one", bbox="(1, 2, 3, 4)"), gold[1]]
    parity, strict = e2e(predicted, gold, None, Fix.DRAWINGS_PAIRED)
    assert parity["image_score"] < 0.9 and strict["image_score"] == pytest.approx(1)
    assert e2e([gold[1]], gold, None, Fix.DRAWINGS_PAIRED)[1]["image_score"] == 0


def test_f1_one_to_one() -> None:
    parity, strict = e2e([call("OCR"), says("42")], [call("OCR")] * 3, REFERENCE, Fix.F1_ONE_TO_ONE)
    assert (parity["perception_found"], strict["perception_found"]) == (3, 1)
    assert e2e_metrics([parity], "parity")["p_f1"] == pytest.approx(150, abs=0.01)
    assert e2e_metrics([strict], "strict")["p_f1"] == pytest.approx(50)
    assert (e2e_metrics([parity], "parity")["c_f1"], e2e_metrics([strict], "strict")["c_f1"]) == (0, None)


# -- tables


@pytest.mark.parametrize("fixes", [PARITY, STRICT])
def test_tables_without_samples_have_no_figures(fixes: Fixes) -> None:
    scoring: Any = "strict" if fixes else "parity"
    rates = [
        metric
        for name, metric in (estimate([], step_formula(scoring)) | estimate([], e2e_formula(scoring))).items()
        if not name.startswith("Tool")
    ]
    assert all(metric.value in (None, 0.0) and metric.low is None and metric.n == 0 for metric in rates)


def test_columns_rest_on_the_samples_that_count_for_them() -> None:
    scores = [
        score_e2e({"gold": [GOLD], "prediction": [[call("OCR"), says("42")]]}, REFERENCE, SIM, PARITY),
        score_e2e({"gold": [DRAWN], "prediction": [DRAWN]}, None, SIM, PARITY),
    ]
    table = estimate(scores, e2e_formula("parity"))
    assert list(table) == ["P", "O", "L", "C", "AnsAcc", "AnsAcc+I", "ToolCalls", "ToolErrors"]
    assert {name: metric.n for name, metric in table.items()} == {
        "P": 1, "O": 1, "L": 0, "C": 0, "AnsAcc": 1, "AnsAcc+I": 2, "ToolCalls": 2, "ToolErrors": 2,
    }  # fmt: skip
    assert (table["AnsAcc+I"].value, table["ToolCalls"].value) == (pytest.approx(100), 2)

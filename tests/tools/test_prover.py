"""Prover: claims in SMT-LIB2 and what Z3 says about them, in the real sandbox."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from agentgauge.core.errors import ToolError
from agentgauge.sandbox import Script
from tests.packages import absent
from tool_impls.base import READY
from tool_impls.logic import code_tools, prover
from tool_impls.logic.prover import Prover, prove
from tool_impls.settings import ToolSettings

pytest.importorskip("z3")

INTS = "(declare-const x Int)(declare-const y Int)"
CUBES = (
    "(declare-const x Int)(declare-const y Int)(declare-const z Int)(assert (not (= (+ (* x x x) (* y y y) (* z z z))"
    " 33)))"
)


def say(tmp_path: Path, theorem: str) -> str:
    return Prover(ToolSettings()).apply(tmp_path, theorem=theorem)


@pytest.mark.parametrize(
    "theorem",
    [
        INTS + "(assert (= (+ x y) (+ y x)))",
        INTS + "(assert (=> (> x 2) (> x 1)))",
        INTS + "(assert (=> (and (> x 0) (> y x)) (> y 1)))",
        "(declare-const x Real)(assert (>= (* x x) 0.0))",
        "(declare-const p Bool)(assert (or p (not p)))",
        "(assert (forall ((x Int)) (exists ((y Int)) (> y x))))",
        "(declare-const a (_ BitVec 32))(declare-const b (_ BitVec 32))(assert (= (bvadd a b) (bvadd b a)))",
        "(declare-fun f (Int) Int)(declare-const x Int)(declare-const y Int)(assert (=> (= x y) (= (f x) (f y))))",
        "(define-fun twice ((n Int)) Int (* 2 n))(declare-const x Int)(assert (= (twice x) (+ x x)))",
        (
            "(set-logic QF_LIA)(declare-const x Int)\n; a comment (\n(assert (! (<= x x) :named"
            " same))\n(check-sat)\n(exit)"
        ),
    ],
)
def test_claim_that_holds_for_all_values_is_proved(tmp_path: Path, theorem: str) -> None:
    assert say(tmp_path, theorem) == "proved"


@pytest.mark.parametrize(
    ("theorem", "model"),
    [
        ("(declare-const x Int)(assert (not (= x 7)))", "[x = 7]"),
        ("(declare-const p Bool)(declare-const a Bool)(assert (or (not p) a))", "[a = False, p = True]"),
        ("(declare-const s String)(assert (not (= s \"hi\")))", '[s = "hi"]'),
        ("(assert false)", "[]"),
        ("(assert true)(assert (= 1 2))", "[]"),
        (INTS + "(assert (= x x))(assert (not (and (= x 3) (= y (* 2 x)))))", "[x = 3, y = 6]"),
    ],
)  # fmt: skip
def test_claim_that_fails_somewhere_gets_a_counterexample_by_name(tmp_path: Path, theorem: str, model: str) -> None:
    assert say(tmp_path, theorem) == f"disproved: {model}"


def test_one_false_assertion_among_true_ones_is_enough(tmp_path: Path) -> None:
    true = INTS + "(assert (=> (> x y) (not (= x y))))"
    assert say(tmp_path, true) == "proved"
    assert say(tmp_path, true + "(assert (> x y))").startswith("disproved: [x = ")


def test_same_claim_gets_the_same_counterexample(tmp_path: Path) -> None:
    claim = "(declare-fun f (Int) Int)" + INTS + "(assert (=> (> x y) (> (f x) (f y))))"
    answers = {say(tmp_path, claim) for _ in range(3)}
    assert len(answers) == 1 and answers.pop().startswith("disproved: [f = [")


@pytest.mark.parametrize(
    ("theorem", "reason"),
    [
        ("", "the text holds no assertion; write the claim as (assert ...)"),
        ("(declare-const x Int)", "the text holds no assertion; write the claim as (assert ...)"),
        ("(assert (= x 1))", "line 1 column 12: unknown constant x"),
        ("(declare-const x Int)\n(assert (= x 1)", "line 2 column "),
        ("all men are mortal", "line 1 column 1: invalid command"),
        ("(assert 1)", "line 1 column 10: invalid assert command, term is not Boolean"),
        ("(set-option :smt.nonsense 1)(assert true)", "line 1 column 27: unknown parameter 'nonsense' at module 'smt'"),
        ("(assert true)\0(assert false)", r"the text holds '\x00'"),
        ("(assert \ud800)", r"the text holds '\ud800'"),
        ("(" * 20_000, "20000 parentheses are open inside each other"),
    ],
    ids=[str(number) for number in range(10)],
)
def test_text_that_is_no_claim_is_told_and_not_raised(tmp_path: Path, theorem: str, reason: str) -> None:
    said = say(tmp_path, theorem)
    assert said.startswith(f"parse error: {reason}") and "\n" not in said


@pytest.mark.parametrize(
    ("theorem", "verdict"),
    [
        (f"(declare-const p Bool)(assert {'(not ' * 9_000}p{')' * 9_000})", r"disproved: \[p = False\]"),
        (f"(declare-const p Bool)(assert (or p (not p)))  ; {'(' * 20_000}", "proved"),
        (f'(declare-const s String)(assert (= s s)) (echo "{"(" * 20_000}")', "proved"),
        ("(declare-const a (_ BitVec 1000000000))(assert (= a a))", "unknown: out of memory"),
        (f"(assert (= {'9' * 20_000} {'9' * 20_000}))", "proved"),
        (
            f"(declare-const {'x' * 20_000} Int)(assert (= {'x' * 20_000} 1))",
            r"disproved: \[x{3000,4000} \.\.\. \(\d+ characters, cut\)",
        ),
    ],
    ids=["deep", "comment", "string", "memory", "number", "long name"],
)
def test_hostile_claims_get_an_answer(tmp_path: Path, theorem: str, verdict: str) -> None:
    assert re.fullmatch(verdict, say(tmp_path, theorem))


def test_endless_search_is_unknown_in_time(tmp_path: Path) -> None:
    began = time.monotonic()
    assert prove(CUBES, folder=tmp_path, seconds=0.5) == "unknown: timeout"
    assert time.monotonic() - began < 5


def test_process_that_does_not_heed_the_time_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prover, "START", -2.0)
    assert re.fullmatch(r"unknown: it (ran longer|used more) than .*", prove(CUBES, folder=tmp_path, seconds=3.0))


def test_process_that_says_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_tools, "_script", lambda *_: Script("def main(): raise SystemExit(3)"))
    with pytest.raises(ToolError, match="without an answer"):
        say(tmp_path, "(assert true)")


def test_claim_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=f"at most {prover.LONGEST} characters; got 262145"):
        say(tmp_path, " " * (prover.LONGEST + 1))


def test_claim_reads_and_writes_no_file(tmp_path: Path) -> None:
    """SMT-LIB2 can do both; the sandbox cannot."""
    secret, made = tmp_path / "secret.smt2", tmp_path / "made.txt"
    secret.write_text("(assert false)")
    assert "failed to open" in say(tmp_path, f'(include "{secret}")(assert true)')
    say(tmp_path, f'(set-option :regular-output-channel "{made}")(echo "hi")(assert true)')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.smt2"]


def test_output_of_commands_does_not_mix_with_the_answer(tmp_path: Path) -> None:
    assert say(tmp_path, '(echo "{""verdict"": ""disproved""}")(simplify (+ 1 2))(assert true)') == "proved"


def test_prover_is_ready_where_z3_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ToolSettings()
    assert (Prover.state(settings), Prover.backend(settings), Prover.category) == (READY, "Z3", "logic")
    absent(monkeypatch, "z3")
    assert Prover.state(settings) == "unavailable: the Python package z3 is missing; install agentgauge[tools]"

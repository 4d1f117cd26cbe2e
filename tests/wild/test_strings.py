"""How texts are compared."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_wild.arguments import DEEPEST, compare_text, longest_common, rouge_l, same_text, words

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("predicted", "gold", "outcome"),
    [
        ("north bed", "north bed", "correct"),
        ("North  Bed\n", "northbed", "correct"),
        ("B2", "B1", "error_match: string similarity too low at 'bed' (edit score: 0.50)"),
        # close enough by letters, but then words are compared as well
        ("tomatos", "tomatoes", "error_match: string similarity too low at 'bed' (rouge score: 0.00)"),
        ("water the beds every morning", "water the beds each morning", "correct"),
        ("...", "water the beds", "error_match: rouge calculation failed at 'bed'"),
    ],
)
def test_outcomes(predicted: str, gold: str, outcome: str) -> None:
    assert compare_text(predicted, gold, "bed") == outcome


def test_no_path_no_place_in_the_message() -> None:
    assert compare_text("x", "y", "") == "error_match: string similarity too low (edit score: 0.00)"


def test_long_texts_fail_as_upstream_unless_any_length_is_asked_for() -> None:
    gold = " ".join(f"w{number}" for number in range(DEEPEST + 1))
    assert compare_text(f"{gold} more", gold, "p") == "error_match: rouge calculation failed at 'p'"
    assert compare_text(f"{gold} more", gold, "p", any_length=True) == "correct"
    beside = " ".join(f"x{number}" for number in range(DEEPEST - 2))
    assert compare_text(beside, f"{beside} y z", "p") == "correct"
    # a long way back through a text that shares nothing but its first word
    assert compare_text(f"same {gold}", "same and then another text", "p").startswith(
        "error_match: rouge calculation failed"
    )


def test_same_text_ignores_whitespace_and_case() -> None:
    assert same_text("A b\tC", "abc")
    assert not same_text("naïve", "naive")


def test_longest_common() -> None:
    assert longest_common(list("abcd"), list("bxd")) == 2
    assert longest_common([], ["a"]) == 0


def test_words_keep_blanks_and_punctuation() -> None:
    assert words("种植 番茄！") == ["种植", " ", "番茄", "！"]


texts = st.lists(st.sampled_from(["a", "b", "c", "a.", "b. ", "...", "  ", "\t"]), max_size=12).map(" ".join)


@given(texts, texts)
@settings(deadline=None)
def test_rouge_is_the_package_s_to_the_bit(predicted: str, gold: str) -> None:
    rouge = pytest.importorskip("rouge")
    try:
        expected = rouge.Rouge(metrics=["rouge-l"]).get_scores(predicted, gold)[0]["rouge-l"]["f"]
    except (ValueError, LookupError):
        with pytest.raises(ValueError, match="sentence"):
            rouge_l(predicted, gold)
    else:
        assert rouge_l(predicted, gold) == expected


def test_jieba_and_rouge_are_not_imported_before_a_comparison_needs_them() -> None:
    code = """
import sys
import bench_wild.score, bench_wild.files
from bench_wild.arguments import compare_text
compare_text("water the beds every morning", "water the beds each morning", "p")
assert not {"jieba", "rouge", "rouge_score"} & set(sys.modules)
compare_text("种番茄", "种番茄吧", "p")
assert "jieba" in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

"""How two texts are compared: equality, edit similarity for short ones, ROUGE-L for the rest (wild spec 5.3).

ROUGE-L is that of the package ``rouge`` 1.0.1, written again here: the package traces back by recursion, so that its
outcome for long texts depends on the depth of the call stack. A test compares both on random texts. Chinese is
segmented by ``jieba``, which is imported when the first Chinese text has to be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

CORRECT = "correct"

SHORT = 10
"""Gold texts with fewer characters must also pass the edit similarity."""

EDIT_MARK = 0.8
ROUGE_MARK = 0.7

DEEPEST = 970
"""Steps of a trace-back that the published evaluator's recursion limit of 1000 leaves room for; approximate."""

_CHINESE = re.compile("[\u4e00-\u9fa5]")
_SPACE = re.compile(r"\s+")


def compare_text(predicted: str, gold: str, path: str, *, any_length: bool = False) -> str:
    """``correct`` or the error text. ``path`` names the argument; ``any_length`` is Fix.LONG_TEXTS."""
    if same_text(predicted, gold):
        return CORRECT
    where = f" at '{path}'" if path else ""
    if len(gold) < SHORT and (ratio := edit_ratio(predicted, gold)) < EDIT_MARK:
        return f"error_match: string similarity too low{where} (edit score: {ratio:.2f})"
    # a short text that passed goes on: as upstream
    try:
        score = rouge_l(*segmented(predicted, gold), any_length=any_length)
    except ValueError:
        return f"error_match: rouge calculation failed{where}"
    if score < ROUGE_MARK:
        return f"error_match: string similarity too low{where} (rouge score: {score:.2f})"
    return CORRECT


def same_text(one: str, other: str) -> bool:
    """Equality, whitespace and case aside."""
    return one == other or _SPACE.sub("", one).lower() == _SPACE.sub("", other).lower()


def edit_ratio(predicted: str, gold: str) -> float:
    """Similarity from 0 to 1. The order of the arguments matters."""
    return SequenceMatcher(None, predicted, gold).ratio()


def is_chinese(text: str) -> bool:
    """Whether there is a character from U+4E00 to U+9FA5."""
    return _CHINESE.search(text) is not None


def segmented(predicted: str, gold: str) -> tuple[str, str]:
    """Both texts with blanks between words where one of them is Chinese, else as they are."""
    if is_chinese(predicted) or is_chinese(gold):
        return " ".join(words(predicted)), " ".join(words(gold))
    return predicted, gold


def words(text: str) -> list[str]:
    """A text cut by jieba in its default mode; blanks and punctuation are words as well."""
    return list(_jieba().lcut(text))


@lru_cache(maxsize=1)
def _jieba() -> Any:
    import logging
    import warnings

    with warnings.catch_warnings():
        # jieba 0.42.1 imports pkg_resources where there is one, and has escapes that new Pythons warn of
        warnings.simplefilter("ignore")
        import jieba

        jieba.setLogLevel(logging.WARNING)
        jieba.initialize()
    return jieba


def rouge_l(predicted: str, gold: str, *, any_length: bool = False) -> float:
    """ROUGE-L's f, summary level: sentences end at ``.``, words at blanks, and every word counts once.

    Raises ValueError where a text has no sentence, and for texts so long that upstream's recursion ends, unless
    ``any_length``.
    """
    hypothesis, reference = _sentences(predicted), _sentences(gold)
    if not hypothesis or not reference:
        raise ValueError("a text without any sentence has no ROUGE score")
    common: set[str] = set()
    for expected in reference:
        for sentence in hypothesis:
            common |= _common_words(expected, sentence, any_length)
    recall = len(common) / len({word for sentence in reference for word in sentence})
    precision = len(common) / len({word for sentence in hypothesis for word in sentence})
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _sentences(text: str) -> list[list[str]]:
    # a piece of blanks only becomes one empty word: as upstream
    return [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]


def _common_words(expected: Sequence[str], sentence: Sequence[str], any_length: bool) -> set[str]:
    """The words of one longest common subsequence; which one is decided as upstream."""
    if min(len(expected), len(sentence)) > DEEPEST and not any_length:
        raise ValueError("a trace-back through the shorter text is beyond the published evaluator's recursion limit")
    table = _lengths(expected, sentence)
    row, column, steps = len(expected), len(sentence), 0
    found: set[str] = set()
    while row and column:
        if expected[row - 1] == sentence[column - 1]:
            row, column = row - 1, column - 1
            found.add(expected[row])
        elif table[row - 1][column] > table[row][column - 1]:
            row -= 1
        else:
            column -= 1
        steps += 1
    if steps > DEEPEST and not any_length:
        raise ValueError(f"a trace-back of {steps} steps is beyond the published evaluator's recursion limit")
    return found


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence."""
    return _lengths(one, other)[-1][-1]


def _lengths(one: Sequence[str], other: Sequence[str]) -> list[list[int]]:
    table = [[0] * (len(other) + 1)]
    for mine in one:
        above, row = table[-1], [0]
        for place, theirs in enumerate(other):
            if mine == theirs:
                row.append(above[place] + 1)
            else:
                left, up = row[place], above[place + 1]
                row.append(left if left > up else up)
        table.append(row)
    return table

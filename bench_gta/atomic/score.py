"""Scores a prediction: the counters for the metrics, and a verdict with its reason
(docs/benchmarks/gta_atomic.md#metrics); and one answer text against a reference answer
(docs/benchmarks/gta_atomic.md#metrics).

Pure: everything comes from an entry of a prediction file and the reference answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from agentgauge.agent.dialect import INVALID_ACTION, NO_ACTION, NOT_AN_OBJECT
from agentgauge.core.text import looks_like_call
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_gta.atomic.data import kind_of, user_turns
from bench_gta.atomic.explain import WrongStep, calls_made, expected_answer, explain, quoted, shown_turn
from bench_gta.atomic.fixes import Fix, Fixes, e2e_stop, fixes_of, step_stop
from bench_gta.similarity import Similarity
from bench_gta.similarity import similarity as measure_of
from bench_gta.tools import CATEGORIES, CATEGORY_OF, DRAWING

ScoreEntry = Callable[[Mapping[str, Json], Json, Similarity, Fixes], Score]
"""``score_step`` or ``score_e2e``: from an entry of a prediction file and the reference answer to a score."""


def score_sample(
    sample: Sample,
    output: Json | None,
    scoring: Scoring,
    similarity: str,
    *,
    entry: ScoreEntry,
    broken: Callable[[Sequence[Turn], Json, Fixes], Score],
) -> Score:
    """Score the result of a case. ``entry`` does it, ``broken`` that of a case without a prediction."""
    reference = sample.payload.get("gt_answer")
    if output is None:
        return broken(sample.payload["dialogs"], reference, fixes_of(scoring))
    return entry(output, reference, measure_of(similarity), fixes_of(scoring))


def score_answer(text: str, reference: Json, similar: Similarity, fixes: Fixes) -> float:
    """From 0 to 1. A reference that is no object and no list of texts scores 0."""
    if isinstance(reference, Mapping):
        return float(matches(text, reference, fixes))
    if isinstance(reference, Sequence) and not isinstance(reference, str):
        return max((similar(text, one) for one in reference), default=0.0)
    return 0.0


def matches(text: str, reference: Mapping[str, Json], fixes: Fixes) -> bool:
    """Whether every group of the white list is found and nothing of the black list is.

    The published rule puts ``\\b`` around the aliases, with the oddities that follow from it where an alias does not
    begin or end with a word character; see Fix.ALIAS_EDGES.
    """
    found = _found_strictly if Fix.ALIAS_EDGES in fixes else _found
    if not all(found(text, group) for group in reference["whitelist"]):
        return False
    refused = reference.get("blacklist")
    return not (refused and found(text, [alias for group in refused for alias in group]))


def _found(text: str, aliases: Iterable[str]) -> bool:
    """One pattern for all aliases: an empty list gives ``\\b(?:)\\b``, which any word satisfies. As upstream."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, aliases))})\b", text, re.IGNORECASE) is not None


def _found_strictly(text: str, aliases: Iterable[str]) -> bool:
    text = _folded(text)
    return any(re.search(_edged(alias), text) for alias in map(_folded, aliases) if alias.strip())


# letters and digits of scripts that put blanks between words
_WORD = r"[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"


def _edged(alias: str) -> str:
    """A pattern for an alias that is not part of a longer word or number."""
    before, after = alias[0], alias[-1]
    left = rf"(?<!{_WORD})" if re.match(_WORD, before) else ""
    right = rf"(?!{_WORD})" if re.match(_WORD, after) else ""
    if before.isdecimal():
        left += r"(?<!\d[.,])"
    if after.isdecimal():
        # 3.0 is still a 3, 3.5 is not
        right += r"(?![.,]\d)" if "." in alias or "," in alias else r"(?!,\d|\.(?!0+(?!\d))\d)"
    return f"{left}{re.escape(alias)}{right}"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


PASS_MARK = 0.5
"""Similarity from which a free answer or a drawing passes. Ours: it decides a case's verdict and enters no metric."""

Turn = Mapping[str, Json]


# -- step by step


def step_values(
    prediction: Sequence[Turn], gold: Sequence[Turn], reference: Json, similar: Similarity, fixes: Fixes
) -> dict[str, float]:
    """A sample's contributions to the step-by-step metrics (docs/benchmarks/gta_atomic.md#step-by-step-figures).
    ``gold_answer`` (answer turns of the gold) only matters under Fix.ANSWER_TURNS."""
    values = dict.fromkeys(("gold_tool", "gold_answer", "inst", "tool", "arg", "tool_call", "tool_call_error"), 0.0)
    answers = [0.0]
    for expected, got in _pairs(prediction, gold, fixes):
        values["gold_tool" if kind(expected) == "tool" else "gold_answer"] += 1
        if got is None:
            answers += [0.0] if kind(expected) == "answer" else []
            continue
        failed = "error" in got
        values["inst"] += kind(got) == kind(expected) and not failed
        if kind(got) == "tool":
            values["tool_call"] += 1
            values["tool_call_error"] += failed
        if kind(got) == kind(expected) == "tool":
            counts = not failed or Fix.ERRORS_FAIL not in fixes
            same_name = counts and _name(got) == _name(expected)
            values["tool"] += same_name
            values["arg"] += same_name and same_arguments(_arguments(got), _arguments(expected), fixes)
        elif kind(expected) == "answer":
            right_kind = kind(got) == "answer" and bool(reference)
            answers.append(score_answer(_text(got), reference, similar, fixes) if right_kind else 0.0)
    values["answer"] = float(bool(reference))
    values["answer_score"] = answers[-1] if Fix.LAST_ANSWER in fixes else sum(answers)
    return values


def score_step(entry: Turn, reference: Json, similar: Similarity, fixes: Fixes) -> Score:
    """The verdict: every gold turn matched without an error, names and arguments, and the answer at least PASS_MARK."""
    gold, prediction = entry["gold"], entry["prediction"]
    values = step_values(prediction, gold, reference, similar, fixes)
    answer_turns = [place for place, turn in enumerate(gold) if kind(turn) == "answer"]
    findings: list[WrongStep] = []
    for place, (expected, got) in enumerate(zip_longest(gold, prediction[: len(gold)])):
        labels = _step_labels(expected, got, fixes)
        wanted = shown_turn(expected)
        if not labels and reference and answer_turns[-1:] == [place]:
            score = score_answer(_text(got), reference, similar, fixes)
            labels = [] if score >= PASS_MARK else ["wrong_answer" if _text(got).strip() else "no_answer"]
            wanted = expected_answer(reference)
        if labels:
            came = "nothing" if got is None else shown_turn(got)
            findings.append(WrongStep(tuple(labels), f"step {place + 1} of {len(gold)}", wanted, came))
    return replace(_verdict(findings, values), stops=step_stop(prediction))


def _step_labels(expected: Turn, got: Turn | None, fixes: Fixes) -> list[str]:
    """What is wrong with one predicted turn, answers' content aside."""
    if got is None:
        return ["stopped_early"]
    if kind(expected) == "answer":
        if kind(got) == "answer" and "error" not in got:
            return []
        if fault := _fault(got):
            return [fault]
        return ["no_answer", *([_failure(got)] if kind(got) == "tool" and "error" in got else [])]
    if kind(got) != "tool":
        return ["unreadable_call" if looks_like_call(_text(got)) else "stopped_early"]
    if _name(got) in (NO_ACTION, INVALID_ACTION):
        return [_fault(got)]
    labels = [] if _name(got) == _name(expected) else ["wrong_tool"]
    if "error" in got:
        labels.append(_failure(got))
    elif not labels and not same_arguments(_arguments(got), _arguments(expected), fixes):
        labels.append("wrong_argument")
    return labels


def _failure(call: Turn) -> str:
    """The word for a call that failed."""
    error = call["error"]
    message = str(error.get("msg")) if isinstance(error, Mapping) else ""
    return "invalid_json" if message.startswith(NOT_AN_OBJECT) else "argument_error"


def _fault(got: Turn) -> str:
    """The word for a call that was none; empty for everything else."""
    if kind(got) != "tool":
        return ""
    return {NO_ACTION: "no_action", INVALID_ACTION: "invalid_action"}.get(_name(got), "")


# -- end to end


def e2e_values(
    prediction: Sequence[Sequence[Turn]],
    gold: Sequence[Sequence[Turn]],
    reference: Json,
    similar: Similarity,
    fixes: Fixes,
) -> dict[str, float]:
    """A sample's contributions to the end-to-end metrics (docs/benchmarks/gta_atomic.md#metrics). Only the first user
    turn counts."""
    steps, wanted = _first(prediction), _first(gold)
    values = {"samples": 1.0, "answer": float(bool(reference)), "answer_score": 0.0, "image_score": 0.0}
    if reference:
        answer = final_answer(steps, fixes)
        values["answer_score"] = score_answer(answer, reference, similar, fixes) if answer else 0.0
    elif Fix.DRAWING_NEEDED in fixes and not any(_name(turn) in DRAWING for turn in _calls(wanted)):
        values["samples"] = 0.0
    else:
        values["image_score"] = drawing_score(steps, wanted, similar, fixes)
    calls = list(_calls(steps))
    values["tool_call"] = float(len(calls))
    values["tool_call_error"] = float(sum("error" in call for call in calls))
    return values | _selection([_name(call) for call in calls], [_name(turn) for turn in _calls(wanted)], fixes)


def final_answer(steps: Sequence[Turn], fixes: Fixes) -> str:
    """The text that is scored as the answer; empty if there is none. It comes from the last record, even if that is an
    error record (docs/benchmarks/gta_atomic.md#failures)."""
    if not steps or kind(steps[-1]) != "answer":
        return ""
    last = steps[-1]
    if Fix.REAL_ANSWER in fixes and ("error" in last or (last.get("meta") or {}).get("type") in ("error", "thought")):
        return ""
    return _text(last)


def drawing_score(steps: Sequence[Turn], wanted: Sequence[Turn], similar: Similarity, fixes: Fixes) -> float:
    """Ans+I of a sample without reference (docs/benchmarks/gta_atomic.md#drawings): drawing calls compared by the text
    of their arguments."""
    drawn: dict[str, list[Json]] = {}
    for call in _calls(steps):
        if _name(call) in DRAWING and "error" not in call:
            drawn.setdefault(_name(call), []).append(_arguments(call))
    paired = Fix.DRAWINGS_PAIRED in fixes
    expected = [turn for turn in _calls(wanted) if _name(turn) in DRAWING]
    left = Counter(_name(turn) for turn in expected)
    score = 1.0
    for turn in expected:
        name = _name(turn)
        # from the end: earlier tries that were done over do not count
        place = left[name] if paired else 1
        left[name] -= 1
        if len(drawn.get(name, ())) < place:
            return 0.0
        score *= similar(_dump(_arguments(turn), paired), _dump(drawn[name][-place], paired))
    return score


def _selection(called: Sequence[str], wanted: Sequence[str], fixes: Fixes) -> dict[str, float]:
    """Counters of tool selection by category. Calls with errors are among the called ones."""
    values = {f"{category}_{part}": 0.0 for category in CATEGORIES for part in ("gold", "found", "predicted")}
    for name in called:
        if name in CATEGORY_OF:
            values[f"{CATEGORY_OF[name]}_predicted"] += 1
    unmatched = Counter(called)
    for name in wanted:
        if name not in CATEGORY_OF:
            continue
        values[f"{CATEGORY_OF[name]}_gold"] += 1
        if unmatched[name] > 0:
            values[f"{CATEGORY_OF[name]}_found"] += 1
            unmatched[name] -= Fix.F1_ONE_TO_ONE in fixes
    return values


def score_e2e(entry: Turn, reference: Json, similar: Similarity, fixes: Fixes) -> Score:
    """The verdict: the answer, or the drawings where there is no reference, at least PASS_MARK."""
    return replace(_e2e_verdict(entry, reference, similar, fixes), stops=e2e_stop(entry["prediction"]))


def _e2e_verdict(entry: Turn, reference: Json, similar: Similarity, fixes: Fixes) -> Score:
    values = e2e_values(entry["prediction"], entry["gold"], reference, similar, fixes)
    steps, wanted = _first(entry["prediction"]), _first(entry["gold"])
    kind_of_query = kind_of(reference)
    if kind_of_query == "image_generation":
        drawings = [turn for turn in _calls(wanted) if _name(turn) in DRAWING]
        score = drawing_score(steps, wanted, similar, fixes)
        if score >= PASS_MARK:
            return _verdict([], values)
        drawn = [call for call in _calls(steps) if _name(call) in DRAWING and "error" not in call]
        missing = {_name(turn) for turn in drawings} - {_name(call) for call in drawn}
        came = "; ".join(map(shown_turn, drawn)) or "no drawing"
        labels = ["missing_drawing" if missing else "wrong_drawing", *_trouble(steps, wanted)]
        if looks_like_call(final_answer(steps, fixes)):
            labels.insert(0, "unreadable_call")
        return _verdict([WrongStep(tuple(labels), _where(steps), "; ".join(map(shown_turn, drawings)), came)], values)
    if values["answer_score"] >= PASS_MARK:
        return _verdict([], values)
    answer = final_answer(steps, fixes)
    first = "unreadable_call" if looks_like_call(answer) else "wrong_answer" if answer else "no_answer"
    labels = [first, *_trouble(steps, wanted)]
    came = quoted(answer) if answer else "no answer"
    if answer and kind_of_query == "subjective":
        came += f" (similarity {values['answer_score']:.2f}, needed {PASS_MARK})"
    return _verdict([WrongStep(tuple(labels), _where(steps), expected_answer(reference), came)], values)


def _trouble(steps: Sequence[Turn], wanted: Sequence[Turn]) -> Iterator[str]:
    """Further labels of a failed end-to-end case: what may have led to it."""
    calls = list(_calls(steps))
    if set(map(_name, _calls(wanted))) - set(map(_name, calls)):
        yield "stopped_early" if all(map(_fault, calls)) else "missing_tool"
    failed = [call for call in calls if "error" in call]
    for label in ("no_action", "invalid_action"):
        if any(_fault(call) == label for call in failed):
            yield label
    yield from dict.fromkeys(_failure(call) for call in failed if not _fault(call))


def _where(steps: Sequence[Turn]) -> str:
    return calls_made([_name(call) for call in _calls(steps)])


# -- broken cases


def broken_step(dialogs: Sequence[Turn], reference: Json, fixes: Fixes) -> Score:
    """A case without a prediction: the original's denominators, and nothing in the numerators."""
    gold = [turn for turn in dialogs if turn["role"] == "assistant"]
    values = step_values([{"role": "none"}] * len(gold), gold, None, _never, frozenset())
    return Score(False, {**values, "answer": float(bool(reference))}, ("broken",), "there is no prediction")


def broken_e2e(dialogs: Sequence[Turn], reference: Json, fixes: Fixes) -> Score:
    """A case without a prediction, scored like a run without any reply."""
    gold = [turns for _, turns in user_turns(dialogs)]
    return Score(False, e2e_values([], gold, reference, _never, fixes), ("broken",), "there is no prediction")


def _never(a: str, b: str) -> float:
    raise AssertionError("nothing is compared without a prediction")


# -- records


def kind(record: Turn) -> str:
    """``tool``, ``answer`` or ``return`` (docs/benchmarks/gta_atomic.md#metrics)."""
    if "tool_calls" in record:
        return "tool"
    return "answer" if record.get("role") == "assistant" else "return"


def same_arguments(a: Json, b: Json, fixes: Fixes) -> bool:
    """Equality of JSON values by Python's rules: the order of keys is irrelevant, 1 equals 1.0 and true."""
    if Fix.TYPED_ARGUMENTS not in fixes:
        return bool(a == b)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_arguments(a[name], b[name], fixes) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_arguments(one, other, fixes) for one, other in zip(a, b, strict=True))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _pairs(prediction: Sequence[Turn], gold: Sequence[Turn], fixes: Fixes) -> Iterator[tuple[Turn, Turn | None]]:
    """Gold turns with their predictions, to the shorter length unless Fix.EVERY_TURN."""
    if Fix.EVERY_TURN in fixes:
        yield from zip_longest(gold, prediction[: len(gold)])
    else:
        yield from zip(gold, prediction, strict=False)


def _calls(turns: Iterable[Turn]) -> Iterator[Turn]:
    return (turn for turn in turns if kind(turn) == "tool")


def _name(turn: Turn) -> str:
    """Only the first call of a turn counts, everywhere."""
    name: str = turn["tool_calls"][0]["function"]["name"]
    return name


def _arguments(turn: Turn) -> Json:
    return turn["tool_calls"][0]["function"]["arguments"]


def _text(turn: Turn) -> str:
    return str(turn.get("content") or "")


def _first(parts: Sequence[Sequence[Turn]]) -> Sequence[Turn]:
    return parts[0] if parts else []


def _dump(arguments: Json, in_order: bool) -> str:
    """Python's default JSON text: non-ASCII escaped, keys in the order given. As upstream."""
    return json.dumps(arguments, sort_keys=in_order)


def _verdict(findings: Sequence[WrongStep], values: Mapping[str, float]) -> Score:
    labels = tuple(dict.fromkeys(label for finding in findings for label in finding.labels))
    return Score(not findings, values, labels, explain(findings))

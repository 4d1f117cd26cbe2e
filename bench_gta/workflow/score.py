"""From a judged task to its score, and its explanation for a person (docs/benchmarks/gta_workflow.md#scores and
docs/benchmarks/gta_workflow.md#metrics)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from agentgauge.agent.dialect import INVALID_ACTION, NO_ACTION, NOT_AN_OBJECT
from agentgauge.core.text import looks_like_call
from agentgauge.core.types import Json, Sample, Score, Scoring
from bench_gta.workflow.data import categories_of
from bench_gta.workflow.judge import RULES, ScoredTree, scored
from bench_gta.workflow.metrics import Thresholds, calls_of, values_of
from bench_gta.workflow.prompts import NO_ANSWER, LeafVerdict, final_answer
from bench_gta.workflow.tree import Value, leaves, parse

SHOWN = 160  # characters of a requirement or of the judge's words in a line


def score_sample(
    sample: Sample, output: Json | None, scoring: Scoring, similarity: str = "", *, thresholds: Thresholds
) -> Score:
    """Score the result of a case. No texts are compared: ``similarity`` changes nothing."""
    if output is None:
        return failed(sample.payload)
    return score_output(sample.payload, output, thresholds, strict=scoring == "strict")


def score_output(task: Mapping[str, Json], output: Json, thresholds: Thresholds, *, strict: bool) -> Score:
    """``task``: the data set's entry. ``output``: the result of ``run_workflow``. Raises Unreadable, DataProblem."""
    result = scored(output["full_tree"], output["judged"]["leaves"], strict=strict)
    values = values_of(
        result.root.value,
        [verdict.score for verdict in result.verdicts],
        categories_of(task),
        **calls_of(output["prediction"], output["assistant_outputs"]),
        status="ok",
        leaf_threshold=thresholds.leaf,
        root_threshold=thresholds.root,
    )
    judged = output["judged"]
    otherwise = judged["judge"] != RULES and judged["everything"] is not strict
    unreadable = sum(result.flaws.values())
    values |= {
        "fallbacks": float(result.fallbacks),
        "shown_otherwise": float(otherwise),
        "votes": float(result.votes if judged["judge"] != RULES else 0),
        "stored_votes": float(result.stored),
        "unreadable": float(unreadable),
    }
    passed = result.root.value >= thresholds.root
    labels = () if passed else _labels(output, values)
    root, *tree = lines(result, thresholds)
    signs = "; ".join(_SENTENCES[label] for label in labels if label in _SENTENCES)
    return Score(passed, values, labels, "\n".join([root, *([signs] if signs else []), *tree]))


_SENTENCES = {
    "no_answer": "there is no final answer",
    "no_files": "no file was delivered",
    "no_action": "a reply was neither a call nor an answer",
    "invalid_action": "a reply named a tool that is not on offer",
    "unreadable_calls": "replies held no call that could be read",
}
"""Labels in words, those that say why a judge saw little."""


def _faulty_calls(prediction: Sequence[Sequence[Json]]) -> Counter[str]:
    """The recorded calls that are none: label → how many."""
    failed = [step for turn in prediction for step in turn if isinstance(step, Mapping) and step.get("error")]
    return Counter(label for label in map(_fault_of, failed) if label)


def _fault_of(step: Mapping[str, Json]) -> str:
    calls, error = step.get("tool_calls"), step["error"]
    function = calls[0].get("function") if isinstance(calls, list) and calls and isinstance(calls[0], Mapping) else None
    if not isinstance(function, Mapping):
        return ""
    message = str(error.get("msg")) if isinstance(error, Mapping) else ""
    if function.get("name") == NO_ACTION:
        return "no_action"
    if function.get("name") == INVALID_ACTION:
        return "invalid_action"
    return "unreadable_calls" if message.startswith(NOT_AN_OBJECT) else ""


def _labels(output: Json, values: Mapping[str, float]) -> tuple[str, ...]:
    """What may be behind a low score. Where no reply of the judge could be read, nothing is known of the agent."""
    if 0 < values["votes"] == values["unreadable"]:
        return ("unreadable_judgement",)
    answer = final_answer(output["assistant_outputs"])
    faulty = _faulty_calls(output["prediction"])
    signs = {
        "no_answer": answer == NO_ANSWER,
        "no_files": not output.get("delivered", output.get("attached_files")),
        "no_action": faulty["no_action"] > 0,
        "invalid_action": faulty["invalid_action"] > 0,
        "unreadable_calls": faulty["unreadable_calls"] > 0 or looks_like_call(answer),
        "tool_errors": values["tool_errors"] > faulty.total(),
        "partial": values["leaves_ok"] > 0,
        "unreadable_judgement": values["unreadable"] > 0,
    }
    return tuple(label for label, holds in signs.items() if holds)


def failed(task: Mapping[str, Json]) -> Score:
    """A task that could not be run or judged: root score 0, all leaves failed
    (docs/benchmarks/gta_workflow.md#failed-tasks)."""
    count = len(leaves(parse(task.get("sub_tasks", []))))
    values = values_of(0.0, [0.0] * count, categories_of(task), status="error")
    values |= dict.fromkeys(("fallbacks", "shown_otherwise", "votes", "stored_votes", "unreadable"), 0.0)
    return Score(False, values, ("not_judged",), "it could not be run or judged")


def lines(result: ScoredTree, thresholds: Thresholds) -> Iterator[str]:
    """The tree as text: scores, requirements, and the judge's words at the leaves; before it what was wrong with the
    judge's replies."""
    root = result.root
    if result.flaws:
        yield unreadable_replies(result)
    met = sum(leaf.value >= thresholds.leaf for leaf in leaf_values(root))
    yield (
        f"root score {root.value:.2f} of 10, {thresholds.root:g} are needed;"
        f" {met} of {len(result.verdicts)} single requirements reach {thresholds.leaf:g}"
    )
    verdicts = iter(result.verdicts)
    for value in _walk(root):
        if value.depth == 0 and value.children:
            continue
        line = f"{'  ' * value.depth}{value.value:5.2f}  {value.node.id}"
        if not value.children:
            verdict = next(verdicts)
            line += f"  {_short(value.node.requirement)}"
            if verdict.analysis:
                line += f"\n{'  ' * value.depth}       judge: {_short(verdict.analysis)}"
        yield line


def unreadable_replies(result: ScoredTree) -> str:
    """One sentence."""
    kinds = ", ".join(f"{count} × {flaw}" for flaw, count in sorted(result.flaws.items()))
    return (
        f"{sum(result.flaws.values())} of {result.votes} replies of the judge hold no score in the form asked for"
        f" ({kinds}): they count as 0 or by a number found in them, and say nothing about the agent"
    )


def page(result: ScoredTree, judge: str, thresholds: Thresholds) -> str:
    """The tree as HTML. Everything that a model or a judge wrote is escaped."""
    verdicts = iter(result.verdicts)
    rows = []
    for value in _walk(result.root):
        leaf = not value.children
        verdict = next(verdicts) if leaf else None
        least = thresholds.leaf if leaf else thresholds.root
        colour = "#1a7f37" if value.value >= least else "#b35900" if value.value > 0 else "#b3261e"
        width = max(value.value, 0) * 6
        bar = f'<span style="display:inline-block;width:{width:.0f}px;height:9px;background:{colour}"></span>'
        words = _words(value, verdict)
        weight = "" if value.depth == 0 else f"{value.node.weight}"
        rows.append(
            f'<tr><td style="padding-left:{value.depth * 18 + 4}px;white-space:nowrap">'
            f"<b>{escape(str(value.node.id))}</b></td>"
            f'<td style="text-align:right">{escape(weight)}</td>'
            f'<td style="color:{colour};text-align:right"><b>{value.value:.2f}</b></td>'
            f'<td style="width:64px">{bar}</td><td>{words}</td></tr>'
        )
    unread = f"<p><b>{escape(unreadable_replies(result))}</b></p>" if result.flaws else ""
    return (
        f"{unread}"
        '<table style="border-collapse:collapse;font:14px sans-serif" cellpadding="4">'
        f"<caption style='text-align:left'>Checkpoints, judged by {escape(judge)}: root score {result.root.value:.2f}"
        " of 10</caption>"
        "<thead><tr><th align='left'>checkpoint</th><th>weight</th><th>score</th><th></th>"
        "<th align='left'>requirement, judge</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def detail(index: Json, root: Value, verdicts: Sequence[LeafVerdict]) -> dict[str, Json]:
    """One sample's entry in ``details``. ``verdicts``: one per leaf in judging order."""
    nodes = [
        {"id": leaf.node.id, "score": verdict.score, "analysis": verdict.analysis}
        for leaf, verdict in zip(leaf_values(root), verdicts, strict=True)
    ]
    return {"sample_index": index, "score": root.value, "nodes": nodes}


def leaf_values(root: Value) -> list[Value]:
    """The leaves of a tree of values in judging order."""
    return [leaf for child in root.children for leaf in leaf_values(child)] if root.children else [root]


def run_result(details: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The whole result: ``gpt_score`` is the mean root score, 0 for an empty run."""
    scores = [one["score"] for one in details]
    return {
        "gpt_score": math.fsum(scores) / len(scores) if scores else 0.0,
        "sample_scores": scores,
        "details": list(details),
    }


def _words(value: Value, verdict: LeafVerdict | None) -> str:
    if verdict is None:
        return ""
    read = f" <small>({verdict.fallback})</small>" if verdict.fallback else ""
    return f"{escape(str(value.node.requirement))}<br><i>{escape(str(verdict.analysis))}</i>{read}"


def _walk(value: Value) -> Iterator[Value]:
    yield value
    for child in value.children:
        yield from _walk(child)


def _short(text: Json) -> str:
    words = " ".join(str(text).split())
    return words if len(words) <= SHOWN else words[: SHOWN - 1] + "…"

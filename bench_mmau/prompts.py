"""The texts and requests of the two-stage tasks: mathematics (docs/benchmarks/mmau.md#tasks and
docs/benchmarks/mmau.md#mathematics), and contests' plans for the fixed solver and retries after a failure
(docs/benchmarks/mmau.md#second-stage).

The release has neither prompts nor files for two-stage mathematics: they are ours, after the paper's description. All
texts are our own; their marks are the reference's. Every other prompt is in the data or beside its
metric.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.format import fill
from agentgauge.agent.framing import FRAMED
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_text
from bench_mmau.contests.score import Contents, ContestVerdict, content, record_id
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.mathematics import GRADER, has_frame
from bench_mmau.replies import NotScorable

REPEATS = 5  # of every request of the second stage
SOLVER_TEMPERATURE = 0.3  # the solver's, as published

SOLVER = """Below are a programming problem and a plan for solving it. Turn the plan into a Python program.

#PROBLEM#
{description}

#PLAN#
{plan}

Reply with the code and nothing else. The program stands alone and imports everything that it uses. It reads its data \
with input() and prints the bare results, without any words around them. Write it in this shape: functions first, then \
the main guard.

```python
def solve(data):
    ...

if __name__ == "__main__":
    ...
```

Your program:
```python
"""

RETRY_SYSTEM = "The assistant writes a program for the user's problem. When it learns of an error, it tries again."
RETRY_FIRST = """system
{instruction}

user
{message}"""

NO_SOLUTION = "You gave no solution."
NOT_COMPILED = "Your answer could not be parsed or compiled."
WRONG_OUTPUT = """Your program failed test {number} with a wrong output.
Test input:
{test_input}
Expected output:
{expected_output}
Output of your program:
{code_output}"""
RUNTIME_ERROR = """Your program failed test {number} with a runtime error.
Test input:
{test_input}
Error message:
{error_message}"""
AGAIN = """Please try again.
```python
"""
_NOTHING = "."  # the assistant's turn where the response holds no message


def solver_request(
    record: Mapping[str, Any], plan: Contents, *, fixes: Fixes = PARITY, template: str = SOLVER
) -> dict[str, Any] | None:
    """The record as a request to the solver, to be sent ``REPEATS`` times.

    None where the plan's response holds no message: the record then leaves the metric, unless ``empty_plan_counts``.
    Raises NotScorable without a description, and in parity StopsOnReply for a plan without content.
    """
    number = record_id(record)
    if not plan and not fixes.empty_plan_counts:
        return None
    description = record.get("description")
    if not isinstance(description, str):
        raise NotScorable(
            number, f"description is {description!r} where a string is needed; correct or remove the record"
        )
    text = _filled(template, description=description, plan=content(plan, number, fixes))
    return _with_messages(record, [{"role": "user", "content": text}])


def retry_request(
    record: Mapping[str, Any], response: Contents, verdict: ContestVerdict, *, fixes: Fixes = PARITY
) -> dict[str, Any]:
    """The record as a request to try again, to be sent ``REPEATS`` times, to the model of the first attempt [Q22].

    ``response`` is the record's own (sample 0). The model is sent the first failing test of candidate 0 only. Raises
    NotScorable if the first message is no text, and in parity StopsOnReply for a response without content.
    """
    number, messages = record_id(record), record.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    if not isinstance(messages, list) or not isinstance(first, Mapping) or not isinstance(first.get("content"), str):
        raise NotScorable(
            number,
            "the first message is not a text where a retry needs one to put its instruction before; correct the record",
        )
    asked = _filled(RETRY_FIRST, instruction=RETRY_SYSTEM, message=first["content"])
    text = content(response, number, fixes) if response else _NOTHING
    turns = [
        {**first, "content": asked},
        *messages[1:],
        {"role": "assistant", "content": text},
        {"role": "user", "content": _complaint(text, verdict)},
    ]
    return _with_messages(record, turns)


def _complaint(text: str, verdict: ContestVerdict) -> str:
    log = verdict.errors[0] if verdict.errors else []
    if text == _NOTHING:
        return f"{NO_SOLUTION}\n{AGAIN}"
    if isinstance(log, dict):
        return f"{NOT_COMPILED}\n{AGAIN}"
    if not log:  # the group is lost, and the failing test is unknown
        return AGAIN
    template = WRONG_OUTPUT if log[0]["status"] == "wrong_output" else RUNTIME_ERROR
    return f"{_filled(template, number='0', **log[0])}\n{AGAIN}"


def _filled(template: str, **values: str) -> str:
    """Put texts into the named places. Braces and names in the texts stay as they are."""
    parts = template.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        filled.append(values[name] + rest if closed and name in values else "{" + part)
    return "".join(filled)


def _with_messages(record: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kept = {key: value for key, value in record.items() if key not in ("response", "n_responses", "prompt", "messages")}
    return {**kept, "messages": [dict(message) for message in messages]}


# -- mathematics

MATH_PLAN = """Below is a mathematics problem. Do not solve it. Write a plan for solving it: a few numbered steps, \
each with what is to be computed and how, so that somebody who follows them reaches the answer. Compute nothing \
yourself.

#PROBLEM#: {problem}

#PLAN#:"""

MATH_SOLVE = """Below are a mathematics problem and a plan for solving it. Follow the plan.

#PROBLEM#: {problem}

#PLAN#: {plan}

Write your solution in two parts. Behind #THOUGHTS# go through the plan step by step, in a few sentences. Behind \
#ANSWER#: give the answer and nothing else."""

JUDGE = "math_judge"
TEXTS: Mapping[str, str] = {
    "math_plan": MATH_PLAN,
    "math_solve": MATH_SOLVE,
    JUDGE: GRADER,
    "contest_solver": SOLVER,
}
"""What a folder of texts may replace, one file each: ``mmau_math_judge.txt`` and so on."""

OURS = "a384965a948a"
"""The version of our texts, the judge's aside: a digest of all as they were when there was one for all tasks, so that
the runs of that time can be gone on with. A change of one of the other texts gives this another value.
"""

PREFIX = "mmau_"


def load(folder: Path | None) -> dict[str, str]:
    """The texts, replaced by the texts in ``folder``. Raises UsageProblem for a file with our prefix that is unknown or
    unreadable."""
    texts = dict(TEXTS)
    for file in sorted(folder.glob(f"{PREFIX}*.txt")) if folder else ():
        name = file.stem.removeprefix(PREFIX)
        if name not in texts:
            raise UsageProblem(
                f"{file} is not a prompt text; accepted are {', '.join(f'{PREFIX}{one}.txt' for one in TEXTS)}"
            )
        try:
            texts[name] = read_text(file).removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    return texts


def version(folder: Path | None, used: Collection[str]) -> str:
    """A fingerprint of what a task asks with: runs with different texts are not the same run.

    ``used``: the names of the task's texts.
    """
    texts = load(folder)
    if JUDGE not in used and all(texts[name] == TEXTS[name] for name in used):
        return OURS
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:12]
    return f"{digest}{FRAMED}" if JUDGE in used and has_frame(texts[JUDGE]) else digest


def plan_request(record: Mapping[str, Any], template: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": fill(template, problem=str(record["raw_problem"]))}]


def solve_request(record: Mapping[str, Any], plan: str, template: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": fill(template, problem=str(record["raw_problem"]), plan=plan)}]

"""The health of samples over several runs: which of them distinguish models, and which may be defective."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.text import counted
from agentgauge_reports.load import UNFINISHED, Run, load_run
from agentgauge_reports.text import fill

ORACLE = "oracle"
"""The model that answers with the gold."""
FEWEST_RUNS = 3
"""With fewer runs a correlation over runs has no meaning."""
SHOWN = 20
"""Samples of a list that the text names; JSON has them all."""


@dataclass(frozen=True, slots=True)
class SampleHealth:
    """One sample of a task over all runs. Shares are 0 to 1; the oracle's runs count in ``gold`` alone."""

    task: str
    sample: str
    runs: int  # that finished it
    solved: float | None  # mean over runs of the share of attempts that passed; None without a run
    flip_rate: float | None  # share of pairs of attempts of one run that ended differently; None without a pair
    gold: bool | None  # whether the oracle passes, always; None without a finished case of the oracle
    discrimination: float | None  # point-biserial correlation of solving it with the rest of the task; -1 to 1


def item_health(runs: Sequence[Run]) -> list[SampleHealth]:
    """Every planned sample, in the order of the first plan that has it. Broken and missing cases do not count.

    Discrimination is Pearson's correlation, over runs, of the sample's share with the mean share of the task's other
    samples (the point-biserial one where a run has one attempt). It needs at least FEWEST_RUNS runs that differ in
    both.
    """
    names = dict.fromkeys((case.task, case.sample) for run in runs for case in run.cases)
    models = [_attempts(run) for run in runs if run.model != ORACLE]
    oracles = [_attempts(run) for run in runs if run.model == ORACLE]
    shares = [{name: sum(found) / len(found) for name, found in attempts.items()} for attempts in models]
    totals = [_totals(of_run) for of_run in shares]
    return [_item(name, models, oracles, shares, totals) for name in names]


Name = tuple[str, str]
"""Task and sample."""
Attempts = Mapping[Name, Sequence[bool]]
"""Which finished attempts of each sample passed."""
Totals = Mapping[str, tuple[float, int]]
"""Task → sum of the samples' shares, and their number."""


def _attempts(run: Run) -> Attempts:
    found: dict[Name, list[bool]] = defaultdict(list)
    for case in run.cases:
        if case.status not in UNFINISHED:
            found[case.task, case.sample].append(case.status == "passed")
    return found


def _totals(shares: Mapping[Name, float]) -> Totals:
    by_task: dict[str, list[float]] = defaultdict(list)
    for (task, _), share in shares.items():
        by_task[task].append(share)
    return {task: (math.fsum(values), len(values)) for task, values in by_task.items()}


def _item(
    name: Name,
    models: Sequence[Attempts],
    oracles: Sequence[Attempts],
    shares: Sequence[Mapping[Name, float]],
    totals: Sequence[Totals],
) -> SampleHealth:
    task, sample = name
    own = [of_run[name] for of_run in shares if name in of_run]
    tries = [run[name] for run in models if name in run]
    pairs = sum(math.comb(len(passed), 2) for passed in tries)
    mixed = sum(sum(passed) * (len(passed) - sum(passed)) for passed in tries)
    gold = [attempt for run in oracles for attempt in run.get(name, ())]
    rest = [
        (of_run[name], (total - of_run[name]) / (count - 1))
        for of_run, of_task in zip(shares, totals, strict=True)
        if name in of_run
        for total, count in [of_task[task]]
        if count > 1
    ]
    return SampleHealth(
        task,
        sample,
        runs=len(own),
        solved=math.fsum(own) / len(own) if own else None,
        flip_rate=mixed / pairs if pairs else None,
        gold=all(gold) if gold else None,
        discrimination=_correlation(rest) if len(rest) >= FEWEST_RUNS else None,
    )


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's; None where one side does not vary."""
    n = len(pairs)
    a, b = (math.fsum(side) / n for side in zip(*pairs, strict=True))
    both = math.fsum((x - a) * (y - b) for x, y in pairs)
    one, other = math.fsum((x - a) ** 2 for x, _ in pairs), math.fsum((y - b) ** 2 for _, y in pairs)
    if one < 1e-12 or other < 1e-12:
        return None
    return max(-1.0, min(1.0, both / math.sqrt(one * other)))


def items(runs: Sequence[Path], *, tasks: Registry, as_json: bool = False) -> str:
    """The health of the samples of the runs, as text or as JSON. Raises UsageProblem for runs on different data."""
    loaded = [load_run(path, tasks=tasks, tolerant=True) for path in runs]
    problems = [problem for run in loaded for problem in run.problems]
    _same_data(loaded)
    found = item_health(loaded)
    if as_json:
        result: dict[str, Any] = {
            "runs": [{"name": run.name, "model": run.model} for run in loaded],
            "items": [asdict(item) for item in found],
            **({"problems": problems} if problems else {}),
        }
        return json.dumps(result, indent=2, ensure_ascii=False)
    return "\n".join([*problems, *_text(loaded, found)]).rstrip("\n")


def _same_data(runs: Sequence[Run]) -> None:
    """Samples of different data may share an id. Raises UsageProblem."""
    known: dict[str, tuple[Run, str]] = {}
    for run in runs:
        for task, data in run.summary["run"]["data"].items():
            first, fingerprint = known.setdefault(task, (run, data["fingerprint"]))
            if fingerprint != data["fingerprint"]:
                raise UsageProblem(
                    f"{first.path} and {run.path} have different data of {task}; name runs on the same data"
                )


def _text(runs: Sequence[Run], found: Sequence[SampleHealth]) -> Iterator[str]:
    models = [run for run in runs if run.model != ORACLE]
    yield f"{counted(len(found), 'sample')} over {len(models)} {'run' if len(models) == 1 else 'runs'} of models"
    if len(models) < FEWEST_RUNS:
        yield f"discrimination needs {FEWEST_RUNS} runs of models or more"
    yield ""
    for task in dict.fromkeys(item.task for item in found):
        yield from _task(task, [item for item in found if item.task == task])


def _task(task: str, found: Sequence[SampleHealth]) -> Iterator[str]:
    tried = [item for item in found if item.solved is not None]
    flips = [item for item in found if item.flip_rate is not None]
    gold = [item for item in found if item.gold is not None]
    yield f"{task}: {counted(len(found), 'sample')}"
    if tried:
        yield from _listed("solved by no model", [item.sample for item in tried if item.solved == 0], len(tried))
        yield from _listed("solved by every model", [item.sample for item in tried if item.solved == 1], len(tried))
    if flips:
        mean = math.fsum(item.flip_rate or 0.0 for item in flips) / len(flips)
        yield f"    flip rate across attempts: {mean:.3f} on average"
        shaky = sorted((item for item in flips if item.flip_rate), key=lambda item: -(item.flip_rate or 0.0))
        yield from _listed("flip", [f"{item.sample} ({item.flip_rate:.2f})" for item in shaky], len(flips))
    if gold:
        unreached = [item.sample for item in gold if not item.gold]
        yield from _listed("gold that the oracle does not reach", unreached, len(gold))
    separating = [item for item in found if item.discrimination is not None]
    if separating:
        mean = math.fsum(item.discrimination or 0.0 for item in separating) / len(separating)
        yield f"    discrimination: {mean:+.2f} on average of {len(separating)}"
        wrong_way = sorted((value, item.sample) for item in separating if (value := item.discrimination or 0.0) < 0)
        names = [f"{sample} ({value:+.2f})" for value, sample in wrong_way]
        yield from _listed("better models fail more often", names, len(separating))
    yield ""


def _listed(title: str, names: Sequence[str], out_of: int) -> Iterator[str]:
    yield f"    {title}: {len(names)} of {out_of}"
    if names:
        more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        yield from fill("        ", ", ".join([*names[:SHOWN], *more]))

"""The options of GTA-Workflow: who judges and how often, from which score on a task counts, how a model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentgauge.core.chat import Sampling
from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_options import Chosen, TaskOption
from agentgauge.core.text import cut
from bench_gta.workflow.judge import RULES
from bench_gta.workflow.judgements import NONE, USER
from bench_gta.workflow.metrics import THRESHOLD, Thresholds

JUDGE = TaskOption(
    "--judge-model",
    f"GTA-Workflow: multimodal model that judges the delivered files and the answer; {RULES} is the embedded judge,"
    f" which checks conditions; only the bundled data states such conditions (default: {RULES})",
    default=RULES,
    model=True,
    instead=(RULES,),
    requests=8.8,  # one for each leaf: 1,156 leaves of 132 tasks
    pictures=True,
)
VOTES = TaskOption(
    "--judge-votes",
    "GTA-Workflow: how often each leaf (checkpoint) is judged; the median score counts (default: 1)",
    default="1",
    metavar="K",
)
CACHE = TaskOption(
    "--judge-cache",
    f"GTA-Workflow: folder of stored judgements; {USER} is a folder in the user's cache, {NONE} stores none"
    f" (default: {USER})",
    default=USER,
    metavar="DIR",
    asks=False,
    matters=False,
)
LEAF, ROOT = (
    TaskOption(
        f"--{what}-threshold",
        f"GTA-Workflow: a {met} from this score on, 0 to 10 (default: {THRESHOLD:g})",
        default=f"{THRESHOLD:g}",
        metavar="SCORE",
        asks=False,
    )
    for what, met in (("leaf", "leaf counts as met"), ("root", "sample counts as solved"))
)
SAMPLING = TaskOption(
    "--workflow-sampling",
    "GTA-Workflow: sampling of the tested model if its settings name none; ours: at most 4096 tokens per reply; paper:"
    " the original's 512 tokens and temperature 0.7 (default: ours)",
    ("ours", "paper"),
)

OPTIONS = (JUDGE, VOTES, CACHE, LEAF, ROOT, SAMPLING)

OURS = Sampling(max_tokens=4096)
PAPER = Sampling(temperature=0.7, max_tokens=512)
"""The released wrapper's defaults, which truncate long tool calls (docs/benchmarks/gta_workflow.md#protocol)."""


@dataclass(frozen=True, slots=True)
class WorkflowOptions:
    """The values of the options."""

    judge: str = RULES
    votes: int = 1
    cache: str = USER
    thresholds: Thresholds = field(default_factory=Thresholds)
    usual: Sampling = OURS

    @classmethod
    def of(cls, chosen: Chosen) -> WorkflowOptions:
        """Raises UsageProblem for a number that cannot be one of votes or a threshold."""
        return cls(
            str(chosen[JUDGE.name]),
            _whole(VOTES.name, str(chosen[VOTES.name])),
            str(chosen[CACHE.name]),
            Thresholds(*(_score(option.name, str(chosen[option.name])) for option in (LEAF, ROOT))),
            PAPER if chosen[SAMPLING.name] == "paper" else OURS,
        )


def not_comparable(chosen: Chosen, *, votes: int) -> Sequence[str]:
    """Reasons why figures with these options are not comparable with published ones."""
    differs = {
        f"judge {chosen[JUDGE.name]} instead of gpt-5.2": chosen[JUDGE.name] != "gpt-5.2",
        "4096 tokens a reply instead of 512": chosen[SAMPLING.name] != "paper",
        f"median of {votes} votes instead of one": votes != 1,
    }
    return [reason for reason, holds in differs.items() if holds]


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,2}", text) or not 1 <= int(text) <= 25:
        raise UsageProblem(f"{name} must be an integer from 1 to 25; got {cut(text)!r}")
    return int(text)


def _score(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 10:
        raise UsageProblem(f"{name} must be a number from 0 to 10; got {text!r}")
    return value

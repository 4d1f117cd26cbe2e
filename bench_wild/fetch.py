"""WildToolBench's official data: its source and its required content."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from agentgauge.core.errors import DataProblem
from agentgauge.data.fetch.dataset import DataSet, Verified
from agentgauge.data.fetch.sources import RawFile
from bench_wild import data
from bench_wild.data import RecordProblem
from bench_wild.source import WildData

SESSIONS, TASKS = 256, 4  # docs/benchmarks/wild.md#what-is-measured
PER_COARSE_TYPE = 256


def verify(root: Path) -> Verified:
    """Counts of docs/benchmarks/wild.md#what-is-measured and docs/benchmarks/wild.md#records, every rule of the data,
    and whether all gold can be reached.

    Raises DataProblem for a file that cannot be read, or that is not there.
    """
    file = data.find(root)
    if file is None:
        raise DataProblem(f"{root} holds neither of {', '.join(data.FILES)}")
    problems, strange = WildData().check(root)
    sessions = [one for one in data.read_sessions(file) if not isinstance(one, RecordProblem)]
    types = Counter(one.type for session in sessions for one in session.tasks)
    tasks = sum(types.values())
    if len(sessions) != SESSIONS or tasks != SESSIONS * TASKS:
        problems.append(
            f"{len(sessions)} sound sessions with {tasks} tasks, and {SESSIONS} with {SESSIONS * TASKS} are published"
        )
    coarse = Counter("Multi-Tool" if "Multi-Tool" in name else name for name in types.elements())
    strange += [
        f"{count} tasks of the type {name}, and {PER_COARSE_TYPE} are published"
        for name, count in coarse.items()
        if count != PER_COARSE_TYPE
    ]
    strange += data.differences(file)
    displaced = [session.id for place, session in enumerate(sessions) if not session.id.endswith(f"_{place}")]
    if displaced:
        strange.append(
            f"{len(displaced)} ids are not those of their lines, first {displaced[0]!r}; the published evaluator"
            " mistakes them"
        )
    found = (
        f"{len(sessions)} sessions with {tasks} tasks: "
        + ", ".join(f"{count} {name}" for name, count in sorted(types.items())),
        f"{sum(len(session.tools) for session in sessions)} tool entries",
    )
    return Verified(tasks, found, tuple(problems), tuple(strange))


WILD = DataSet(
    name="wild",
    title="WildToolBench",
    folder="wild",
    main=tuple(f"{folder}{name}" for name in data.FILES for folder in ("", "data/")),
    licence="data of yupeijei1997/WildToolBench; see its homepage for the licence",
    citation=("Yu et al., Benchmarking LLM Tool-Use in the Wild, ICLR 2026, arXiv:2604.06185",),
    homepage="https://yupeijei1997.github.io/WildToolBench/",
    sources={
        "github": RawFile(
            "yupeijei1997/WildToolBench",
            "HEAD",
            (f"wild-tool-bench/data/{data.FILES[0]}", f"data/{data.FILES[0]}"),
            f"data/{data.FILES[0]}",
        )
    },
    verify=verify,
)
"""WildToolBench of April 2026, in its repository."""

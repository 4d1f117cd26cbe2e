"""``--shard=K/N``: the part of a plan that one machine runs, and the facts about the whole plan that it stores."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import UsageProblem
from agentgauge.plugins.shards.options import ShardOptions
from agentgauge.run.partition import shares, units_of
from agentgauge.run.planned import Planned

if TYPE_CHECKING:
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft

FILE = "shard.json"
"""In the run folder of a shard: the facts about the whole plan. The process that collects writes this file before the
plan."""


@dataclass(frozen=True)
class Shard:
    number: int  # from 1
    count: int

    def __str__(self) -> str:
        return f"shard {self.number} of {self.count}"


def parse_shard(text: str) -> Shard:
    """Raises UsageProblem."""
    found = re.fullmatch(r"(\d{1,5})/(\d{1,5})", text, re.ASCII)
    number, count = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise UsageProblem(
            f"--shard {text!r} names no shard; give its number, from 1, and how many there are, such as --shard=2/8"
        )
    return Shard(number, count)


def chosen_shard(draft: Draft) -> Shard | None:
    """The shard that was asked for, or that the resumed run is; None for a run in one piece. Raises UsageProblem."""
    given = draft.given
    shard: Shard | None = draft.values["shard"]
    if given.resume:
        earlier = draft.earlier_run.get("shard")
        before = earlier and Shard(earlier["number"], earlier["count"])
        if shard and shard != before:
            raise UsageProblem(
                f"--shard {given.shard}: the run that is resumed is {before or 'no shard'}; leave --shard out"
            )
        shard = before
    if shard and (gates := getattr(given, "gate", None)):
        raise UsageProblem(
            f"--gate {gates[0]!r} would judge {shard} by a part of the cases; put the shards together with"
            " agentgauge merge, and give the gate to pytest --rescore=MERGED"
        )
    return shard


def kept(shard: Shard, cases: Sequence[Planned | None], *, is_planned: bool) -> set[int]:
    """The positions of a shard's tests. None stands for an ordinary test; each shard gets the next one in turn. The
    same cases must come in the same order on every machine.

    ``is_planned``: the cases are the shard's already, by its earlier plan.
    """
    places = [place for place, case in enumerate(cases) if case]
    planned = [case for case in cases if case]
    mine = range(len(places)) if is_planned else shares(planned, shard.count)[shard.number - 1]
    ordinary = [place for place, case in enumerate(cases) if not case]
    return {places[position] for position in mine} | set(ordinary[shard.number - 1 :: shard.count])


def whole_plan(shard: Shard, cases: Sequence[Planned | None] = (), tasks: Sequence[str] = ()) -> dict[str, Any]:
    """The content of ``FILE``. About the whole plan: ``planned``, the number of cases, ``plan``, their digest,
    ``tasks`` in order, and ``used``, how many shards have cases: the first ones."""
    planned = [case for case in cases if case]
    text = json.dumps(sorted(case.id for case in planned))
    return {
        **asdict(shard),
        "planned": len(planned),
        "plan": hashlib.sha256(text.encode()).hexdigest()[:16] if planned else None,
        "tasks": list(tasks),
        "used": min(shard.count, len(units_of(planned))),
    }


def read_whole_plan(run: Run) -> dict[str, Any] | None:
    """The content of ``FILE``, without the plan's entries if there is no plan yet; None for a run in one piece. Raises
    UsageProblem if the file is damaged.
    """
    if (shard := run.settings.of(ShardOptions).shard) is None:
        return None
    return dict(run.files.read_json(FILE)) if (run.folder / FILE).exists() else whole_plan(shard)

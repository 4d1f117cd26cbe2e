"""Mathematics from the generator that the benchmark's own problems come from: ``python -m bundled_data.mmau.regenerate
FILE``.

It needs the package ``mathematics_dataset``, which nothing of AgentGauge installs. Its last release is older than the
sympy and numpy of today; what it misses there is put in its place while it runs.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from bundled_data.mmau.maths import record

_TRIES = 20  # problems that a generator may fail at, one after the other


def records(count: int, seed: int) -> list[dict[str, Any]]:
    """``count`` records in the shape of the standard file, evenly over those subjects that the generator can make here.

    Raises UsageProblem without the package, and where no subject works.
    """
    subjects = _subjects()
    random.seed(seed)
    made: list[dict[str, Any]] = []
    while len(made) < count:
        if not subjects:
            raise UsageProblem(
                "mathematics_dataset makes no problem with the sympy and numpy that are installed; try older ones"
            )
        for name in sorted(subjects):
            problem = _problem(subjects[name])
            if problem is None:
                del subjects[name]
            elif len(made) < count:
                made.append(record(f"generated_{len(made)}", name, *problem))
    return made


def _problem(make: Callable[[], Any]) -> tuple[str, str] | None:
    """A problem and its answer; None where today's packages do not support what the generator does."""
    for _ in range(_TRIES):
        try:
            drawn = make()
            return str(drawn.question), str(drawn.answer)
        except (TypeError, AttributeError, ValueError, IndexError, AssertionError):
            continue
    return None


def _subjects() -> dict[str, Callable[[], Any]]:
    try:
        _mend()
        from mathematics_dataset.modules import modules
    except ImportError as error:
        raise UsageProblem(
            f"the package mathematics_dataset cannot be used ({error}); install it with: pip install"
            " mathematics_dataset"
        ) from None
    found: dict[str, Callable[[], Any]] = {}

    def walk(part: Mapping[str, Any], prefix: str) -> None:
        for name, inner in part.items():
            if isinstance(inner, Mapping):
                walk(inner, f"{prefix}{name}__")
            else:
                found[prefix + name] = inner

    walk(modules.test(), "")
    return found


def _mend() -> None:
    package = import_module("sympy.solvers.diophantine")
    if not hasattr(package, "base_solution_linear"):  # sympy 1.6 moved it
        moved = import_module("sympy.solvers.diophantine.diophantine").base_solution_linear
        setattr(package, "base_solution_linear", moved)  # noqa: B010


def main(words: Sequence[str]) -> int:
    if len(words) != 1:
        print("usage: python -m bundled_data.mmau.regenerate FILE", file=sys.stderr)
        return 4
    try:
        made = records(1000, 20240712)
    except UsageProblem as problem:
        print(problem, file=sys.stderr)
        return 4
    Path(words[0]).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in made), encoding="utf-8")
    print(f"{len(made)} records in {words[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

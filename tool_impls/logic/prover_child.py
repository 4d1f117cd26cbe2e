"""What runs inside the sandbox for Prover. It is handed over as text and imports nothing of this project.

Standard input: JSON with ``theorem`` (SMT-LIB2), ``path`` (package folders), ``memory`` (MiB for Z3) and ``seconds``
(Z3 gives up after them). Standard output: JSON with ``verdict`` (``proved``, ``disproved``, ``unknown``, ``parse
error``) and ``detail``. Commands of the theorem may print or write; standard output is kept for the answer.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from typing import Any


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)
    order = json.loads(sys.stdin.buffer.read())
    sys.path += order["path"]
    verdict, detail = _decide(order)
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump({"verdict": verdict, "detail": detail}, file)
    sys.stderr.flush()
    os._exit(0)  # freeing a large problem takes longer than leaving it


def _decide(order: dict[str, Any]) -> tuple[str, str]:
    z3: Any = importlib.import_module("z3")  # it has no types
    z3.set_param("memory_max_size", order["memory"])
    z3.set_param("smt.random_seed", 0)
    z3.set_param("sat.random_seed", 0)
    z3.set_option(max_depth=40, max_args=200, max_lines=400, max_width=10**6)
    try:
        claims = z3.parse_smt2_string(order["theorem"])
    except z3.Z3Exception as error:
        message = _message(error)
        return ("unknown", message) if message == "out of memory" else ("parse error", message)
    if not len(claims):
        return "parse error", "the text holds no assertion; write the claim as (assert ...)"
    solver = z3.Solver()
    solver.set("timeout", int(order["seconds"] * 1000))
    try:
        solver.add(z3.Not(z3.And(list(claims))))
        found = solver.check()
        if found == z3.unsat:
            return "proved", ""
        if found == z3.sat:
            return "disproved", _model(solver.model())
        return "unknown", solver.reason_unknown()
    except z3.Z3Exception as error:
        return "unknown", _message(error)


def _model(model: Any) -> str:
    """``[x = 0, y = 1]``, by name; constants and functions that do not matter are left out by Z3."""
    values = sorted((item.name(), " ".join(str(model[item]).split())) for item in model.decls())
    return "[" + ", ".join(f"{name} = {value}" for name, value in values) + "]"


def _message(error: Exception) -> str:
    """The first line of Z3's words, without the form that they are printed in."""
    value: Any = getattr(error, "value", str(error))
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    found = re.match(r'\(error "(.*?)"?\)?\s*$', text.strip().split("\n")[0])
    return found[1] if found else text.strip().split("\n")[0]


if __name__ == "__main__":
    main()

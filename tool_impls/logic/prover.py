"""Prover: claims in SMT-LIB2, decided by Z3 in a process of its own (docs/benchmarks/tools.md#prover).

The text goes to the sandbox although it is no Python: SMT-LIB2 has commands that read and write files.
"""

from __future__ import annotations

import re
from pathlib import Path

from agentgauge import sandbox
from agentgauge.core.errors import ToolError
from tool_impls import base
from tool_impls.logic.code_tools import parsed, run_child

LIMIT = 20.0  # seconds for Z3
START = 5.0  # further seconds, for the process to begin and to end
LONGEST = 1 << 18  # characters of a theorem
DEEPEST = 10_000  # parentheses inside each other; Z3 itself was seen to take 20,000
MEMORY = 768  # MiB for Z3, of the process's 1024
CUT = 4_000  # characters of an answer
OUT_OF_MEMORY = 101  # Z3's exit status where it could not even report that

THEOREM = "The claim in SMT-LIB2: declarations and one or more (assert ...), which are joined by 'and'."


class Prover(base.BenchTool):
    meta = base.tool(
        "Prover",
        "Decides with Z3 whether a claim holds for all values of its constants. The answer is 'proved', 'disproved: '"
        " and a counterexample, 'unknown', or 'parse error: ' and the reason.",
        (base.text("theorem", THEOREM),),
        base.TEXT_OUT,
    )
    category = "logic"
    packages = ("z3",)
    concurrency = 2
    seconds = 40.0
    runs_code = True
    library = "Z3"

    def apply(self, folder: Path, /, theorem: str) -> str:
        return prove(theorem, folder=folder, allow_unsafe=self.settings.allow_unsafe)


def prove(theorem: str, *, folder: Path, seconds: float = LIMIT, allow_unsafe: bool = False) -> str:
    """``proved``, ``disproved: <model>``, ``unknown`` (``: <reason>`` where there is one) or ``parse error: <reason>``.

    Z3 gives up after ``seconds`` (``unknown``); its random choices start from a fixed seed, so that only claims near
    that limit may get another answer next time. ``folder`` is an existing folder for a temporary one. Raises ToolError
    for a text that is too long, and if Z3 ends without an answer.
    """
    if len(theorem) > LONGEST:
        raise ToolError(f"theorem must have at most {LONGEST} characters; got {len(theorem)}")
    if found := re.search("[\0\ud800-\udfff]", theorem):  # Z3 would take the text before a zero for all of it
        return f"parse error: the text holds {found[0]!r}, which is no sign of SMT-LIB2"
    if (depth := _depth(theorem)) > DEEPEST:
        return f"parse error: {depth} parentheses are open inside each other; at most {DEEPEST} are taken"
    order = {"kind": "claim", "code": theorem, "memory": MEMORY, "seconds": seconds}
    with sandbox.scratch_folder(folder) as scratch:
        result = run_child(order, scratch, sandbox.SandboxLimits(wall_seconds=seconds + START), allow_unsafe)
    answer = parsed(result.stdout)
    if not {"verdict", "detail"} <= answer.keys():
        if result.status in ("timeout", "memory"):
            return f"unknown: {result.reason}"
        if result.returncode == OUT_OF_MEMORY:
            return "unknown: out of memory"
        raise ToolError(f"Z3 ended without an answer ({result.reason or 'no reason given'}); a simpler claim may help")
    text = ": ".join(str(answer[name]) for name in ("verdict", "detail") if answer[name])
    return text if len(text) <= CUT else f"{text[:CUT]} ... ({len(text)} characters, cut)"


def _depth(text: str) -> int:
    """How many parentheses are open at most, those in strings, quoted names and comments left out."""
    deepest = depth = 0
    quote = ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in '"|;':
            quote = "\n" if sign == ";" else sign
        elif sign == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif sign == ")":
            depth -= 1
    return deepest

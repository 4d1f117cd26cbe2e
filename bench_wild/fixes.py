"""The differences between ``--scoring strict`` and the published evaluator, one name for each fix.

Parity applies none of them; strict applies all. docs/benchmarks/wild.md#fidelity lists them.
They concern the evaluator of April 2026; the earlier one (``--wild-evaluator 2025``) exists to reproduce published
figures and knows no fixes.
"""

from __future__ import annotations

from enum import Enum

from agentgauge.core.types import Scoring


class Fix(Enum):
    """A fix. The value describes it."""

    PSEUDO_CALLS = "asking the user or answering by a tool call is an action error: no such tool was offered"
    EVERY_STEP = (
        "a wrong argument neither removes the next step from the log nor forgives a wrong action in a later step"
    )
    BEST_PAIRS = "calls of one name are paired so that most of them are right, not by the order of their texts"
    ARGUMENT_OBJECTS = "arguments given as an object are judged like their JSON text; the published evaluator stops"
    ANY_TEXT = (
        "arguments nested too deep to be read, or with a number too long, are invalid JSON; the published"
        " evaluator stops"
    )
    ANY_TYPE = "a parameter without a type takes any value, not only text"
    FREE_OBJECTS = "an object whose schema names no properties may have any"
    WHOLE_SCHEMAS = (
        "references, tuples, lists of types and schemas of further members are read as JSON Schema has them; the"
        " published evaluator takes a reference and the items of a tuple for text, stops at a list of types and refuses"
        " further members"
    )
    DEFAULTS = "an argument that says the default of the schema and one that is left out are the same"
    SAME_NUMBER = "5.2b: 1 and 1.0 are the same number where the schema asks for a number"
    LONG_TEXTS = "texts of any length are compared; the published evaluator's recursion ends at about 1000 tokens"
    WHOLE_SESSIONS = "a session with fewer results than tasks counts for nothing; upstream judges it by what is there"
    NODE_PROGRESS = (
        "progress is the paper's, completed nodes over nodes of the gold that was run, so that it is 100 for a"
        " correct task"
    )


Fixes = frozenset[Fix]

PARITY: Fixes = frozenset()
STRICT: Fixes = frozenset(Fix)


def fixes_of(scoring: Scoring) -> Fixes:
    return STRICT if scoring == "strict" else PARITY

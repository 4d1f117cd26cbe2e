"""The differences between ``--scoring strict`` and the published evaluator, one name for each fix.

Parity applies none of them; strict applies all. Each cites the section of the wild spec about the quirk that it fixes.
They concern the evaluator of April 2026; the earlier one (``--wild-evaluator 2025``) exists to reproduce published
figures and knows no fixes.
"""

from __future__ import annotations

from enum import Enum

from agentgauge.core.types import Scoring


class Fix(Enum):
    """A fix. The value describes it."""

    PSEUDO_CALLS = "3.4: asking the user or answering by a tool call is an action error: no such tool was offered"
    EVERY_STEP = (
        "5.1: a wrong argument neither removes the next step from the log nor forgives a wrong action in a later step"
    )
    BEST_PAIRS = "5.1: calls of one name are paired so that most of them are right, not by the order of their texts"
    ARGUMENT_OBJECTS = (
        "5.1: arguments given as an object are judged like their JSON text; the published evaluator stops"
    )
    ANY_TEXT = (
        "5.2: arguments nested too deep to be read, or with a number too long, are invalid JSON; the published"
        " evaluator stops"
    )
    ANY_TYPE = "5.2a: a parameter without a type takes any value, not only text"
    FREE_OBJECTS = "5.2a: an object whose schema names no properties may have any"
    WHOLE_SCHEMAS = (
        "5.2a: references, tuples, lists of types and schemas of further members are read as JSON Schema has them; the"
        " published evaluator takes a reference and the items of a tuple for text, stops at a list of types and refuses"
        " further members"
    )
    DEFAULTS = "5.2b: an argument that says the default of the schema and one that is left out are the same"
    SAME_NUMBER = "5.2b: 1 and 1.0 are the same number where the schema asks for a number"
    LONG_TEXTS = "5.3: texts of any length are compared; the published evaluator's recursion ends at about 1000 tokens"
    WHOLE_SESSIONS = (
        "6: a session with fewer results than tasks counts for nothing; upstream judges it by what is there"
    )
    NODE_PROGRESS = (
        "6: progress is the paper's, completed nodes over nodes of the gold that was run, so that it is 100 for a"
        " correct task"
    )


Fixes = frozenset[Fix]

PARITY: Fixes = frozenset()
STRICT: Fixes = frozenset(Fix)


def fixes_of(scoring: Scoring) -> Fixes:
    return STRICT if scoring == "strict" else PARITY

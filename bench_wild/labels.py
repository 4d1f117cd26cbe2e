"""The fixed words of WildToolBench: pseudo actions, task types and turn subtypes
(docs/benchmarks/wild.md#what-is-measured and docs/benchmarks/wild.md#gold-graphs), and how the calls of a gold list
depend on each other (docs/benchmarks/wild.md#structure).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentgauge.core.presentation import kinds

KINDS = kinds(
    wrong_tool="unknown_tool, call_the_wrong_function, function_name_hallucination",
    wrong_argument=(
        "argument_error, missing_argument, unknown_argument, other_arguments, wrong_type, wrong_value, not_in_enum,"
        " type_error, miss_required_params, param_hallucination, param_value_hallucination, param_value_error"
    ),
    missing_call="no_call, no_question, missing_information_in_tool_calling",
    extra_call="needless_call, redundant_tool_calling, call_function_without_reject",
    stopped_early="early_stop, empty_reply",
    format="invalid_json, unreadable_call",
    refused="reject_tool_calling",
    data="unscorable",
)
"""Kinds of failures by label, those of the earlier evaluator included."""

ASK = "ask_user_for_required_parameters"
PREPARE = "prepare_to_answer"
PSEUDO = frozenset({ASK, PREPARE})
"""Actions of the gold that are no tools: a question to the user, and the final text."""

SINGLE, PARALLEL, SEQUENTIAL, MIXED = "Single-Tool", "Parallel Multi-Tool", "Sequential Multi-Tool", "Mixed Multi-Tool"
CLARIFY, CHAT = "Clarify", "Chat"

TYPES = {
    **{name: name for name in (SINGLE, PARALLEL, SEQUENTIAL, MIXED, CLARIFY, CHAT)},
    "单工具": SINGLE,
    "并行多工具": PARALLEL,
    "串行多工具": SEQUENTIAL,
    "串并行多工具": MIXED,
    "反问": CLARIFY,
    "闲聊": CHAT,
}
"""Task types by every label that is known for them."""

FIRST_TURN = "First Turn"
COREFERENTIAL, PARTIAL, LONG_RANGE = "Coreferential Reference", "Partial Information", "Long-Range Dependency"

SUBTYPES = {
    **{name: name for name in (COREFERENTIAL, PARTIAL, LONG_RANGE)},
    "指代理解": COREFERENTIAL,
    "省略成分": PARTIAL,
    "长期记忆": LONG_RANGE,
}
"""Turn subtypes by every label that is known for them."""

UNKNOWN_SUBTYPE = "Unknown"
"""For later tasks of the earlier release that were annotated as independent of the dialogue before them."""

TYPE_TAGS = {
    SINGLE: ("single",),
    PARALLEL: ("multi", "parallel"),
    SEQUENTIAL: ("multi", "sequential"),
    MIXED: ("multi", "mixed"),
    CLARIFY: ("clarify",),
    CHAT: ("chat",),
}
SUBTYPE_TAGS = {
    FIRST_TURN: "first",
    COREFERENTIAL: "coreferential",
    PARTIAL: "partial",
    LONG_RANGE: "long-range",
    UNKNOWN_SUBTYPE: "independent",
}

EMPTY = "tool_calls and content are None or empty"
NOT_EXPECTED = "action name not in candidate_answer_function_list"
"""Why an action is wrong, in the words of the published evaluator."""


TYPE_OF = {"combine": PARALLEL, "serial": SEQUENTIAL, "cs": MIXED}
"""Task types by structure."""


def structure_of(actions: Iterable[tuple[str, Sequence[int]]]) -> str | None:
    """``combine`` (side by side), ``serial`` (in a row), ``cs`` (both) or None, from names and dependencies in
    order."""
    groups: list[list[int]] = [[]]
    for position, (name, dependencies) in enumerate(actions):
        if name in PSEUDO:
            continue
        if any(dependency in groups[-1] for dependency in dependencies):
            groups.append([])
        groups[-1].append(position)
    serial, combine = len(groups) > 1, any(len(group) > 1 for group in groups)
    return "cs" if serial and combine else "serial" if serial else "combine" if combine else None

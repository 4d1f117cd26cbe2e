"""The fixed words of WildToolBench: pseudo actions, task types and turn subtypes (wild spec 1, 2.3)."""

from __future__ import annotations

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

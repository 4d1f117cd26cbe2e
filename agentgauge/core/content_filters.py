"""Content filters: every form in which an endpoint says that one has answered in the model's place.

A filter's answer is a refusal: it would be the same at every retry and resume. The forms are those of the providers'
documentation and of answers that users have published; docs/models.md names them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

FILTERED = "content filter"
"""The cause of a failure that is a filter's answer in the model's place."""

ENDED = "the endpoint's content filter ended the reply"
"""The refusal of a reply that a filter has left empty without a word of its own."""

_REASONS = frozenset(
    "content_filter content_filtered contentfilter safety refusal prohibited_content blocklist spii recitation"  # noqa: SIM905
    " image_safety model_armor jailbreak sensitive guardrail_intervened guardrails error_toxic moderation".split()
)
"""Finish reasons: OpenAI, Azure, Google, Anthropic, Zhipu, Bedrock, Cohere and gateways to them."""

_CODES = frozenset(
    # OpenAI, Azure, and those who use their codes (Moonshot, GitHub, gateways)
    "contentfilter contentfiltered contentpolicyviolation contentpolicyviolationerror responsibleaipolicyviolation"  # noqa: SIM905
    " moderationblocked contentmoderation cyberpolicyviolation"
    # Alibaba, Volcengine, MiniMax, New API and One API, Bedrock, Google, Cloudflare and OpenRouter
    " datainspectionfailed inputtextsensitivecontentdetected outputtextsensitivecontentdetected"
    " inputimagesensitivecontentdetected sensitivecontentdetected sensitivewordsdetected promptblocked"
    " guardrailintervened guardrailblocked prohibitedcontent inputsensitive outputsensitive".split()
)
"""Codes and types of errors, their letters alone."""

_WORDS = re.compile(
    r"ContentPolicyViolationError|ResponsibleAIPolicyViolation|content management policy"  # LiteLLM, Azure
    r"|flagged as potentially violating|limited access to this content for safety reasons"  # OpenAI
    r"|rejected (?:as a result of|by) (?:our|the) safety system"
    r"|blocked by (?:our |the )?content[ -]filter"  # Anthropic
    r"|violates? (?:our |the |xai'?s? )?(?:usage guidelines|usage policy|content policy)|SAFETY_CHECK_TYPE"  # xAI
    r"|data_?inspection_?failed|may contain inappropriate content"  # Alibaba
    r"|Content Exists Risk"  # DeepSeek
    r"|considered high risk"  # Moonshot
    r"|unsafe or sensitive content|敏感内容"  # Zhipu
    r"|(?:in|out)put (?:new_)?sensitive|contains? sensitive words"  # MiniMax, New API
    r"|requires moderation\b.*\bflagged|input was flagged"  # OpenRouter
    r"|(?:prompt|response|request|input|output) (?:was |is |has been )?blocked (?:due to|by|because of) "
    r"(?:the |a |an |our )?(?:\w+ )?(?:safety|security|guardrail|moderation|content polic|prohibited)"  # Cloudflare
    r"|violated (?:guardrail|moderation) policy|guardrail_intervened",
    re.IGNORECASE | re.DOTALL,
)
"""Sentences of filters whose codes say less: xAI has one code for its filter and for a key without rights."""

_STATUSES = frozenset({200, 400, 403, 406, 422, 451, 500})
"""200: an error inside; 500: gateways that wrap the 400 of the provider."""

_CODE_FIELDS = frozenset({"code", "type", "status", "reason", "block_reason", "blockReason", "error_type"})
_TEXT_FIELDS = frozenset({"message", "msg", "detail", "error", "error_message", "status_msg", "raw"})
_DEEPEST = 12


def is_filtered(finish_reason: str) -> bool:
    """Whether a content filter ended a reply, in the words of any endpoint. Google's say ``content_filter: SAFETY`` or
    ``FinishReason.SAFETY``, too."""
    words = re.split(r"[^a-z_]+", finish_reason.lower().replace("finish_reason_", ""))
    return not _REASONS.isdisjoint(words)


def is_filter_error(status: int, answer: object) -> bool:
    """Whether an error is a content filter's answer. ``answer``: the decoded body, or its text."""
    if status not in _STATUSES:
        return False
    if isinstance(answer, str):
        return bool(_WORDS.search(answer))
    return any(
        _letters(value) in _CODES if name in _CODE_FIELDS else bool(_WORDS.search(value))
        for name, value in _fields(answer)
    ) or bool(is_blocked_prompt(answer) or _flagged(answer))


def is_blocked_prompt(answer: object) -> bool:
    """Whether an answer without a message names the reason why the prompt was blocked, as Google and MiniMax do."""
    if not isinstance(answer, Mapping):
        return False
    feedback = answer.get("promptFeedback") or answer.get("prompt_feedback")
    if isinstance(feedback, Mapping) and (feedback.get("blockReason") or feedback.get("block_reason")):
        return True
    state = answer.get("base_resp")
    return (isinstance(state, Mapping) and state.get("status_code") in (1026, 1027)) or any(
        answer.get(name) is True for name in ("input_sensitive", "output_sensitive")
    )


def _flagged(answer: object) -> bool:
    """OpenRouter's reasons, and the levels that Zhipu gives beside its code."""
    if not isinstance(answer, Mapping):
        return False
    error = answer.get("error")
    if not isinstance(error, Mapping):
        return False
    metadata = error.get("metadata")
    moderated = isinstance(metadata, Mapping) and bool(metadata.get("reasons")) and "flagged_input" in metadata
    return moderated or (str(error.get("code")) == "1301" and bool(answer.get("contentFilter")))


def _fields(value: object, name: str = "", depth: int = _DEEPEST) -> Iterator[tuple[str, str]]:
    """The codes and messages in an error. Texts that hold JSON are answers that gateways pass on."""
    if not depth:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _fields(inner, str(key), depth - 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _fields(inner, name, depth - 1)
    elif isinstance(value, str) and name in _CODE_FIELDS | _TEXT_FIELDS:
        yield name, value
        if name in _TEXT_FIELDS and value.lstrip().startswith("{"):
            yield from _fields(_decoded(value), name, depth - 1)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _letters(code: str) -> str:
    return re.sub("[^a-z]", "", code.lower())

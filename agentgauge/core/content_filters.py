"""Content filters: every form in which an endpoint reports that one has answered in the model's place.

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

_REASONS = re.compile(
    r"content_?filter|filtered|safety|refus|prohibited|block_?list|blocked|spii|recitation|model_armor|jailbreak"
    r"|sensitive|guardrail|toxic|moderat|flagged|censor|violation"
)
"""Finish reasons: OpenAI, Azure, Google, Anthropic, Zhipu, Bedrock, Cohere, Databricks and gateways to them."""

_CODES = re.compile(
    # OpenAI, Azure, and those who use their codes (Moonshot, GitHub, gateways)
    r"contentfilter|contentpolic|responsibleaipolicyviolation|moderation|cyberpolicy|misalignmentpolicy"
    # Alibaba, Volcengine, MiniMax, StepFun, Tencent, New API and One API
    r"|datainspectionfailed|sensitive(?:content|words)detected|(?:in|out)putsensitive|censorship|contentsecurity"
    # Bedrock, Mistral, Databricks, Google, Together and gateways
    r"|promptblocked|contentblocked|guardrail(?:s?intervened|s?blocked|violat|triggered)|prohibitedcontent"
    r"|unsafecontent|nsfw"
)
"""Codes and types of errors, their letters alone; behind them may stand more, as in Volcengine's
``InputTextSensitiveContentDetected.PolicyViolation``."""
_FAULTS = re.compile(
    r"notfound|invalid|unsupported|missing|config|unavailable|timeout|disabled|quota|ratelimit"
    r"|(?:filter|moderation|guardrails?|service|check)(?:error|fail)"
)
"""In a code that names a filter: the filter's own setting or service is wrong."""

_WORDS = re.compile(
    r"ContentPolicyViolationError|ResponsibleAIPolicyViolation|content management policy"  # LiteLLM, Azure
    r"|flagged (?:as potentially violating|for (?:possible|potential))"  # OpenAI
    r"|limited access to this content for safety reasons"
    r"|rejected (?:as a result of|by) (?:our|the) safety system"
    r"|blocked by (?:our |the )?content[ -]filter"  # Anthropic, Bedrock
    r"|violates? (?:our |the |xai'?s? )?(?:usage guidelines|usage policy|content policy)|SAFETY_CHECK_TYPE"  # xAI
    r"|data_?inspection_?failed|may contain inappropriate content"  # Alibaba
    r"|Content Exists Risk"  # DeepSeek
    r"|considered high risk"  # Moonshot
    r"|unsafe or sensitive content|敏感(?:内容|信息|词)|审核(?:不|未)通过"  # Zhipu, iFlytek, Baidu
    r"|(?:in|out)put (?:new_)?sensitive|contains? sensitive words"  # MiniMax, New API, Baidu
    r"|content you provided or machine outputted is blocked|NSFW content"  # StepFun, Together
    r"|requires moderation\b.{0,200}\bflagged|input was flagged"  # OpenRouter
    r"|(?:prompt|response|request|input|output|content|candidate) (?:was |is |has been )?"
    r"(?:blocked|filtered) (?:due to|by|because of) (?:the |a |an |our )?(?:\w+ )?"  # Cloudflare, SAP, Google
    r"(?:safety|security config|DLP|guardrail|moderation|content polic|prohibited|recitation)"
    r"|PROHIBITED_CONTENT|prohibited content\b(?! type)"  # Google, SiliconFlow
    r"|violated (?:[\w-]+ ){0,3}(?:guardrail|moderation|safety|content) polic"  # LiteLLM's guardrails
    r"|guardrails? (?:was |were )?(?:violated|violation|intervened|triggered)|guardrail_intervened"  # Mistral, Bedrock
    r"|guardrail checks? .{0,200}failed|flagged by (?:\w+ ){0,2}guardrail",  # Portkey, Databricks
    re.IGNORECASE | re.DOTALL,
)
"""Sentences of filters whose codes say less: xAI has one code for its filter and for a key without rights."""
_ACCOUNT = re.compile(r"(?i)\b(?:account|organi[sz]ation|workspace|api key|your access)\b")
"""In such a sentence: not this request is refused, but every one."""

_STATUSES = frozenset({200, 400, 403, 406, 422, 424, 446, 451, 500})
"""200: an error inside; 424: Cloudflare, 446: Portkey, 451: StepFun; 500: gateways that wrap the 400 of the
provider."""

_CODE_FIELDS = frozenset({"code", "type", "status", "reason", "block_reason", "blockReason", "error_type"})
_TEXT_FIELDS = frozenset({"message", "msg", "detail", "error", "error_message", "error_msg", "status_msg", "raw"})
_FINISH_FIELDS = frozenset({"finish_reason", "finishReason", "stop_reason"})
"""Microsoft Foundry answers 400 with a chat completion that its filter has ended."""
_DEEPEST = 12
_LONGEST = 4000  # characters of a message that are read


def is_filtered(finish_reason: str) -> bool:
    """Whether a content filter ended a reply, in the words of any endpoint. Google's say ``content_filter: SAFETY`` or
    ``FinishReason.SAFETY``, too."""
    return bool(_REASONS.search(finish_reason.lower().replace("-", "_")))


def is_filter_error(status: int, answer: object) -> bool:
    """Whether an error is a content filter's answer. ``answer``: the decoded body, or its text."""
    if status not in _STATUSES:
        return False
    if isinstance(answer, str):
        return _is_filters_text(answer)
    return any(map(_names_filter, _fields(answer))) or is_blocked_prompt(answer) or _flagged(answer)


def _names_filter(field: tuple[str, str]) -> bool:
    name, value = field
    if name in _FINISH_FIELDS:
        return is_filtered(value)
    if name in _TEXT_FIELDS:
        return _is_filters_text(value)
    code = re.sub("[^a-z]", "", value.lower())
    return bool(_CODES.search(code)) and not _FAULTS.search(code)


def _is_filters_text(text: str) -> bool:
    text = text[:_LONGEST]
    return bool(_WORDS.search(text)) and not _ACCOUNT.search(text)


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
    elif isinstance(value, str) and name in _CODE_FIELDS | _TEXT_FIELDS | _FINISH_FIELDS:
        yield name, value
        if name in _TEXT_FIELDS and value.lstrip().startswith("{"):
            yield from _fields(_decoded(value), name, depth - 1)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None

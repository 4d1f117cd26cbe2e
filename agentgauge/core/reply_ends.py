"""How replies end: complete, cut, or refused by a content filter; and what endpoints did otherwise than asked."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgauge.core.types import Event, Json, Score

# -- Content filters: every form in which an endpoint reports that one has answered in the model's place.
#
# A filter's answer is a refusal: it would be the same at every retry and resume. The forms are those of the
# providers' documentation and of answers that users have published.


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


# -- How the replies of a case ended: cut at a token limit, refused, or empty. Everything comes from the case's events.


CUT, REFUSED = "reply_cut", "refused"
"""Labels of wrong cases with such a reply of the tested model."""

TESTED = "--model"
"""Stands for the tested model where models are named by the option of their role."""

_CONTEXT = frozenset({"model_length", "model_context_window_exceeded"})
_CUT = frozenset({"length", "max_tokens", "max_output_tokens"}) | _CONTEXT
_LISTED = 3  # replies that a sentence lists; more are counted


def is_cut(finish_reason: str) -> bool:
    """Whether a reply ended at a token limit, in the words of any endpoint."""
    return finish_reason.lower() in _CUT


def limit_of(finish_reason: str, *limits: int | None) -> int | None:
    """The limit at which such a reply was cut: the first of ``limits`` that is set; None: the endpoint's own."""
    if finish_reason.lower() in _CONTEXT:
        return None
    return next((limit for limit in limits if limit is not None), None)


def limit_words(max_tokens: int | None) -> str:
    """The limit that ended a reply. ``None``: the request set none."""
    return "the endpoint's limit" if max_tokens is None else f"max_tokens {max_tokens}"


def count_replies(events: Sequence[Event]) -> dict[str, Json]:
    """The replies of each model: option of its role → ``{"replies": n, "cut": {limit: n}}``, without ``cut`` if none
    was. A limit is a number of tokens as text; empty: the endpoint's own. Records of earlier versions, which do not
    know how replies ended, give nothing."""
    found: dict[str, Json] = {}
    for event in events:
        reason = event.detail.get("finish_reason")
        if event.kind != "model" or not isinstance(reason, str):
            continue
        part = found.setdefault(str(event.detail.get("role") or TESTED), {"replies": 0})
        part["replies"] += 1
        if is_cut(reason):
            limit, cut = event.detail.get("max_tokens"), part.setdefault("cut", {})
            key = "" if limit is None else str(limit)
            cut[key] = cut.get(key, 0) + 1
    return found


def count_from_hooks(events: Iterable[Event]) -> dict[str, Json]:
    """The requests and calls that hooks have answered in the place of a model or a tool: plugin → their number."""
    return dict(Counter(str(event.detail["answered_by"]) for event in events if "answered_by" in event.detail))


def add_counts(counts: Sequence[Mapping[str, Json]]) -> dict[str, Any]:
    """The sum of several results of ``count_replies``."""
    found: dict[str, Any] = {}
    for parts in counts:
        for role, part in parts.items():
            total = found.setdefault(role, {"replies": 0})
            total["replies"] += part["replies"]
            for limit, count in part.get("cut", {}).items():
                cut = total.setdefault("cut", {})
                cut[limit] = cut.get(limit, 0) + count
    return found


def with_ends(score: Score, events: Sequence[Event]) -> Score:
    """The score of a wrong case with what its replies say about the reason: how they ended stands before everything
    else, in the explanation and in the labels.

    A benchmark sees what a reply holds, not why it holds no more. Labels are those of the tested model's replies only.
    """
    if score.passed:
        return score
    replies = [event for event in events if event.kind == "model" and "reply" in event.detail]
    own = [event for event in replies if not event.detail.get("role")]
    signs = {CUT: any(map(_is_cut, own)), REFUSED: any(map(_is_refused, own))}
    names_empty = any(label.endswith("_reply") for label in score.labels)  # the benchmark has a label for it
    lines = _sentences(own, "", names_empty=names_empty)
    for role in dict.fromkeys(str(event.detail["role"]) for event in replies if event.detail.get("role")):
        theirs = [event for event in replies if event.detail.get("role") == role]
        lines += _sentences(theirs, f" of {role}")
    labels = (*(label for label, holds in signs.items() if holds), *score.labels)
    text = "\n".join([*lines, *([score.explanation] if score.explanation else [])])
    return replace(score, labels=tuple(dict.fromkeys(labels)), explanation=text)


def _is_cut(event: Event) -> bool:
    return is_cut(str(event.detail.get("finish_reason", "")))


def _is_refused(event: Event) -> bool:
    return bool(event.detail.get("refusal")) or is_filtered(str(event.detail.get("finish_reason", "")))


def _is_empty(event: Event) -> bool:
    return not (str(event.detail["reply"]).strip() or event.detail.get("tool_calls") or event.detail.get("refusal"))


def _sentences(replies: Sequence[Event], whose: str, *, names_empty: bool = False) -> list[str]:
    """``whose``: follows the number of replies. ``names_empty``: no sentence about empty replies."""
    numbers: dict[str, list[int]] = {}
    for number, event in enumerate(replies, 1):
        if end := _end(event):
            numbers.setdefault(end, []).append(number)
    if names_empty:
        numbers.pop(_EMPTY, None)
    return [_sentence(found, len(replies), whose, end) for end, found in numbers.items()]


_EMPTY = "came without any text or call"


def _end(event: Event) -> str:
    """How a reply ended, as the rest of a sentence about it; empty for a usual end."""
    if _is_cut(event):
        place = f"was cut at {limit_words(event.detail.get('max_tokens'))}"
        return f"{place}, before any text or call" if _is_empty(event) else place
    if _is_refused(event):
        filtered = is_filtered(str(event.detail.get("finish_reason", "")))
        return "was ended by a content filter" if filtered else "is a refusal"
    return _EMPTY if _is_empty(event) else ""


def _sentence(numbers: Sequence[int], total: int, whose: str, end: str) -> str:
    if total == 1:
        return f"the reply{whose} {end}"
    if len(numbers) == 1:
        return f"reply {numbers[0]} of {total}{whose} {end}"
    end = end.replace("was ", "were ", 1).replace("is a refusal", "are refusals")
    if len(numbers) == total:
        return f"{'both' if total == 2 else f'all {total}'} replies{whose} {end}"
    if len(numbers) > _LISTED:
        return f"{len(numbers)} of {total} replies{whose} {end}"
    listed = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"replies {listed} of {total}{whose} {end}"


# -- What a run's answers show of their endpoints: the sum of ``ChatReply.observed`` over events, by model.


_NAMES = ("reported", "denied")


def count_observed(events: Sequence[Event]) -> dict[str, Json]:
    """Option of a model's role → what its answers showed; empty where they showed nothing:

    ``estimated``: replies without usable token counts; ``instead``: what the first of them had. ``reported``: name of
    the model → replies; ``denied``: of these the names of other models than the one that was asked for. ``tools``:
    requests whose tools are ``seen`` in the endpoint's count of tokens and ``unseen``; of the first unseen one the
    tokens that were ``counted`` and the ``bytes`` of the tools.
    """
    return add_observed(
        {str(event.detail.get("role") or TESTED): _counted(found)}
        for event in events
        if event.kind == "model" and (found := event.detail.get("observed"))
    )


def _counted(observed: Mapping[str, Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if (instead := observed.get("estimated")) is not None:
        found |= {"estimated": 1, "instead": instead}
    if name := observed.get("reported"):
        found["reported"] = {name: 1}
        if observed.get("denied"):
            found["denied"] = {name: 1}
    if tools := observed.get("tools"):
        found["tools"] = {"seen": 1, "unseen": 0} if tools["seen"] else {**tools, "seen": 0, "unseen": 1}
    return found


def add_observed(counts: Iterable[Mapping[str, Json]]) -> dict[str, Any]:
    """The sum of several results of ``count_observed``. Raises TypeError, or one like it, for what are none."""
    found: dict[str, Any] = {}
    for parts in counts:
        for role, part in parts.items():
            total = found.setdefault(role, {})
            if "estimated" in part:
                total["estimated"] = total.get("estimated", 0) + part["estimated"]
                total["instead"] = total.get("instead") or part.get("instead", "")
            for kind in _NAMES:
                for name, count in part.get(kind, {}).items():
                    names = total.setdefault(kind, {})
                    names[name] = names.get(name, 0) + count
            if tools := part.get("tools"):
                before = total.get("tools", {})
                sums = {key: before.get(key, 0) + tools[key] for key in ("seen", "unseen")}
                total["tools"] = {**tools, **before, **sums}
    return found

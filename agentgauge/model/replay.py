"""Fits earlier messages to the endpoint that they are sent to.

What an endpoint has sent goes back to it as it came. What others have made (gold calls, our own ids, the mistakes of a
model) must satisfy the endpoint, or it refuses the whole request. Where endpoints differ, the words of their refusals
decide: ``Needs`` is what an endpoint has asked for.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgauge.core.chat import ChatRequest, MadeId, Message
from agentgauge.model.providers import UNSUPPORTED, Quirks, names, quirks_after

RESPONSE_ITEMS = "response_items"
"""The field of a message that holds the items of the Responses API that it came in. Sent to that API only."""

_SIGNS = string.ascii_letters + string.digits
_LONGEST = 4000  # characters of a refusal that are read
_LENGTH = 9
"""Signs of the ids that are made here: Mistral takes no others."""
_ID = re.compile(rf"[a-zA-Z0-9]{{{_LENGTH}}}")
_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")
_CALL = frozenset({"id", "type", "function"})
_MESSAGE = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "refusal"})

THINKING_BLOCKS = "thinking_blocks"
"""The field of a message that holds the signed thinking of Anthropic's models."""

_EMPTY: Mapping[str, Any] = {"reasoning_details": [], THINKING_BLOCKS: [], "extra_content": {}}
"""The thinking of messages that come without any, where it is no text; a text must not be empty for every endpoint."""

_NO_TEXT = "(empty)"
"""In place of an empty text, such as the result of a gold call without one, where an endpoint refuses that."""

_SIGNATURE = "skip_thought_signature_validator"
"""Google's signature for calls that its model has not made."""

_MISSING = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"missing (?:(?:the|a|required|field|property|parameter)\b:? ?)*[`'\"]?(?:[\w.\[\]]*\.)?(\w+)",
        r"\b(\w+)[`'\"]?(?: field| property| parameter)? (?:is|are) (?:missing|required)",
        r"\b(\w+)[`'\"]?:?\s{1,4}field required",
        r"\b(\w+)[`'\"]? in the thinking mode must be",
        r"\b(\w+)[`'\"]? must be (?:passed|sent|provided|included)",
    )
)
_THINKING = re.compile("reasoning|think|thought|signature|extra_content")
_SETTING = re.compile("effort|budget|summary|tokens|mode|level|config|enable")
"""In the name of a request's own field, which is no thinking of a message."""
_BAD_ID = re.compile(
    r"tool[_ ]call[_ ]ids?\b.*\blength (?:of )?9\b|tool_call(?:s\[\d+\]\.|_)id\b.{0,80}\bempty",
    re.IGNORECASE | re.DOTALL,
)
_BAD_TEXT = re.compile(
    r"\b(?:text|content)\b.{0,80}\b(?:non-?empty|non-whitespace|(?:not|cannot|can't|is|are) (?:be )?(?:empty|blank))"
    r"|\bnon-?empty content|\bempty text|parts must not be empty|at least one (?:content element|parts field)",
    re.IGNORECASE | re.DOTALL,
)
_BAD_NULL = re.compile(
    r"\bcontent\b.{0,80}?\b(?:null|none|nil|nonetype|required|missing|(?:valid|a) string)\b", re.IGNORECASE | re.DOTALL
)
_BAD_ORDER = re.compile(r"unexpected role '?user'? after role '?tool\b|roles must alternate", re.IGNORECASE)
_BAD_REPETITION = re.compile(r"roles must alternate", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Needs:
    """What an endpoint has asked of the messages that are replayed to it."""

    thinking: frozenset[str] = frozenset()  # fields that a message of the assistant must have
    dropped: frozenset[str] = frozenset()  # fields that a message and a call must not have
    signature: bool = False  # the first call of a message must have a signature
    short_ids: bool = False  # ids have nine letters or digits
    user_after_tool: bool = True  # a user message may follow a tool's result
    empty_text: bool = True  # a content may be an empty text
    null_content: bool = True  # the content of a message with calls may be null
    repeated_role: bool = True  # a user's or assistant's text may follow another one

    def after(self, refusal: str, messages: Sequence[Message]) -> Needs:
        """The needs that a refused request shows; the same where ``refusal``, the endpoint's words, names none that
        these messages do not meet."""
        refusal = re.sub(r"""\\+(?=["'])""", "", refusal[:_LONGEST])  # gateways pass the JSON of others on as a text
        thinking, dropped = set[str](), set[str]()
        if any(message.get("role") == "assistant" for message in messages):
            found = (match[1] for pattern in _MISSING for match in pattern.finditer(refusal))
            thinking = {name for name in found if _THINKING.search(name) and not _SETTING.search(name)}
        if not thinking and UNSUPPORTED.search(refusal):
            dropped = {name for name in _extras(messages) | self.thinking if names(refusal, name)}
        is_bad_text = bool(_BAD_TEXT.search(refusal))
        is_bad_null = bool(_BAD_NULL.search(refusal)) if not thinking | dropped else False
        is_bad_null |= is_bad_text and not self.empty_text
        return self | Needs(
            frozenset(thinking - {"thought_signature", "thoughtSignature"}),
            frozenset(dropped),
            signature=any("signature" in name.lower() for name in thinking),
            short_ids=bool(_BAD_ID.search(refusal)),
            user_after_tool=not _BAD_ORDER.search(refusal),
            empty_text=not is_bad_text,
            null_content=not (is_bad_null and any(_calls(message) for message in messages)),
            repeated_role=not _BAD_REPETITION.search(refusal),
        )

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.thinking | other.thinking,
            self.dropped | other.dropped,
            self.signature or other.signature,
            self.short_ids or other.short_ids,
            self.user_after_tool and other.user_after_tool,
            self.empty_text and other.empty_text,
            self.null_content and other.null_content,
            self.repeated_role and other.repeated_role,
        )


class Learned:
    """What the refusals of an endpoint have shown of it, for all requests of a worker."""

    ATTEMPTS = 8
    """Refusals of one request that are learned from."""

    def __init__(self, quirks: Quirks) -> None:
        self.needs, self.quirks = Needs(), quirks

    def learn(self, refusal: str, messages: Sequence[Message], needs: Needs, quirks: Quirks) -> bool:
        """Learn from the refusal of a request that was written for ``needs`` and ``quirks``. Returns whether it shows
        more, so that another attempt may be accepted."""
        shown, found = needs.after(refusal, messages), quirks_after(refusal[:_LONGEST], quirks)
        self.needs |= shown
        self.quirks = quirks_after(refusal[:_LONGEST], self.quirks)
        return (shown, found) != (needs, quirks)


def _extras(messages: Sequence[Message]) -> set[str]:
    """The fields that messages of the assistant and their calls have beside those of the format."""
    found = set[str]()
    for message in messages:
        if message.get("role", "assistant") == "assistant":
            found |= message.keys() - _MESSAGE
            found |= {name for call in _calls(message) for name in call.keys() - _CALL}
    return found


def _calls(message: Message) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list | tuple) else []


def fitted(request: ChatRequest, quirks: Quirks, needs: Needs = Needs()) -> list[dict[str, Any]]:
    """Copies of a request's messages as an endpoint accepts them.

    - A message of the assistant without any content is left out, and so are its fields without a value.
    - Every call of the conversation has an id of its own, which its result has, too. Ids that the endpoint has given
      stay where they are unique, or empty; others become nine letters and digits.
    - Arguments are the text of a JSON object: servers parse those of earlier calls.
    - Names of functions that are not on offer have letters that every endpoint accepts.
    """
    offered = {str(tool.get("function", {}).get("name")) for tool in request.tools}
    messages: Iterator[Message] = (message for message in _with_ids(request.messages, needs) if _has_content(message))
    if not needs.repeated_role:
        messages = _merged(messages)
    if not (quirks.user_after_tool and needs.user_after_tool):
        messages = _bridged(messages)
    return [_fitted(message, offered, needs) for message in messages]


def _has_content(message: Message) -> bool:
    if message.get("role") != "assistant" or message.get("content") not in (None, ""):
        return True
    return any(message.get(name) for name in message if name != "role")


def _fitted(message: Message, offered: set[str], needs: Needs) -> dict[str, Any]:
    kept = {"role": "assistant", **message}  # a reply's own message has no role
    is_assistants = kept["role"] == "assistant"
    if is_assistants:
        kept = {
            name: value
            for name, value in kept.items()
            if name == "content" or (value is not None and name not in needs.dropped)
        }
    calls = _calls(message)
    if not calls:
        kept.pop("tool_calls", None)  # endpoints refuse an empty list
    if is_assistants and kept.get("content") is None and not (calls and needs.null_content):
        kept["content"] = ""  # null is no content without calls
    content = kept.get("content")
    if not needs.empty_text and isinstance(content, str) and not content.strip():
        kept["content"] = None if calls and needs.null_content else _NO_TEXT
    if is_assistants:
        for name in needs.thinking - needs.dropped:
            kept.setdefault(name, _EMPTY.get(name, " "))
    if not calls:
        return kept
    kept["tool_calls"] = [_fitted_call(call, offered, needs) for call in calls]
    if needs.signature:
        first = kept["tool_calls"][0]
        extra = _mapping(first.get("extra_content"))
        google = _mapping(extra.get("google"))
        if not google.get("thought_signature"):
            first["extra_content"] = {**extra, "google": {**google, "thought_signature": _SIGNATURE}}
    return kept


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _fitted_call(call: Mapping[str, Any], offered: set[str], needs: Needs) -> dict[str, Any]:
    kept = {key: value for key, value in call.items() if key not in needs.dropped}
    if isinstance(function := kept.get("function"), Mapping):
        name = str(function.get("name") or "_")
        if name not in offered and not _NAME.fullmatch(name):
            name = re.sub("[^a-zA-Z0-9_-]", "_", name)[:64]
        kept["function"] = {**function, "name": name, "arguments": _object_text(function.get("arguments"))}
    return {**kept, "type": kept.get("type") or "function"}


def _object_text(arguments: object) -> str:
    """The arguments as they are where they are the text of a JSON object; ``{}`` where there is none in them."""
    try:
        if isinstance(arguments, Mapping):
            return json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        value = json.loads(str(arguments), parse_constant=_no_number)
        if isinstance(value, str):  # encoded twice
            return value if isinstance(json.loads(value, parse_constant=_no_number), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"
    return str(arguments) if isinstance(value, dict) else "{}"


def _no_number(name: str) -> None:
    raise ValueError(name)


def _with_ids(messages: Sequence[Message], needs: Needs) -> Iterator[Message]:
    taken = set[str]()
    waiting: list[tuple[object, str]] = []  # ids of the calls whose results come next, as they were and as they are
    for place, message in enumerate(messages):
        if message.get("role") == "tool":
            given = message.get("tool_call_id")
            pair = next((pair for pair in waiting if pair[0] == given or not given), None)
            if pair:
                waiting.remove(pair)
                message = {**message, "tool_call_id": pair[1]}
        else:
            waiting = []
        if calls := _calls(message):
            ids = [_id(call.get("id"), taken, needs, f"{place}/{number}") for number, call in enumerate(calls)]
            waiting = [(call.get("id"), id) for call, id in zip(calls, ids, strict=True)]
            message = {**message, "tool_calls": [{**call, "id": id} for call, id in zip(calls, ids, strict=True)]}
        yield message


def _id(given: object, taken: set[str], needs: Needs, place: str) -> str:
    if given == "" and not needs.short_ids:
        return ""
    id = given if isinstance(given, str) else ""
    is_made = isinstance(given, MadeId) or (needs.short_ids and not _ID.fullmatch(id))
    number = 0
    while not id or id in taken or is_made:
        id, is_made = _nine_signs(f"{place}/{number}"), False
        number += 1
    taken.add(id)
    return id


def _nine_signs(word: str) -> str:
    """An id that every endpoint accepts; the same for the same word."""
    number = int.from_bytes(hashlib.sha256(word.encode()).digest())
    signs = []
    for _ in range(_LENGTH):
        number, sign = divmod(number, len(_SIGNS))
        signs.append(_SIGNS[sign])
    return "".join(signs)


def _bridged(messages: Iterator[Message]) -> Iterator[Message]:
    """The messages, with one of the assistant between a tool's result and a user message."""
    last = None
    for message in messages:
        if last == "tool" and message.get("role") == "user":
            yield {"role": "assistant", "content": "OK."}
        last = message.get("role")
        yield message


def _merged(messages: Iterator[Message]) -> Iterator[Message]:
    """The messages, texts of one role that follow each other as one."""
    last: Message | None = None
    for message in messages:
        if last and _is_text(last) and _is_text(message) and last["role"] == message["role"]:
            last = {**last, **message, "content": f"{last['content']}\n\n{message['content']}"}
            continue
        if last:
            yield last
        last = message
    if last:
        yield last


def _is_text(message: Message) -> bool:
    is_chat = message.get("role") in ("user", "assistant")
    return is_chat and isinstance(message.get("content"), str) and not _calls(message)

"""Replies in the form in which response files keep them: the text of a chat completion (MMAU spec 3.4)."""

from __future__ import annotations

import json
from typing import Any

from harness.model.types import ChatReply


def stored(reply: ChatReply) -> str:
    """A reply as one line of JSON in OpenAI's shape. A refusal is a text, as it is for the published client."""
    text = reply.text or reply.refusal
    message: dict[str, Any] = {"role": "assistant", "content": text or ("" if not reply.tool_calls else None)}
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in reply.tool_calls
        ]
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}]}, ensure_ascii=False)

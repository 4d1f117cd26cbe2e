"""Replies in the form in which response files keep them: the text of a chat completion (MMAU spec 3.4)."""

from __future__ import annotations

import json
from typing import Any

from agentgauge.core.chat import ChatReply


def stored(reply: ChatReply) -> str:
    """A reply as one line of JSON in OpenAI's shape: content and calls as the server sent them, a null content as null.

    A refusal is a text, as it is for the published client.
    """
    received = reply.message
    content = received["content"]
    message: dict[str, Any] = {"role": "assistant", "content": content or reply.refusal or content}
    if "tool_calls" in received:
        message["tool_calls"] = received["tool_calls"]
    return json.dumps(
        {"choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}]}, ensure_ascii=False
    )

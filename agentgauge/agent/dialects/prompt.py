"""Models without function calling: a prompt lists the tools, as for DeepSeek-R1 and QwQ (wild spec 8, prompt-only).

The spec infers this family from the published results; how a reply is read is ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentgauge.agent.dialects.conversation import Turn, call_objects, fill, functions, named_results, prompted
from agentgauge.agent.dialects.format import Format, ParsedReply, RenderedRequest, as_json
from agentgauge.agent.dialects.frames import JSON, tag
from agentgauge.agent.dialects.lenient import read_leniently
from agentgauge.agent.dialects.published import Dialogue, unnamed
from agentgauge.core.chat import Message
from agentgauge.core.types import Json

_PROMPT = """\
You work on a user's requests with the functions listed below. Whenever a function can bring you further, call it. \
Calls are
written between tags, as a JSON list with one object for each call, and nothing else is in the reply:
<tool_calls>[{"name": "the function's name", "arguments": {"parameter": "value"}}]</tool_calls>
Put calls that do not need each other's results into one list. The results come back in <tool_response> tags.
Only in three cases you answer in words, and then the reply starts with "Assistant:":
1. no function fits the request: say so;
2. a required parameter is missing and nothing tells its value: ask the user for it;
3. the results at hand are enough: answer the request with them.

Functions:
{tools}"""

_ANSWER = "Assistant:"
_OPEN, _CLOSE = "<tool_calls>", "</tool_calls>"
_FORMS = (tag("tool_calls"), JSON)
_BROKEN = re.compile(rf"\s*{_OPEN}\s*[\[{{]")


@dataclass(frozen=True, slots=True)
class PromptOnly(Format):
    """The slot of the prompt is ``tools``."""

    refusal: ClassVar[str] = "a reply that cannot be written between tags"

    prompt: str = _PROMPT

    def request(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The conversation's system messages, which include the date, come after the prompt."""
        described = json.dumps(functions(tools), ensure_ascii=False, indent=4)
        return prompted(fill(self.prompt, tools=described), messages, self._turn)

    def published(self, dialogue: Dialogue, tools: Sequence[Mapping[str, Any]]) -> RenderedRequest:
        """The tools are wrapped as in OpenAI's requests, and the results of a step are one unnamed list."""
        system = fill(self.prompt, tools=json.dumps(list(tools), ensure_ascii=False, indent=2))
        sent: list[Message] = [{"role": "system", "content": f"{system}\n\nCurrent time: {dialogue.date}"}]
        for told in dialogue.told:
            content = unnamed(told.text, dialogue.language) if told.written is None else told.text
            if told.calls:
                content = self.written(ParsedReply(None, told.calls))
            elif told.role == "assistant":
                content = f"{_ANSWER}{content}"
            sent.append({"role": told.role, "content": content})
            if told.results:
                sent.append(_response(list(told.results)))
        return RenderedRequest(tuple(sent))

    def _turn(self, turn: Turn) -> Iterator[Message]:
        content = turn.text if turn.role == "user" else self.written(ParsedReply(turn.text, turn.calls))
        yield {"role": turn.role, "content": content}
        if turn.results:
            yield _response(named_results(turn))

    def written(self, reply: ParsedReply) -> str:
        calls = call_objects(reply.calls)
        return f"{_OPEN}{as_json(calls)}{_CLOSE}" if calls else f"{_ANSWER} {reply.text or ''}"

    def read(self, text: str, *, tolerant: bool, tools: Sequence[Mapping[str, Any]] = ()) -> ParsedReply:
        """Calls between the tags, and bare ones of tools on offer. A closed block of broken JSON makes the reply empty.

        No published parser is known, so both scorings read alike.
        """
        found = read_leniently(text, tools, _FORMS)
        if found.calls:
            return found
        meant = found.text or ""
        if _BROKEN.match(meant) and _CLOSE in meant:
            return ParsedReply(None)
        answer = meant.partition(_ANSWER)[2].removeprefix(" ") if meant.lstrip().startswith(_ANSWER) else meant
        return ParsedReply(answer if answer.strip() or not tolerant else None)


def _response(results: Json) -> Message:
    return {"role": "user", "content": f"<tool_response>{as_json(results)}</tool_response>"}

"""A scripted model that plays all parts of the generator: it answers by the prompt and the transcript that it gets, and
by nothing else.

Its users write their wish into the task (``#ST getWeather``); its planner reads it there. ``clumsy`` players plan
wrongly and return wrong results at times, and mend it when a checker has refused them.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.types import Usage
from bench_wild.generate.texts import FIRST_TASKS, Texts, load_texts
from bench_wild.generate.transcript import LANGUAGES, MARKS, SWITCH, TYPES, fence, fenced_json, speaker, without_mark
from bench_wild.labels import ASK, PREPARE, PSEUDO

_TEXTS = {language: load_texts(language) for language in LANGUAGES}
_TITLES = {
    text.splitlines()[0]: (language, name) for language in LANGUAGES for name, text in _TEXTS[language].prompts.items()
}
_WISH = re.compile(r"#(ST|MT|CQ|CC) (\S+) (\S+)")

Messages = Sequence[Mapping[str, Any]]


def play(messages: Messages, *, clumsy: bool = False) -> str:
    """What the player writes for a request."""
    prompt, transcript = messages[0]["content"], [message["content"] for message in messages[1:]]
    language, agent = _TITLES[prompt.splitlines()[0]]
    part = _Part(
        _TEXTS[language],
        MARKS[language],
        _tools(prompt),
        transcript,
        prompt,
        clumsy and _chance(prompt, transcript) < 0.15,
    )
    if transcript:
        assert transcript[-1].startswith(SWITCH[language]), "a request behind a transcript ends with a switch message"
    for wanted, names in FIRST_TASKS.items():
        if agent in names:
            return part.first(wanted, alone=agent in ("user_single_tool", "user_ask"))
    return str(getattr(part, agent)())


class _Part:
    def __init__(
        self,
        texts: Texts,
        marks: Mapping[Any, str],
        tools: list[dict[str, Any]],
        transcript: list[str],
        prompt: str,
        slips: bool,
    ) -> None:
        self.texts, self.marks, self.tools, self.transcript, self.prompt, self.slips = (
            texts,
            marks,
            tools,
            transcript,
            prompt,
            slips,
        )

    # -- the user

    def first(self, wanted: str, *, alone: bool) -> str:
        tools = [self.tools[-1], self.tools[-1]] if alone else [self.tools[0], self.tools[-1]]
        tasks = {f"Task {number}": f"wish {number} #{wanted} {_names(tools)}" for number in range(1, 6)}
        return "Here you are:\n" + fence(
            {key: {"description": text, "plan": "think"} if wanted == "MT" else text for key, text in tasks.items()}
        )

    def user_continue_question(self) -> str:
        wanted = next(kind for kind in TYPES if self.texts.wanted[kind] in self.prompt)
        place = len(self.transcript) % len(self.tools)
        return f"{self.marks['user']} again #{wanted} {_names([self.tools[place], self.tools[0]])}"

    def user_answer_ask(self) -> str:
        return f"{self.marks['user']} All you ask for is 5."

    def user_vague_answer_ask(self) -> str:
        return f"{self.marks['user']} Hm, the usual."

    # -- the assistant

    def planner(self) -> str:
        start = max(
            place for place, text in enumerate(self.transcript) if speaker(text) == "user" and _WISH.search(text)
        )
        wish = _WISH.search(self.transcript[start])
        assert wish is not None
        since = self.transcript[start:]
        actions = [
            {**action, "tool_call_purpose": "to help"} for action in self._actions(wish[1], wish.groups()[1:], since)
        ]
        if self.slips and speaker(since[-2]) != "checker_planner":
            actions = [{"name": "noSuchTool", "arguments": {}}]
        plan = {
            "Mission_Finish": "no",
            "Thought": "One thing, then the next.",
            "Plan": "Now: it.",
            "Action_List": actions,
        }
        return f"{self.marks['planner']}\n{fence(plan)}"

    def _actions(self, wanted: str, names: Sequence[str], since: list[str]) -> list[dict[str, Any]]:
        results = sum(speaker(text) == "tool" for text in since) - sum(
            speaker(text) == "checker_tool" for text in since
        )
        answers = [without_mark(text) for text in since[1:] if speaker(text) == "user"]
        tool, other = (next(tool for tool in self.tools if tool["function"]["name"] == name) for name in names)
        done = {"name": PREPARE, "arguments": {"answer_type": "tool"}}
        if wanted == "CC":
            return [{"name": PREPARE, "arguments": {"answer_type": "chat"}}]
        if wanted == "CQ" and _required(tool) and not any("All you ask" in answer for answer in answers):
            return [{"name": ASK, "arguments": {"tool_name": names[0], "missing_required_parameters": _required(tool)}}]
        if wanted == "MT" and len(since[0]) % 2:
            return [[_call(tool), _call(other)], [done]][min(results, 1)]
        calls = [[_call(tool)], [_call(other)]] if wanted == "MT" else [[_call(tool)]]
        return [*calls, [done]][min(results, len(calls))]

    def checker_planner(self) -> str:
        return fence({"tool_call_analysis": "They do not wait for each other.", "correct": "yes"})

    def tool(self) -> str:
        plan = fenced_json(without_mark(next(text for text in reversed(self.transcript) if speaker(text) == "planner")))
        found = [{"status_code": 200, "response": {"of": action["name"]}} for action in plan["Action_List"]]
        if self.slips and speaker(self.transcript[-2]) != "checker_tool":
            found.append(found[0])
        return f"{self.marks['tool']}\n{fence({'Observation_List': found})}"

    def agent_ask(self) -> str:
        return f"{self.marks['agent']} What is it for?"

    def agent_answer(self) -> str:
        return f"```markdown\n{self.marks['agent']} It is done.\n\nAs you wished.\n```"

    def agent_answer_chat(self) -> str:
        return f"{self.marks['agent']} Glad to talk."


def _tools(prompt: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in prompt.splitlines() if line.startswith("{") and '"function"' in line]
    return [tool for tool in found if tool["function"]["name"] not in PSEUDO]


def _names(tools: Iterable[Mapping[str, Any]]) -> str:
    return " ".join(tool["function"]["name"] for tool in tools)


def _required(tool: Mapping[str, Any]) -> list[str]:
    schema = tool["function"].get("parameters") or {}
    return [name for name in schema.get("required") or () if name in (schema.get("properties") or {})]


def _call(tool: Mapping[str, Any]) -> dict[str, Any]:
    rules = (tool["function"].get("parameters") or {}).get("properties") or {}
    return {"name": tool["function"]["name"], "arguments": {name: _value(rules[name]) for name in _required(tool)}}


def _value(rule: Mapping[str, Any]) -> Any:
    if rule.get("enum"):
        return rule["enum"][0]
    kind = rule.get("type")
    if kind == "object":
        return {
            name: _value(rule["properties"][name])
            for name in rule.get("required") or ()
            if name in (rule.get("properties") or {})
        }
    return {"integer": 5, "interger": 5, "number": 5, "float": 5.0, "boolean": True, "array": [], "null": None}.get(
        str(kind), "5"
    )


def _chance(prompt: str, transcript: Sequence[str]) -> float:
    return int(hashlib.sha256("\n".join([prompt, *transcript]).encode()).hexdigest()[:8], 16) / 16**8


class PlayerModel:
    """In place of ``OpenAIModel``."""

    clumsy = False

    def __init__(self, spec: Any, limiter: Any = None) -> None:
        self.name, self.fingerprint = spec.name, spec.fingerprint

    async def complete(self, request: ChatRequest) -> ChatReply:
        assert not request.tools
        return ChatReply(play(request.messages, clumsy=self.clumsy), usage=Usage(1, 10, 5))

    async def close(self) -> None:
        pass


class ClumsyModel(PlayerModel):
    clumsy = True


class PlayerServer:
    """The player over HTTP in OpenAI's format. ``bodies`` are the requests that came."""

    def __init__(self, *, clumsy: bool = True, delay: float = 0.0, broken: Sequence[str] = ()) -> None:
        self.bodies: list[dict[str, Any]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                server.bodies.append(body)
                time.sleep(delay)
                status = 400 if body["model"] in broken else 200
                text = play(body["messages"], clumsy=clumsy)
                choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
                usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
                answer = {
                    "object": "chat.completion",
                    "id": "x",
                    "model": body["model"],
                    "choices": [choice],
                    "usage": usage,
                }
                data = json.dumps(answer if status == 200 else {"error": {"message": "no such model"}}).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 64
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that was killed breaks its connections."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> PlayerServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

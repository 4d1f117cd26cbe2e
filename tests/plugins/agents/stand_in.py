"""Stands in for well-known agent programs: it behaves as their documentation says, under the name that it is given.

It looks at its words, finds the server of tools where its program would look, calls one tool over the Model Context
Protocol, and prints what its program would print. A program that asks the model of ``--model`` asks it for the answer;
another one takes its answer from ``STAND_IN_SAYS``. ``STAND_IN_CALLS`` names the tool, with its arguments as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen


def post(url: str, body: object, **headers: str) -> tuple[Any, Any]:
    """The answer, and its headers."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    with urlopen(Request(url, json.dumps(body).encode(), sent)) as reply:
        text = reply.read().decode()
        data = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
        return json.loads(data[-1] if data else text or "null"), reply.headers


def use_tool(url: str, authorization: str, name: str, arguments: object) -> str:
    """Call a tool of the server, and return its text."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "stand-in", "version": "1"}}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    headers = {"Authorization": authorization}
    _, given = post(url, first, **headers)
    if session := given.get("mcp-session-id"):
        headers["mcp-session-id"] = session
    post(url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
    call = {"name": name, "arguments": arguments}
    reply, _ = post(url, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, **headers)
    return "\n".join(part.get("text", "") for part in reply["result"]["content"])


def ask(url: str, key: str, model: str, prompt: str) -> str:
    """Let the model answer, without tools."""
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    reply, _ = post(f"{url}/chat/completions", body, Authorization=f"Bearer {key}")
    return str(reply["choices"][0]["message"]["content"])


def option(name: str) -> str:
    """The word behind an option, which must be there."""
    return sys.argv[sys.argv.index(name) + 1]


def last_word() -> str:
    assert sys.argv[-2] == "--", sys.argv
    return sys.argv[-1]


def own_text(start: str) -> str:
    """The end of the last word, which begins with ``start``."""
    assert sys.argv[-1].startswith(start), sys.argv
    return sys.argv[-1].removeprefix(start)


def emit(*records: object) -> None:
    for record in records:
        print(json.dumps(record))


def settings(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


def claude() -> None:
    assert {"--print", "--verbose", "--strict-mcp-config", "--dangerously-skip-permissions"} < {*sys.argv}
    assert option("--output-format") == "stream-json" and last_word()
    servers, call, said = settings(option("--mcp-config"))["mcpServers"], tool_call(), os.environ["STAND_IN_SAYS"]
    emit({"type": "system", "subtype": "init", "mcp_servers": [{"name": name} for name in servers]})
    if call:
        server = servers["agentgauge"]
        assert server["type"] == "http"
        result = use_tool(server["url"], server["headers"]["Authorization"], *call)
        used = {"type": "tool_use", "id": "t1", "name": f"mcp__agentgauge__{call[0]}", "input": call[1]}
        text = {"type": "text", "text": "I look."}
        message = {"role": "assistant", "model": "claude-x", "content": [text]}
        outcome = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": result}]}
        emit(
            {"type": "assistant", "message": message, "parent_tool_use_id": None},
            {"type": "assistant", "message": {**message, "content": [used]}, "parent_tool_use_id": None},
            {"type": "user", "message": {"role": "user", "content": [outcome]}, "parent_tool_use_id": None},
        )
    usage = {
        "input_tokens": 20,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 4,
        "output_tokens": 8,
    }
    emit(
        {
            "type": "assistant",
            "message": {"role": "assistant", "model": "claude-x", "content": [{"type": "text", "text": said}]},
            "parent_tool_use_id": None,
        },
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": said,
            "total_cost_usd": 0.25,
            "usage": usage,
        },
    )


def codex() -> None:
    assert sys.argv[1] == "exec" and {"--json", "--skip-git-repo-check", "--ephemeral"} < {*sys.argv}
    assert "--dangerously-bypass-approvals-and-sandbox" in sys.argv and last_word()
    emit({"type": "thread.started", "thread_id": "1"}, {"type": "turn.started"})
    if call := tool_call():
        import tomllib

        server = tomllib.loads(option("--config"))["mcp_servers"]["agentgauge"]
        result = use_tool(server["url"], f"Bearer {os.environ[server['bearer_token_env_var']]}", *call)
        item = {"id": "item_0", "type": "mcp_tool_call", "server": "agentgauge", "tool": call[0], "arguments": call[1]}
        content = {"content": [{"type": "text", "text": result}], "structured_content": None}
        done = {**item, "result": content, "error": None, "status": "completed"}
        emit(
            {"type": "item.started", "item": {**item, "result": None, "error": None, "status": "in_progress"}},
            {"type": "item.completed", "item": done},
        )
    message = {"id": "item_1", "type": "agent_message", "text": os.environ["STAND_IN_SAYS"]}
    usage = {"input_tokens": 26, "cached_input_tokens": 4, "output_tokens": 8, "reasoning_output_tokens": 3}
    emit({"type": "item.completed", "item": message}, {"type": "turn.completed", "usage": usage})


def gemini() -> None:
    assert option("--output-format") == "stream-json" and {"--yolo", "--skip-trust"} < {*sys.argv}
    assert own_text("--prompt=")
    emit({"type": "init", "model": "gemini-x"}, {"type": "message", "role": "user", "content": "the prompt"})
    if call := tool_call():
        server = settings(".gemini/settings.json")["mcpServers"]["agentgauge"]
        result = use_tool(server["httpUrl"], server["headers"]["Authorization"], *call)
        used = {"tool_name": f"mcp_agentgauge_{call[0]}", "tool_id": "t1", "parameters": call[1]}
        emit(
            {"type": "tool_use", **used},
            {"type": "tool_result", "tool_id": "t1", "status": "success", "output": result},
        )
    said = os.environ["STAND_IN_SAYS"]
    half = len(said) // 2
    emit(
        {"type": "message", "role": "assistant", "content": said[:half], "delta": True},
        {"type": "message", "role": "assistant", "content": said[half:], "delta": True},
        {"type": "result", "status": "success", "stats": {"input_tokens": 26, "output_tokens": 8, "cached": 4}},
    )


def opencode() -> None:
    assert sys.argv[1] == "run" and option("--format") == "json" and "--auto" in sys.argv
    prompt, given = last_word(), settings("opencode.json")
    provider, _, model = given["model"].partition("/")
    access = given["provider"][provider]
    assert model in access["models"] and access["npm"] == "@ai-sdk/openai-compatible"
    if call := tool_call():
        server = given["mcp"]["agentgauge"]
        assert server["type"] == "remote"
        result = use_tool(server["url"], server["headers"]["Authorization"], *call)
        state = {"status": "completed", "input": call[1], "output": result}
        tokens = {"input": 20, "output": 4, "reasoning": 0, "cache": {"read": 4, "write": 0}}
        emit(
            {"type": "step_start", "part": {"type": "step-start"}},
            {"type": "tool_use", "part": {"tool": f"agentgauge_{call[0]}", "callID": "c1", "state": state}},
            {"type": "step_finish", "part": {"reason": "tool-calls", "tokens": tokens, "cost": 0}},
        )
    said = ask(access["options"]["baseURL"], access["options"]["apiKey"], model, prompt)
    tokens = {"input": 20, "output": 4, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    emit(
        {"type": "text", "part": {"type": "text", "text": said}},
        {"type": "step_finish", "part": {"reason": "stop", "tokens": tokens, "cost": 0}},
    )


def goose() -> None:
    assert sys.argv[1] == "run" and option("--output-format") == "stream-json" and "--no-session" in sys.argv
    assert os.environ["GOOSE_PROVIDER"] == "openai" and os.environ["GOOSE_MODE"] == "auto"
    prompt, given = own_text("--text="), settings(".config/goose/config.yaml")
    if call := tool_call():
        server = given["extensions"]["agentgauge"]
        assert server["enabled"] and server["type"] == "streamable_http"
        result = use_tool(server["uri"], server["headers"]["Authorization"], *call)
        wanted = {"status": "success", "value": {"name": f"agentgauge__{call[0]}", "arguments": call[1]}}
        request = {"type": "toolRequest", "id": "c1", "toolCall": wanted}
        content = {"content": [{"type": "text", "text": result}], "isError": False}
        response = {"type": "toolResponse", "id": "c1", "toolResult": {"status": "success", "value": content}}
        emit(
            {"type": "message", "message": {"role": "assistant", "content": [request]}},
            {"type": "message", "message": {"role": "user", "content": [response]}},
        )
    url = os.environ["OPENAI_HOST"] + os.environ["OPENAI_BASE_PATH"].removesuffix("/chat/completions")
    said = ask(url, os.environ["OPENAI_API_KEY"], os.environ["GOOSE_MODEL"], prompt)
    for part in (said[:3], said[3:]):
        text = {"type": "text", "text": part}
        emit({"type": "message", "message": {"id": "m1", "role": "assistant", "content": [text]}})
    emit({"type": "complete", "total_tokens": 34, "input_tokens": 26, "output_tokens": 8})


def tool_call() -> tuple[str, Any] | None:
    """The tool that it calls and its arguments; None where the task has no tools."""
    if "AGENTGAUGE_MCP_URL" not in os.environ:
        return None
    name, _, arguments = os.environ["STAND_IN_CALLS"].partition(" ")
    task = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text())
    return name, json.loads(arguments.replace("FILE", task["files"][0] if task["files"] else ""))


if __name__ == "__main__":
    programs = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode, "goose": goose}
    programs[Path(sys.argv[0]).name]()

"""What helps a provider's prompt cache: marks in requests, and the order of attempts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import ChatRequest
from agentgauge.core.config import Config, ModelTable
from agentgauge.model.presets import resolve
from agentgauge.model.prompt_cache import MARK
from agentgauge.model.wire import request_body
from tests.costs.billing import Till, serve
from tests.plugin.project import Project, run_wild

KEYS = {"OPENROUTER_API_KEY": "k"}
SYSTEM, USER = {"role": "system", "content": "Help."}, {"role": "user", "content": "Hello"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}


def text(content: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content, **MARK}]


@pytest.mark.parametrize(
    ("messages", "marked"),
    [
        ([SYSTEM, USER], [{**SYSTEM, "content": text("Help.")}, {**USER, "content": text("Hello")}]),
        ([USER], [{**USER, "content": text("Hello")}]),
        ([SYSTEM, SYSTEM, USER, CALL], [SYSTEM, {**SYSTEM, "content": text("Help.")}, USER, CALL]),
        (
            [USER, CALL, {"role": "tool", "tool_call_id": "1", "content": "3"}],
            [USER, CALL, {"role": "tool", "tool_call_id": "1", "content": text("3")}],
        ),
        (
            [{"role": "user", "content": [{"type": "text", "text": "See"}, PICTURE]}],
            [{"role": "user", "content": [{"type": "text", "text": "See"}, {**PICTURE, **MARK}]}],
        ),
        ([{"role": "user", "content": ""}], [{"role": "user", "content": ""}]),
    ],
)
def test_marks_are_at_the_ends_of_the_system_prompt_and_of_all(messages: Any, marked: Any) -> None:
    table = ModelTable(provider="openrouter", model="anthropic/claude-sonnet-4", cache_control=True)
    spec = resolve("mine", config=Config(models={"mine": table}), environ=KEYS)
    plain = resolve("openrouter/anthropic/claude-sonnet-4", environ=KEYS)
    request = ChatRequest(messages=tuple(messages))
    assert request_body(spec, request)["messages"] == marked
    assert request_body(plain, request)["messages"] == messages
    assert spec.fingerprint == plain.fingerprint


def test_tasks_of_a_session_wait_for_its_first_reply(tmp_path: Path) -> None:
    till = Till(latency=0.1)
    with serve(till) as server:
        env = {"OPENAI_API_KEY": "sk-of-nobody-1234", "OPENAI_BASE_URL": server.url}
        run_wild("--model=gpt-4o", "--run-dir=run", cwd=tmp_path, env=env)
    firsts = [str(seen.body["messages"][0]) for seen in server.requests]
    sessions = len(set(firsts))
    assert 1 < sessions < len(firsts) - till.counts["useless"]
    assert till.uncached == sessions


def test_attempts_wait_for_the_first_reply_about_their_sample(tmp_path: Path) -> None:
    project = Project.make(tmp_path, samples=5)
    till = Till(latency=0.1)
    with serve(till) as server:
        result = project.run("--model=m", f"--model-url={server.url}", "--attempts=4", "--run-dir=run")
    assert result.status == 0, result.output
    usage = result.summary("run")["usage"]
    assert usage["cached_tokens"] == till.counts["cached_tokens"]
    fresh = usage["prompt_tokens"] - usage["cached_tokens"]
    assert till.counts["useless"] == 0 and usage["requests"] == 20
    # one full prompt a sample; of the others what is not the first message
    assert fresh < 0.35 * usage["prompt_tokens"]
    assert "% of the prompt tokens came from the provider's cache" in result.output

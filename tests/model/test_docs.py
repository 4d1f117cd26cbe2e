"""docs/models.md says what the code does."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

from agentgauge.core.chat import ChatReply, ChatRequest
from agentgauge.core.config import ModelTable, QuirkTable, load_config
from agentgauge.model.client import OpenAIModel
from agentgauge.model.presets import resolve
from agentgauge.model.providers import PRESETS
from agentgauge.model.spec import DEFAULT_TIMEOUT

TEXT = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


def _block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return next(str(block) for block in blocks if containing in block)


def test_every_provider_has_its_row() -> None:
    rows = [
        f"| `{p.name}` | {p.title} | {', or '.join(f'`{it}`' for it in (p.url, p.url_env) if it)} |"
        f" `{p.key_env}`{'' if p.key_required else ', optional'} |"
        for p in PRESETS.values()
    ]
    assert [row for row in rows if row not in TEXT] == []


def test_the_reference_names_every_setting_and_loads(tmp_path: Path) -> None:
    block = _block("toml", "[models.mine]")
    (tmp_path / "my_prompts").mkdir()
    (tmp_path / "agentgauge.toml").write_text(block, encoding="utf-8")
    assert load_config(root=tmp_path).models["mine"].timeout == DEFAULT_TIMEOUT
    assert all(field.name in block for field in (*fields(ModelTable), *fields(QuirkTable)))


def test_the_custom_agent_runs(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(_block("python", "serve_forever"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    schema = {"type": "object", "properties": {"image": {"type": "string"}}, "required": ["image"]}
    tool = {"type": "function", "function": {"name": "OCR", "parameters": schema}}

    async def ask() -> list[ChatReply]:
        model = OpenAIModel(resolve("my-agent", url=f"http://127.0.0.1:{port}/v1", environ={}), environ={})
        replies = [
            await model.complete(ChatRequest(({"role": "user", "content": "hello"},), tools=offered))
            for offered in ((tool,), ())
        ]
        await model.close()
        return replies

    with subprocess.Popen([sys.executable, str(file), str(port)]) as process:
        try:
            _wait_for(port)
            called, said = asyncio.run(ask())
        finally:
            process.terminate()
    assert [(call.name, json.loads(call.arguments)) for call in called.tool_calls] == [("OCR", {"image": "?"})]
    assert said.text == "I am done: hello"


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"nothing listens on port {port}")

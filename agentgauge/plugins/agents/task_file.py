"""The task of an agent program: the file ``task.json`` in its folder, and environment variables."""

from __future__ import annotations

import json
from pathlib import Path

from agentgauge.plugins.agents.answer import ANSWER
from agentgauge.plugins.agents.deliveries import FOLDER
from agentgauge.plugins.agents.session import Session

FORMAT = 1
TASK = "task.json"


def write_task(
    folder: Path, session: Session, address: str, mcp: str | None, token: str, seconds: float
) -> dict[str, str]:
    """Write the file, and return the variables. ``address``: of the endpoint; ``mcp``: of the gateway, if there is one.

    The variables of OpenAI's clients are set, too, so that a client without settings uses the endpoint.
    """
    task, model, tools = session.task, f"{address}/v1", f"{address}/tools"
    content = {
        "format": FORMAT,
        "task": session.case.sample.task,
        "messages": [dict(message) for message in task.messages],
        "files": [str(path) for path in task.files],
        "functions": [dict(function) for function in task.functions],
        "tools": list(task.tools),
        "model": {"name": session.model, "url": model},
        "tool_server": {"url": tools},
        "mcp": {"url": mcp} if mcp else None,
        "limits": {"seconds": seconds, "requests": session.most_requests},
    }
    (folder / TASK).write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
    return {
        "AGENTGAUGE_TASK": str(folder / TASK),
        "AGENTGAUGE_ANSWER": str(folder / ANSWER),
        "AGENTGAUGE_FILES": str(folder / FOLDER),
        "AGENTGAUGE_MODEL": session.model,
        "AGENTGAUGE_MODEL_URL": model,
        "AGENTGAUGE_MODEL_KEY": token,
        "AGENTGAUGE_TOOLS_URL": tools,
        **({"AGENTGAUGE_MCP_URL": mcp, "AGENTGAUGE_MCP_TOKEN": token} if mcp else {}),
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": token,
    }

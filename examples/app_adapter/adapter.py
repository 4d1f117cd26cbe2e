"""Lets `--agent` test an agent app with its own interface: hands over the task, and puts the outcome where AgentGauge
expects it.

    adapter.py APP

It works in a folder of its own, which is all that it can write. To be changed for another app: ``command`` and
``read_events``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def command(app: str, job: dict[str, Any]) -> tuple[list[str], str]:
    """How the app is started, and its standard input."""
    return [sys.executable, app], json.dumps(job)


def read_events(printed: str) -> tuple[str, dict[str, float]]:
    """The app's last message, and what it used, as usage.json has it."""
    message, usage = "", {}
    for line in filter(None, printed.split("\n")):
        event = json.loads(line)
        if event["event"] == "usage":
            tokens = event["tokens"]
            usage = {"usd": event["dollars"], "prompt_tokens": tokens["in"], "completion_tokens": tokens["out"]}
        elif event["event"] == "finished":
            message = event["message"]
    return message, usage


def main(app: str) -> int:
    task = json.loads(Path(os.environ["AGENTGAUGE_TASK"]).read_text(encoding="utf-8"))
    job = {
        "request": task["messages"][-1]["content"],
        "attachments": task["files"],
        "out_dir": os.environ["AGENTGAUGE_FILES"],
    }
    argv, text = command(app, job)
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode:
        return done.returncode  # the case is broken, and its cause quotes standard error
    message, usage = read_events(done.stdout)
    Path("usage.json").write_text(json.dumps(usage), encoding="utf-8")
    Path(os.environ["AGENTGAUGE_ANSWER"]).write_text(json.dumps({"content": message}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Drives an agent app on one task of `agentgauge pack run`: hands over the task, and puts the outcome where the pack
expects it.

    adapter.py PROMPT_FILE INPUT_FOLDER OUTPUT_FOLDER

It works in the task's folder, which is all that it can write. To be changed for another app: ``command`` and
``read_events``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any


def command(job: dict[str, Any]) -> tuple[list[str], str]:
    """How the app is started, and its standard input."""
    return [sys.executable, str(Path(__file__).with_name("scripted_app.py"))], json.dumps(job)


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


def main(prompt_file: Path, inputs: Path, outputs: Path) -> int:
    made = Path("app_output").absolute()
    job = {
        "request": prompt_file.read_text(encoding="utf-8"),
        "attachments": [str(path) for path in sorted(inputs.iterdir())],
        "out_dir": str(made),
    }
    argv, text = command(job)
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode:
        return done.returncode  # the pack notes it; without final.txt its answer becomes "(error) ..."
    message, usage = read_events(done.stdout)
    shutil.copytree(made, outputs, dirs_exist_ok=True)
    Path("usage.json").write_text(json.dumps(usage), encoding="utf-8")
    Path("final.txt").write_text(message, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))

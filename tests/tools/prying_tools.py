"""Tools for tests that try what a hostile file would make a parser do."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import threading
from pathlib import Path

from tool_impls import base


def attempt(deed):
    try:
        return str(deed())
    except Exception as error:
        return type(error).__name__


class Pry(base.BenchTool):
    meta = base.tool("Pry", "Tries what no parser needs.", (base.text("secret"), base.text("port")), base.TEXT_OUT)
    category = "logic"
    confined = True

    def apply(self, folder, /, secret, port):
        traced = ctypes.CDLL(None, use_errno=True).ptrace
        parent = os.getppid()
        thread = threading.Thread(target=lambda: None)
        thread.start()
        (folder / "own.txt").write_text("own")
        return json.dumps(
            {
                "environment": dict(os.environ),
                "read": attempt(lambda: Path(secret).read_text()),
                "list": attempt(lambda: list(Path(secret).parent.iterdir())),
                "write": attempt(lambda: Path(secret).write_text("changed")),
                "remove": attempt(lambda: Path(secret).unlink()),
                "beside": attempt(lambda: (Path(secret).parent / "left").write_text("left")),
                "passwords": attempt(lambda: Path("/etc/shadow").read_text()),
                "connect": attempt(lambda: socket.create_connection(("127.0.0.1", int(port)), 1)),
                "local socket": attempt(lambda: socket.socket(socket.AF_UNIX)),
                "run": attempt(lambda: subprocess.run(["/bin/echo", "ran"], capture_output=True, check=True).stdout),
                "exec": attempt(lambda: os.execv("/bin/true", ["true"])),
                "fork": attempt(os.fork),
                "trace": str(traced(16, parent, 0, 0)),
                "signal": attempt(lambda: os.kill(parent, 0)),
                "parent": attempt(lambda: Path(f"/proc/{parent}/environ").read_bytes()),
                "own": (folder / "own.txt").read_text(),
                "fonts": attempt(lambda: any(Path("/usr/share").iterdir())),
            }
        )


class Loose(base.BenchTool):
    meta = base.tool("Loose", "Tells its environment.", (), base.TEXT_OUT)
    category = "logic"
    variables = ("LOOSE_KEY",)

    def apply(self, folder, /):
        return json.dumps(dict(os.environ))

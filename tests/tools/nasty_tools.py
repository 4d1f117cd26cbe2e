"""Tools that misbehave, for a server's ``--extra``."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.devices import Batched


class Echo(base.BenchTool):
    meta = base.tool("Echo", "Gives back what it got.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    concurrency = 8

    def apply(self, folder, /, word):
        return word


class Where(base.BenchTool):
    meta = base.tool("Where", "Tells its process.", (), Parameter("int"))
    category = "logic"

    def apply(self, folder, /):
        return os.getpid()


class Whereabouts(Where):
    meta = base.tool("Whereabouts", "Tells its process, too.", (), Parameter("int"))


class Hang(base.BenchTool):
    meta = base.tool("Hang", "Never comes back.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    seconds = 0.3

    def apply(self, folder, /, word):
        while True:
            time.sleep(1)


class Crash(base.BenchTool):
    """Kills its process: always, or ``once`` (told by a file that it makes)."""

    meta = base.tool("Crash", "Ends its process.", (base.optional("text", "once", None),), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /, once=None):
        if once and Path(once).exists():
            return "survived"
        if once:
            Path(once).touch()
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(5)  # another thread may be the one that the signal reaches
        return "not reached"


class Slow(base.BenchTool):
    meta = base.tool("Slow", "Takes a while.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    concurrency = 4

    def apply(self, folder, /, word):
        time.sleep(0.5)  # longer than Hang may take
        return word


class Chatty(base.BenchTool):
    meta = base.tool("Chatty", "Prints.", (), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /):
        print("a line on stdout")
        sys.stdout.flush()
        os.write(1, b"bytes on stdout\n")
        return "done"


class NoWeights(base.BenchTool):
    meta = base.tool("NoWeights", "Cannot load.", (), base.TEXT_OUT)
    category = "logic"

    def setup(self, device="cpu"):
        raise ToolUnavailable("the weights are missing")

    def apply(self, folder, /):
        raise AssertionError


class BadLoad(base.BenchTool):
    meta = base.tool("BadLoad", "Its model is broken.", (), base.TEXT_OUT)
    category = "logic"

    def setup(self, device="cpu"):
        raise RuntimeError("invalid device ordinal")

    def apply(self, folder, /):
        raise AssertionError


class DieLoad(BadLoad):
    meta = base.tool("DieLoad", "Its model takes the process with it.", (), base.TEXT_OUT)

    def setup(self, device="cpu"):
        os._exit(3)


class Leave(base.BenchTool):
    """A library that ends the process the polite way."""

    meta = base.tool("Leave", "Leaves.", (), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /):
        sys.exit(1)


class Litter(base.BenchTool):
    """Leaves files behind, starts a process, and never comes back."""

    meta = base.tool("Litter", "Makes a mess.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    seconds = 0.5

    def apply(self, folder, /, word):
        (folder / "half.mp4").write_bytes(bytes(1000))
        child = subprocess.Popen(["sleep", "60"])
        Path(word).write_text(f"{child.pid} {folder}")
        time.sleep(60)
        return "not reached"


class Model(base.BenchTool):
    """Stands for a tool with a model: it loads slowly, once for each device, and works on batches."""

    meta = base.tool("Model", "Upper case.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    concurrency = 16
    seconds = 1.5

    @classmethod
    def on_device(cls, settings):
        return True

    def setup(self, device="cpu"):
        time.sleep(1.7)  # longer than a call may take
        self._device = device
        self._model = Batched(self._upper, 8)

    def _upper(self, words):
        time.sleep(0.05)
        return [f"{word.upper()} {self._device} {os.getpid()}" for word in words]

    def apply(self, folder, /, word):
        return self._model(word)


class Read(base.BenchTool):
    meta = base.tool("Read", "Reads a named file.", (base.path("audio"),), base.TEXT_OUT)
    category = "logic"

    def apply(self, folder, /, audio):
        return f"{audio.name}: {audio.read_text()}"


class Gather(base.BenchTool):
    meta = base.tool(
        "Gather",
        "Joins named files.",
        (base.path("content", attach="markdown"), Parameter("text", "image_paths", optional=True, attach="files")),
        Parameter("file", filetype="text/csv"),
    )
    category = "logic"

    def apply(self, folder, /, content, image_paths=None, files=None):
        out = folder / "joined table.csv"
        out.write_text("|".join(f"{name}={path.read_text()}" for name, path in files.items()))
        return out

"""Tools with models for a server's ``--extra``: they tell where they run, run out of memory, and lose their GPU."""

import os
import time
from pathlib import Path

from agentgauge.core.errors import ToolError
from tool_impls import base, devices
from tool_impls.devices import Batched
from tool_impls.settings import Option


class OutOfMemoryError(RuntimeError):
    """As torch's."""


class Loaded(base.BenchTool):
    """Notes each load in the file ``log``. Answers its device, its process, and a word that no other call may get."""

    meta = base.tool("Loaded", "Where it runs.", (base.text("word"),), base.TEXT_OUT)
    category = "logic"
    concurrency = 16
    options = (Option("log", "path", None, "file of loads"), devices.DEVICE)

    @classmethod
    def on_device(cls, settings):
        return True

    def setup(self, device="cpu"):
        self._device = device
        with Path(self.option("log")).open("a") as file:
            print(self.meta.name, device, os.getpid(), file=file)
        self._model = Batched(self._answers, 8)

    def _answers(self, words):
        time.sleep(0.05)
        return devices.in_parts(self._part, words, tool=self.meta.name, device=self._device)

    def _part(self, words):
        return [f"{word.upper()} {self._device} {os.getpid()}" for word in words]

    def apply(self, folder, /, word):
        return self._model(word)


class Pinned(Loaded):
    meta = base.tool("Pinned", "Runs where its table says.", (base.text("word"),), base.TEXT_OUT)


class Narrow(Loaded):
    """Has memory for two words at a time, and for no long one."""

    meta = base.tool("Narrow", "Has little memory.", (base.text("word"),), base.TEXT_OUT)

    def _part(self, words):
        if len(words) > 2 or any(len(word) > 9 for word in words):
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 512.00 MiB free.")
        return super()._part(words)


class TooLarge(Loaded):
    meta = base.tool("TooLarge", "Does not fit.", (base.text("word"),), base.TEXT_OUT)

    def setup(self, device="cpu"):
        with devices.loading("TooLarge", device):
            raise RuntimeError("CUDA failed with error out of memory")


class Loses(Loaded):
    """Loses its GPU: at the word "always", or at the first call that names a file which is not there yet."""

    meta = base.tool("Loses", "Loses its GPU.", (base.text("word"),), base.TEXT_OUT)

    def apply(self, folder, /, word):
        if word == "always" or (word.startswith("/") and _is_first(word)):
            time.sleep(0.3)  # until the other calls are there
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore lines")
        if word == "wraps":
            try:
                raise RuntimeError("CUDA failed with error unspecified launch failure")
            except RuntimeError:
                raise ToolError("it failed") from None
        time.sleep(0.6)
        return super().apply(folder, word=word)


class Aborts(Loaded):
    meta = base.tool("Aborts", "Ends its process.", (base.text("word"),), base.TEXT_OUT)

    def apply(self, folder, /, word):
        if word.startswith("/") and _is_first(word):
            time.sleep(0.3)
            os.abort()
        time.sleep(0.6)
        return super().apply(folder, word=word)


def _is_first(path):
    try:
        Path(path).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

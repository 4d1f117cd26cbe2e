"""What every real tool is: metadata, a state under given settings, and a function from values to results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.errors import ToolError
from harness.tools import Parameter, Tool
from tool_impls.settings import ToolSettings

Category = Literal["perception", "operation", "logic", "creativity"]
"""Fixed by the released evaluators (GTA spec 5.6)."""

READY, BASIC, DISABLED, UNAVAILABLE = "ready", "basic", "disabled", "unavailable"
"""States of a tool. An unavailable one reads ``unavailable: <the setting that would help>``."""


class ToolTimeout(ToolError, TimeoutError):
    """What the model asked for took too long. The server answers 408 rather than 400."""


class BenchTool(ABC):
    """One tool. The server keeps one instance and calls ``apply`` from threads, ``concurrency`` at a time."""

    meta: ClassVar[Tool]
    category: ClassVar[Category]
    packages: ClassVar[tuple[str, ...]] = ()  # import names that the tool needs beyond the default install
    concurrency: ClassVar[int] = 1
    runs_code: ClassVar[bool] = False  # code that a model wrote, in the sandbox

    def __init__(self, settings: ToolSettings) -> None:
        self.settings = settings

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        """READY, BASIC or ``unavailable: reason``, told from the settings and the environment alone."""
        return READY

    @classmethod
    def state(cls, settings: ToolSettings) -> str:
        """As ``back_end``, but knows disabled tools and missing packages. Imports nothing heavy."""
        if cls.meta.name in settings.disable:
            return DISABLED
        if missing := [package for package in cls.packages if find_spec(package) is None]:
            return unavailable(f"the Python package {missing[0]} is missing; install agentgauge[tools]")
        return cls.back_end(settings)

    def setup(self, device: str = "cpu") -> None:  # noqa: B027 - most tools have nothing to load
        """Load models. Called once, before the first call, in the thread of that call."""

    @abstractmethod
    def apply(self, folder: Path, /, *args: Any, **values: Any) -> Any:
        """Run the tool.

        ``folder`` is this call's own scratch folder, removed after the reply is encoded. ``values`` are typed as the
        inputs say: pictures are loaded PIL images, other media paths of files. One output is returned bare, several
        as a tuple; pictures as PIL images or paths of PNG files. Raises ToolError for what the caller did wrong,
        Fault for what it did not; any other exception reaches the model as a failed call.
        """


def unavailable(reason: str) -> str:
    return f"{UNAVAILABLE}: {reason}"


def tool(name: str, description: str, inputs: tuple[Parameter, ...], output: Parameter) -> Tool:
    return Tool(name, description, inputs, (output,))


def text(name: str, description: str | None = None) -> Parameter:
    return Parameter("text", name, description)


def optional(type_: Literal["text", "int", "float", "bool"], name: str, default: Any, description: str | None = None) -> Parameter:
    return Parameter(type_, name, description, optional=True, default=default)


IMAGE = Parameter("image", "image")
TEXT_OUT = Parameter("text")
IMAGE_OUT = Parameter("image")

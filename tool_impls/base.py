"""The base class of real tools: metadata, a state under given settings, and a function from values to results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import Attach, Parameter, Tool
from tool_impls.settings import Option, ToolSettings

Category = Literal["perception", "operation", "logic", "creativity"]
"""Fixed by the released evaluators (docs/benchmarks/tools.md#the-lists)."""
CATEGORIES: tuple[Category, ...] = get_args(Category)

READY, BASIC, SUBSTITUTE, DISABLED, UNAVAILABLE = "ready", "basic", "substitute", "disabled", "unavailable"
"""States of a tool. ``basic`` is a plain stand-in, which may be named: ``basic: <what>``. ``substitute: <what>`` works,
but with something else than its official form would use; ``unavailable: <the setting that would help>`` does not."""


REPEATABLE = "repeatable"
"""Key of ``/tools``: what determines the results of a tool besides arguments, where they may be kept. No part of its
fingerprint: a run may be resumed after an update of packages."""


class ToolTimeout(ToolError, TimeoutError):
    """A call took too long. The server answers 408 rather than 400."""


class Noted(NamedTuple):
    """What ``apply`` returns where the model should read a sentence about the result beside it."""

    result: Any
    note: str


class BenchTool(ABC):
    """One tool. The server keeps one instance and calls ``apply`` from threads, ``concurrency`` at a time."""

    meta: ClassVar[Tool]
    category: ClassVar[Category]
    version: ClassVar[int] = 1  # raised whenever the same arguments may get another answer
    options: ClassVar[tuple[Option, ...]] = ()  # of its table [tools.NAME], beside ``seconds`` and ``queue``
    tables: ClassVar[tuple[str, ...]] = ()  # of back ends whose options it uses
    packages: ClassVar[tuple[str, ...]] = ()  # import names that the tool needs beyond the default install
    library: ClassVar[str] = ""  # what does the work, where that is not the first of ``packages``
    extra: ClassVar[str] = "tools"  # the extra of its distribution that brings them
    distribution: ClassVar[str] = "agentgauge"  # what is installed to have the tool; of others that of the plugin
    concurrency: ClassVar[int] = 1  # calls that one process takes at a time
    seconds: ClassVar[float] = 60.0  # for one call, without its wait; a longer call is ended with its process
    runs_code: ClassVar[bool] = False  # code that a model wrote, in the sandbox
    pure: ClassVar[bool] = False  # a result follows from arguments, files, options and weights alone
    confined: ClassVar[bool] = False  # no network, device or other program for its process, no files but the call's
    variables: ClassVar[tuple[str, ...]] = ()  # of the environment, with its keys; ``key_env`` needs no mention here

    def __init__(self, settings: ToolSettings) -> None:
        self.settings = settings

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        """READY, BASIC or ``unavailable: reason``, from the settings and the environment alone."""
        return READY

    @classmethod
    def offered(cls, settings: ToolSettings) -> Tool:
        """The announced metadata, which for some tools depend on the settings."""
        return cls.meta

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        """The program or service behind the tool under these settings, for reports and fingerprints: ``RapidOCR``,
        ``endpoint gpt-4o``.
        """
        return cls.library or (cls.packages[0] if cls.packages else "Python")

    @classmethod
    def form_packages(cls, settings: ToolSettings) -> tuple[str, ...]:
        """Import names of further packages that the tool needs under these settings."""
        return ()

    @classmethod
    def form_extra(cls, settings: ToolSettings) -> str:
        """The extra that brings ``form_packages``."""
        return cls.extra

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        """Files or folders of weights that the tool would load, for its fingerprint."""
        return ()

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        """Whether it loads a model: such tools share one process for each device, so that models are loaded once."""
        return False

    @classmethod
    def device_table(cls, settings: ToolSettings) -> str:
        """The table whose ``device`` places its model, if it is ``on_device``: that of its back end, else its own."""
        return cls.tables[0] if cls.tables else cls.meta.name

    @classmethod
    def lacks_gpu(cls, settings: ToolSettings) -> str:
        """Why its model runs on the processor only, and what would help; empty where it can use a GPU."""
        return ""

    @classmethod
    def is_repeatable(cls, settings: ToolSettings) -> bool:
        """Whether results may be kept for equal calls: of pure tools without a service and without weights on the hub,
        because what lies behind such a name may change."""
        tables = [settings.tables.get(table, {}) for table in cls.tables]
        return cls.pure and not any(table.get("url") or table.get("allow_download") for table in tables)

    def together(self, device: str) -> int:
        """Calls that work at a time in a process on this device, of those that it takes; the time of one that waits for
        them does not run."""
        return self.concurrency

    @classmethod
    def known_options(cls) -> tuple[Option, ...]:
        """All options of its table."""
        return (
            *cls.options,
            Option("seconds", "float", cls.seconds, "time for one call", least=0.1),
            Option("queue", "int", 256, "calls that may wait or run; further ones are refused", least=1),
        )

    def option(self, name: str) -> Any:
        """The value of one of its options."""
        (option,) = (option for option in self.known_options() if option.name == name)
        return self.settings.value(self.meta.name, option)

    @classmethod
    def state(cls, settings: ToolSettings) -> str:
        """As ``back_end``, but knows disabled tools and missing packages. Imports nothing heavy."""
        if cls.meta.name in settings.disable:
            return DISABLED
        if missing := missing_package((*cls.packages, *cls.form_packages(settings))):
            extra = cls.extra if missing in cls.packages else cls.form_extra(settings)
            needed = f"{cls.distribution}[{extra}]" if extra else missing
            return unavailable(f"the Python package {missing} is missing; install {needed}")
        return cls.back_end(settings)

    def setup(self, device: str = "cpu") -> None:  # noqa: B027 - most tools have nothing to load
        """Load models. Called once, before the first call, in the thread of that call."""

    @abstractmethod
    def apply(self, folder: Path, /, *args: Any, **values: Any) -> Any:
        """Run the tool.

        ``folder`` is this call's own empty folder, removed after the reply is encoded. ``values`` are typed as the
        inputs say: pictures are loaded PIL images, other media paths of files. An input that names one file
        (``attach="file"``) arrives as the path of a copy with the same name. A tool with inputs that name several files
        gets ``files``: each name as the model wrote it → a path. One output is returned bare, several as a tuple;
        pictures as PIL images or paths of PNG files, other media as paths below ``folder``, whose base name is kept.
        ``Noted`` adds a sentence.
        Raises ToolError for an error of the caller, Fault for any other known failure. Any other exception reaches the
        model as a failed call.
        """


def missing_package(packages: tuple[str, ...]) -> str | None:
    """The first of the import names that is not installed."""
    return next((package for package in packages if find_spec(package) is None), None)


def first_line(error: Exception) -> str:
    """The first line of a library's error message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def unavailable(reason: str) -> str:
    """The state of a tool that cannot work, with the reason and the setting that would help."""
    return f"{UNAVAILABLE}: {reason}"


def works(state: str) -> bool:
    """Whether a tool in this state takes calls."""
    return not state.startswith((DISABLED, UNAVAILABLE))


def substitute(what: str) -> str:
    return f"{SUBSTITUTE}: {what}"


def tool(name: str, description: str, inputs: tuple[Parameter, ...], output: Parameter) -> Tool:
    return Tool(name, description, inputs, (output,))


def text(name: str, description: str | None = None) -> Parameter:
    return Parameter("text", name, description)


def optional(
    type_: Literal["text", "int", "float", "bool"], name: str, default: Any, description: str | None = None
) -> Parameter:
    return Parameter(type_, name, description, optional=True, default=default)


def path(name: str, description: str | None = None, attach: Attach = "file") -> Parameter:
    """A text that names a file of the task, which travels with the call (``agentgauge.core.tools.Attach``)."""
    return Parameter("text", name, description, attach=attach)


SAVING = (
    optional("text", "output_dir", None, "Accepted, but results always lie in the task's output folder."),
    optional("text", "filename", None, "Name of the file to make, without folders."),
)
"""Inputs of the tools that may be asked for a file's name."""

IMAGE = Parameter("image", "image")
TEXT_OUT = Parameter("text")
IMAGE_OUT = Parameter("image")

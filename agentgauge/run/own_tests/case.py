"""The model and the tools of the run for a project's own tests; every exchange is kept in a record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, TypeVar

from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Message
from agentgauge.core.conversation import Conversation
from agentgauge.core.tools import FILE_TYPES, Tool, ToolOutput
from agentgauge.run.factories import Endpoint

Result = TypeVar("Result")
AnyTool = Callable[..., Any] | Mapping[str, Any] | Tool
Value = str | Path
"""The result of a tool: text, or the path of a file that the tool made."""

FILES = "\n\nThese files belong to it: "


class OwnCase:
    """The case of a project's own test. ``submit`` runs a coroutine in the run's event loop; the test runs outside of
    that loop.
    """

    def __init__(
        self,
        case: Case,
        submit: Callable[[Coroutine[Any, Any, Any]], Future[Any]],
        endpoints: Callable[[Literal["model", "tools"], str], Endpoint],
    ) -> None:
        self.case = case
        self.submit = submit
        self._endpoints = endpoints

    def model_endpoint(self) -> Endpoint:
        return self._endpoints("model", self.case.sample.task)

    def tool_server(self) -> Endpoint:
        return self._endpoints("tools", self.case.sample.task)

    def give(self, work: Coroutine[Any, Any, Result]) -> Result | Coroutine[Any, Any, Result]:
        """The result of the work; for code in a task of asyncio, a coroutine that returns the result."""
        __tracebackhide__ = True
        return self.later(work) if _in_task() else self.wait(work)

    async def later(self, work: Coroutine[Any, Any, Result]) -> Result:
        return await asyncio.wrap_future(self.submit(work))

    def _may_read(self, files: Iterable[Path]) -> None:
        """The test names these files itself."""
        self.case.readable = [*(self.case.readable or ()), *files]

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        __tracebackhide__ = True
        future: Future[Result] = self.submit(work)
        try:
            return future.result()
        except BaseException as error:
            if future.done():
                raise
            future.cancel()  # Ctrl-C, or a time-out of the test's own: where it waited says nothing
            raise error.with_traceback(None) from None

    async def ask(
        self,
        messages: str | Sequence[Message],
        *,
        system: str = "",
        tools: Iterable[AnyTool | RealTool] = (),
        files: Iterable[str | Path] = (),
        state: Any = None,
        max_turns: int = 10,
    ) -> Conversation:
        """See ``Model.ask``."""
        paths = list(map(_existing, files))
        self._may_read(paths)
        if paths and isinstance(messages, str):
            messages += FILES + ", ".join(f"`{path}`" for path in paths)
        offered = [tool.tool if isinstance(tool, RealTool) else tool for tool in tools]
        return await self.case.converse(messages, system=system, tools=offered, state=state, max_turns=max_turns)

    async def complete(
        self, messages: str | Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = ()
    ) -> ChatReply:
        """See ``Model.complete``."""
        return await self.case.ask(messages, tools=tools)

    async def use(self, tool: Tool, arguments: Mapping[str, Any]) -> Value | tuple[Value, ...]:
        kinds = {parameter.name: parameter.type for parameter in tool.inputs}
        given = {name: str(value) if isinstance(value, Path) else value for name, value in arguments.items()}
        named = [value for name, value in given.items() if kinds.get(name) in FILE_TYPES and isinstance(value, str)]
        self._may_read(map(Path, named))
        values = tuple(map(_value, await self.case.use(tool.name, given)))
        return values[0] if len(values) == 1 else values

    async def catalog(self) -> Mapping[str, Tool]:
        return await self.case.catalog()


class Model:
    """The run's model. Asynchronous code awaits what the methods return."""

    def __init__(self, case: OwnCase) -> None:
        self._case = case

    @property
    def name(self) -> str:
        return self._case.case.name_of("")

    def ask(
        self,
        messages: str | Sequence[Message],
        *,
        system: str = "",
        tools: Iterable[AnyTool | RealTool] = (),
        files: Iterable[str | Path] = (),
        state: Any = None,
        max_turns: int = 10,
    ) -> Any:
        """Let the model use tools until it answers. Returns a ``Conversation``: ``text``, ``calls``, ``messages``.

        ``messages``: what the user writes, or a whole conversation in OpenAI's form. ``tools``: tools of the fixture
        ``tools``, typed Python functions, or function schemas; a call of a schema ends the conversation. ``files``:
        paths that tools may read; the message names them. ``state``: the value of a function's first parameter
        ``state``. ``max_turns``: replies of the model. Raises ModelFault and ToolFault, and FileNotFoundError for one
        of ``files``.
        """
        __tracebackhide__ = True
        work = self._case.ask(messages, system=system, tools=tools, files=files, state=state, max_turns=max_turns)
        return self._case.give(work)

    def complete(self, messages: str | Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = ()) -> Any:
        """Send one request, with ``tools`` as function schemas. Returns a ``ChatReply``. Raises ModelFault."""
        __tracebackhide__ = True
        return self._case.give(self._case.complete(messages, tools=tools))


class RealTool:
    """A tool that can be called by the names of its inputs, and given to ``model.ask``."""

    def __init__(self, tool: Tool, case: OwnCase) -> None:
        self.tool = tool
        self._case = case
        self.__doc__ = tool.description

    def __call__(self, **arguments: Any) -> Any:
        """Call the tool. Returns text as a text, a file as its path, several outputs as a tuple. Raises ToolError and
        ToolFault.
        """
        __tracebackhide__ = True
        return self._case.give(self._case.use(self.tool, arguments))

    def __repr__(self) -> str:
        return f"<tool {self.tool.name}: {self.tool.description}>"


class Tools:
    """The real tools by name, as attributes."""

    def __init__(self, case: OwnCase) -> None:
        self._case = case
        self.catalog: Mapping[str, Tool] = case.wait(case.catalog())

    @property
    def files(self) -> Path:
        """The folder of the files that tools make in this test."""
        return self._case.case.folder

    def __getattr__(self, name: str) -> RealTool:
        if name not in self.catalog:
            raise AttributeError(f"there is no tool {name!r}; known are {', '.join(self.catalog)}")
        return RealTool(self.catalog[name], self._case)

    def __iter__(self) -> Any:
        return (getattr(self, name) for name in self.catalog)


def _in_task() -> bool:
    """Whether the caller can await. A running loop alone says nothing: Playwright's synchronous side has one."""
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _existing(file: str | Path) -> Path:
    """The absolute path. Raises FileNotFoundError."""
    path = Path(file).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"files: there is no file {path}; paths start at {Path.cwd()}")
    return path


def _value(output: ToolOutput) -> Value:
    return output.content if output.type == "text" else Path(output.content)

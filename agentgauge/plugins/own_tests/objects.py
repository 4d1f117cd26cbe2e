"""What a project's own tests get: models, tools, and an endpoint for programs of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from agentgauge.agent.native import function_schema
from agentgauge.core.case import Case
from agentgauge.core.chat import ChatReply, Conversation, Message, told
from agentgauge.core.errors import Fault, UsageProblem
from agentgauge.core.redaction import register
from agentgauge.core.tools import FILE_TYPES, OwnFiles, Tool, ToolOutput, named_files, signature
from agentgauge.plugins.own_tests.case import OwnCases
from agentgauge.run.chat_form import ProgramRequest
from agentgauge.run.clients import Endpoint
from agentgauge.run.endpoint_proxy import EndpointProxy, ProgramSession, ask_model
from agentgauge.run.given_objects import Model, Tools

# -- What the fixtures ``model`` and ``tools`` return here: the run's model and its real tools.


AnyTool = Callable[..., Any] | Mapping[str, Any] | Tool
Value = str | Path
"""The result of a tool: text, or the path of a file that the tool made."""

FILES = "\n\nThese files belong to it: "


@dataclass(frozen=True, repr=False, eq=False)
class AskedModel(Model):
    """What a project's own tests ask. Asynchronous code awaits what ``ask`` and ``complete`` return."""

    cases: Callable[[], OwnCases] = field(kw_only=True)  # those of this process's own tests, from when one of them runs

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
        ``state``. ``max_turns``: replies of the model; a conversation that has used them ends as ``turns``. A call that
        fails is told to the model, and has an ``error``. Raises ModelFault and ToolFault, and FileNotFoundError for one
        of ``files``.
        """
        __tracebackhide__ = True
        self._refuse_named()
        offered = [tool.tool if isinstance(tool, RealTool) else tool for tool in tools]
        named = list(files)

        async def conversation(case: Case) -> Conversation:
            paths, sent = list(map(_existing, named)), messages
            _may_read(case, paths)
            if paths and isinstance(sent, str):
                sent += FILES + ", ".join(f"`{path}`" for path in paths)
            told = "\n\n".join(filter(None, (self.given.system, system)))
            return await case.converse(sent, system=told, tools=offered, state=state, max_turns=max_turns)

        return self.cases().give(conversation)

    def complete(self, messages: str | Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = ()) -> Any:
        """Send one request, with ``tools`` as function schemas. Returns a ``ChatReply``. Raises ModelFault."""
        __tracebackhide__ = True
        self._refuse_named()

        async def reply(case: Case) -> ChatReply:
            sent = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
            return await case.ask(told(sent, self.given.system) if self.given.system else sent, tools=tools)

        return self.cases().give(reply)

    def _refuse_named(self) -> None:
        if self.given.spec:
            raise UsageProblem(
                f"{self.name} is not the run's model, and only solve() takes another: name it with --model, or give it"
                " to solve() in the test of a benchmark"
            )


class FindingTool(Tool):
    """A real tool whose calls may name a file of the test by its name alone."""

    finds_files = True


class RealTool:
    """A tool that can be called by the names of its inputs, and given to ``model.ask``."""

    def __init__(self, tool: Tool, cases: OwnCases) -> None:
        self.tool = tool
        self._cases = cases
        described = (f"{one.name}: {one.description}" for one in tool.inputs if one.description)
        self.__doc__ = "\n\n".join([signature(tool), tool.description, "\n".join(described)]).strip()

    @property
    def schema(self) -> dict[str, Any]:
        """The tool in OpenAI's form, for ``tools`` of a request of one's own: type, function."""
        return function_schema(self.tool)

    def __call__(self, *unnamed: Any, **arguments: Any) -> Any:
        """Call the tool. Returns text as a text, a file as its path, several outputs as a tuple. Raises ToolError and
        ToolFault, and TypeError for an input without its name.
        """
        __tracebackhide__ = True
        if unnamed:
            raise TypeError(f"{self.tool.name} takes its inputs by name: {signature(self.tool)}")

        async def result(case: Case) -> Value | tuple[Value, ...]:
            given = {name: str(value) if isinstance(value, Path) else value for name, value in arguments.items()}
            texts = [(each, text) for each in self.tool.inputs if isinstance(text := given.get(each.name or ""), str)]
            files = [[text] if each.type in FILE_TYPES else named_files(each, text) for each, text in texts]
            _may_read(case, map(Path, chain.from_iterable(files)))
            outputs = await case.use(self.tool.name, given)
            values = tuple(map(_value, outputs[: len(self.tool.outputs) or None]))  # a remark may follow
            return values[0] if len(values) == 1 else values

        return self._cases.give(result)

    def __repr__(self) -> str:
        return f"<tool {self.tool.name}: {self.tool.description}>"


class CalledTools(Tools):
    """The real tools by name, as attributes."""

    def __init__(self, cases: Callable[[], OwnCases]) -> None:
        self._cases = cases

    @cached_property
    def catalog(self) -> Mapping[str, Tool]:
        """Their descriptions by name. Raises ToolFault."""
        __tracebackhide__ = True
        found = self._cases().wait(Case.catalog)
        return {name: FindingTool(name, tool.description, tool.inputs, tool.outputs) for name, tool in found.items()}

    @property
    def files(self) -> Path:
        """The folder of the files that tools make in the running test."""
        return self._cases().wait(_folder)

    def __getattr__(self, name: str) -> RealTool:
        if name not in self.catalog:
            raise AttributeError(f"there is no tool {name!r}; known are {', '.join(self.catalog)}")
        return RealTool(self.catalog[name], self._cases())

    def __iter__(self) -> Iterator[RealTool]:
        return (getattr(self, name) for name in self.catalog)

    def __repr__(self) -> str:
        return f"<tools {', '.join(self.__dict__.get('catalog', ()))}>"


async def _folder(case: Case) -> Path:
    return case.folder


def _may_read(case: Case, files: Iterable[Path]) -> None:
    """The test names these files itself."""
    case.readable = OwnFiles([*(case.readable or ()), *files])


def _existing(file: str | Path) -> Path:
    """The absolute path. Raises FileNotFoundError."""
    path = Path(file).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"files: there is no file {path}; paths start at {Path.cwd()}")
    return path


def _value(output: ToolOutput) -> Value:
    return output.content if output.type == "text" else Path(output.content)


# -- The fixture ``model_endpoint``: an address at which agents of other frameworks reach the run's model. Their
# requests belong to the test that is running in this process.


async def serve(cases: OwnCases, name: str, at_once: int) -> Endpoint:
    """Listen until the run ends. ``name``: of the model. ``at_once``: concurrent requests; further ones wait."""

    async def ask(request: ProgramRequest) -> ChatReply:
        async def reply(case: Case) -> ChatReply:
            try:
                return await ask_model(case, request)
            except Fault as fault:
                cases.note(case, fault)
                raise

        return await cases.counted(reply)

    proxy = EndpointProxy()
    port = await proxy.start()
    cases.at_end.append(proxy.close)
    token = proxy.open(ProgramSession(name, ask, at_once, "others"))
    register(token)
    return Endpoint(f"http://127.0.0.1:{port}/v1", token, name)

"""Tools that a model may call: their descriptions and schemas, what they return, and the devices that they run on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, cast, get_args, runtime_checkable
from urllib.parse import unquote

from agentgauge.core.errors import DataProblem
from agentgauge.core.types import Json

# -- JSON schemas of tools, as people write them: references, tuples, and lists of types.


EVERY_VALUE, NO_VALUE = True, False
"""The two Boolean schemas."""


def resolved(schema: Any, root: Any) -> Any:
    """A schema without ``$ref``: what the reference leads to in ``root``, with the keywords beside it.

    A reference that leads in a circle, to nothing or out of ``root`` adds nothing.
    """
    followed: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        beside = {name: value for name, value in schema.items() if name != "$ref"}
        target = EVERY_VALUE if reference in followed else target_of(reference, root)
        followed.add(reference)
        if target is NO_VALUE:
            return NO_VALUE
        schema = {**target, **beside} if isinstance(target, Mapping) else beside or EVERY_VALUE
    return schema


def target_of(reference: str, root: Any) -> Any:
    """What a reference such as ``#/$defs/Place`` names in ``root``; None for what is not there."""
    if reference.partition("/")[0] not in ("#", ""):
        return None
    found = root
    for part in reference.removeprefix("#").split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def item_schema(schema: Mapping[str, Any], place: int) -> Any:
    """The schema of an array's item: ``items``, or its own where the array is a tuple, in either way to write one."""
    first, rest = schema.get("prefixItems"), schema.get("items", EVERY_VALUE)
    if isinstance(rest, list):
        first, rest = rest, schema.get("additionalItems", EVERY_VALUE)
    return first[place] if isinstance(first, list) and place < len(first) else rest


def type_names(schema: Mapping[str, Any]) -> list[str]:
    """The names in ``type``, which may be a list."""
    given = schema.get("type")
    return [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]


# -- Tools as benchmarks see them: typed metadata, and a box of tools that can be called.
#
# The metadata has the shape of GTA's ``toolmeta.json`` (docs/benchmarks/gta_atomic.md#tool-descriptions).


ValueType = Literal["text", "int", "float", "bool", "image", "audio", "video", "file"]
FILE_TYPES: frozenset[str] = frozenset({"image", "audio", "video", "file"})
"""Types whose values are paths of existing files."""

Attach = Literal["file", "files", "markdown"]
"""How a text names files that must be sent with the call: it is one path, paths between commas, or Markdown with
pictures."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or output of a tool."""

    type: ValueType
    name: str | None = None
    description: str | None = None
    optional: bool = False
    default: Any = None
    filetype: str | None = None
    attach: Attach | None = None

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Parameter:
        if not isinstance(data, Mapping) or data.get("type") not in get_args(ValueType):
            raise DataProblem(
                f"a tool parameter must be an object with a type of {', '.join(get_args(ValueType))}; got {data!r}"
            )
        known = {key: data.get(key) for key in ("name", "description", "default", "filetype", "attach")}
        return Parameter(type=cast(ValueType, data["type"]), optional=bool(data.get("optional")), **known)


PICTURE = re.compile(r"!\[[^\]\n]{0,400}\]\(\s{0,9}<?([^)>\n]{1,400}?)>?(?:\s{1,9}\"[^\"\n]{0,400}\")?\s{0,9}\)")
"""A picture in Markdown; its group is the path. The bounds keep hostile text from taking quadratic time."""


def named_files(parameter: Parameter, text: str) -> list[str]:
    """The paths that the text of an input names, by the input's ``attach``; none for other inputs."""
    if parameter.attach == "file":
        return [text]
    if parameter.attach == "files":
        return [path.strip() for path in text.split(",") if path.strip()]
    return PICTURE.findall(text) if parameter.attach == "markdown" else []


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's metadata, from which the model's description of the tool is made."""

    finds_files: ClassVar[bool] = False  # whether its box looks for the files that a call names; else they must exist

    name: str
    description: str
    inputs: tuple[Parameter, ...] = ()
    outputs: tuple[Parameter, ...] = ()

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Tool:
        """Raises DataProblem where the name or a parameter is unusable."""
        if not isinstance(data, Mapping) or not isinstance(data.get("name"), str):
            raise DataProblem(f"a tool must be an object with a text 'name'; got {str(data)[:80]}")
        return Tool(
            name=data["name"],
            description=data.get("description") or "",
            inputs=tuple(Parameter.from_json(p) for p in data.get("inputs") or ()),
            outputs=tuple(Parameter.from_json(p) for p in data.get("outputs") or ()),
        )

    def to_json(self) -> dict[str, Any]:
        """The shape of ``toolmeta.json``, with ``attach`` only where an input has it."""
        data = asdict(self)
        for parameter in (*data["inputs"], *data["outputs"]):
            if parameter["attach"] is None:
                del parameter["attach"]
        return {**data, "inputs": list(data["inputs"]), "outputs": list(data["outputs"])}


def signature(tool: Tool) -> str:
    """``OCR(image: image) -> text``; an optional input with its default, as ``k: int = 5``."""
    inputs = (
        f"{one.name}: {one.type}" + (f" = {one.default if one.default is not None else '…'}" if one.optional else "")
        for one in tool.inputs
    )
    return f"{tool.name}({', '.join(inputs)}) -> {', '.join(one.type for one in tool.outputs) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class SchemaTool(Tool):
    """A tool whose arguments have a JSON schema: ``inputs`` have no lists and objects."""

    is_run: ClassVar[bool] = False  # whether a call has a result, or ends the conversation

    schema: Mapping[str, Any] = field(default_factory=dict)  # of the object of all arguments

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raises ValueError for arguments that do not fit. If AgentGauge does not run the tool, the benchmark scores
        them.
        """


OutputType = Literal["text", "image", "audio", "video", "file"]


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """One result of a tool call. ``content`` is text, or the absolute path of a file for the other types. ``cached``:
    of a result from the folder of ``--cache`` the seconds that the tool took for it; None: it was called now."""

    type: OutputType
    content: str
    cached: float | None = field(default=None, compare=False)


def not_ready(tools: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The states of the tools that do not run in their official form. ``tools``: the identity of each
    (``RealTools.check_tools``)."""
    states = {name: str(tool.get("state", "ready")) for name, tool in sorted(tools.items())}
    return {name: state for name, state in states.items() if state != "ready"}


REAL_TOOLS = "pip install 'agentgauge[generate,speech,vision]'"
"""The command that brings what runs the models of tools. Their weights are named in the settings."""

_HINTS = {
    "basic": f"plain stand-ins; for the real ones {REAL_TOOLS} and name weights in [tools], see docs/tools.md",
    "disabled": f"to enable them {REAL_TOOLS} and name weights or keys in [tools], see docs/tools.md",
}


def by_state(states: Mapping[str, str], *, reasons: bool = True) -> list[str]:
    """The tools that are not ready, one line for each state: ``tools disabled: A (why); B, C (why): how to change it``.

    ``states``: tool → state, which may go on with a reason (``disabled: why; or another way``), of which the first way
    is shown. Of a reason that ends with a command, that command is shown, so that tools which want the same one come
    together. Tools that the settings disable have none, and no hint.
    """
    words: dict[str, dict[str, list[str]]] = {}
    for tool, state in sorted(states.items()):
        word, _, reason = state.partition("; or ")[0].partition(": ")
        command = reason.rpartition("; ")[2]
        reason = command if command.startswith("install ") else reason
        words.setdefault(word, {}).setdefault(reason, []).append(tool)
    return [_line(word, words[word], reasons=reasons) for word in sorted(words)]


def _line(word: str, groups: Mapping[str, list[str]], *, reasons: bool) -> str:
    if word == "disabled" and not reasons:
        named = ", ".join(sorted(tool for tools in groups.values() for tool in tools))
    else:
        parts = (f"{', '.join(groups[reason])}" + (f" ({reason})" if reason else "") for reason in sorted(groups))
        named = "; ".join(parts)
    hint = _HINTS.get(word) if word == "basic" or any(groups) else None
    return f"tools {word}: {named}" + (f" - {hint}" if hint else "")


class OwnFiles(list[Path]):
    """The files that a call in a project's own test may read. The name of such a file, or of one in the folder of the
    call, is enough where no other has it. What a benchmark's model must write, and which errors it reads, is published;
    here errors are in plain words."""


class ToolBox(Protocol):
    """A set of real tools, wherever they run."""

    async def catalog(self) -> Mapping[str, Tool]:
        """The tools on offer by name. Raises ToolFault if they cannot be reached."""

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, folder: Path, readable: Sequence[Path]
    ) -> tuple[ToolOutput, ...]:
        """Run a tool.

        ``arguments`` are already converted to the types of the tool's inputs. Files that the tool produces are put
        below ``folder``; files that it may read must lie below ``folder`` or one of ``readable``. Raises ToolError for
        an error of the model, ToolFault for any other error.
        """

    async def close(self) -> None: ...


MOST_SECONDS = 1e9
"""Of an answer that is kept; one with more is damaged."""


class ResultStore(Protocol):
    """Results of earlier calls, for later ones: the folder of ``--cache``."""

    def key_of(self, content: Json) -> str:
        """The key of everything that determines a result."""

    def find(self, key: str) -> Mapping[str, Any] | None:
        """What was kept last under a key; None where nothing was."""

    def keep(self, key: str, outcome: Mapping[str, Json], about: Mapping[str, Json]) -> None:
        """``about``: for people. Raises nothing."""


@runtime_checkable
class CachingToolBox(ToolBox, Protocol):
    """A ToolBox that can answer calls of deterministic tools with results of earlier calls."""

    results: ResultStore | None


# -- Where the models of a run's tools ran, as its records tell it.
#
# The identity of a tool (``RealTools.check_tools``) has the key ``device`` where it loads a model: ``cpu``, or
# ``cuda:0 (NVIDIA A100), cuda:1 (NVIDIA A100)``. Other devices change at most the last digits of what a model works
# out, so they are told, and keep no two runs apart.


DEVICE = "device"

Identities = Mapping[str, Mapping[str, Any]]
"""Tool → what identifies it."""


def devices_of(tools: Identities) -> dict[str, str]:
    """By tool with a model where it ran."""
    return {name: str(tool[DEVICE]) for name, tool in tools.items() if tool.get(DEVICE)}


def by_device(devices: Mapping[str, str]) -> list[str]:
    """One line for each place: ``tools on cuda:0 (NVIDIA A100): A, B``. ``devices``: by tool, as of ``devices_of``."""
    groups: dict[str, list[str]] = {}
    for tool, named in sorted(devices.items()):
        groups.setdefault(named, []).append(tool)
    return [f"tools on {named}: {', '.join(groups[named])}{_mixed(named)}" for named in sorted(groups)]


def without_devices(tools: Identities) -> dict[str, dict[str, Any]]:
    """The identities but for devices: equal where the same tools were used."""
    return {name: {key: value for key, value in tool.items() if key != DEVICE} for name, tool in tools.items()}


def united(parts: Iterable[Identities]) -> dict[str, Mapping[str, Any]]:
    """The tools of several sessions or shards of one run, each with all devices on which its model ran."""
    found: dict[str, Mapping[str, Any]] = {}
    for part in parts:
        for name, tool in part.items():
            devices = [device for one in (found.get(name, {}), tool) for device in _parts(one)]
            found[name] = {**tool, **({DEVICE: ", ".join(dict.fromkeys(devices))} if devices else {})}
    return found


def cards_of(tool: Mapping[str, Any]) -> str:
    """The devices of a tool without their numbers, each once: ``cpu, cuda (NVIDIA A100)``. Equal cards give equal
    results. Empty for a tool without a model."""
    return ", ".join(sorted({re.sub(r":\d+", "", device, count=1) for device in _parts(tool)}))


def table_without_devices(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings table [tools] but for ``devices``, and the ``device`` of the tables in it."""
    found = {}
    for name, given in table.items():
        kept = {key: value for key, value in given.items() if key != DEVICE} if isinstance(given, Mapping) else given
        if name != "devices" and (kept or not given):
            found[name] = kept
    return found


def _parts(tool: Mapping[str, Any]) -> list[str]:
    named = str(tool.get(DEVICE, ""))
    return re.split(r", (?=cpu|cuda)", named) if named else []


def _mixed(named: str) -> str:
    kinds = {device[:3] for device in _parts({DEVICE: named})}
    return " - results of a processor and of a GPU may differ in their last digits" if len(kinds) > 1 else ""

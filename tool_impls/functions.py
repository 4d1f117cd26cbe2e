"""Tools from typed Python functions, for authors of tools, who import these names from ``agentgauge.tools``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from agentgauge.core.errors import UsageProblem
from agentgauge.core.pictures import flattened
from agentgauge.core.tools import Parameter, Tool, ValueType
from tool_impls.base import CATEGORIES, BenchTool, Category

if TYPE_CHECKING:
    from typing import TypeAlias

    from PIL.Image import Image as Image

    Audio: TypeAlias = Path
    Video: TypeAlias = Path
    File: TypeAlias = Path
else:

    class Image:
        """A picture: arrives as a PIL image in RGB; is returned as one, or as the path of a PNG file."""

    class Audio:
        """A sound: the path of its file."""

    class Video:
        """A film: the path of its file."""

    class File:
        """Any other file: its path."""


_TYPES: Mapping[Any, ValueType] = {
    str: "text",
    int: "int",
    float: "float",
    bool: "bool",
    Image: "image",
    Audio: "audio",
    Video: "video",
    File: "file",
}
_ACCEPTED = "str, int, float, bool, and Image, Audio, Video, File of agentgauge.tools"
_FOLDER = "folder"
"""The parameter that gets the call's own folder, for files that the tool makes. No model sees it."""


class FunctionBenchTool(BenchTool):
    """A function as a tool. A test may call ``function`` itself."""

    function: ClassVar[Callable[..., Any]]

    def apply(self, folder: Path, /, **values: Any) -> Any:
        given = {_FOLDER: folder} if _FOLDER in inspect.signature(self.function).parameters else {}
        pictures = {each.name for each in self.meta.inputs if each.type == "image"}
        shown = {name: flattened(value) if name in pictures and value else value for name, value in values.items()}
        return type(self).function(**shown, **given)


def tool(
    *, category: Category, extra: str = "", packages: tuple[str, ...] = (), **attributes: Any
) -> Callable[[Callable[..., Any]], type[FunctionBenchTool]]:
    """Make a tool from a function: from its name, its docstring, and the types of its parameters and result.

    ``Annotated[str, "…"]`` describes a parameter. A parameter ``folder: Path`` gets the call's own folder. ``packages``
    are import names that the tool needs, ``extra`` the extra of the function's distribution that installs them,
    ``attributes`` further attributes of ``BenchTool``, such as ``version``, ``seconds`` and ``confined``. A tool with a
    model or with options is a class. Raises UsageProblem for a function that cannot be a tool.
    """

    def make(function: Callable[..., Any]) -> type[FunctionBenchTool]:
        title = f"the tool {function.__name__}"
        if category not in CATEGORIES:
            raise UsageProblem(f"{title} has the category {category!r}; accepted are {', '.join(CATEGORIES)}")
        if unknown := [name for name in attributes if not hasattr(BenchTool, name) or name.startswith("_")]:
            raise UsageProblem(f"{title}: a tool has no attribute {unknown[0]}; see tool_impls.base.BenchTool")
        body = {
            **{"meta": _meta(function, title), "category": category, "packages": packages, "extra": extra},
            **{"function": staticmethod(function), "__module__": function.__module__, **attributes},
        }
        return type(function.__name__, (FunctionBenchTool,), body)

    return make


def _meta(function: Callable[..., Any], title: str) -> Tool:
    if not (description := inspect.getdoc(function)):
        raise UsageProblem(f"{title} lacks a docstring, which describes the tool to the model; write one")
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageProblem(f"{title}: its types cannot be read ({error}); name types of its module") from None
    inputs = tuple(
        _parameter(hints.get(name), title, name, each)
        for name, each in inspect.signature(function).parameters.items()
        if name != _FOLDER
    )
    made = hints.get("return")
    results = get_args(made) if get_origin(made) is tuple else (made,)
    return Tool(function.__name__, description, inputs, tuple(_parameter(each, title) for each in results))


def _parameter(kind: Any, title: str, name: str = "", given: inspect.Parameter | None = None) -> Parameter:
    """The parameter for an input that is called ``name``, or for an output, which has no name."""
    description = None
    if get_origin(kind) is Annotated:
        kind, *texts = get_args(kind)
        description = next((text for text in texts if isinstance(text, str)), None)
    if get_origin(kind) in (Union, UnionType):
        (kind, *others) = [each for each in get_args(kind) if each is not NoneType]
        kind = None if others else kind
    if kind not in _TYPES:
        what = f"its parameter {name}" if name else "what it returns"
        raise UsageProblem(f"{title}: {what} must have a type; accepted are {_ACCEPTED}")
    if given is None:
        return Parameter(_TYPES[kind], None, description)
    if given.kind in (given.VAR_POSITIONAL, given.VAR_KEYWORD, given.POSITIONAL_ONLY):
        raise UsageProblem(f"{title}: a model gives arguments by name, so {given} cannot be a parameter; name it")
    optional = given.default is not given.empty
    return Parameter(_TYPES[kind], name, description, optional=optional, default=given.default if optional else None)

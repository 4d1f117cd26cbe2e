"""Converts the arguments that a model gave to the types of a tool's inputs.

The rules are those of the published benchmark's agent (GTA spec 7.4, step 6), oddities included: ``null`` for a text
becomes the word ``None``, any non-empty text is true, a fraction is cut to a whole number.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.tools import FILE_TYPES, Parameter, Tool


def convert(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with every value in its input's type; a value that has the type already is left alone.

    The names must be inputs of the tool. Raises TypeError, ValueError, OverflowError or OSError (which includes
    FileNotFoundError) for the first value that cannot be converted.
    """
    inputs = {parameter.name: parameter for parameter in tool.inputs}
    return {name: _value(inputs[name], value) for name, value in arguments.items()}


def _value(parameter: Parameter, value: Any) -> Any:
    if parameter.type in FILE_TYPES:
        return _existing(parameter, value)
    # bool is an int for isinstance, so true stays true where a whole number is wanted: as upstream
    wanted = {"text": str, "int": int, "float": float, "bool": bool}[parameter.type]
    return value if isinstance(value, wanted) else wanted(value)


def _existing(parameter: Parameter, value: Any) -> str:
    """Folders and the empty text (the working directory) pass: as upstream. The tool box refuses what it must not
    read."""
    if not isinstance(value, str):
        raise TypeError(f"{parameter.name} must be the path of a file, not {type(value).__name__}")
    if not Path(value).exists():
        raise FileNotFoundError(f"No such file: '{value}'")
    return value

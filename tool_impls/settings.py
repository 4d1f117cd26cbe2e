"""The ``[tools]`` table of ``agentgauge.toml``: which back ends the real tools use, and which tools are off.

    [tools]
    basic = true                      # allow the plain stand-ins for tools that would need a model
    disable = ["TextToBbox"]          # offered, but every call is refused

    [tools.vision]                    # any OpenAI-compatible chat endpoint that takes pictures
    url = "http://127.0.0.1:8000/v1"
    model = "some-vision-model"
    key_env = "VISION_KEY"            # optional: the variable that holds the key

    [tools.image]                     # any OpenAI-compatible image endpoint; the same three keys

    [tools.search]
    folder = "texts"                  # a folder of text files instead of the web; or
    provider = "serper"               # the web, with SERPER_API_KEY

    [tools.ocr]
    paragraphs = true                 # join the lines of a paragraph, as the released tool does

Relative paths start from the settings file's folder. Keys themselves never stand in the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import UsageProblem

SERPER_KEY = "SERPER_API_KEY"
SERPER_URL = "https://google.serper.dev/search"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible service. The key stays in the environment, under the name ``key_env``."""

    url: str
    model: str
    key_env: str | None = None

    @property
    def key(self) -> str | None:
        """None where a key is asked for but not set; a placeholder where the service needs none."""
        return (os.environ.get(self.key_env) or None) if self.key_env else "none"


@dataclass(frozen=True, slots=True)
class SearchSettings:
    folder: Path | None = None  # None: Serper
    url: str = SERPER_URL


@dataclass(frozen=True, slots=True)
class ToolSettings:
    basic: bool = False
    disable: frozenset[str] = frozenset()
    vision: Endpoint | None = None
    image: Endpoint | None = None
    search: SearchSettings = field(default_factory=SearchSettings)
    paragraphs: bool = True  # OCR: join the lines of a paragraph
    allow_unsafe: bool = False  # run code without the minimum of protection; the command line's to say, never the file's


def load(path: Path) -> ToolSettings:
    """Read the ``[tools]`` table of a TOML file; all defaults where it has none. Raises UsageProblem."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageProblem(f"the settings file {path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageProblem(f"the settings file {path} is not valid TOML: {error}") from None
    return parse(document.get("tools", {}), path.resolve().parent)


def parse(table: Any, base: Path, known_tools: frozenset[str] | None = None) -> ToolSettings:
    """Settings from the decoded table. ``base``: where relative paths start. Raises UsageProblem naming what is accepted."""
    table = _table(table, "tools", {"basic", "disable", "vision", "image", "search", "ocr"})
    ocr = _table(table.get("ocr", {}), "tools.ocr", {"paragraphs"})
    return ToolSettings(
        basic=_flag(table, "basic", "tools", False),
        disable=_names(table.get("disable", []), known_tools if known_tools is not None else _registered()),
        vision=_endpoint(table, "vision"),
        image=_endpoint(table, "image"),
        search=_search(table.get("search", {}), base),
        paragraphs=_flag(ocr, "paragraphs", "tools.ocr", True),
    )


def _registered() -> frozenset[str]:
    from tool_impls.registry import TOOLS  # the tools import this module

    return frozenset(TOOLS)


def _table(value: Any, name: str, accepted: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageProblem(f"[{name}] in the settings must be a table; got {value!r}")
    if unknown := sorted(set(value) - accepted):
        raise UsageProblem(f"[{name}] in the settings does not know {', '.join(unknown)}; accepted are {', '.join(sorted(accepted))}")
    return value


def _flag(table: Mapping[str, Any], key: str, name: str, default: bool) -> bool:
    value = table.get(key, default)
    if not isinstance(value, bool):
        raise UsageProblem(f"{key} in [{name}] must be true or false; got {value!r}")
    return value


def _text(table: Mapping[str, Any], key: str, name: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise UsageProblem(f"[{name}] in the settings needs {key} as a text; got {value!r}")
    return value


def _names(value: Any, known: frozenset[str]) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise UsageProblem(f"disable in [tools] must be a list of tool names; got {value!r}")
    if unknown := sorted(set(value) - known):
        raise UsageProblem(f"disable in [tools] names unknown tools: {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return frozenset(value)


def _endpoint(table: Mapping[str, Any], key: str) -> Endpoint | None:
    if key not in table:
        return None
    name = f"tools.{key}"
    data = _table(table[key], name, {"url", "model", "key_env"})
    url = _text(data, "url", name)
    if not url.startswith(("http://", "https://")):
        raise UsageProblem(f"url in [{name}] must start with http:// or https://; got {url!r}")
    return Endpoint(url, _text(data, "model", name), _text(data, "key_env", name) if "key_env" in data else None)


def _search(value: Any, base: Path) -> SearchSettings:
    name = "tools.search"
    data = _table(value, name, {"folder", "provider", "url"})
    if "folder" in data and len(data) > 1:
        raise UsageProblem(f"[{name}] takes either folder (local texts) or provider and url (the web), not both")
    if data.get("provider", "serper") != "serper":
        raise UsageProblem(f'provider in [{name}] must be "serper"; got {data["provider"]!r}; for local texts give folder instead')
    if "folder" in data:
        folder = base / _text(data, "folder", name)
        if not folder.is_dir():
            raise UsageProblem(f"folder in [{name}] names no folder: {folder}")
        return SearchSettings(folder)
    return SearchSettings(url=_text(data, "url", name) if "url" in data else SERPER_URL)

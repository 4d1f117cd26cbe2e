"""The model families by the name that ``--dialect`` takes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint
from inspect import signature
from pathlib import Path
from typing import Any

from agentgauge.agent.dialects.format import Format, Published
from agentgauge.core.announcement import announced_names, plugins, refused
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_text

_FAMILIES = {
    "qwen": "dialects.templated.Qwen",
    "llama": "dialects.templated.Llama",
    "xlam": "dialects.json_prompts.Xlam",
    "xlam2": "dialects.json_prompts.Xlam2",
    "toolace": "dialects.pythonic.ToolAce",
    "watt": "dialects.pythonic.Watt",
    "hammer": "dialects.templated.Hammer",
    "gorilla": "dialects.pythonic.Gorilla",
    "glm4": "dialects.json_prompts.Glm4",
    "functionary": "dialects.templated.Functionary",
    "deepseek": "dialects.templated.DeepSeek",
    "prompt": "dialects.json_prompts.PromptOnly",
}  # module and class: a run uses one of them

OURS = tuple(_FAMILIES)

PROMPT_FILE = "dialect_{}.txt"
"""In a folder of texts: the wording of a family's own prompt."""


FORM = "first"
"""Marks runs of families with the requests of WildToolBench's first release: an earlier one cannot go on with them."""


@cache
def _announced() -> dict[str, tuple[EntryPoint, Any]]:
    """Dialects of other packages by name, each a class, and the plugin that announces it. They cannot replace ours."""
    return {
        name: (plugin, kind)
        for plugin in plugins()
        for name, kind in announced_names(plugin, "dialects").items()
        if name not in (*OURS, "react")
    }


def families() -> tuple[str, ...]:
    """The names of all. Raises UsageProblem for a package that cannot be imported."""
    return (*OURS, *_announced())


@lru_cache(maxsize=32)
def format_of(name: str, prompts: Path | None = None, *, judged: bool = False) -> Format:
    """The family of that name, or ReAct, with the wording that the folder ``prompts`` holds for it, if any.

    ``judged``: the benchmark judges texts, so they must not be replaced as in Hammer's published runs.

    Raises UsageProblem for an unknown name, and for a text that cannot be read or that belongs to no family.
    """
    known = ("react", *families())
    if name not in known:
        raise UsageProblem(f"there is no dialect {name!r}; accepted are native, {', '.join(known)}")
    made = _installed(name) if name in _announced() else _ours(name)
    for file in sorted(prompts.glob(PROMPT_FILE.format("*"))) if prompts else ():
        family = file.stem.removeprefix("dialect_")
        if family not in known:
            accepted = ", ".join(map(PROMPT_FILE.format, sorted(known)))
            raise UsageProblem(f"{file} belongs to no dialect; accepted are {accepted}")
        if family == name:
            made = _reworded(made, file)
    if judged and isinstance(getattr(made, "keeps_text", None), bool):
        made = replace(made, keeps_text=True)  # type: ignore[type-var]
    return made


def _ours(name: str) -> Format:
    module, _, family = {**_FAMILIES, "react": "react.Reacting"}[name].rpartition(".")
    made: Format = getattr(import_module(f"agentgauge.agent.{module}"), family)()
    return made


def _installed(name: str) -> Format:
    """Raises UsageProblem for what makes no dialect."""
    plugin, kind = _announced()[name]
    try:
        made = kind()
    except Exception as error:  # of another package
        why = f"names a dialect {name} that cannot be made ({type(error).__name__}: {error}); correct its class"
        raise refused(plugin, "dialects", why) from error
    if not isinstance(made, Format):
        why = f"names a dialect {name} that makes {made!r:.200}; accepted is a class that inherits"
        raise refused(plugin, "dialects", f"{why} agentgauge.dialects.Format")
    try:
        signature(made.read).bind("", tolerant=True, tools=())
    except TypeError as error:
        why = f"names a dialect {name} with a method read that cannot be called ({error}); declare it as"
        raise refused(plugin, "dialects", f"{why} read(self, text, *, tolerant, tools=())") from None
    return made


def _reworded(made: Format, file: Path) -> Format:
    if not hasattr(made, "prompt"):
        raise UsageProblem(f"{file}: this dialect has no prompt of its own, so remove the file")
    try:
        text = read_text(file).removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
    for slot in ("{tools}", "{query}"):
        if slot in made.prompt and slot not in text:
            raise UsageProblem(
                f"{file} lacks the slot {slot}, without which the model does not get what it needs; put it in"
            )
    return replace(made, prompt=text)  # type: ignore[type-var]


def wording(name: str, prompts: Path | None) -> str:
    """Fingerprint of what a dialect sends: of its own prompt, and of the form of its requests. Empty where it has
    neither. Raises UsageProblem as ``format_of``."""
    if name == "native":
        return ""
    made = format_of(name, prompts)
    prompt: str = getattr(made, "prompt", "")
    parts = [sha256(prompt.encode()).hexdigest()[:12]] if prompt else []
    return "-".join([*parts, *([FORM] if isinstance(made, Published) else [])])

"""Which tools can work under given settings, where their models run, and what identifies them."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import Distribution, distributions, version
from inspect import getmodulename
from pathlib import Path
from typing import Any

from agentgauge.core.errors import ToolUnavailable, UsageProblem
from agentgauge.core.files import cache_folder, write_whole
from agentgauge.core.redaction import without_logins
from agentgauge.core.tools import cards_of
from agentgauge.data.fetch.dataset import NOTE
from agentgauge.sandbox import check_minimum
from tool_impls.base import DISABLED, READY, REPEATABLE, UNAVAILABLE, BenchTool, works
from tool_impls.devices import AUTO, CPU, DEVICE, Gpu, has_gpu, kind, names, placed, seen
from tool_impls.registry import BACKENDS, TOOLS
from tool_impls.settings import Option, ToolSettings


def check(settings: ToolSettings, names: Iterable[str] | None = None) -> dict[str, str]:
    """The state of each named tool (all by default): ready, basic, ``substitute: what``, disabled,
    or ``unavailable: what would help``; with ``missing = "disable"`` the last reads ``disabled: what would help``.

    Raises UsageProblem for a name that no tool has.
    """
    wanted = list(TOOLS) if names is None else list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in TOOLS]:
        raise UsageProblem(f"there is no tool {unknown[0]!r}; known are {', '.join(TOOLS)}")
    states = {name: TOOLS[name].state(settings) for name in wanted}
    if settings.missing == "disable":
        states = {
            name: state.replace(UNAVAILABLE, DISABLED, 1) if state.startswith(UNAVAILABLE) else state
            for name, state in states.items()
        }
    return states


def require(settings: ToolSettings, names: Iterable[str]) -> dict[str, str]:
    """As ``check``; raises ToolUnavailable with one sentence for a tool that cannot work and is not disabled.

    Raises UsageProblem where a tool would run a model's code and this machine cannot confine it.
    """
    states = check(settings, names)
    if lacking := [name for name, state in states.items() if state.startswith(UNAVAILABLE)]:
        name, *more = lacking
        reason = states[name].removeprefix(f"{UNAVAILABLE}: ")
        others = f" (also unavailable: {', '.join(more)})" if more else ""
        switch = "" if "disable" in reason else f'; or switch it off with disable = ["{name}"] in [tools]'
        raise ToolUnavailable(f"{name} is needed but unavailable: {reason}{switch}{others}")
    if any(TOOLS[name].runs_code for name, state in states.items() if state == READY):
        check_minimum(allow_unsafe=settings.allow_unsafe)
    return states


# -- where models run


Places = Mapping[str, tuple[str, ...]]
"""By tool the devices that have a process for it, such as ``cpu`` and ``cuda:0``; tools without a model have none."""

GPUS, LATER = "--gpus", "later"
"""The option by which a run tells its tool server which GPUs there are, and its value where it has not looked."""


def with_models(settings: ToolSettings, tools: Iterable[str]) -> dict[str, type[BenchTool]]:
    """Those of the tools that load a model, and can work."""
    states = check(settings, tools)
    return {name: TOOLS[name] for name, state in states.items() if works(state) and TOOLS[name].on_device(settings)}


def asks_for_gpu(settings: ToolSettings, kinds: Mapping[str, type[BenchTool]]) -> bool:
    """Whether it depends on the GPUs of this machine where some tools with models run."""
    return any(_asks(settings, tool) for tool in kinds.values())


def _asks(settings: ToolSettings, tool: type[BenchTool]) -> bool:
    given, shared = _given(settings, tool)
    own = given not in ("", AUTO)
    return any(kind(name) != CPU for name in names(given or shared)) and (own or not tool.lacks_gpu(settings))


def _given(settings: ToolSettings, tool: type[BenchTool]) -> tuple[str, str]:
    """The ``device`` of a tool's table, empty where it has none, and the ``devices`` of all tools."""
    table = settings.tables.get(tool.device_table(settings), {})
    return str(table.get(DEVICE.name) or ""), settings.devices


def places(settings: ToolSettings, kinds: Mapping[str, type[BenchTool]], there: Sequence[Gpu]) -> Places:
    """The places of tools with models. ``there``: the GPUs of this machine.

    A tool that can use no GPU runs on the processor where ``auto`` or ``devices`` lead to a GPU. Raises UsageProblem
    for a name that is none, for a GPU that is not there, and for a table that names a GPU which its tool cannot use.
    """
    return {name: _places(settings, tool, there) for name, tool in kinds.items()}


def _places(settings: ToolSettings, tool: type[BenchTool], there: Sequence[Gpu]) -> tuple[str, ...]:
    given, shared = _given(settings, tool)
    table = f"device in [tools.{tool.device_table(settings)}]"
    lacking = tool.lacks_gpu(settings)
    if lacking and given in ("", AUTO):
        return tuple(name for name in names(given or shared) if kind(name) == CPU) or (CPU,)
    try:
        found = placed(given or shared, there)
    except UsageProblem as problem:
        raise UsageProblem(f"{table if given else 'devices in [tools]'}: {problem}") from None
    if lacking and any(kind(device) != CPU for device in found):
        raise UsageProblem(f"{table} is {given!r}, but {tool.meta.name} cannot use a GPU here: {lacking}; or name cpu")
    return found


def shown(found: Places, there: Sequence[Gpu]) -> dict[str, str]:
    """By tool its devices with the names of their cards: ``cuda:0 (NVIDIA H100 80GB HBM3), cpu``."""
    cards = {gpu.device: f"{gpu.device} ({gpu.card})" for gpu in there}
    return {name: ", ".join(cards.get(device, device) for device in devices) for name, devices in found.items()}


def shown_here(settings: ToolSettings, tools: Iterable[str]) -> dict[str, str]:
    """By tool with a model where it runs on this machine. Raises UsageProblem as ``places``."""
    kinds = with_models(settings, tools)
    there = seen() if asks_for_gpu(settings, kinds) else ()
    return shown(places(settings, kinds, there), there)


# -- what a run tells its server, so that both mean the same GPU by ``auto``


def handed_on() -> list[str]:
    """The arguments that tell a tool server what this process knows of the GPUs."""
    if not has_gpu():
        return []  # the server sees at once that there is none
    if not seen.cache_info().currsize:
        return [GPUS, LATER]
    ordered = sorted(seen(), key=lambda gpu: gpu.device != placed(AUTO, seen())[0])
    return [GPUS, json.dumps([[gpu.device, gpu.card] for gpu in ordered])]


def handed(text: str) -> tuple[Gpu, ...]:
    """The GPUs of ``handed_on``, that of ``auto`` first. Raises UsageProblem."""
    try:
        found: Any = json.loads(text)
        return tuple(Gpu(str(device), str(card)) for device, card in found)
    except (ValueError, TypeError):
        pairs = '[["cuda:0", "name of the card"]]'
        raise UsageProblem(f"{GPUS} must be {LATER}, or a JSON list such as {pairs}; got {text[:80]!r}") from None


# -- fingerprints: two runs with the same ones used the same tools


def fingerprints(
    settings: ToolSettings, names: Iterable[str], devices: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """For each tool its state, version, back end, versions of its packages, options, and a digest of its weights; for a
    tool in ``devices`` also where its model runs.
    """
    where = {name: {"device": device} for name, device in (devices or {}).items()}
    states = check(settings, names)
    return {name: _fingerprint(name, state, settings) | where.get(name, {}) for name, state in states.items()}


def served_fingerprints(
    settings: ToolSettings, names: Iterable[str], devices: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """``fingerprints``, and for each tool whose results may be kept REPEATABLE: a digest of everything besides the
    arguments of a call that determines them."""
    found = fingerprints(settings, names, devices)
    for name, fingerprint in found.items():
        if TOOLS[name].is_repeatable(settings):
            with suppress(OSError):  # code or weights that cannot be read: the tool will say so
                fingerprint[REPEATABLE] = _identity(name, fingerprint)
    return found


def _identity(name: str, fingerprint: Mapping[str, Any]) -> str:
    """A fingerprint says less: it lacks the code of AgentGauge and of the tool's own package, the packages that the
    tool does not name, and the interpreter. Of the devices the cards count. Raises OSError."""
    classes = [base for base in TOOLS[name].__mro__ if issubclass(base, BenchTool)]  # others are of installed packages
    tops = {"agentgauge", *(base.__module__.partition(".")[0] for base in classes)}
    told = {key: value for key, value in fingerprint.items() if key != DEVICE.name}
    parts = [told, *_program(tuple(sorted(tops))), sys.version, platform.machine(), cards_of(fingerprint)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@cache
def _program(tops: tuple[str, ...]) -> tuple[str, list[str]]:
    """A digest of the code of imported packages, and the names and versions of all that are installed. Looked up once
    in a process. Raises OSError."""
    modules = [sys.modules[top] for top in tops]
    code = [Path(path) for module in modules for path in getattr(module, "__path__", None) or [module.__file__ or ""]]
    installed = {found.name for folder in map(Path, sys.path) for found in folder.glob("*-info")}
    return _remembered(tuple(code)), sorted(installed)


def look_up_packages() -> None:
    """Look up the packages of all tools, once in a process."""
    for tool in TOOLS.values():
        _versions(tool.packages)


def _fingerprint(name: str, state: str, settings: ToolSettings) -> dict[str, Any]:
    tool = TOOLS[name]
    packages = _versions((*tool.packages, *tool.form_packages(settings)))
    return _stated(name, state, settings) | {"packages": packages | _own_version(tool)}


def _stated(name: str, state: str, settings: ToolSettings) -> dict[str, Any]:
    """A fingerprint but for the packages."""
    tool = TOOLS[name]
    found: dict[str, Any] = {
        "state": state,
        "version": tool.version,
        "backend": tool.backend(settings),
        "options": _options(settings, name, tool.options),
    }
    for table in tool.tables:
        options = _options(settings, table, [one for one in BACKENDS[table] if (table, one.name) not in _UNTOLD])
        found["options"] |= {f"{table}.{option}": value for option, value in options.items()}
    if weights := tool.weights(settings):
        found["weights"] = _remembered(weights)
    return found


def _own_version(tool: type[BenchTool]) -> dict[str, str]:
    """The version of the package of a tool that comes from another package."""
    return {} if tool.distribution == BenchTool.distribution else {tool.distribution: version(tool.distribution)}


_UNTOLD = {("speech", "backend"), ("speech", "batch")}
"""Options that came later: the first stands in ``backend``, and no result depends on the second."""


def _options(settings: ToolSettings, table: str, options: Iterable[Option]) -> dict[str, Any]:
    """The values of options, but for the name of a key and for devices. Of a path, what lies there counts and not
    where."""
    values = {}
    for option in options:
        value = settings.value(table, option)
        if option.kind in ("path", "weights") and value is not None and Path(value).exists():
            value = _remembered((Path(value),))
        if option.name not in ("key_env", DEVICE.name):
            values[option.name] = without_logins(value) if isinstance(value, str) else value
    return values


@cache
def _distributions() -> Mapping[str, list[Distribution]]:
    """Import name → what is installed under it. As importlib.metadata's packages_distributions, which makes an object
    of every installed file and takes five times as long."""
    found: dict[str, list[Distribution]] = {}
    for distribution in distributions():
        names = set((distribution.read_text("top_level.txt") or "").split())
        if not names:
            files = (distribution.read_text("RECORD") or "").splitlines()
            firsts = (line.partition(",")[0].partition("/") for line in files)
            names = {name for first, folder, _ in firsts if (name := first if folder else getmodulename(first))}
        for name in names:
            found.setdefault(name, []).append(distribution)
    return found


@cache
def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of the distributions behind import names; a missing one is left out."""
    found: dict[str, str] = {}
    for distribution in (one for package in packages for one in _distributions().get(package, ())):
        found.setdefault(distribution.metadata["Name"].lower(), distribution.metadata["Version"])
    return dict(sorted(found.items()))  # of two of a name the one that Python finds first


def _remembered(paths: tuple[Path, ...]) -> str:
    """SHA-256 over the names and contents of files and folders, shortened to 16 hex digits.

    Weights may be many gigabytes, so it is kept in the user's cache under their paths, sizes and times of change.
    """
    files = [(path.parent, file) for path in sorted(paths) for file in _files(path)]
    key = json.dumps([[str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns] for _, file in files])
    kept = cache_folder() / "weights" / hashlib.sha256(key.encode()).hexdigest()[:32]
    if kept.is_file():
        return kept.read_text("utf-8")
    summary = hashlib.sha256()
    for base, file in files:
        summary.update(f"{file.relative_to(base)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while chunk := stream.read(2**20):
                summary.update(chunk)
    value = summary.hexdigest()[:16]
    with suppress(OSError):  # a home that cannot be written
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, value.encode())
    return value


def _files(path: Path) -> list[Path]:
    """All but what Python made of code, and the note of ``agentgauge fetch``, which has the time of a check."""
    if path.is_file():
        return [path]
    found = (item for item in path.rglob("*") if item.is_file() and item.parent.name != "__pycache__")
    return sorted(item for item in found if item.name != NOTE)

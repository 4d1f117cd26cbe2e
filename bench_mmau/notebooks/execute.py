"""Run a notebook in the sandbox, in a process of its own and an empty folder beside the data files
(docs/benchmarks/mmau.md#running-cells and docs/benchmarks/mmau.md#confinement).

The QA model sees one cell of the executed notebook, with its pictures as separate parts
(docs/benchmarks/mmau.md#notebooks).

The published evaluator lets five kernels share one folder and the user's rights; here each has a folder of its own.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from agentgauge import sandbox
from agentgauge.core.errors import SandboxFault, UsageProblem
from bench_mmau.fixes import PARITY, Fixes
from bench_mmau.notebooks.cells import Solution

IMAGES = ("image/jpeg", "image/png", "image/gif")  # in this order within an output; others are no images
PLOTLY = "application/vnd.plotly.v1+json"
_HTML = "text/html"
_SCRIPT = "plotly.js"

Render = Callable[[Any], str]
"""A Plotly figure as JSON to a PNG picture as base64 text."""


class NoPicture(RuntimeError):
    """Plotly figures cannot be drawn here."""


class NoFigure(ValueError):
    """An output of a cell with the type of a Plotly figure is no Plotly figure."""


@dataclass(frozen=True, slots=True)
class ShownCell:
    """``images`` are data URIs; the cell has ``<image_k>``, k from 1, in their places."""

    cell: Any
    images: tuple[str, ...] = ()


def last_with_output(cells: Sequence[Any], start: int = 0) -> Mapping[str, Any] | None:
    """The last code cell from ``start`` on that has outputs, even if it comes before the model's cells [Q28]; None if
    there is none."""
    for cell in reversed(cells[start:]):
        if isinstance(cell, Mapping) and cell.get("cell_type") == "code" and cell.get("outputs"):
            return cell
    return None


def whole(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """The cell, with the pieces in which a stream came put together (strict)."""
    found: list[dict[str, Any]] = []
    for output in cell["outputs"]:
        last = found[-1] if found else {}
        if output["output_type"] == "stream" == last.get("output_type") and output["name"] == last["name"]:
            found[-1] = {**output, "text": last["text"] + output["text"]}
        else:
            found.append(output)
    return {**cell, "outputs": found}


def organise(
    cell: Mapping[str, Any] | None, *, image_expected: bool, render: Render | None = None, fixes: Fixes = PARITY
) -> ShownCell:
    """The cell as the QA model sees it. Where an image is expected, streams and errors are dropped; else the cell is
    unchanged. A picture that is no text, such as a list of lines, is what Python prints of it.

    Raises what ``render`` (default ``plotly_picture``) raises for a Plotly figure.
    """
    if cell is None or not image_expected or not cell.get("outputs"):
        return ShownCell(cell)
    images: list[str] = []
    outputs = [
        {**output, "data": _without_images(output["data"], images, render or plotly_picture, fixes)}
        for output in cell["outputs"]
        if "data" in output
    ]
    return ShownCell({**cell, "outputs": outputs}, tuple(images))


def _without_images(data: Mapping[str, Any], images: list[str], render: Render, fixes: Fixes) -> dict[str, Any]:
    left = dict(data)
    for kind in IMAGES:
        if kind in left:
            left[kind] = _placed(images, kind, (_joined if fixes.whole_outputs else str)(left[kind]))
    if PLOTLY in left:
        left[PLOTLY] = _placed(images, "image/png", render(left[PLOTLY]))
        left.pop(_HTML, None)
    if _SCRIPT in _joined(left.get(_HTML, "")):
        del left[_HTML]
    return left


def _placed(images: list[str], kind: str, content: str) -> str:
    images.append(
        f"data:{kind};base64,{content}".encode("ascii", "replace").decode("ascii")
    )  # a cell may display anything
    return f"<image_{len(images)}>"


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def plotly_picture(figure: Any) -> str:
    """A Plotly figure drawn with plotly and kaleido. Raises NoPicture without them, NoFigure for what is none."""
    try:
        from plotly.io import from_json, to_image  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise _no_picture(error) from error
    try:
        drawable = from_json(json.dumps(figure))
    except Exception as error:  # plotly has no class of its own for these
        raise NoFigure(f"what a cell shows as a Plotly figure is none ({type(error).__name__})") from error
    try:
        return base64.b64encode(to_image(drawable, format="png")).decode("ascii")
    except Exception as error:  # kaleido raises what it likes, such as for a missing browser
        raise _no_picture(error) from error


def _no_picture(error: Exception) -> NoPicture:
    return NoPicture(f"a Plotly figure cannot be drawn ({type(error).__name__}: {error}); install plotly and kaleido")


_RUNNER = Path(__file__).with_name("runner.py")
_ENVIRONMENT = {  # as a kernel has it
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # figures become pictures
    "TERM": "xterm-color",
    "CLICOLOR": "1",
    "FORCE_COLOR": "1",
    "CLICOLOR_FORCE": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
}
_SYSTEM = tuple(
    Path(name)
    for name in ("/bin", "/usr/bin", "/etc/fonts", "/usr/share/fonts", "/usr/share/fontconfig", "/usr/share/zoneinfo")
)  # programs for ``!ls`` and the like, fonts for figures, time zones
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_SHOWN = 100_000  # characters of an error that are kept, its end


_LIMITS = sandbox.SandboxLimits(  # of output: all cells together, as JSON
    memory_bytes=4 << 30, output_bytes=64 << 20, file_bytes=512 << 20, disk_bytes=1 << 30, processes=128
)


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """The limits of a notebook. The time per cell is the reference's, which sets no other limit."""

    cell_seconds: float = 180.0  # wall time of each cell
    notebook_seconds: float | None = None  # wall time of all cells together; None: ``cell_seconds`` for each
    start_seconds: float = 60.0  # to build the confinement and to start the shell, on a busy machine
    resources: sandbox.SandboxLimits = _LIMITS


@dataclass(frozen=True, slots=True)
class ExecutionSettings:
    """The place where notebooks run. ``data``: the folder that they see as ``../input``, read-only; None if there is
    none.
    """

    data: Path | None = None
    limits: ExecutionLimits = ExecutionLimits()


@dataclass(frozen=True, slots=True)
class Execution:
    """The result of running a notebook. ``error`` is for the model, without colours, empty for a success; ``cells``
    hold outputs after a success only."""

    success: bool
    last_cell: Mapping[str, Any] | None = None
    error: str = ""
    cells: tuple[Any, ...] = ()


def run(solution: Solution, where: ExecutionSettings | None = None, *, fixes: Fixes = PARITY) -> Execution:
    """Run all cells of a solution; the first error ends it. Blocks, at worst for cells x ``cell_seconds``.
    Gives the last cell with outputs, and no other cell.

    Raises UsageProblem without ipykernel or below the minimum of protection, SandboxFault if nothing could be run.
    """
    if solution.problem:
        return Execution(False, error=solution.problem)
    found = run_cells(solution.cells, where or ExecutionSettings(), fixes=fixes)
    last = last_with_output(found.cells, len(solution.given) if fixes.own_output else 0) if found.success else None
    return Execution(found.success, whole(last) if last and fixes.whole_outputs else last, found.error)


def given(record: Mapping[str, Any]) -> Execution:
    """The execution that an oracle record stores: always a success, with or without an output
    (docs/benchmarks/mmau.md#questions)."""
    return Execution(True, record["last_cell"])


def run_cells(cells: Sequence[Any], where: ExecutionSettings, *, fixes: Fixes = PARITY) -> Execution:
    """As ``run``, for bare cells; ``last_cell`` is not looked for."""
    order = []
    for place, cell in enumerate(cells):
        wrong = _wrong(cell, fixes)
        if wrong:  # the reference stumbles there when it arrives; what earlier cells do then is of no account
            return Execution(False, error=f"cell {place + 1} is no notebook cell: {wrong}")
        if _runs(cell):
            tags = _tags(cell, fixes)
            if "skip-execution" not in tags:
                order.append((place, _source(cell), "raises-exception" in tags))
    return _read(_run(order, where), order, cells, where.limits) if order else Execution(True, cells=tuple(cells))


def _wrong(cell: Any, fixes: Fixes) -> str:
    """Why a cell cannot be run, as nbformat 5.10.4 and nbconvert 7.16.4 have it (docs/benchmarks/mmau.md#cells), or "".

    Markdown may have any JSON for a source, or none. Metadata must be an object in every cell. Tags are looked at only
    in code that runs, and may be whatever Python's ``in`` searches: a list, a text, an object.
    """
    if not isinstance(cell, Mapping):
        return "it is no object"
    if not isinstance(cell.get("cell_type"), str):
        return "it has no cell_type"
    source = cell.get("source", "")
    if isinstance(source, list) and not all(isinstance(line, str) for line in source):
        return "its source is no list of lines"
    if cell["cell_type"] == "code" and not isinstance(source, str | list):
        return "its source is no list of lines"
    if fixes.any_metadata:
        return ""
    if not isinstance(cell.get("metadata"), Mapping):
        return "its metadata are no object"
    if _runs(cell) and not isinstance(cell["metadata"].get("tags", []), list | str | Mapping):
        return "its tags are no list"
    return ""


def _runs(cell: Mapping[str, Any]) -> bool:
    return bool(cell["cell_type"] == "code" and _source(cell).strip())


def _tags(cell: Mapping[str, Any], fixes: Fixes) -> Any:
    """What stands in ``tags``. Under ``any_metadata`` it is a list, empty where something else stands there."""
    metadata = cell.get("metadata")
    tags = metadata.get("tags", []) if isinstance(metadata, Mapping) else []
    return tags if isinstance(tags, list) or not fixes.any_metadata else []


def _source(cell: Mapping[str, Any]) -> Any:
    """As one text. What is neither a text nor a list, as markdown may have it, stays what it is."""
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else source


def _run(order: Sequence[tuple[int, str, bool]], where: ExecutionSettings) -> sandbox.SandboxResult:
    check_packages()
    limits = where.limits
    seconds = limits.start_seconds + (
        len(order) * limits.cell_seconds if limits.notebook_seconds is None else limits.notebook_seconds
    )
    # the limit is wall time, also for code on many cores
    resources = replace(limits.resources, wall_seconds=seconds, cpu_seconds=seconds * (os.cpu_count() or 1))
    readable: tuple[Path, ...] = _SYSTEM
    with sandbox.scratch_folder() as folder:
        if where.data is not None:
            data = _folder(where.data)
            readable = (*_SYSTEM, data)
            (folder / "input").symlink_to(data)  # beside the working directory: ``../input``
        return sandbox.run(
            _script(),
            folder=folder,
            limits=resources,
            steps=sandbox.Steps(tuple(json.dumps(cell[1:]).encode("ascii") for cell in order), limits.cell_seconds),
            keep=False,
            env=_ENVIRONMENT,
            readable=readable,
        )


def _folder(data: Path) -> Path:
    if not data.is_dir():
        raise UsageProblem(
            f"the folder of the notebooks' data files, {data}, does not exist; unpack the data set and name its 'input'"
            " folder"
        )
    if os.geteuid() == 0 and data.stat().st_mode & 0o005 != 0o005:  # the cells then run as a user of their own
        raise UsageProblem(
            f"the folder of the notebooks' data files, {data}, is closed to other users; run chmod -R a+rX on it"
        )
    return data.resolve()


@lru_cache(maxsize=1)
def _script() -> sandbox.Script:
    return sandbox.Script(_RUNNER.read_text("utf-8"))


def check_packages() -> None:
    """Raises UsageProblem without the kernel that runs the cells."""
    try:
        found = version("ipykernel")
    except PackageNotFoundError:
        found = "none"
    if not found.startswith("6."):
        raise UsageProblem(
            f"the Apple MMAU notebooks need ipykernel 6, and the installed version is {found}; install"
            " 'ipykernel>=6.29,<7', or the extra agentgauge[notebooks], and run again"
        )


def _read(
    result: sandbox.SandboxResult, order: Sequence[tuple[int, str, bool]], cells: Sequence[Any], limits: ExecutionLimits
) -> Execution:
    """The answers of the runner, which the cells may have tampered with: anything out of order is a failure of the
    notebook."""
    filled = [{**cell, "source": _source(cell)} for cell in cells]
    for answer in result.answers:
        try:
            found = json.loads(answer.content)
        except (ValueError, RecursionError):
            found = None
        match found:
            case {"failed": str(error)}:
                return Execution(False, error=_plain(error))
            case {"failed": None, "executed": list(executed)} if _fill(
                filled, [place for place, _, _ in order], executed
            ):
                continue
            case _:
                return Execution(False, error="DeadKernelError: the outputs are damaged")
    if len(result.answers) == len(order) and result.status == "ok":
        return Execution(True, cells=tuple(filled))
    if not result.ready:  # no cell has run yet: not the model's doing
        raise SandboxFault(
            f"the notebook's shell did not start: {result.stderr.strip()[-300:] or result.reason}", cause="no shell"
        )
    return Execution(False, error=_ending(result, order[min(len(result.answers), len(order) - 1)][0], limits))


def _ending(result: sandbox.SandboxResult, began: int, limits: ExecutionLimits) -> str:
    if result.late_step:
        return f"CellTimeoutError: cell {began + 1} ran longer than {limits.cell_seconds:g} s"
    if result.status == "timeout":
        return f"CellTimeoutError: the notebook ran too long; it was in cell {began + 1}"
    return f"DeadKernelError: the kernel died in cell {began + 1}" + (f": {result.reason}" if result.reason else "")


def _fill(cells: list[dict[str, Any]], places: Sequence[int], executed: Sequence[Any]) -> bool:
    """Put outputs into the cells at these places. False if they are not what the runner writes."""
    for entry in executed:
        match entry:
            case [int(number), int(count), list(outputs)] if 0 <= number < len(places) and all(
                map(_is_output, outputs)
            ):
                cells[places[number]] |= {"execution_count": count, "outputs": outputs}
            case _:
                return False
    return True


def _is_output(output: Any) -> bool:
    match output:
        case {"output_type": "stream", "name": str(), "text": str()}:
            return isinstance(output.get("data", {}), dict)
        case {"output_type": "display_data" | "execute_result", "data": dict(), "metadata": dict()}:
            return True
        case {"output_type": "error", "ename": str(), "evalue": str(), "traceback": list()}:
            return isinstance(output.get("data", {}), dict)
    return False


def _plain(text: str) -> str:
    """Without colours, its end, and fit to be sent: a cell's error may hold half characters."""
    return _COLOURS.sub("", text)[-_SHOWN:].encode("utf-8", "replace").decode("utf-8")

"""A run's predictions in the original benchmark's own layout, so that results can be exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.placeholders import PathPlaceholders
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import ROOT_TOKEN, RUN_TOKEN, Json, Sample
from agentgauge.data.find import find_data, find_used_data, refuse_other_data
from agentgauge.store import Line, RunFolder
from agentgauge.store.jsonl import CaseId
from agentgauge.store.records import LeftOut, left_out_notes
from agentgauge_reports.load import refuse_odd_files


def export(
    run: Path, format: str, output: Path, data: str | None = None, *, tasks: Registry
) -> tuple[list[Path], list[str]]:
    """Write what a run has of the tasks of ``format`` below ``output``, further attempts in folders ``attempt-2`` and
    so on. ``tasks``: all that are known.

    Returns the files written and notes about them, one sentence each. Raises UsageProblem.
    """
    folder = RunFolder(run)
    about = folder.read_json("run.json")
    settings = about["settings"]
    tasks = tasks.configured(settings["options"])
    roots, _ = find_data(tasks, data, Path.cwd()) if data else find_used_data(tasks, about, Path.cwd())
    refuse_other_data(tasks, folder, about, roots)
    empty_folder(output)
    left_out: list[LeftOut] = []
    lines = folder.lines(left_out=left_out)
    notes = list(left_out_notes(run, left_out))
    for task in tasks:
        write = task.files.exporters.get(format) if task.files else None
        if write is not None and task.name in roots:
            for attempt in sorted({case[2] for case in lines}):
                place = output if attempt == 1 else output / f"attempt-{attempt}"
                results = list(_results(folder, lines, task, roots[task.name], attempt, notes))
                if results:
                    notes += _left_out(lines, task, attempt)
                    model, scoring = settings["model"]["name"], settings["scoring"]
                    try:
                        notes += write(results, place, model=model, scoring=scoring)
                    except OSError as error:
                        where = error.filename or place
                        raise UsageProblem(
                            f"{where} cannot be written ({error.strerror}); give another --output"
                        ) from None
                    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
                        what = f"{type(error).__name__}: {error}"
                        raise UsageProblem(
                            f"{run / 'records.jsonl'} holds a prediction of {task.name} that no run of it yields"
                            f" ({what}); restore the file, or run the cases again"
                        ) from None
    return sorted(path for path in output.rglob("*") if path.is_file()), notes


def empty_folder(output: Path) -> None:
    """Make the folder. Raises UsageProblem if it is a file, holds files, or cannot be made."""
    if output.exists() and not output.is_dir():
        raise UsageProblem(f"--output {output} is a file; give an empty folder or a new one")
    if taken := next((path for path in output.rglob("*") if path.is_file()), None):
        raise UsageProblem(
            f"--output {output} holds files already, such as {taken.name}; give an empty folder or a new one"
        )
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageProblem(f"--output {output} cannot be made ({error.strerror}); give another folder") from None


def _left_out(lines: Mapping[CaseId, Line], task: Task, attempt: int) -> list[str]:
    """Broken cases have no prediction; no layout has a place for one."""
    broken = [case for case, line in lines.items() if case[0] == task.name and case[2] == attempt and not line.finished]
    count = "1 broken case is" if len(broken) == 1 else f"{len(broken)} broken cases are"
    return [f"{task.name}: {count} left out; run them again with --resume"] if broken else []


def _results(
    folder: RunFolder, lines: Mapping[CaseId, Line], task: Task, root: Path, attempt: int, notes: list[str]
) -> Iterator[tuple[Sample, Json, Path]]:
    """Finished cases, with the paths of this machine in what they yielded. ``notes``: gets a sentence for each case
    that cannot be read."""
    placeholders = PathPlaceholders({str(root.absolute()): ROOT_TOKEN, str(folder.path.absolute()): RUN_TOKEN})
    index = task.data.index(root)
    rows = {row.id: row for row in index.rows}
    for (name, sample, number), line in lines.items():
        if name != task.name or number != attempt or not line.finished:
            continue
        if sample not in rows:
            raise UsageProblem(
                f"{root} has no sample {sample!r} of {task.name}, which the run has; give --data as in the run"
            )
        try:
            transcript = line.read().transcript
            output = placeholders.to_paths(transcript.output) if transcript else None
        except (ValueError, RecursionError) as error:
            why = "it is nested too deep" if isinstance(error, RecursionError) else error
            notes.append(f"{name}: {sample} is left out, its record cannot be read: {why}; run it again with --resume")
            continue
        if transcript is not None:
            sample_path = folder.files(name, sample, number).absolute()
            refuse_odd_files(folder.path.absolute(), sample_path)
            yield task.data.load(index, rows[sample], task.name), output, sample_path

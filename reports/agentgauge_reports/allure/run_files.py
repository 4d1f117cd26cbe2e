"""The files that results share: each run's own, and those that describe all runs of a folder.

Several runs may leave their results in one folder. Each of them writes the latter anew, of all that it finds there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain, whole
from agentgauge.core.presentation import BREAKS, FAULTS
from agentgauge.core.text import clean, counted
from agentgauge_reports.allure.content import milliseconds
from agentgauge_reports.allure.identity import Identity, data_of, digest
from agentgauge_reports.grouping import capabilities
from agentgauge_reports.load import Run
from agentgauge_reports.notices import broken, endpoint_doubts, limit_of, named, not_attempted, remarks
from agentgauge_reports.text import line

DASHBOARD = "dashboard"
"""Folder of the dashboard, below that of the results."""

HISTORY = "allure-history"
"""Folder beside the runs: what Allure remembers of earlier ones."""

CONFIGURATION = "allurerc.mjs"
"""Allure 3's configuration, which reads what each run has left."""

UNFINISHED = "cases.unfinished"
"""Key of the metric that counts broken and missing cases."""

_KINDS = [
    (status, kind, title) for status, kinds in (("failed", FAULTS), ("broken", BREAKS)) for kind, title in kinds.items()
]

JsonFile = Mapping[str, Any] | list[Any]


def run_files(run: Run, same: Identity, folder: Path) -> Iterator[tuple[str, str | JsonFile]]:
    """File name and text, or a value for JSON: all besides the results of cases. ``folder``: where they will lie. What
    describes all runs comes last."""
    yield f"{same.id}-perf.json", metrics(run, same)
    errors = [{"message": f"{same.name}: {gate['problem']}"} for gate in _gates(run) if gate["problem"]]
    attached = [*_attachments(run, same, folder)]
    yield f"{same.id}-globals.json", {"attachments": attached, "errors": errors}
    yield f"agentgauge-{same.id}.json", about(run, same, folder)
    runs = runs_in(folder)
    yield "environment.properties", _properties(runs)
    yield (
        "categories.json",
        [
            # all that version 2 has to go by is the message; in JavaScript and in Java the expression means the same
            {"name": title, "matchedStatuses": [status], "messageRegex": rf"^{re.escape(title)}: [\s\S]*$"}
            for status, _, title in _KINDS
        ],
    )
    yield (
        "executor.json",
        {  # version 2's name for a run in its trends
            "name": "AgentGauge",
            "type": "agentgauge",
            "buildName": " | ".join(one["run"] for one in runs),
            "buildOrder": max(one["started"] for one in runs),
            "reportName": " | ".join(one["run"] for one in runs),
        },
    )
    yield CONFIGURATION, (Path(__file__).parent / CONFIGURATION).read_text(encoding="utf-8")


# -- what describes a run


def about(run: Run, same: Identity, folder: Path) -> dict[str, Any]:
    """What the configuration and the files of all runs are made of."""
    gates = [
        {"id": f"{same.name}: {gate['text']}", "metricMin": {"key": _key(same, f"gate.{gate['text']}"), "value": 1}}
        for gate in _gates(run)
    ]
    unfinished = {"id": f"{same.name}: unfinished", "metricMax": {"key": _key(same, UNFINISHED), "value": 0}}
    history = os.path.relpath(run.path.absolute().parent / HISTORY, folder.absolute())
    return {
        "run": line(run.name, 100),
        "name": line(run.name if run.name.endswith(run.model) else f"{run.model} · {run.name}", 150),
        "counts": counts(run),
        "meaning": meaning(run),
        "started": int(run.about["started"]),
        "environment": {"id": same.id, "name": same.name},
        "history": Path(history).as_posix(),
        "facts": {clean(key): line(value, 300) for key, value in _facts(run)},
        "gates": [unfinished, *gates],
        "categories": [
            {
                "id": kind,
                "name": title,
                "matchers": {"statuses": [status], "labels": {"fault": f"^{kind}$"}},
                "groupBy": [{"label": "task"}],
                "groupByMessage": False,
            }
            for status, kind, title in _KINDS
        ],
    }


def counts(run: Run) -> str:
    """The counts by which Allure's colours must be read."""
    found = _counts(run)
    lacking = f", {found['missing']} missing" if found["missing"] else ""
    faults = counted(found["broken"], "fault")
    return named(f"{found['wrong']} wrong answers, {faults}{lacking}", limit_of(run.summary))


def meaning(run: Run) -> str:
    """What Allure's statuses mean in a run of a benchmark, with this run's counts."""
    found = _counts(run)
    cases = named(f"{found['passed']} of {counted(found['planned'], 'case')}", limit_of(run.summary))
    sentence = (
        f"{cases} passed. {found['wrong']} have a wrong answer: Allure calls"
        " these failed, but they are results of the model and no faults of the run"
    )
    more = [text for text in (broken(run.summary), not_attempted(run.summary)) if text]
    more = more or ["No case is broken or missing"]
    return ". ".join([sentence, *more, *endpoint_doubts(run.summary), *remarks(run.summary)]) + "."


def _counts(run: Run) -> dict[str, int]:
    parts = run.summary["tasks"].values()
    return {key: sum(part[key] for part in parts) for key in ("planned", "passed", "wrong", "broken", "missing")}


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """For ``environment.properties``: what the statuses mean, the headline figures, what they cost, and the settings
    and data that they depend on. Version 2 and a dashboard without our configuration show them, too."""
    yield "failed", "wrong answers: results of the model, no faults of the run"
    yield "broken", "faults of the run: endpoint, tools, sandbox, data"
    settings = run.summary["run"]
    plain = {key: str(value) for key, value in settings.items() if not isinstance(value, (dict, list, type(None)))}
    yield from ((key, plain.pop(key)) for key in ("model", "dialect"))
    for name, part in run.summary["tasks"].items():
        headline = run.tasks[name].shown.headline
        if figure := part["metrics"].get(headline):
            unit = "" if headline in run.tasks[name].shown.counts else " %"
            value = "no value" if figure["value"] is None else f"{figure['value']:.1f}{unit}"
            yield f"figure.{name}.{headline}", f"{value}{_interval(figure)}"
    yield from ((f"usage.{key}", str(value)) for key, value in _spent(run).items())
    yield from plain.items()
    yield from ((f"data.{name}", data_of(run, name)) for name in settings["data"])
    yield from ((f"tool.{name}", str(state)) for name, state in settings["tools"].items())
    yield from ((f"option.{name.removeprefix('--')}", str(value)) for name, value in settings["options"].items())


def _spent(run: Run) -> dict[str, float]:
    """Cost and tokens."""
    usage = run.summary["usage"]
    names = {"usd": "US dollars", "prompt_tokens": "prompt tokens", "completion_tokens": "completion tokens"}
    return {title: usage[key] for key, title in {**names, "requests": "requests"}.items() if key in usage}


def _interval(figure: Mapping[str, Any]) -> str:
    """The interval and the number of samples behind a figure, where they are known."""
    known = figure.get("low") is not None and figure.get("high") is not None
    parts = [f"95 % {figure['low']:.1f} to {figure['high']:.1f}"] if known else []
    parts += [f"n {figure['n']}"] if figure.get("n") is not None else []
    return f" ({', '.join(parts)})" if parts else ""


# -- metrics, gates, summaries


def metrics(run: Run, same: Identity) -> list[dict[str, Any]]:
    """Allure 3's metrics, with their titles. The key differs between runs of one folder, as Allure adds up equal
    ones."""
    started = milliseconds(run.about["started"])
    times = {"start": started, "stop": milliseconds(run.about["finished"] or run.about["started"])}
    groups = {"capabilities": "Capabilities (our mapping)", "gates": "Gates: 1 holds, 0 fails", "cases": "Cases"}
    groups["usage"] = "Cost and tokens"
    for name in run.summary["tasks"]:
        shown = run.tasks[name].shown
        groups[name] = groups[f"combined.{shown.benchmark}"] = f"{shown.benchmark}: {shown.title}"
    found = []
    for key, title, value in _metrics(run):
        if value is not None:
            own = _key(same, key)
            group = title["group"]
            of = {"group": f"{same.id}/{group}", "groupTitle": f"{groups.get(group, group)} — {same.name}"}
            found.append({"id": own, "key": own, "value": round(value, 4), **title, **of, **times})
    return found


def _key(same: Identity, key: str) -> str:
    return f"{same.id}/{key}"


def _metrics(run: Run) -> Iterator[tuple[str, dict[str, str], float | None]]:
    """Key, title and value of published columns, figures that a project has added, scores that a benchmark combines of
    its tasks, capabilities (percent), cost, gates (1 holds, 0 fails), unfinished cases."""
    for name, part in run.summary["tasks"].items():
        shown = run.tasks[name].shown
        for column in shown.published:
            if figure := part["metrics"].get(column):
                unit = {} if column in shown.counts else {"unit": "%"}
                title = {"title": f"{column}{_interval(figure)}", "group": name, "better": "higher", **unit}
                yield f"{name}.{column}", title, figure["value"]
        for added in (added for added, figure in part["metrics"].items() if figure.get("added")):
            yield f"{name}.{added}", {"title": added, "group": name}, part["metrics"][added]["value"]
    for benchmark, kinds in run.summary["capabilities"].items():
        for kind, scores in kinds.items():
            for name, figure in scores.items():
                title = {"title": f"{name}{_interval(figure)}", "group": f"{benchmark}: {kind}", "unit": "%"}
                yield f"{benchmark}.{kind}.{name}", {**title, "better": "higher"}, figure["value"]
    for name, figure in capabilities(run).items():
        title = {"title": f"{name}{_interval(figure)}", "unit": "%", "group": "capabilities", "better": "higher"}
        yield f"capability.{name}", title, figure["value"]
    for name, value in _spent(run).items():
        yield f"usage.{name}", {"title": name, "group": "usage", "better": "lower"}, float(value)
    for gate in _gates(run):
        title = {"title": gate["text"], "group": "gates", "better": "higher"}
        yield f"gate.{gate['text']}", title, float(gate["problem"] is None)
    unfinished = sum(part["broken"] + part["missing"] for part in run.summary["tasks"].values())
    yield UNFINISHED, {"title": "broken or missing", "group": "cases", "better": "lower"}, float(unfinished)


def _gates(run: Run) -> list[dict[str, Any]]:
    """The run's gates: ``text``, and ``problem``, a sentence or None where it holds."""
    return list(run.about.get("gates", ()))


def _attachments(run: Run, same: Identity, folder: Path) -> Iterator[dict[str, str]]:
    """The run's own summaries, copied."""
    for name, kind in (("leaderboard.md", "text/markdown"), ("summary.json", "application/json")):
        source = f"{same.id}-{Path(name).stem}-attachment{Path(name).suffix}"
        with contextlib.suppress(FileNotFoundError, UsageProblem), open_plain(run.path / name) as stream:
            (folder / source).write_bytes(whole(stream))
            yield {"name": f"{name} · {same.name}", "source": source, "type": kind}


# -- all runs of a folder


def runs_in(folder: Path) -> list[dict[str, Any]]:
    """What each run has left about itself, in order."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("agentgauge-*.json"))]


def name_of(folder: Path) -> str:
    """The name of the dashboard, as the configuration gives it."""
    return " | ".join(run["name"] for run in runs_in(folder))[:200]


def history(folder: Path) -> Path:
    """What Allure remembers of runs with the same models, data and cases, as the configuration names it, without the
    file's ending."""
    runs = runs_in(folder)
    ids = "+".join(run["environment"]["id"] for run in runs)
    name = ids if len(runs) == 1 else f"{len(runs)}-runs-{digest(ids)[:8]}"
    return folder / str(runs[0]["history"]) / name


def notes_of(folder: Path) -> list[str]:
    """What the statuses mean, for each run."""
    runs = runs_in(folder)
    return [run["meaning"] if len(runs) == 1 else f"{run['environment']['name']}: {run['meaning']}" for run in runs]


def _properties(runs: Sequence[Mapping[str, Any]]) -> str:
    """``environment.properties``: one line for each fact; where runs differ, what each of them has."""
    lines = {}
    for key in dict.fromkeys(key for run in runs for key in run["facts"]):
        values = {run["run"]: run["facts"][key] for run in runs if key in run["facts"]}
        same = len(values) == len(runs) and len({*values.values()}) == 1
        value = runs[0]["facts"][key] if same else " | ".join(f"{run}: {value}" for run, value in values.items())
        lines[re.sub(r"[\s=:#!\\]", "_", key)] = line(value, 300).replace("\\", r"\\")
    return "".join(f"{key}={value}\n" for key, value in lines.items())

"""Files that the results of a run share: environment, categories, metrics, gates, and Allure's configuration."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.capabilities import BREAKS, FAULTS, presentation_of
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain, whole
from agentgauge.core.task_registry import find_task
from agentgauge_reports.allure.dashboard import executor, history_folder, title
from agentgauge_reports.allure.steps import milliseconds
from agentgauge_reports.capabilities import capabilities
from agentgauge_reports.load import Run
from agentgauge_reports.safe_text import clean, line

HISTORY_LIMIT = 30
"""Runs of a model that a trend goes back."""

UNFINISHED = "cases.unfinished"
"""Key of the metric that counts broken and missing cases."""

_KINDS = [
    (status, kind, title) for status, kinds in (("failed", FAULTS), ("broken", BREAKS)) for kind, title in kinds.items()
]

Json = Mapping[str, Any] | list[Any]


def run_files(run: Run, folder: Path) -> dict[str, str | Json]:
    """File name → text, or a value for JSON: all besides results and attachments. ``folder``: where they will lie."""
    return {
        "environment.properties": environment(run),
        "categories.json": [
            # all that version 2 has to go by is the message; in JavaScript and in Java the expression means the same
            {"name": title, "matchedStatuses": [status], "messageRegex": rf"^{re.escape(title)}: [\s\S]*$"}
            for status, _, title in _KINDS
        ],
        "executor.json": executor(run),
        "agentgauge-perf.json": metrics(run),
        "agentgauge-globals.json": {
            "attachments": _global_attachments(run, folder),
            "errors": [{"message": gate["problem"]} for gate in _gates(run) if gate["problem"]],
        },
        "allurerc.json": configuration(run, folder),
    }


def environment(run: Run) -> str:
    """``environment.properties``: the settings and data that the figures depend on, one line each."""
    about = run.summary["run"]
    facts = {key: value for key, value in about.items() if value is not None and not isinstance(value, (dict, list))}
    facts |= {
        f"data.{name}": f"{'official' if data['official'] else 'bundled'} {data['fingerprint']}"
        for name, data in about["data"].items()
    }
    facts |= {f"tool.{name}": state for name, state in about["tools"].items()}
    facts |= {f"option.{name.removeprefix('--')}": value for name, value in about["options"].items()}
    lines = {
        re.sub(r"[\s=:#!\\]", "_", clean(key)): line(str(value), 300).replace("\\", r"\\")
        for key, value in facts.items()
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def metrics(run: Run) -> list[dict[str, Any]]:
    """Allure 3's metrics."""
    started = milliseconds(run.about["started"])
    finished = milliseconds(run.about["finished"] or run.about["started"])
    return [
        {"id": key, "key": key, "value": round(value, 4), "start": started, "stop": finished}
        for key, _, value in _metrics(run)
        if value is not None
    ]


def _titles(run: Run) -> dict[str, Any]:
    """Groups and names of the metrics."""
    groups = {"capabilities": "Capabilities (our mapping)", "gates": "Gates: 1 holds, 0 fails", "cases": "Cases"}
    for name in run.summary["tasks"]:
        task = presentation_of(find_task(name))
        groups[name] = f"{task.benchmark}: {task.title}"
    shown = {key: title for key, title, _ in _metrics(run)}
    used = {title["group"] for title in shown.values()}
    return {"groups": {key: {"title": title} for key, title in groups.items() if key in used}, "metrics": shown}


def _metrics(run: Run) -> Iterator[tuple[str, dict[str, str], float | None]]:
    """Key, title and value of published columns, capabilities (percent), gates (1 holds, 0 fails), unfinished cases."""
    for name, part in run.summary["tasks"].items():
        task = presentation_of(find_task(name))
        for column in task.published:
            if column in part["metrics"]:
                unit = {} if column in task.counts else {"unit": "%"}
                title = {"title": column, "group": name, "better": "higher", **unit}
                yield f"{name}.{column}", title, part["metrics"][column]["value"]
    for name, part in capabilities(run).items():
        title = {"title": name, "unit": "%", "group": "capabilities", "better": "higher"}
        yield f"capability.{name}", title, part["value"]
    for gate in _gates(run):
        title = {"title": gate["text"], "group": "gates", "better": "higher"}
        yield f"gate.{gate['text']}", title, float(gate["problem"] is None)
    unfinished = sum(part["broken"] + part["missing"] for part in run.summary["tasks"].values())
    yield UNFINISHED, {"title": "broken or missing", "group": "cases", "better": "lower"}, float(unfinished)


def _gates(run: Run) -> list[dict[str, Any]]:
    """The run's gates: ``text``, and ``problem``, a sentence or None where it holds."""
    return list(run.about.get("gates", ()))


def _global_attachments(run: Run, folder: Path) -> list[dict[str, str]]:
    """The run's own summaries, copied."""
    attached = []
    for name, kind in (("leaderboard.md", "text/markdown"), ("summary.json", "application/json")):
        source = f"{Path(name).stem}-attachment{Path(name).suffix}"
        with contextlib.suppress(FileNotFoundError, UsageProblem), open_plain(run.path / name) as stream:
            (folder / source).write_bytes(whole(stream))
            attached.append({"name": name, "source": source, "type": kind})
    return attached


def configuration(run: Run, folder: Path) -> dict[str, Any]:
    """``allurerc.json`` of Allure 3, for a start in ``folder``: two trees, charts, categories, history, gates."""
    name = run.name if run.name.endswith(run.model) else f"{run.model} · {run.name}"
    history = os.path.relpath(history_folder(run) / "history.jsonl", folder.absolute())
    gates = [{"id": gate["text"], "metricMin": {"key": f"gate.{gate['text']}", "value": 1}} for gate in _gates(run)]
    return {
        "name": line(name, 150),
        "historyPath": Path(history).as_posix(),
        "historyLimit": HISTORY_LIMIT,
        "plugins": {
            "awesome": {
                "options": {
                    "reportName": line(f"By benchmark · {name} · {title(run)}", 150),
                    "charts": CHARTS,
                    "sections": ["charts"],
                }
            },
            "capabilities": {
                "import": "@allurereport/plugin-awesome",
                "options": {
                    "reportName": line(f"By capability · {name} · {title(run)}", 150),
                    "groupBy": ["parentSuite", "suite"],
                    "charts": CHARTS,
                },
            },
        },
        "categories": {
            "rules": [
                {
                    "id": kind,
                    "name": title,
                    "matchers": {"statuses": [status], "labels": {"fault": f"^{kind}$"}},
                    "groupBy": [{"label": "task"}],
                    "groupByMessage": False,
                }
                for status, kind, title in _KINDS
            ]
        },
        "performance": _titles(run),
        "qualityGate": {"rules": [{"id": "unfinished", "metricMax": {"key": UNFINISHED, "value": 0}}, *gates]},
    }


CHARTS: list[dict[str, Any]] = [
    {"type": "currentStatus", "title": "Cases by status"},
    {"type": "statusDynamics", "title": "Status over this model's runs", "limit": 10},
    {"type": "statusTransitions", "title": "Cases that turned since the run before", "limit": 10},
    {"type": "stabilityDistribution", "title": "Stability by task", "threshold": 90, "groupBy": "label-name:task"},
    {"type": "durations", "title": "How long cases took", "groupBy": "none"},
]
"""Those of Allure's charts that say something about a model."""

"""The dashboard: the files that a run's results share, and Allure, which makes the dashboard and keeps a history."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain, whole
from agentgauge.core.presentation import BREAKS, FAULTS
from agentgauge.core.text import clean
from agentgauge_reports.allure.content import milliseconds
from agentgauge_reports.grouping import capabilities
from agentgauge_reports.load import Run
from agentgauge_reports.notices import broken, endpoint_doubts, limit_of, named, not_attempted, remarks
from agentgauge_reports.text import line

DASHBOARD = "dashboard"
"""Folder of the dashboard, below that of the results."""

HISTORY = "allure-history"
"""Folder beside the runs: what Allure remembers of each model's runs."""

COUNTER = re.compile(r"<script async src=\"https://www\.googletagmanager\.com/[^>]*></script>")

BODY = re.compile(r"<body[^>]*>")

OPENER = """<script>document.addEventListener("click", (event) => {
  const link = event.target.closest('[data-testid="test-result-meta-link"]');
  if (link && !event.target.closest("a") && /^[^:]*report\\.html#case=/.test(link.textContent)) window.open(link.textContent);
});</script>
<style>[data-testid="test-result-meta-link"] { cursor: pointer; text-decoration: underline; }
.agentgauge-meaning { margin: 0; padding: 10px 16px; text-align: center; font: 14px/1.4 system-ui, sans-serif; background: #fff4d6; color: #3d3000; }</style>
</head>"""  # noqa: E501
"""Version 3 shows relative links, such as those to our transcripts, but does not open them. The style is that of the
note at the top."""

SMALL = 500
"""Bytes below which a file is not worth looking at twice."""

SECONDS = 1200
"""Seconds after which Allure is stopped."""


def history_folder(run: Run) -> Path:
    """The folder of Allure's history of the model: version 3 in ``history.jsonl``, version 2 in ``history``."""
    safe = re.sub(r"[^\w.-]+", "-", run.model).strip(".-") or "model"
    return run.path.absolute().parent / HISTORY / safe


def executor(run: Run) -> dict[str, Any]:
    """``executor.json``: version 2's name for a run in its trends."""
    return {
        "name": "AgentGauge",
        "type": "agentgauge",
        "buildName": run.name,
        "buildOrder": int(run.about["started"]),
        "reportName": run.name,
    }


def find_command() -> str | None:
    """The ``allure`` command of this machine: on the path, or installed by npm in the current folder."""
    return shutil.which("allure") or shutil.which("allure", path=str(Path("node_modules/.bin").absolute()))


def make_dashboard(run: Run, folder: Path) -> list[str]:
    """Generate the dashboard of the results in ``folder``. Returns lines for the user: where the dashboard is, or how
    to make it.

    Raises UsageProblem if the ``allure`` command exists and fails.
    """
    command = find_command()
    if command is None:
        return [
            "there is no allure command here (install it with: npm install -g allure), so there is no dashboard yet;"
            " make it with",
            f"  cd {shlex.quote(str(folder))} && npx allure generate . --config allurerc.json --output {DASHBOARD}",
        ]
    version = _run_allure([command, "--version"], folder).strip().splitlines()[-1:]
    if version and version[0].startswith("2."):
        _generate2(command, run, folder)
    else:
        _generate3(command, run, folder)
    _finish(run, folder)
    return [f"dashboard: {folder / DASHBOARD}/index.html; to open it, serve it over HTTP:", f"  {_serve(run, folder)}"]


def title(run: Run) -> str:
    """The title of a run, with the counts by which Allure's colours must be read."""
    counts = _counts(run)
    lacking = f", {counts['missing']} missing" if counts["missing"] else ""
    faults = "1 fault" if counts["broken"] == 1 else f"{counts['broken']} faults"
    return named(f"{counts['wrong']} wrong answers, {faults}{lacking}", limit_of(run.summary))


def meaning(run: Run) -> str:
    """What Allure's statuses mean in a run of a benchmark, with this run's counts."""
    counts = _counts(run)
    cases = named(f"{counts['passed']} of {counts['planned']} cases", limit_of(run.summary))
    sentence = (
        f"{cases} passed. {counts['wrong']} have a wrong answer: Allure calls"
        " these failed, but they are results of the model and no faults of the run"
    )
    more = [text for text in (broken(run.summary), not_attempted(run.summary)) if text]
    more = more or ["No case is broken or missing"]
    return ". ".join([sentence, *more, *endpoint_doubts(run.summary), *remarks(run.summary)]) + "."


def _counts(run: Run) -> dict[str, int]:
    parts = run.summary["tasks"].values()
    return {key: sum(part[key] for part in parts) for key in ("planned", "passed", "wrong", "broken", "missing")}


def _finish(run: Run, folder: Path) -> None:
    """Make the dashboard say what it means, ask no other host (Allure writes a counter of visits into its pages) and
    open our links; keep equal files once.

    Both trees, and the results themselves, hold the same transcripts and pictures.
    """
    note = f'<p class="agentgauge-meaning" role="note">{escape(meaning(run))}</p>'
    known: dict[tuple[int, str], Path] = {}
    dashboard = folder / DASHBOARD
    for file in (*sorted(folder.glob("*-attachment*")), *sorted(dashboard.rglob("*"))):
        if not file.is_file():
            continue
        if file.name == "index.html":
            page = file.read_text(encoding="utf-8")
            page = COUNTER.sub("", page).replace("</head>", OPENER, 1)
            file.write_text(BODY.sub(lambda body: body[0] + note, page, count=1), encoding="utf-8")
        elif file.stat().st_size >= SMALL:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            first = known.setdefault((file.stat().st_size, digest), file)
            if first is not file:
                _link_file(first, file)


def _link_file(first: Path, file: Path) -> None:
    """Make ``file`` another name of ``first``, where the file system knows of such."""
    scratch = file.with_name(file.name + ".link")
    try:
        os.link(first, scratch)
    except OSError:  # then it stays a copy
        return
    scratch.replace(file)


def _serve(run: Run, folder: Path) -> str:
    """How to look at it: the folder that is served holds the run as well, for the links to its transcripts."""
    shown = (folder / DASHBOARD).absolute()
    root = Path(os.path.commonpath([shown, run.path.absolute()]))
    return (
        f"python3 -m http.server --directory {shlex.quote(str(root))}, then"
        f" http://127.0.0.1:8000/{shown.relative_to(root).as_posix()}/"
    )


def _generate3(command: str, run: Run, folder: Path) -> None:
    file = history_folder(run) / "history.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    name = json.loads((folder / "allurerc.json").read_text(encoding="utf-8"))["name"]
    if file.exists():  # a run is one point of a trend, however often it was looked at
        with file.open(encoding="utf-8") as stream:
            kept = [text for text in stream if text.strip() and json.loads(text)["name"] != name]
        file.write_text("".join(kept), encoding="utf-8")
    shutil.rmtree(folder / DASHBOARD, ignore_errors=True)
    _run_allure([command, "generate", ".", "--config", "allurerc.json", "--output", DASHBOARD], folder)


def _generate2(command: str, run: Run, folder: Path) -> None:
    kept, given = history_folder(run) / "history", folder / "history"
    shutil.rmtree(given, ignore_errors=True)
    trend = kept / "history-trend.json"
    order = executor(run)["buildOrder"]
    if trend.exists():
        points = json.loads(trend.read_text(encoding="utf-8"))
        if all(point.get("buildOrder") != order for point in points):
            shutil.copytree(kept, given)
    _run_allure([command, "generate", ".", "--clean", "--output", DASHBOARD], folder)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder / DASHBOARD / "history", kept)


def _run_allure(command: list[str], folder: Path) -> str:
    quiet = {**os.environ, "ALLURE_NO_ANALYTICS": "1", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=quiet, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageProblem(
            f"{command[0]} cannot be used: {error}; the results in {folder} are complete without it"
        ) from None
    if done.returncode:
        last_lines = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise UsageProblem(
            f"{' '.join(command[:2])} failed in {folder}: {' '.join(last_lines) or f'exit status {done.returncode}'}"
        )
    return done.stdout


# -- files that the results of a run share: environment, categories, metrics, gates, configuration

HISTORY_LIMIT = 30
"""Runs of a model that a trend goes back."""

UNFINISHED = "cases.unfinished"
"""Key of the metric that counts broken and missing cases."""

_KINDS = [
    (status, kind, title) for status, kinds in (("failed", FAULTS), ("broken", BREAKS)) for kind, title in kinds.items()
]

JsonFile = Mapping[str, Any] | list[Any]


def run_files(run: Run, folder: Path) -> dict[str, str | JsonFile]:
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
        shown = run.tasks[name].shown
        groups[name] = f"{shown.benchmark}: {shown.title}"
    titles = {key: title for key, title, _ in _metrics(run)}
    used = {title["group"] for title in titles.values()}
    return {"groups": {key: {"title": title} for key, title in groups.items() if key in used}, "metrics": titles}


def _metrics(run: Run) -> Iterator[tuple[str, dict[str, str], float | None]]:
    """Key, title and value of published columns, figures that a project has added, capabilities (percent), gates (1
    holds, 0 fails), unfinished cases."""
    for name, part in run.summary["tasks"].items():
        shown = run.tasks[name].shown
        for column in shown.published:
            if column in part["metrics"]:
                unit = {} if column in shown.counts else {"unit": "%"}
                title = {"title": column, "group": name, "better": "higher", **unit}
                yield f"{name}.{column}", title, part["metrics"][column]["value"]
        for added in (added for added, figure in part["metrics"].items() if figure.get("added")):
            yield f"{name}.{added}", {"title": added, "group": name}, part["metrics"][added]["value"]
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

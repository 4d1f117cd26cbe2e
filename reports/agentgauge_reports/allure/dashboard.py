"""The dashboard: finding the ``allure`` command, keeping its history, generating."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from html import escape
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge_reports.load import Run
from agentgauge_reports.notices import broken, endpoint_doubts, limit_of, named, not_attempted, remarks

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
    version = _run([command, "--version"], folder).strip().splitlines()[-1:]
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
                _link(first, file)


def _link(first: Path, file: Path) -> None:
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
    _run([command, "generate", ".", "--config", "allurerc.json", "--output", DASHBOARD], folder)


def _generate2(command: str, run: Run, folder: Path) -> None:
    kept, given = history_folder(run) / "history", folder / "history"
    shutil.rmtree(given, ignore_errors=True)
    trend = kept / "history-trend.json"
    order = executor(run)["buildOrder"]
    if trend.exists():
        points = json.loads(trend.read_text(encoding="utf-8"))
        if all(point.get("buildOrder") != order for point in points):
            shutil.copytree(kept, given)
    _run([command, "generate", ".", "--clean", "--output", DASHBOARD], folder)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder / DASHBOARD / "history", kept)


def _run(command: list[str], folder: Path) -> str:
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

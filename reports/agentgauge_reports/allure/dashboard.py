"""The dashboard: Allure makes it of results, and keeps a history. Ours besides: a note, and links that open."""

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

from agentgauge.core.errors import UsageProblem
from agentgauge_reports.allure.run_files import CONFIGURATION, DASHBOARD, history, name_of, notes_of
from agentgauge_reports.load import Run

COUNTER = re.compile(r"<script async src=\"https://www\.googletagmanager\.com/[^>]*></script>")

BODY = re.compile(r"<body[^>]*>")

OPENER = """<script>document.addEventListener("click", (event) => {
  const link = event.target.closest('[data-testid="test-result-meta-link"]');
  if (link && !event.target.closest("a") && /^[^:]*report\\.html#case=/.test(link.textContent)) window.open(link.textContent);
});</script>
<style>[data-testid="test-result-meta-link"] { cursor: pointer; text-decoration: underline; }
.agentgauge-meaning p { margin: 0; }
.agentgauge-meaning { padding: 10px 16px; text-align: center; font: 14px/1.4 system-ui, sans-serif; background: #fff4d6; color: #3d3000; }</style>
</head>"""  # noqa: E501
"""Version 3 shows relative links, such as those to our transcripts, but does not open them. The style is that of the
note at the top."""

SMALL = 500
"""Bytes below which a file is not worth looking at twice."""

SECONDS = 1200
"""Seconds after which Allure is stopped."""


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
            f"  npx allure generate --config {shlex.quote(str(folder / CONFIGURATION))}",
        ]
    version = _run_allure([command, "--version"], folder).strip().splitlines()[-1:]
    if version and version[0].startswith("2."):
        _generate2(command, folder)
    else:
        _generate3(command, folder)
    _finish(folder)
    return [f"dashboard: {folder / DASHBOARD}/index.html; to open it, serve it over HTTP:", f"  {_serve(run, folder)}"]


def _finish(folder: Path) -> None:
    """Make the dashboard say what it means, ask no other host (Allure writes a counter of visits into its pages) and
    open our links; keep equal files once.

    Both trees, and the results themselves, hold the same transcripts and pictures.
    """
    notes = "".join(f"<p>{escape(text)}</p>" for text in notes_of(folder))
    note = f'<div class="agentgauge-meaning" role="note">{notes}</div>'
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


def _generate3(command: str, folder: Path) -> None:
    file = history(folder).with_suffix(".jsonl")
    name = name_of(folder)
    if file.exists():  # a run is one point of a trend, however often it was looked at
        with file.open(encoding="utf-8") as stream:
            kept = [text for text in stream if text.strip() and json.loads(text)["name"] != name]
        file.write_text("".join(kept), encoding="utf-8")
    shutil.rmtree(folder / DASHBOARD, ignore_errors=True)
    _run_allure([command, "generate", "--config", CONFIGURATION], folder)


def _generate2(command: str, folder: Path) -> None:
    kept, given = history(folder), folder / "history"
    shutil.rmtree(given, ignore_errors=True)
    trend = kept / "history-trend.json"
    order = json.loads((folder / "executor.json").read_text(encoding="utf-8"))["buildOrder"]
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

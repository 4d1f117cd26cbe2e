"""Writes run folders with passed, wrong, broken and missing cases, by the code of any checkout.

    python -m tests.run_folders.make CHECKOUT NAME

The folders are written below ``tests/run_folders/NAME``. ``CHECKOUT``'s packages go before the installed ones. Where
its entry points differ from the installed ones, it needs a ``dist-info`` folder that has them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.model.fault_server import Act, FaultServer, Seen, answer, silence, status, tool_call

HERE = Path(__file__).parent
TOOLS = """
[tools]
basic = true
missing = "disable"
"""
"""Of the project's agentgauge.toml. A run is resumed with the same tool settings alone."""

KEPT = ("run.json", "planned.json", "records.jsonl", "summary.json", "leaderboard.md", "files")
RUNS = {
    "gta": (
        (
            *(f"bench_gta/test_e2e.py::test_end_to_end[{sample}]" for sample in ("0", "20")),
            *(f"bench_gta/test_step.py::test_step_by_step[{sample}]" for sample in ("0", "20")),
            *(f"bench_gta/test_workflow.py::test_workflow[{sample}]" for sample in ("0", "8")),
        ),
        ("bench_gta",),
    ),
    "wild-mmau": (
        (
            "bench_wild/test_wild.py::test_task[wild_tool_bench_0-t1]",
            "bench_wild/test_wild.py::test_task[wild_tool_bench_8-t1]",
            "bench_mmau/test_contests.py::test_parsing[contest_understand_runs]",
            "bench_mmau/test_contests.py::test_parsing[contest_understand_edits]",
            "bench_mmau/test_dag_qa.py::test_planning[plan-concise-single-weather]",
            "bench_mmau/test_dag_qa.py::test_planning[plan-concise-double-salary]",
            "bench_mmau/test_mathematics.py::test_standard[math_algebra__linear_1d_1]",
            "bench_mmau/test_mathematics.py::test_standard[math_numbers__div_remainder_1]",
            "bench_mmau/test_tool_use.py::test_single[single-rail]",
            "bench_mmau/test_tool_use.py::test_single[single-calendar]",
        ),
        ("bench_wild", "bench_mmau"),
    ),
}
"""Folder → its cases and benchmarks. Those with tools are a run of their own: its resume is refused where a tool or one
of its libraries has another version."""

FILE = "FILE OF THE QUESTION"
REPLIES: dict[str, list[Any]] = {
    "Three of us share this shopping": [
        ("OCR", {"image": FILE}),
        ("Calculator", {"expression": "round((29.19 - 6.40) / 3, 2)"}),
        "Each of the other two owes you 7.60 euros.",
    ],
    "hall_bells.wav": [
        ("AudioClipTool", {"audio": FILE, "start_time": 1.0, "end_time": 4.0, "filename": "opening.mp3"}),
        ("AudioClipTool", {"audio": FILE, "start_time": 5.0, "end_time": 7.5, "filename": "closing.mp3"}),
        "opening.mp3 is the chime, 3 seconds long, and closing.mp3 the gong, 2.5 seconds long.",
    ],
    "in French about growing mushrooms": [
        ("searchCatalogue", {"query": "growing mushrooms at home", "language": "fr", "only_available": True}),
        "Two are there: Champignons chez soi (BK-20418) and La cave aux pleurotes (BK-31977).",
    ],
    "every run of equal letters": ["#ANSWER#: q1"],
    "How warm will it be": ["Chosen Plan: 1"],
    "Solve 10*x - 15": ["#THOUGHTS# Both sides.\n#ANSWER#: -4"],
}
"""What the model says, turn by turn, to a case whose messages hold these words. To others it says that it does not
know, which is wrong. ``FILE`` is the file that the first message names."""

BREAKS = ("PX-60017", "44810")
INTERRUPTS = "You help people by using tools."


def choose(interrupt: threading.Event, seen: Seen) -> Act:
    """The endpoint's reply to a request; it refuses two cases for good, and never answers the last ones."""
    said = json.dumps(seen.body["messages"], ensure_ascii=False)
    if INTERRUPTS in said:
        interrupt.set()
        return silence(30)
    if any(words in said for words in BREAKS):
        return status(400, "this request is not accepted")
    replies = next((replies for words, replies in REPLIES.items() if words in said), ["I do not know."])
    turn = sum(message["role"] == "assistant" for message in seen.body["messages"])
    reply = replies[min(turn, len(replies) - 1)]
    if isinstance(reply, str):
        return answer(reply)
    name, arguments = reply
    if named := re.search(r"These files belong to the question: `([^`]+)`", said):
        arguments = {key: named[1] if value == FILE else value for key, value in arguments.items()}
    return answer(None, tool_calls=[tool_call(name, json.dumps(arguments), f"call_{turn}")])


def command(checkout: Path, project: Path, benchmarks: Sequence[str], *arguments: str) -> list[str]:
    """pytest, as words for Python, for ``checkout``'s benchmarks in a project of its own, whose settings are then not
    those of a checkout."""
    (project / "agentgauge.toml").write_text(TOOLS)
    (project / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider -p no:anyio\n")
    plugin = "agentgauge.pytest_plugin" if (checkout / "agentgauge").is_dir() else "harness.plugin"
    places = ["-c", "pytest.ini", "--rootdir", str(project), "--confcutdir", str(project)]
    paths = [str(checkout / name) for name in benchmarks]
    return ["-m", "pytest", "-p", plugin, *places, *paths, *arguments]


def make(checkout: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for name, (cases, _) in RUNS.items():
        interrupt = threading.Event()
        with tempfile.TemporaryDirectory() as place, FaultServer(choose=partial(choose, interrupt)) as server:
            project = Path(place).resolve()
            run = project / "runs" / name
            model = ("--model=m", f"--model-url={server.url}", "--in-flight=1")
            words = command(checkout, project, cases, *model, f"--run-dir={run}")
            with subprocess.Popen(
                [sys.executable, *words], cwd=project, env=os.environ | {"PYTHONPATH": str(checkout)}
            ) as process:
                while process.poll() is None:
                    if interrupt.wait(0.1):
                        process.send_signal(signal.SIGINT)
                        break
            neutral = {
                server.url: "http://127.0.0.1:8000/v1",
                str(project): "/home/user/project",
                str(checkout): "/home/user/agentgauge",
            }
            keep(run, folder / name, neutral)


def keep(run: Path, folder: Path, neutral: Mapping[str, str]) -> None:
    """Copy the files that do not depend on the machine, with ``neutral`` names for its folders and addresses."""
    folder.mkdir(parents=True)
    for path in (run / name for name in KEPT if (run / name).exists()):
        if path.is_dir():
            shutil.copytree(path, folder / path.name)
            continue
        text = path.read_text()
        for name, instead in neutral.items():
            text = text.replace(name, instead)
        (folder / path.name).write_text(text)


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve(), HERE / sys.argv[2])

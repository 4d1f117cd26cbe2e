"""Two equal runs, the second of which gets the results of its pure tools from the first: nothing else differs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.plugin.project import records, run_gta
from tests.reports.runs import chunks, page_data
from tool_impls.registry import TOOLS

PLAN = ("-m", "gta_atomic_e2e", "-k", "19 or 29 or 31", "--model", "oracle", "--run-dir", "run")
CLOCK = {"start", "started", "seconds", "times", "finished"}
OF_THE_PROCESSES = {"services.json", "logs/model.log"}  # ports


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


def contents(run: Path) -> dict[str, Any]:
    """What a run folder holds but for what the clock says, and the word cached."""
    found: dict[str, Any] = {}
    for path in sorted(path for path in run.rglob("*") if path.is_file()):
        name = path.relative_to(run).as_posix()
        if name == "records.jsonl":
            found[name] = sorted(map(json.dumps, without(records(run), {*CLOCK, "cached"})))
        elif name in ("summary.json", "run.json"):
            found[name] = re.sub(r'"(seconds|started|finished)": [0-9.e-]+', "", path.read_text())
        elif name == "report.html":
            found[name] = page_data(path), without(chunks(path), CLOCK)
        elif not re.fullmatch(r"report-data/\d+\.js", name) and name not in OF_THE_PROCESSES:
            found[name] = path.read_bytes()
    return found


def test_a_run_with_kept_results_differs_in_seconds_and_the_word_cached_alone(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for name in ("cold", "warm"):
        (tmp_path / name).mkdir()
        run_gta(*PLAN, cwd=tmp_path / name, env=env)
    cold, warm = (tmp_path / name / "run" for name in ("cold", "warm"))
    calls = {run: [event for record in records(run) for event in tool_calls(record)] for run in (cold, warm)}
    assert {event["name"] for event in calls[warm]} == {"OCR", "Calculator", "DrawBox", "ImageDescription", "AddText"}
    assert not any("cached" in event["detail"] for event in calls[cold])
    assert all(("cached" in event["detail"]) is TOOLS[event["name"]].pure for event in calls[warm])
    worked = sum(event["seconds"] for event in calls[cold])
    assert 0 < sum(event["detail"].get("cached", 0) for event in calls[warm]) < worked
    assert contents(warm) == contents(cold) and list((warm / "files").rglob("*.png"))
    times = [took for chunk in chunks(warm / "report.html") for case in chunk for took in case["seconds"]]
    assert sum(isinstance(took, list) for took in times) == sum("cached" in event["detail"] for event in calls[warm])


def tool_calls(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in record["transcript"]["events"] if event["kind"] == "tool"]

"""A run in the shared schema Every Eval Ever, version 0.3.0: figures, and every case as an instance.

For each benchmark ``data/BENCHMARK/DEVELOPER/MODEL/UUID.json`` and ``UUID_samples.jsonl``, as the schema's repository
has them. The developer is the part before the slash in the model's name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from agentgauge.core.capabilities import presentation_of
from agentgauge.core.task import Task
from agentgauge_reports.formats.every_eval_ever_samples import SCHEMA, Instances
from agentgauge_reports.formats.output import empty_folder, encoded, run_id
from agentgauge_reports.leaderboard import by_benchmark, not_comparable
from agentgauge_reports.load import Run, load_run
from agentgauge_reports.results.metrics import Metrics
from agentgauge_reports.results.rows import MetricResult
from agentgauge_reports.unshown import Unshown


def write(run: Path, output: Path, unshown: Unshown) -> list[Path]:
    """Write the files of every benchmark below ``output``. Raises UsageProblem where the folder is not empty."""
    empty_folder(output)
    loaded = load_run(run, tolerant=True)
    unshown.problems += loaded.problems
    instances = Instances(loaded, model_id(loaded.model), unshown)
    written = []
    for benchmark, tasks in by_benchmark(loaded.summary).items():
        written += _write(loaded, benchmark, tasks, output, instances)
    unshown.notes += [instances.gold.note] if instances.gold.note else []
    return written


def model_id(name: str) -> str:
    """``developer/model``; a name without a slash has an unknown developer."""
    return name if "/" in name.strip("/") else f"unknown/{name}"


def _write(run: Run, benchmark: str, tasks: Sequence[Task], output: Path, instances: Instances) -> list[Path]:
    collection = re.sub(r"[^a-z0-9]+", "-", benchmark.lower()).strip("-") or "benchmark"
    developer, _, model = instances.model_id.partition("/")
    name = UUID(bytes=hashlib.sha256(f"{run_id(run)} {benchmark}".encode()).digest()[:16], version=4)
    place = Path("data", collection, _portable(developer), _portable(model))
    samples, main = place / f"{name}_samples.jsonl", output / place / f"{name}.json"
    evaluation = f"{collection}/{instances.model_id}/{_seconds(run, 'finished')}"
    figures = _figures(run, benchmark, tasks)
    main.parent.mkdir(parents=True, exist_ok=True)
    rows, checksum = 0, hashlib.sha256()
    with (output / samples).open("wb") as stream:
        for line in instances.of([task.name for task in tasks], evaluation, {one.key for one in figures}):
            stream.write(line)
            checksum.update(line)
            rows += 1
    if not rows:
        (output / samples).unlink()
    detailed = {
        "format": "jsonl",
        "file_path": samples.as_posix(),
        "hash_algorithm": "sha256",
        "checksum": checksum.hexdigest(),
        "total_rows": rows,
    }
    log = _aggregate(run, tasks, evaluation, figures) | ({"detailed_evaluation_results": detailed} if rows else {})
    main.write_bytes(encoded(log, indent=1) + b"\n")
    return [main, *([output / samples] if rows else [])]


def _portable(name: str) -> str:
    """As a folder on every system, as the schema's repository writes names; a long one is cut."""
    name = name.encode("utf-8", "replace")[:200].decode("utf-8", "ignore")
    return re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).rstrip(". ") or "unknown"


def _seconds(run: Run, key: str) -> str:
    return str(int(run.about[key] or run.about["started"]))


def _figures(run: Run, benchmark: str, tasks: Iterable[Task]) -> list[MetricResult]:
    """What the benchmark publishes, of which more is better, pass@k and pass^k, and what it makes of several tasks;
    none of mostly broken tasks."""
    published = {task.name: presentation_of(task).published for task in tasks}
    return [
        one
        for one in Metrics(run.summary)
        if one.value is not None and not one.warning and not one.is_count
        if one.name in published.get(one.task, ())
        or (one.task in published and one.name.startswith(("pass@", "pass^")))
        or (not one.task and one.benchmark == benchmark)
    ]


def _aggregate(run: Run, tasks: Sequence[Task], evaluation: str, figures: Iterable[MetricResult]) -> dict[str, Any]:
    about, settings = run.summary["run"], run.about["settings"]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "evaluation_timestamp": _seconds(run, "started"),
        "retrieved_timestamp": _seconds(run, "finished"),
        "source_metadata": {
            "source_name": "AgentGauge",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "agentgauge", "version": about["agentgauge"]},
        "model_info": {
            "name": run.model,
            "id": model_id(run.model),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [
            _result(run, [task for task in tasks if one.task in ("", task.name)], one, settings.get("model", {}))
            for one in figures
        ],
    }


def _result(run: Run, tasks: Sequence[Task], figure: MetricResult, model: Mapping[str, Any]) -> dict[str, Any]:
    """``tasks``: that of the figure; all of the benchmark for a score that it makes of several."""
    about, interval = run.summary["run"], figure.interval
    data = [about["data"][task.name] for task in tasks]
    scale = tasks[0].metrics(about["scoring"]).scale.get(figure.name, 100.0)
    reasons = "; ".join(not_comparable(run.summary, tasks))
    uncertain: dict[str, Any] = {"num_samples": figure.n} if figure.task else {}
    if interval:
        ends = {"lower": interval[0], "upper": interval[1], "confidence_level": 0.95}
        uncertain["confidence_interval"] = ends
    generation = {key: model[key] for key in ("temperature", "max_tokens") if model.get(key) is not None}
    return {
        "evaluation_result_id": figure.key,
        "evaluation_name": figure.task or figure.key,
        "source_data": {
            "dataset_name": figure.benchmark,
            "source_type": "other",
            "additional_details": {
                "official": str(all(one["official"] for one in data)).lower(),
                "fingerprint": " ".join(dict.fromkeys(one["fingerprint"] for one in data)),
            },
        },
        "metric_config": {
            "metric_id": figure.key,
            "metric_name": figure.name,
            "metric_unit": "percent" if scale == 100 else "points",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": scale if (figure.value or 0.0) <= scale else "Infinity",
        },
        "score_details": {
            "score": figure.value,
            "details": {
                **({"broken_cases": str(figure.broken)} if figure.task else {}),
                **({"not_comparable": reasons} if reasons else {}),
                **({"limit": figure.limit} if figure.limit else {}),
            },
            "uncertainty": uncertain,
        },
        "generation_config": {
            "generation_args": generation,
            "additional_details": {key: str(about[key]) for key in ("dialect", "scoring", "attempts")},
        },
    }

"""A run in the shared schema Every Eval Ever, version 0.3.0: figures, and every case as an instance.

For each benchmark ``data/BENCHMARK/DEVELOPER/MODEL/UUID.json`` and ``UUID_samples.jsonl``, as the schema's repository
has them. The developer is the part before the slash in the model's name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any
from uuid import UUID

from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.types import Record
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.conversation import ConversationMessage, Gold, conversation, last_reply
from agentgauge_reports.export import empty_folder
from agentgauge_reports.formats.known import encoded, run_id
from agentgauge_reports.grouping import kind_of
from agentgauge_reports.leaderboard import by_benchmark, not_comparable
from agentgauge_reports.load import Omitted, Run, load_run
from agentgauge_reports.results import RunMetrics
from agentgauge_reports.rows import MetricResult

SCHEMA = "0.3.0"
"""Version."""


class Instances:
    """The instances of one run, which its benchmarks share among them."""

    def __init__(self, run: Run, model_id: str, omitted: Omitted) -> None:
        self.model_id = model_id
        self.gold = Gold(run)
        self._run = run
        self._omitted = omitted

    def of(self, tasks: Iterable[str], evaluation: str, figures: Set[str]) -> Iterator[bytes]:
        """A line for each case of the tasks that was attempted. ``figures``: the keys of those in the main file."""
        with self._run.reading() as read:
            for case in (
                case for task in tasks for case in self._run.by_task.get(task, ()) if case.status != "missing"
            ):
                try:
                    line = encoded(self._instance(case, read(case), evaluation, figures)) + b"\n"
                except Exception as error:  # whatever is in a record, the others are written
                    self._omitted.add(f"{case.task} {case.sample}", error)
                    continue
                yield line

    def _instance(self, case: CaseOutline, record: Record, evaluation: str, figures: Set[str]) -> dict[str, Any]:
        messages = conversation(record.transcript.events if record.transcript else ())
        own = [message for message in messages if not message.asked_as]
        target, answer = self.gold.of(record), last_reply(messages)
        asked = next((message.text for message in own if message.role == "user"), "")
        result = f"{case.task}.{self._run.tasks[case.task].shown.headline}"
        return {
            "schema_version": SCHEMA,
            "evaluation_id": evaluation,
            "model_id": self.model_id,
            "evaluation_name": case.task,
            **({"evaluation_result_id": result} if result in figures else {}),
            "sample_id": case.sample,
            **_exchange(own, answer),
            "input": {"raw": asked, "reference": [target] if target else []},
            "evaluation": {
                "score": float(case.status == "passed"),
                "is_correct": case.status == "passed",
                "num_turns": sum(bool(message.model) for message in own) or None,
                "tool_calls_count": sum(len(message.calls) for message in own if message.model),
            },
            "token_usage": {
                "input_tokens": case.usage.prompt_tokens,
                "output_tokens": case.usage.completion_tokens,
                "total_tokens": case.usage.prompt_tokens + case.usage.completion_tokens,
            },
            **({} if case.is_cached else {"performance": {"latency_ms": 1000 * case.working}}),
            "error": case.error,
            "metadata": {
                "attempt": str(case.attempt),
                "status": case.status,
                "kind": kind_of(case, self._run.tasks),
                "finish_reasons": " ".join(message.finish_reason for message in own if message.model),
                "labels": " ".join(case.score.labels if case.score else ()),
                "tags": " ".join(case.tags),
                "explanation": record.score.explanation if record.score else "",
            },
        }


def _exchange(messages: list[ConversationMessage], answer: str) -> dict[str, Any]:
    """A question with one answer, or all messages; and where the answer stands."""
    replies = [place for place, message in enumerate(messages) if message.model]
    calls = any(message.calls or message.role == "tool" for message in messages)
    single = len(replies) < 2 and not calls
    place = replies[-1] if replies and not single else 0
    source = "output.raw" if single else f"messages[{place}].content"
    attribution = {
        "turn_idx": place,
        "source": source,
        "extracted_value": answer,
        "extraction_method": "last_reply",
        "is_terminal": True,
    }
    return {
        "interaction_type": "single_turn" if single else "agentic" if calls else "multi_turn",
        "output": {"raw": [answer] if replies else []} if single else None,
        "messages": None if single else [_message(place, message) for place, message in enumerate(messages)],
        "answer_attribution": [attribution] if replies else [],
    }


def _message(place: int, message: ConversationMessage) -> dict[str, Any]:
    return {
        "turn_idx": place,
        "role": message.role,
        "content": message.text,
        "reasoning_trace": message.reasoning or None,
        "tool_calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": {
                    name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                    for name, value in call.arguments.items()
                },
            }
            for call in message.calls
        ]
        or None,
        "tool_call_id": [message.call_id] if message.call_id else None,
    }


# -- the figures


def write(run: Path, output: Path, omitted: Omitted, tasks: Registry) -> list[Path]:
    """Write the files of every benchmark below ``output``. Raises UsageProblem where the folder is not empty."""
    empty_folder(output)
    loaded = load_run(run, tasks=tasks, tolerant=True)
    omitted.problems += loaded.problems
    instances = Instances(loaded, model_id(loaded.model), omitted)
    written = []
    for benchmark, own in by_benchmark(loaded.summary, loaded.tasks).items():
        written += _write(loaded, benchmark, own, output, instances)
    omitted.notes += [instances.gold.note] if instances.gold.note else []
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
    published = {task.name: task.shown.published for task in tasks}
    return [
        one
        for one in RunMetrics(run.summary, run.tasks)
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

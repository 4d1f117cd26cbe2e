"""A run's transcripts in the Agent Trajectory Interchange Format, a JSON file for each case.

The fields are those of ATIF-v1.7, as the package harbor 0.25 describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentgauge.core.registry import Registry
from agentgauge.core.types import Record
from agentgauge.store.folder import sample_name
from agentgauge_reports.conversation import ConversationMessage, Gold, MessageCall, conversation
from agentgauge_reports.export import empty_folder
from agentgauge_reports.formats.known import encoded, run_id
from agentgauge_reports.load import Omitted, Run, load_run
from agentgauge_reports.results import RunMetrics
from agentgauge_reports.rows import MetricResult

SCHEMA = "ATIF-v1.7"
NOTES = (
    "Only messages to and from the tested model. Paths begin with {ROOT}, the data set's folder, or {RUN}, the run's"
    " folder. Pictures are named by their kind. The verdict stands in extra."
)


def write(run: Path, output: Path, omitted: Omitted, tasks: Registry) -> list[Path]:
    """Write ``TASK/SAMPLE-aATTEMPT.json`` below ``output`` for each case with a request to the model.

    Raises UsageProblem if the folder is not empty, and for a folder without a finished run.
    """
    empty_folder(output)
    loaded = load_run(run, tasks=tasks, tolerant=True)
    omitted.problems += loaded.problems
    gold, written = Gold(loaded), []
    headlines = {
        one.task: one for one in RunMetrics(loaded.summary, loaded.tasks) if one.is_headline and not one.warning
    }
    with loaded.reading() as read:
        for case in loaded.cases:
            if case.status == "missing":
                continue
            try:
                record = read(case)
                trajectory = _trajectory(loaded, record, gold, headlines.get(case.task))
                if trajectory["steps"]:
                    file = output / case.task / f"{sample_name(case.sample)}-a{case.attempt}.json"
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(encoded(trajectory, indent=1) + b"\n")
                    written.append(file)
            except Exception as error:  # whatever is in a record, the others are written
                omitted.add(f"{case.task} {case.sample}", error)
    omitted.notes += [gold.note] if gold.note else []
    return written


def _trajectory(run: Run, record: Record, gold: Gold, headline: MetricResult | None) -> dict[str, Any]:
    messages = conversation(record.transcript.events if record.transcript else ())
    steps = _steps([message for message in messages if not message.asked_as])
    about = run.summary["run"]
    return {
        "schema_version": SCHEMA,
        "session_id": run_id(run),
        "trajectory_id": f"{record.task}/{record.sample}/{record.attempt}",
        "agent": {
            "name": "agentgauge",
            "version": about["agentgauge"],
            "model_name": run.model,
            "extra": {key: about[key] for key in ("dialect", "scoring")},
        },
        "steps": steps,
        "notes": NOTES,
        "final_metrics": {**_usage(record), "total_steps": len(steps)},
        "extra": _verdict(record, gold, headline),
    }


def _steps(messages: list[ConversationMessage]) -> list[dict[str, Any]]:
    """Results of tools are what the step that called them observed."""
    steps: list[dict[str, Any]] = []
    for message in messages:
        if message.role != "tool":
            steps.append({"step_id": len(steps) + 1, **_step(message)})
            continue
        callers = [step for step in steps if message.call_id in _ids(step)]
        if not callers and not steps:
            steps.append({"step_id": 1, "source": "system", "message": ""})
        caller = (callers or steps)[-1]
        result = {"source_call_id": message.call_id} if callers else {}
        caller.setdefault("observation", {"results": []})["results"].append({**result, "content": message.text})
    return steps


def _ids(step: Mapping[str, Any]) -> list[str]:
    return [call["tool_call_id"] for call in step.get("tool_calls", ())]


def _step(message: ConversationMessage) -> dict[str, Any]:
    if message.role != "assistant":
        return {"source": message.role, "message": message.text}
    step: dict[str, Any] = {"source": "agent", "message": message.text}
    if message.calls:
        step["tool_calls"] = [_call(call) for call in message.calls]
    if not message.model:  # the benchmark said it in the model's name
        return step | {"is_copied_context": True}
    if message.reasoning:
        step["reasoning_content"] = message.reasoning
    if message.finish_reason:
        step["extra"] = {"finish_reason": message.finish_reason}
    return step | {"timestamp": datetime.fromtimestamp(message.start, UTC).isoformat(), "llm_call_count": 1}


def _call(call: MessageCall) -> dict[str, Any]:
    tool_call = {"tool_call_id": call.id, "function_name": call.name, "arguments": call.arguments}
    return tool_call | ({"extra": {"parse_error": call.problem}} if call.problem else {})


def _usage(record: Record) -> dict[str, Any]:
    if record.transcript is None:
        return {}
    usage = record.transcript.usage
    return {
        "total_prompt_tokens": usage.prompt_tokens,
        "total_completion_tokens": usage.completion_tokens,
        **({"total_cost_usd": usage.usd} if usage.usd else {}),  # 0 where the prices are not known
    }


def _verdict(record: Record, gold: Gold, headline: MetricResult | None) -> dict[str, Any]:
    """How the case ended, and the figure of its whole task."""
    score = record.score
    verdict: dict[str, Any] = {
        "task": record.task,
        "sample": record.sample,
        "attempt": record.attempt,
        "status": record.status,
        "target": gold.of(record),
        "error": record.error,
        "labels": list(score.labels) if score else [],
        "explanation": score.explanation if score else "",
        "values": dict(score.values) if score else {},
        "seed": record.transcript.seed if record.transcript else None,
    }
    if headline:
        verdict["figure"] = {name: getattr(headline, name) for name in ("key", "value", "low", "high", "n")}
    return verdict

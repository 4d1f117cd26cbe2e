"""A run as an ``.eval`` log, which inspect_ai reads and shows: a zip archive of JSON (its log format 2).

All tasks of the run stand in one log. A sample's id is ``task/sample`` and its epoch the attempt; each task is a
scorer, with our metrics. Paths in messages start with placeholders, as in the run folder; pictures are named and not
included.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import replacing
from agentgauge.core.registry import Registry
from agentgauge.core.reply_ends import is_cut, is_filtered
from agentgauge.core.text import digest
from agentgauge.core.types import Record
from agentgauge.store.jsonl import CaseOutline
from agentgauge_reports.conversation import ConversationMessage, Gold, conversation, last_reply
from agentgauge_reports.formats.known import run_id
from agentgauge_reports.grouping import kind_of
from agentgauge_reports.load import Omitted, Run, load_run
from agentgauge_reports.notices import not_attempted, presentable
from agentgauge_reports.run import by_name

LONGEST = 500
"""Characters of an input that the list of samples holds."""


def write(run: Path, target: Path, omitted: Omitted, tasks: Registry) -> list[Path]:
    """Write a finished run's log to ``target``, which must end in ``.eval``. Cases that were not attempted are left
    out.

    A case that cannot be shown has the content of its outline; ``omitted`` collects these cases.

    Raises UsageProblem for another name, for a folder that does not exist, and for a folder without a finished run.
    """
    if target.suffix != ".eval":
        name = target.with_suffix(".eval").name
        raise UsageProblem(f"{target} does not end in .eval, which inspect_ai requires; name it {name}")
    if not target.parent.is_dir():
        raise UsageProblem(f"{target.parent} is not a folder; make it first, or name another place for {target.name}")
    loaded = load_run(run, tasks=tasks, tolerant=True)
    omitted.problems += loaded.problems
    gold = Gold(loaded)
    attempted = [case for case in loaded.cases if case.status != "missing"]
    started = {"version": 2, "eval": _spec(loaded), "plan": {"name": "plan", "steps": []}}
    # summaries wait in a file: an archive is written entry by entry, and they are as long as the samples are many
    with (
        replacing(target) as scratch,
        ZipFile(scratch, "w", ZIP_DEFLATED) as archive,
        TemporaryFile(dir=target.parent) as summaries,
    ):
        archive.writestr(_entry("_journal/start.json"), json.dumps(started))
        with loaded.reading() as read:
            for place, case in enumerate(attempted):
                try:
                    record = read(case)
                    sample = _sample(loaded, case, record, gold.of(record))
                    text = json.dumps(sample)
                except Exception as error:  # whatever this record holds, the other cases are shown
                    sample = _omitted(loaded, case, omitted.add(f"{case.task} {case.sample}", error))
                    text = json.dumps(sample)
                archive.writestr(_entry(f"samples/{sample['id']}_epoch_{case.attempt}.json"), text)
                summaries.write((b", " if place else b"[") + json.dumps(_summary(sample)).encode("ascii"))
        summaries.write(b"]" if attempted else b"[]")
        summaries.seek(0)
        with archive.open(_entry("summaries.json"), "w") as entry:
            shutil.copyfileobj(summaries, entry)
        status = "cancelled" if "why_missing" in loaded.summary else "success"
        ended = {"status": status, "results": _results(loaded, attempted), "stats": _stats(loaded)}
        archive.writestr(_entry("header.json"), json.dumps(started | ended))
    omitted.notes += [gold.note] if gold.note else []
    return [target]


def _entry(name: str) -> ZipInfo:
    """With a fixed date, so that equal runs give equal archives."""
    entry = ZipInfo(name)
    entry.compress_type = ZIP_DEFLATED
    return entry


def _time(seconds: float | None) -> str:
    return datetime.fromtimestamp(seconds or 0.0, UTC).isoformat()


def _spec(run: Run) -> dict[str, Any]:
    about = run.summary["run"]
    samples = list(dict.fromkeys(f"{case.task}/{case.sample}" for case in run.cases))
    return {
        "eval_id": digest(["eval", run.about["configs"], run.about["started"]]),
        "run_id": run_id(run),
        "created": _time(run.about["started"]),
        "task": "agentgauge",
        "task_id": digest(run.about["configs"]),
        "dataset": {"name": "agentgauge", "samples": len(samples), "sample_ids": samples},
        "model": run.model,
        "config": {"epochs": about["attempts"], **({"limit": about["limit"]} if about.get("limit") else {})},
        "packages": {"agentgauge": about["agentgauge"]},
        "metadata": {key: about[key] for key in ("dialect", "scoring", "options", "prompts", "data", "tools")}
        | ({"missing": missing} if (missing := not_attempted(run.summary)) else {}),
    }


def _results(run: Run, attempted: Iterable[CaseOutline]) -> dict[str, Any]:
    done = [case for case in attempted if case.status != "broken"]
    scores = []
    for task, part in run.summary["tasks"].items():
        figures = presentable(part)
        metrics = {
            name: {"name": name, "value": one["value"], "metadata": {key: one[key] for key in ("low", "high", "n")}}
            for name, one in (figures["metrics"] | by_name(figures)).items()
            if one["value"] is not None
        }
        scored, unscored = part["passed"] + part["wrong"], part["broken"] + part["missing"]
        counts = {"scored_samples": scored, "unscored_samples": unscored}
        scores.append({"name": task, "scorer": task, **counts, "metrics": metrics})
    return {"total_samples": len(run.cases), "completed_samples": len(done), "scores": scores}


def _stats(run: Run) -> dict[str, Any]:
    usage = run.summary["usage"]
    return {
        "started_at": _time(run.about["started"]),
        "completed_at": _time(run.about["finished"] or run.about["started"]),
        "model_usage": {run.model: _tokens(usage["prompt_tokens"], usage["completion_tokens"])},
    }


def _tokens(prompt: int, completion: int) -> dict[str, int]:
    return {"input_tokens": prompt, "output_tokens": completion, "total_tokens": prompt + completion}


def _sample(run: Run, case: CaseOutline, record: Record, target: str = "") -> dict[str, Any]:
    exchanged = conversation(record.transcript.events if record.transcript else ())
    messages = [_message(message) for message in exchanged]
    own = [message for message in exchanged if not message.asked_as]
    user_texts = [message.text for message in own if message.role == "user"]
    score = {}
    if record.score and case.status != "broken":
        value = "C" if case.status == "passed" else "I"
        about = {
            "labels": list(record.score.labels),
            "values": dict(record.score.values),
            "kind": kind_of(case, run.tasks),
        }
        verdict = {"value": value, "answer": last_reply(exchanged), "explanation": record.score.explanation or None}
        score = {case.task: verdict | {"metadata": about}}
    sample: dict[str, Any] = {
        "id": f"{case.task}/{case.sample}",
        "epoch": case.attempt,
        "input": user_texts[0] if user_texts else "",
        "target": target,
        "messages": messages,
        "output": _output(run.model, [message for message in own if message.model]),
        "scores": score,
        "metadata": {"task": case.task, "sample": case.sample, "tags": list(case.tags), "node": run.nodes.get(case.id)},
        "model_usage": {run.model: _tokens(case.usage.prompt_tokens, case.usage.completion_tokens)},
        "completed_at": _time(case.finished),
        "total_time": case.seconds,
        "working_time": case.working,
        "uuid": digest([*case.id, record.config]),
    }
    if case.status == "broken":
        sample["error"] = dict.fromkeys(("message", "traceback", "traceback_ansi"), case.error or "")
    return sample


def _omitted(run: Run, case: CaseOutline, why: str) -> dict[str, Any]:
    record = Record(*case.id, config="", status=case.status, score=case.score, error=case.error)
    sample = _sample(run, case, record)
    return sample | {"metadata": {**sample["metadata"], "unshown": why}}


def _summary(sample: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("id", "epoch", "target", "metadata", "scores", "model_usage", "completed_at", "total_time", "uuid")
    return {
        **{key: sample[key] for key in keys},
        **({"error": sample["error"]["message"]} if "error" in sample else {}),
        "input": sample["input"][:LONGEST],
        "completed": True,
        "message_count": len(sample["messages"]),
    }


def _output(model: str, replies: list[ConversationMessage]) -> dict[str, Any]:
    return {
        "model": model,
        "choices": [{"message": _message(last), "stop_reason": _stop_reason(last)} for last in replies[-1:]],
    }


def _stop_reason(reply: ConversationMessage) -> str:
    """Why a reply ended, in inspect_ai's words."""
    if is_cut(reply.finish_reason):
        return "max_tokens"
    if is_filtered(reply.finish_reason):
        return "content_filter"
    return "tool_calls" if reply.calls else "stop"


def _message(message: ConversationMessage) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.model:
        written["model"] = message.model
    if message.calls:
        written["tool_calls"] = [
            {"id": call.id, "function": call.name, "type": "function", "arguments": call.arguments}
            | ({"parse_error": call.problem} if call.problem else {})
            for call in message.calls
        ]
    if message.role == "tool":
        written |= {"tool_call_id": message.call_id, "function": message.tool or None}
    return written

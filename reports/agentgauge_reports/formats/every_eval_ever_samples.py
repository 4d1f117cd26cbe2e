"""The cases of a run as instances of the schema Every Eval Ever, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Set
from typing import Any

from agentgauge.core.capabilities import headline_of
from agentgauge.core.task_registry import find_task
from agentgauge.core.types import Record
from agentgauge_reports.formats.conversation import Message, conversation, last_reply
from agentgauge_reports.formats.gold import Gold
from agentgauge_reports.formats.output import encoded
from agentgauge_reports.load import CaseOutline, Run
from agentgauge_reports.taxonomy import kind_of
from agentgauge_reports.unshown import Unshown

SCHEMA = "0.3.0"
"""Version."""


class Instances:
    """The instances of one run, which its benchmarks share among them."""

    def __init__(self, run: Run, model_id: str, unshown: Unshown) -> None:
        self.model_id = model_id
        self.gold = Gold(run)
        self._run = run
        self._unshown = unshown

    def of(self, tasks: Iterable[str], evaluation: str, figures: Set[str]) -> Iterator[bytes]:
        """A line for each case of the tasks that was attempted. ``figures``: the keys of those in the main file."""
        with self._run.reading() as read:
            for case in (
                case for task in tasks for case in self._run.by_task.get(task, ()) if case.status != "missing"
            ):
                try:
                    line = encoded(self._instance(case, read(case), evaluation, figures)) + b"\n"
                except Exception as error:  # whatever is in a record, the others are written
                    self._unshown.add(f"{case.task} {case.sample}", error)
                    continue
                yield line

    def _instance(self, case: CaseOutline, record: Record, evaluation: str, figures: Set[str]) -> dict[str, Any]:
        messages = conversation(record.transcript.events if record.transcript else ())
        own = [message for message in messages if not message.asked_as]
        target, answer = self.gold.of(record), last_reply(messages)
        asked = next((message.text for message in own if message.role == "user"), "")
        result = f"{case.task}.{headline_of(find_task(case.task))}"
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
            "performance": {"latency_ms": 1000 * case.working},
            "error": case.error,
            "metadata": {
                "attempt": str(case.attempt),
                "status": case.status,
                "kind": kind_of(case),
                "finish_reasons": " ".join(message.finish_reason for message in own if message.model),
                "labels": " ".join(case.score.labels if case.score else ()),
                "tags": " ".join(case.tags),
                "explanation": record.score.explanation if record.score else "",
            },
        }


def _exchange(messages: list[Message], answer: str) -> dict[str, Any]:
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


def _message(place: int, message: Message) -> dict[str, Any]:
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

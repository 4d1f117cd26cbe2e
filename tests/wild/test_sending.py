"""What the earlier release's switches change in what is sent (docs/benchmarks/wild.md#model-families and
docs/benchmarks/wild.md#release-of-2025)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bench_wild.data import Session, build_session
from bench_wild.files import RESULTS, write_result_lines
from bench_wild.options import OPTIONS, not_comparable
from bench_wild.prompts import Sending, convert_tools, normalised, offered_tools, opening
from bench_wild.run import with_inputs
from tests.wild.scoring import GOLD, TOOLS, perfect, record, tool


def session_of(language: str, tasks: list[str], last: str = "It is done.") -> Session:
    gold = [[*nodes[:-1], {**nodes[-1], "observation": last}] for nodes in GOLD]
    texts = {"tasks": tasks, "answer_list": gold}
    return build_session({**record(), **texts, **{f"english_{name}": value for name, value in texts.items()}}, language)


def test_without_context_a_task_has_no_history() -> None:
    session = build_session(record())
    assert opening(session, session.tasks[2], Sending(context=False)) == [
        {"role": "system", "content": "Current Date: 2024-05-01 09:12:44 Wednesday"},
        {"role": "user", "content": "Plant something."},
    ]


@pytest.mark.parametrize(
    ("language", "said", "sent"),
    [
        ("en", "User: Read B1.", " Read B1."),  # the blank stays
        ("en", "ai agent ASSISTANT:Read B1.", "Read B1."),
        ("en", "AI:User: Read B1.", "User: Read B1."),  # the first alone
        ("en", "Planner: Read B1.", "Planner: Read B1."),
        ("en", " User: Read B1.", " User: Read B1."),
        ("en", "用户：读。", "用户：读。"),
        ("en", "Read B1.", "Read B1."),
        ("zh", "用户：读。", "读。"),
        ("zh", "AI Agent助手：读。", "读。"),
        ("zh", "ai agent：读。", "ai agent：读。"),  # in this case only
        ("zh", "User: 读。", "User: 读。"),
    ],
)
def test_without_roles_texts_lose_the_speaker(language: str, said: str, sent: str) -> None:
    session = session_of(language, [said, "Go.", "On.", said], last=said)
    plain, stripped = (opening(session, session.tasks[3], Sending(roles=roles)) for roles in (True, False))
    assert (plain[1]["content"], plain[-1]["content"]) == (said, said)
    assert [one["content"] for one in stripped if one["content"] == sent] == [sent] * 5  # three answers and two tasks
    assert [one for one in stripped if one["role"] in ("tool", "system")] == [
        one for one in plain if one["role"] in ("tool", "system")
    ]
    assert [one["tool_calls"] for one in stripped if "tool_calls" in one] == [
        one["tool_calls"] for one in plain if "tool_calls" in one
    ]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "float"}, {"type": "number"}),
        ({"type": "int", "default": 3}, {"type": "integer"}),
        ({"type": "string|null"}, {"type": "string"}),
        ({"type": "float|int"}, {"type": "number"}),
        ({"type": "list of dictionaries"}, {"type": "object"}),
        ({"type": {"a": "string"}}, {"type": "object"}),
        ({"type": "String"}, {"type": "string"}),
        ({"type": "UUID"}, {"type": "string"}),
        ({"type": "complex_string", "example_value": "x"}, {"type": "string", "example_value": "x"}),
        ({"type": 'enum["low", "high"]'}, {"enum": ["low", "high"], "type": "string"}),
        ({"type": "enum"}, {"type": "string"}),
        ({"type": "date"}, {"type": "date"}),  # ours: upstream's request fails
        (
            {
                "type": "object",
                "properties": {"a": {"type": "float"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"a": {"type": "number"}}},
        ),
        ({"type": "array", "items": {"type": "int", "minimum": 1}}, {"type": "array", "items": {"type": "integer"}}),
        ({"anyOf": [{"type": "string"}], "description": "d", "enum": ["a"]}, {"description": "d", "enum": ["a"]}),
        (
            {
                "type": "object",
                "properties": {"type": {"type": "float"}, "required": {"type": "int"}, "default": {"type": "UUID"}},
            },
            {
                "type": "object",
                "properties": {
                    "type": {"type": "number"},
                    "required": {"type": "integer"},
                    "default": {"type": "string"},
                },
            },
        ),
    ],
)
def test_azure_s_schemas(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    tools = [tool("plant", ["x"], x=schema)]
    before = json.dumps(tools)
    (found,) = normalised(tools)
    assert found == tool("plant", ["x"], x=expected)  # the names that are required at the top stay
    assert json.dumps(tools) == before


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"type": "object", "required": ["x"]}])
def test_parameters_without_properties_become_an_empty_object(parameters: dict[str, Any]) -> None:
    (found,) = normalised(
        [{"type": "function", "function": {"name": "f", "description": "d", "parameters": parameters}}]
    )
    assert found == {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}},
    }


def test_the_tools_are_offered_as_chosen() -> None:
    session = build_session(record())
    assert offered_tools(session) == convert_tools(TOOLS)
    assert offered_tools(session, Sending(release="2025")) == normalised(TOOLS)
    assert offered_tools(session, Sending(schemas="azure")) == normalised(TOOLS)


def test_exported_requests_are_those_that_were_sent(tmp_path: Any) -> None:
    session = session_of("en", ["User: Read B1.", "Go.", "On.", "Hello!"])
    sending = Sending(roles=False, release="2025")
    results = [
        (session, task, {**result, "release": "2025"}) for task, result in zip(session.tasks, perfect(), strict=True)
    ]
    assert write_result_lines(tmp_path / RESULTS, results, "m", sending=sending) == []
    (line,) = (tmp_path / RESULTS).read_text(encoding="utf-8").splitlines()
    second = json.loads(line)["result"][1]
    asked = second["inference_log"]["step_0"]["inference_input"]
    assert asked["messages"][0]["content"] == "Current Date:2024-05-01 09:12:44 Wednesday"
    assert (asked["messages"][1]["content"], asked["tools"]) == (" Read B1.", normalised(TOOLS))
    assert "release" not in second  # the original's layout has no such field


def test_a_run_without_context_is_not_comparable_and_one_without_roles_is() -> None:
    """The earlier release removes the speakers' names by default."""
    usual = {option.name: option.usual for option in OPTIONS} | {"--wild-evaluator": "2025"}
    assert not_comparable({**usual, "--wild-no-roles": True}) == []
    assert not_comparable({**usual, "--wild-no-context": True}) == ["without the earlier tasks"]
    reason = "schemas azure instead of original"
    assert not_comparable({**usual, "--wild-schemas": "azure"}) == [reason]


def test_a_run_that_is_scored_as_the_other_release_keeps_its_requests() -> None:
    """``release`` in a result says how it was asked."""
    session = build_session(record())
    for asked, other in (("2026", "2025"), ("2025", "2026")):
        result = {**perfect()[0], **({"release": asked} if asked == "2025" else {})}
        shown = with_inputs(session, session.tasks[0], result, sending=Sending(release=other))  # type: ignore[arg-type]
        (system, *_) = shown["inference_log"]["step_0"]["inference_input"]["messages"]
        assert system["content"].startswith("Current Date: 2" if asked == "2026" else "Current Date:2")


@pytest.mark.parametrize(
    ("release", "language", "date"),
    [
        ("2026", "en", "Current Date: 2024-05-01 09:12:44 Wednesday"),
        ("2025", "en", "Current Date:2024-05-01 09:12:44 Wednesday"),
        ("2025", "zh", "当前日期：2024-05-01 09:12:44 Wednesday"),
    ],
)
def test_the_date(release: Any, language: str, date: str) -> None:
    session = build_session(record(), language)
    assert opening(session, session.tasks[0], Sending(release=release))[0] == {"role": "system", "content": date}


def test_messages_before_a_task_of_the_earlier_release_are_sent() -> None:
    """``task_ids[k] > 0``: what stands before the text of a task goes with it, and begins its history later."""
    session = build_session(record())
    before = ({"role": "user", "content": "User: Hm."}, {"role": "assistant", "content": "AI Agent: Well?"})
    tasks = [replace(task, before=before) if task.position == 3 else task for task in session.tasks]
    sent = opening(session, tasks[3], Sending(context=False, roles=False))
    assert [one["content"] for one in sent[1:]] == [" Hm.", " Well?", "Hello!"]
    session = replace(session, tasks=(replace(tasks[0], before=before), *tasks[1:]))
    assert [one["content"] for one in opening(session, session.tasks[1])[1:3]] == ["User: Hm.", ""]

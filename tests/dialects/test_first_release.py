"""Requests of whole tasks, family by family, as WildToolBench's first release sent them.

``first_release/FAMILY.json`` has what the model writes, and the messages of each request.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialects.registry import format_of, wording
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import ChatReply, ChatRequest, Sampling
from agentgauge.core.errors import ModelFault
from agentgauge.core.types import Sample, Scoring
from bench_wild.data import build_session
from bench_wild.prompts import ORIGINAL, Release, Sending, offered_tools, opening
from bench_wild.run import run_task
from bench_wild.score import score_task
from tests.dialects.first_release.session import SESSION, TOOLS, final
from tests.wild.scoring import node
from tests.wild.test_run import Scripted, log

FOLDER = Path(__file__).parent / "first_release"
FAMILIES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
TASKS = [(family, language, task) for family in FAMILIES for language in ("en", "zh") for task in (0, 1)]


class Failing(Scripted):
    """A model whose endpoint fails."""

    def __init__(self, cause: str) -> None:
        super().__init__()
        self.cause = cause

    async def complete(self, request: ChatRequest) -> ChatReply:
        raise ModelFault("no", cause=self.cause)


def solved(
    family: str,
    language: str,
    task: int,
    prompts: Path,
    *replies: str,
    data: Any = SESSION,
    scoring: Scoring = "parity",
    sending: Sending = ORIGINAL,
    cause: str = "",
) -> tuple[Any, Scripted]:
    """A task of the session, and the model that wrote ``replies``. ``cause``: of its failure."""
    prompts.mkdir(exist_ok=True)
    if prompt := FAMILIES.get(family, {}).get("prompt"):
        (prompts / f"dialect_{family}.txt").write_text(prompt, encoding="utf-8")
    sample = Sample("s", "wild", (), {"session": data, "task": task, "language": language}, Path())
    model = Failing(cause) if cause else Scripted(*map(ChatReply, replies))
    case = Case(sample, 1, 0, CaseSettings(family, scoring, prompts=prompts), model, None, Path())
    return asyncio.run(run_task(case, sending=sending)), model


@pytest.mark.parametrize("release", ["2026", "2025"])
@pytest.mark.parametrize(("family", "language", "task"), TASKS)
def test_requests_are_those_of_the_first_release(
    family: str, language: str, task: int, release: Release, tmp_path: Path
) -> None:
    """Whichever evaluator is asked for: ``--wild-evaluator``."""
    golden = FAMILIES[family]
    expected = golden[language][task]
    result, model = solved(
        family, language, task, tmp_path / "prompts", *expected["replies"], sending=Sending(release=release)
    )
    assert [list(request.messages) for request in model.requests] == expected["requests"]
    date = "2024-05-20 09:12:44 " + {"en": "Monday", "zh": "星期一"}[language]
    for request in model.requests:
        assert list(request.tools) == (TOOLS if golden["tools"] == "template" else [])
        assert request.template == ({"date_string": date} if golden.get("template") else {})
    assert (log(result)[-1]["inference_output"].get("error_reason") or "correct") == expected["ends"]


def last(result: Any) -> Any:
    return log(result)[-1]["inference_output"]


def changed(**fields: Any) -> dict[str, Any]:
    return {**SESSION, **{f"english_{name}": value for name, value in fields.items()}}


def gold(observation: Any = "planted", **arguments: Any) -> list[Any]:
    return [{**node("plant", **arguments), "observation": observation}, final("Done.", 0)]


def test_a_call_of_xlam2_without_arguments_is_a_wrong_action(tmp_path: Path) -> None:
    result, model = solved("xlam2", "en", 0, tmp_path, '[{"name": "read"}, {"name": "list_beds", "arguments": {}}]')
    assert (last(result)["error_reason"], len(model.requests)) == (
        "parse tool_calls failed, error: 'arguments'",
        1,
    )
    assert [call["function"] for call in last(result)["tool_calls"]] == [
        {"name": "read"},
        {"name": "list_beds", "arguments": "{}"},
    ]
    assert last(result)["content"] == "use read, list_beds to solve user problem"


def test_llama_loses_a_text_with_the_words_of_a_call_and_so_the_task(tmp_path: Path) -> None:
    result, model = solved("llama", "en", 1, tmp_path, "Which name has the function, with which parameters?")
    assert (len(model.requests), last(result)["error_reason"]) == (
        1,
        "the published server refused the request, in which two messages of the role user follow each other",
    )


@pytest.mark.parametrize("evaluator", ["2026", "2025"])
def test_the_report_says_why_a_request_was_not_sent(evaluator: Release, tmp_path: Path) -> None:
    result, _ = solved("llama", "en", 0, tmp_path, FAMILIES["llama"]["en"][0]["replies"][0])
    session = build_session(SESSION)
    score = score_task(session, session.tasks[0], result, evaluator=evaluator)
    assert "step 2: the published server refused the request, in which two" in score.explanation
    assert not score.passed


@pytest.mark.parametrize(("task", "cause"), [(0, "http 400"), (1, "http 500")])
def test_other_failures_than_those_of_llamas_template_break_the_case(task: int, cause: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFault):
        solved("llama", "en", task, tmp_path, cause=cause)


def test_llamas_template_refuses_parallel_calls_of_earlier_tasks(tmp_path: Path) -> None:
    result, _ = solved("llama", "en", 1, tmp_path, cause="http 400")
    assert last(result) | {"tool_calls": None} == {
        "reasoning_content": None,
        "content": None,
        "tool_calls": None,
        "current_action_name_label": "error",
        "error_reason": "the server refused the request, as Llama's chat template takes only one call a message",
    }


@pytest.mark.parametrize("family", ["toolace", "watt"])
@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({"a": True, "b": [False, 1.0, 'x"y']}, 'plant(a=true, b=[false, 1.0, "x"y"])'),
        ({"a": {"k": {"deep": -3}}}, 'plant(a={"k": {"deep": -3}})'),
        ({"a": None}, None),
        ({"a": [{"k": None}]}, None),
    ],
)
def test_calls_of_the_history_in_pythons_syntax(
    family: str, arguments: dict[str, Any], written: str | None, tmp_path: Path
) -> None:
    data = changed(answer_list=[gold(**arguments), gold()])
    result, model = solved(family, "en", 1, tmp_path, "Hm.", "Hm.", data=data)
    if written is None:
        assert (model.requests, last(result)["error_reason"]) == (
            [],
            "the published code cannot write a call of the history: an argument is null",
        )
    else:
        assert model.requests[0].messages[2] == {"role": "assistant", "content": f"[{written}]"}


@pytest.mark.parametrize(
    ("family", "observation", "sent"),
    [
        ("toolace", "5", '[{"name": "plant", "results": "5"}]'),
        ("toolace", 5, '[{"name": "plant", "results": 5}]'),
        ("xlam2", '{"a": 1}', '["{\\"a\\": 1}"]'),
        ("xlam2", {"a": "é"}, '[{"a": "é"}]'),
        ("watt", "5", "5"),
        ("watt", {"a": "é"}, '{"a": "é"}'),
    ],
)
def test_a_result_keeps_its_type(family: str, observation: Any, sent: str, tmp_path: Path) -> None:
    written = '[{"name": "plant", "arguments": {}}]' if family == "xlam2" else "[plant()]"
    data = changed(answer_list=[gold(observation), gold()])
    _, model = solved(family, "en", 0, tmp_path, written, "Done.", data=data)
    assert model.requests[1].messages[-1]["content"] == sent


@pytest.mark.parametrize("family", ["toolace", "xlam2"])
def test_a_date_of_the_user_is_the_only_one(family: str, tmp_path: Path) -> None:
    data = changed(tasks=["当前日期：today", "And now?"])
    for task in (0, 1):
        _, model = solved(family, "en", task, tmp_path, "Hm.", "Hm.", data=data)
        texts = [one["content"] for one in model.requests[0].messages if one["role"] == "user"]
        assert texts == ["当前日期：today", "And now?"][: task + 1]


@pytest.mark.parametrize(
    ("language", "said", "first", "replies"),
    [
        ("en", "User: a", " a", {"toolace": "a", "xlam2": "a", "qwen": " a"}),
        ("en", "PLANNER: a", " a", {"toolace": "PLANNER: a", "xlam2": "PLANNER: a", "qwen": " a"}),
        ("en", "a User: b", "a User: b", {"toolace": "a  b", "xlam2": "a  b", "qwen": "a User: b"}),
        ("zh", "用户： a", " a", {"toolace": "a", "xlam2": "a", "qwen": " a"}),
        ("zh", "planner：a", "planner：a", {"toolace": "planner：a", "qwen": "planner：a"}),
    ],
)
@pytest.mark.parametrize("family", ["toolace", "xlam2", "qwen"])
def test_speakers_names(
    language: str, said: str, first: str, replies: dict[str, str], family: str, tmp_path: Path
) -> None:
    twin = "english_" if language == "en" else ""
    asking = SESSION[f"{twin}answer_list"][1]
    data = {**SESSION, f"{twin}tasks": [said], f"{twin}answer_list": [[{**asking[0], "user_input": said}, *asking[1:]]]}
    _, model = solved(family, language, 0, tmp_path, "Where?", "Hm.", data=data)
    opening, *_, reply = [one["content"] for one in model.requests[1].messages if one["role"] == "user"]
    kept = said if (family, language) == ("xlam2", "zh") else first
    assert (opening.partition("\n\n")[0], reply) == (kept, replies.get(family, said))


@pytest.mark.parametrize("family", ["toolace", "xlam2"])
@pytest.mark.parametrize(
    ("task_ids", "days"),
    [
        ([0, 0, 0], ["20", "20", "20"]),
        ([2, 0, 0], ["20", "21", "21"]),
        ([2, 2, 0], ["20", "21", "22"]),
        ([0, 2, 0], ["20", "20", "20"]),
    ],
)
def test_the_date_that_stays_is_that_of_its_task(
    family: str, task_ids: list[int], days: list[str], tmp_path: Path
) -> None:
    """Of a task whose words are not its first message, they are not in the history, and so is their date not."""
    before = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    messages: list[Any] = []
    for place, number in enumerate(task_ids):
        said = [{"role": "user", "content": f"Task {place}"}, {"role": "assistant", "content": "Hm."}]
        messages += [*(before if number else []), *said, "====="]
    data = {
        "id": "s",
        "english_tools": TOOLS,
        "english_task": ["Task 0", "Task 1", "Task 2"],
        "english_answer_list": [[final("Hm.")]] * 3,
        "english_messages": messages[:-1],
        "task_ids": task_ids,
        "env_info": [f"2024-05-{day} 09:12:44 星期一" for day in (20, 21, 22)],
        "type": ["chat"] * 3,
    }
    for task, day in enumerate(days):
        _, model = solved(family, "en", task, tmp_path, "Hm.", data=data)
        texts = [one["content"] for one in model.requests[0].messages if one["role"] == "user"]
        (dated,) = [text for text in texts if "Current Date:" in text]
        assert dated.startswith(f"Task {int(day) - 20}\n\nCurrent Date:2024-05-{day} ")


def test_without_context_the_date_is_on_the_task_itself(tmp_path: Path) -> None:
    _, model = solved("toolace", "en", 1, tmp_path, "Hm.", "Hm.", sending=Sending(context=False))
    assert [one["content"] for one in model.requests[0].messages[1:]] == [
        " Plant something.\n\nCurrent Date:2024-05-20 09:12:44 Monday"
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_strict_scoring_sends_the_documented_form(family: str, tmp_path: Path) -> None:
    _, model = solved(family, "en", 1, tmp_path, "Where?", "Hm.", scoring="strict")
    session = build_session(SESSION)
    expected = format_of(family, tmp_path).request(opening(session, session.tasks[1]), offered_tools(session))
    assert (model.requests[0].messages, model.requests[0].tools) == (expected.messages, expected.tools)


def test_an_earlier_run_does_not_go_on_with_other_requests() -> None:
    """The fingerprint of their texts, which a resumed run must have."""
    assert [wording(name, None).rpartition("-")[2] for name in ("llama", "watt", "qwen")] == ["first"] * 3
    assert (wording("native", None), "first" in wording("react", None)) == ("", False)


def test_functionarys_tags_do_not_go_back_beside_its_calls() -> None:
    """Where a conversation is kept in OpenAI's format: the chat template writes the tags itself."""
    written = "<function=f>{}</function>"
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    told = [{"role": "assistant", "content": text, "tool_calls": [call]} for text in (written, "I look.")]
    assert [one["content"] for one in format_of("functionary").request(told, []).messages] == [None, "I look."]


def test_sampling_of_the_first_release(tmp_path: Path) -> None:
    tried = {"functionary": Sampling(None, 512), "watt": Sampling(0.0, 2048), "deepseek": Sampling(None, 512)}
    for family, expected in tried.items():
        _, model = solved(family, "en", 0, tmp_path, "Hm.")
        assert model.requests[0].usual == expected

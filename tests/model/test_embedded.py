"""The embedded models: how they answer in a run's process, the scripted replies, and the lexical policy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.core.tracebacks import mistake_behind
from agentgauge.model.embedded.baseline import baseline_reply
from agentgauge.model.embedded.model import LARGE, EmbeddedModel, count_tokens
from agentgauge.model.embedded.scripted import ReplyScript
from agentgauge.model.open_requests import OpenRequests
from agentgauge.model.presets import resolve
from tests.plugin.toy import toy

SCRIPT = {
    "toy/1*": [
        "first",
        {"tool_calls": [{"name": "OCR", "arguments": {"image": "é.png"}}, {"name": "X", "arguments": "{broken"}]},
    ],
    "toy/2": [{"refusal": "no"}],
    "toy/*": [{"text": "a", "refusal": None}],
}


SAY = ChatRequest(({"role": "user", "content": "?"},))
CASE = CaseKey("toy.say", "s0")


def embedded(name: str, tasks: Registry | None = None, **options: Any) -> EmbeddedModel:
    return EmbeddedModel(resolve(name, environ={}), tasks=tasks or Registry(), **options)


def scripted(folder: Path, replies: dict[str, Any]) -> EmbeddedModel:
    file = folder / "script.json"
    file.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    return embedded(f"scripted:{file}")


def asked(model: EmbeddedModel, case: CaseKey | None, request: ChatRequest = SAY) -> ChatReply:
    return asyncio.run(model.complete(replace(request, case=case)))


def test_a_script_answers_by_case_and_turn(tmp_path: Path) -> None:
    seen: list[CaseKey] = []
    model = scripted(tmp_path, SCRIPT)
    model = embedded(model.name, on_reply=seen.append)
    cases = [CaseKey("toy", "12"), CaseKey("toy", "12", 1, 1), CaseKey("toy", "12", 2, 9), CaseKey("toy", "2")]
    first, second, later, refused = [asked(model, case) for case in cases]
    assert first.text == "first" and (first.usage.requests, first.usage.completion_tokens) == (1, 2)
    assert [(call.name, call.arguments) for call in second.tool_calls] == [
        ("OCR", '{"image": "é.png"}'),
        ("X", "{broken"),
    ]
    assert second.finish_reason == "tool_calls" and second.model == "scripted"
    assert len({call.id for call in (*second.tool_calls, *later.tool_calls)}) == 4
    assert refused.refusal == "no" and refused.text == ""
    assert asked(model, cases[1]) == second  # with the same ids
    assert seen == [*cases, cases[1]] and model.tokens == sum(
        reply.usage.completion_tokens for reply in (first, second, later, refused, second)
    )
    with pytest.raises(ModelFault, match=r"model scripted:.*script.json: .* has no pattern for other/1") as fault:
        asked(model, CaseKey("other", "1"))
    assert fault.value.cause == "no reply" and mistake_behind(fault.value) == []


@pytest.fixture
def oracle(tmp_path: Path) -> Callable[[Callable[[ChatRequest], Any]], EmbeddedModel]:
    """The model whose task's oracle does what a test wants."""

    def made(does: Callable[[ChatRequest], Any]) -> EmbeddedModel:
        def oracle(sample: Any, request: ChatRequest, *, one_call: bool) -> Any:
            return does(request)

        (tmp_path / "toy.jsonl").write_text('{"id": "s0", "say": "0"}\n')
        return embedded("oracle", Registry([toy(oracle=oracle)]), data={"toy": tmp_path})

    return made


def fails(error: BaseException) -> Callable[[ChatRequest], Any]:
    def does(request: ChatRequest) -> Any:
        raise error

    return does


@pytest.mark.parametrize(
    "error", [KeyError("x"), SystemExit(3), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()], ids=repr
)
def test_a_mistake_of_an_oracle_ends_its_case_alone_and_shows_the_authors_frame(oracle, error: BaseException) -> None:
    with pytest.raises(
        ModelFault, match=rf"model oracle: internal error at test_embedded.py:\d+: {type(error).__name__}"
    ) as fault:
        asked(oracle(fails(error)), CASE)
    assert fault.value.cause == "internal error"
    (link,) = mistake_behind(fault.value)
    assert [frame["function"] for frame in link["frames"]] == ["oracle", "does"]


@pytest.mark.parametrize(
    ("case", "cause", "says"),
    [
        (None, "no reply", "answers by case and needs the header x-agentgauge-case"),
        (CaseKey("nothing", "1"), "no reply", "there is no task 'nothing'"),
        (CaseKey("toy.say", "s9"), "no reply", "toy.say has no sample 's9' in .*; serve-model takes --data toy=DIR"),
        (CASE, "internal error", "toy.say: oracle returned 'gold'; return a ChatReply"),
    ],
)
def test_what_the_oracle_cannot_answer(oracle, case: CaseKey | None, cause: str, says: str) -> None:
    with pytest.raises(ModelFault, match=says) as fault:
        asked(oracle(lambda request: "gold"), case)
    assert fault.value.cause == cause


def test_an_oracle_gets_a_copy_of_the_messages_as_they_would_be_sent(oracle) -> None:
    def does(request: ChatRequest) -> ChatReply:
        message = cast(dict[str, Any], request.messages[0])
        message["content"] += "!"
        return ChatReply(f"{message['content']} {request.seed} {request.case == CASE}")

    file = {"type": "local_file", "kind": "image", "path": __file__, "name": "a\ud800.png", "instead": ""}
    given = ChatRequest(({"role": "user", "content": "half \ud800"},), seed=5, repeated=True)
    assert asked(oracle(does), CASE, given).text == "half ?! 5 True"
    assert given.messages[0]["content"] == "half \ud800"
    shown = ChatRequest(({"role": "user", "content": [file]},))
    told = oracle(lambda request: ChatReply(request.messages[0]["content"][0]["text"]))
    assert asked(told, CASE, shown).text == "[image: a?.png]"


def test_a_stopped_run_gets_no_reply(oracle) -> None:
    requests = OpenRequests()
    requests.stop()
    with pytest.raises(ModelFault, match="was not sent"):
        asked(embedded("baseline", requests=requests), CASE)


def test_others_go_on_between_replies_and_beside_a_long_one() -> None:
    """A run of cases whose model answers at once must leave time for tools, and for whoever watches the run."""
    text = "Read the prices 12 and 30, then work out their sum. " * 20_000
    long = ChatRequest(({"role": "user", "content": text},))
    assert len(text) > LARGE

    async def main(request: ChatRequest, times: int) -> int:
        rounds = 0

        async def beside() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        task = asyncio.create_task(beside())
        model = embedded("baseline")
        for _ in range(times):
            await model.complete(request)
        task.cancel()
        return rounds

    assert asyncio.run(main(SAY, 50)) >= 49
    assert asyncio.run(main(long, 1)) > 50


def test_a_cancelled_request_ends(oracle) -> None:
    async def main() -> None:
        model = oracle(lambda request: ChatReply("late"))
        task = asyncio.create_task(model.complete(replace(SAY, case=CASE)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "not valid JSON"),
        ([], '{"replies"'),
        ({"replies": {}}, '{"replies"'),
        ({"replies": {"*": ["a"]}, "more": 1}, '{"replies"'),
        ({"replies": {"*": "a"}}, "'*' must have a list"),
        ({"replies": {"*": []}}, "'*' must have a list"),
        ({"replies": {"*": ["a", 5]}}, "'*'[1] must be a string, an object"),
        ({"replies": {"*": [{"txt": "a"}]}}, "'*'[0] must be a string, an object"),
        ({"replies": {"*": [{"text": 5}]}}, "'*'[0] must have a text"),
        ({"replies": {"*": [{"tool_calls": [{"name": "A"}]}]}}, "'*'[0].tool_calls[0] must be"),
    ],
)
def test_a_wrong_script_is_refused(tmp_path: Path, data: Any, said: str) -> None:
    file = tmp_path / "script.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(UsageProblem) as problem:
        ReplyScript.load(file)
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("see `/a/b.png`", 3), ("see `/a/long/way/down/b.png`", 3)]
)
def test_token_counts_do_not_depend_on_where_files_lie(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def _native(name: str, description: str, **properties: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


OCR = _native("OCR", "Reads the text in a picture.", image="string")
CALCULATOR = _native("Calculator", "Works out an arithmetic expression.", expression="string")
DRAW = _native("DrawBox", "Draws a box on an image.", image="string", bbox="string")
NOTE = {"role": "user", "content": "These files belong to the question: `/d/a.png`, `/d/b.png`"}

CLOSING = {"role": "user", "content": "Sum up the conversation and give the final answer. Do not call any tool."}


def _called(name: str, result: str) -> list[dict[str, Any]]:
    call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]


@pytest.mark.parametrize(
    ("query", "tools", "past", "expected"),
    [
        ("What does the sign in the picture say?", [CALCULATOR, OCR], [], ("OCR", {"image": "/d/a.png"})),
        ("Work out 3 * (4 + 5).", [OCR, CALCULATOR], [], ("Calculator", {"expression": "3 * (4 + 5)"})),
        ("Draw a box around (1, 2, 30, 40).", [OCR, DRAW], [],
         ("DrawBox", {"image": "/d/a.png", "bbox": "(1, 2, 30, 40)"})),
        ("Read the prices, then work out their sum.", [OCR, CALCULATOR],
         _called("OCR", "(3, 4, 40, 20) $12\n(3, 24, 40, 40) $30"),
         ("Calculator", {"expression": "12+30"})),
        ("Read the sign.", [OCR, CALCULATOR], _called("OCR", "(3, 4, 40, 20) NO ENTRY"), "NO ENTRY"),
        ("Read the sign.", [OCR, CALCULATOR], [*_called("OCR", "12 and 30"), CLOSING], "12 and 30"),
        ("Read it.", [], [], "I could not find this out."),
    ],
)  # fmt: skip
def test_the_baseline_natively(
    query: str, tools: list[dict[str, Any]], past: list[dict[str, Any]], expected: Any
) -> None:
    request = ChatRequest((NOTE, {"role": "user", "content": query}, *past), tools=tuple(tools))
    reply = baseline_reply(request)
    if isinstance(expected, str):
        assert reply == ChatReply(text=expected)
    else:
        (call,) = reply.tool_calls
        assert (call.name, json.loads(call.arguments)) == expected
        assert isinstance(call, ToolCall) and reply == baseline_reply(request)


def test_the_baseline_in_react() -> None:
    tools = [
        {
            "name": name,
            "description": description,
            "parameters": [{"name": parameter, "description": None, "type": "STRING"}],
            "required": [parameter],
            "parameter_description": "JSON",
        }
        for name, description, parameter in (
            ("OCR", "Reads [all] text in a picture.", "image"),
            ("Calculator", "Works out an expression.", "expression"),
        )
    ]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"Tools:\n{tools}\nNames: [['OCR', 'Calculator']]\n```\nThought: x\n```"},
        NOTE,
        {"role": "user", "content": "Read both prices in the picture and work out their sum."},
    ]
    replies = []
    for result in ("(1, 2, 3, 4) $12\n(1, 6, 3, 8) $30", "42", ""):
        replies.append(baseline_reply(ChatRequest(tuple(messages))).text)
        messages += [
            {"role": "assistant", "content": replies[-1]},
            {"role": "system", "content": f"Response:{result}\n"},
        ]
    assert [text.split("\n", 1)[1] for text in replies] == [
        'Action: OCR\nAction Input: {"image": "/d/a.png"}',
        'Action: Calculator\nAction Input: {"expression": "12+30"}',
        "Final Answer: 42; $12 $30",
    ]
    assert all(text.startswith("Thought:") for text in replies)


def test_a_scripted_message_is_read_as_it_stands(tmp_path: Path) -> None:
    message = {"content": None, "tool_calls": [{"function": {"name": "OCR"}}]}
    reply = asked(scripted(tmp_path, {"*": [{"message": message}]}), CASE)
    call = {"id": None, "type": None, "function": {"name": "OCR", "arguments": None}}
    assert reply.message == {"content": None, "tool_calls": [call]}


def test_a_script_answers_a_request_that_names_no_case_by_its_conversation(tmp_path: Path) -> None:
    model = scripted(tmp_path, {"toy/*": ["no"], "*": ["first", "second"]})
    user, said = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "first"}
    replies = [asked(model, None, ChatRequest(messages)).text for messages in ((user,), (user, said, user))]
    assert replies == ["first", "second"]

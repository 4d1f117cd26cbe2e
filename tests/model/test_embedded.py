"""The embedded models: their server as a real process, the scripted replies, and the lexical policy."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.model.client import CASE_HEADER, OpenAIModel
from agentgauge.model.embedded.baseline import baseline_reply
from agentgauge.model.embedded.scripted import ReplyScript
from agentgauge.model.embedded.serve import completion, count_tokens, make_answer
from agentgauge.model.presets import resolve

SCRIPT = {
    "replies": {
        "toy/1*": [
            "first",
            {"tool_calls": [{"name": "OCR", "arguments": {"image": "é.png"}}, {"name": "X", "arguments": "{broken"}]},
        ],
        "toy/2": [{"refusal": "no"}],
        "toy/*": [{"text": "a", "refusal": None}],
    }
}


@contextmanager
def _served(*arguments: str) -> Iterator[str]:
    """A real server process; it has to end by SIGTERM with status 0."""
    command = [sys.executable, "-m", "agentgauge.model.embedded.serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.stdout.read()
            assert process.wait(10) == 0
            assert rest == ""  # one line and no more


def _post(url: str, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", data, {"Content-Type": "application/json", **(headers or {})}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_a_scripted_model_answers_through_the_real_client(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(SCRIPT), encoding="utf-8")

    async def ask(url: str) -> list[ChatReply | str]:
        model = OpenAIModel(resolve(f"scripted:{file}", environ={}).served_at(url), environ={})
        replies: list[ChatReply | str] = []
        for case in (
            CaseKey("toy", "12"),
            CaseKey("toy", "12", 1, 1),
            CaseKey("toy", "12", 2, 9),
            CaseKey("toy", "2"),
            CaseKey("other", "1"),
        ):
            try:
                replies.append(await model.complete(ChatRequest(({"role": "user", "content": "?"},), case=case)))
            except ModelFault as fault:
                replies.append(f"{fault.cause}: {fault}")
        await model.close()
        return replies

    with _served("--model", f"scripted:{file}") as url:
        first, second, later, refused, missing = asyncio.run(ask(url))
        body = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
        header = {CASE_HEADER: "toy/12/1/1"}
        assert _post(url, body, header) == _post(url, body, header)  # to the byte
        assert json.loads(_post(url, body, header)[1])["created"] == 0
        assert _post(url, body)[0] == 400  # no case, no script
        assert _post(url, b"{", header)[0] == 400
        assert _post(url, {"messages": []}, header)[0] == 400
        assert _post(url, body, {CASE_HEADER: "toy/12"})[0] == 400
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert json.load(answer)["status"] == "ok"
        with urllib.request.urlopen(f"{url}/v1/models") as answer:
            assert json.load(answer)["data"][0]["id"] == "scripted"
    assert isinstance(first, ChatReply) and first.text == "first" and first.usage.completion_tokens == 2
    assert isinstance(second, ChatReply) and isinstance(later, ChatReply)
    assert [(call.name, call.arguments) for call in second.tool_calls] == [
        ("OCR", '{"image": "é.png"}'),
        ("X", "{broken"),
    ]
    assert len({call.id for call in (*second.tool_calls, *later.tool_calls)}) == 4
    assert isinstance(refused, ChatReply) and refused.refusal == "no" and refused.text == ""
    assert isinstance(missing, str) and missing.startswith("http 400") and "no pattern for other/1" in missing


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "oracel"], "there is no embedded model 'oracel'"),
        (["--model", "scripted:/no/such"], "cannot be read"),
        (["--model", "oracle", "--data", "gta_atomic"], "is not NAME=DIR"),
        ([], "--model"),
    ],
)
def test_wrong_arguments_end_with_a_sentence(arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentgauge.model.embedded.serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr


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


def test_the_oracle_needs_a_case_and_a_known_task() -> None:
    answer = make_answer("oracle", {})
    request = ChatRequest(({"role": "user", "content": "?"},))
    with pytest.raises(UsageProblem, match="answers by case"):
        answer(request, None)
    with pytest.raises(UsageProblem, match="there is no task 'nothing'"):
        answer(request, CaseKey("nothing", "1"))


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
        "Final Answer: 42",
    ]
    assert all(text.startswith("Thought:") for text in replies)


def test_a_scripted_message_is_sent_as_it_stands(tmp_path: Path) -> None:
    message = {"content": None, "tool_calls": [{"function": {"name": "OCR"}}]}
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"replies": {"*": [{"message": message}]}}))
    reply = ReplyScript.load(file).answer(CaseKey("gta_atomic.e2e", "12"))
    request = ChatRequest(({"role": "user", "content": "Hi"},))
    assert completion("m", request, reply, "i")["choices"][0]["message"] == {"role": "assistant", **message}


def test_a_script_answers_a_client_that_names_no_case_by_its_conversation(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"replies": {"toy/*": ["no"], "*": ["first", "second"]}}))
    answer = make_answer(f"scripted:{file}", {})
    user, said = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "first"}
    replies = [answer(ChatRequest(messages), None).text for messages in ((user,), (user, said, user))]
    assert replies == ["first", "second"]

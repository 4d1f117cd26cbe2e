"""The Responses API, and refusals by content filters of either API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatReply, ChatRequest, ToolCall
from agentgauge.core.errors import ModelFault
from agentgauge.core.reply_ends import is_filter_error, is_filtered
from agentgauge.core.types import Usage
from agentgauge.model import responses
from agentgauge.model.presets import resolve
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import request_body
from tests.costly import COSTLY
from tests.model.fault_server import FaultServer, completion, data
from tests.model.files_server import response, said
from tests.model.talking import spec_at, talk_to

SPEC = resolve("judge", url="http://localhost:1/v1", environ={})


def test_a_conversation_with_tools_becomes_items() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "OCR", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}
    messages = (
        {"role": "system", "content": "Be short."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Read."}, picture],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "OPEN"},
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It says OPEN."}]},
        {
            "role": "user",
            "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,A"}}],
        },
        {"role": "assistant", "content": ""},  # endpoints refuse an empty message
    )
    tool = {"type": "function", "function": {"name": "OCR", "parameters": {"type": "object"}}}
    assert responses.request_body(SPEC, ChatRequest(messages, tools=(tool,), seed=1, stop=("x",))) == {
        "model": "judge",
        "store": False,
        "tools": [{"type": "function", "strict": False, "name": "OCR", "parameters": {"type": "object"}}],
        "input": [
            {"role": "system", "content": "Be short."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Read."},
                    {"type": "input_image", "image_url": "data:image/png;base64,A", "detail": "auto"},
                ],
            },
            {"type": "function_call", "call_id": "c1", "name": "OCR", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "OPEN"},
            {"type": "function_call_output", "call_id": "c2", "output": "ab"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "It says OPEN."}]},
            {
                "role": "user",
                "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,A"}],
            },
        ],
    }


THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SECOND = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBBB"}


def _called(number: int) -> dict[str, Any]:
    ids = {"id": f"fc_{number}", "call_id": f"call_{number}"}
    return {"type": "function_call", **ids, "name": "OCR", "arguments": '{"n": 1}', "status": "completed"}


def _sent_back(spec: ModelSpec, *items: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a reply, as the next request has them."""
    reply = responses.read_reply(response(items=list(items)), spec)
    assert isinstance(reply, ChatReply)
    results = [{"role": "tool", "tool_call_id": call.id, "content": "r"} for call in reply.tool_calls]
    messages = ({"role": "user", "content": "q"}, reply.message, *results)
    sent: list[dict[str, Any]] = responses.request_body(spec, ChatRequest(messages))["input"]
    return sent[1 : len(sent) - len(results)]


def test_thoughts_go_back_before_the_calls_that_they_led_to() -> None:
    spec = resolve("gpt-5.2", environ={"OPENAI_API_KEY": "k"})
    items = (THOUGHT, _called(1), SECOND, _called(2))
    assert _sent_back(spec, *items) == list(items)
    tool = {"type": "function", "function": {"name": "OCR"}}
    asked = ChatRequest(({"role": "user", "content": "q"},), tools=(tool,))
    assert responses.request_body(spec, asked)["include"] == ["reasoning.encrypted_content"]
    plain = resolve("gpt-4o", environ={"OPENAI_API_KEY": "k"})
    assert "include" not in responses.request_body(plain, asked)


def test_a_thought_without_its_encrypted_content_does_not_go_back() -> None:
    lost = {**THOUGHT, "encrypted_content": None}
    kept = [{"type": "function_call", "call_id": "call_1", "name": "OCR", "arguments": '{"n": 1}'}]
    assert _sent_back(SPEC, lost, _called(1)) == kept


def test_chat_completions_do_not_get_the_items_of_the_other_interface() -> None:
    reply = responses.read_reply(response(items=[THOUGHT, _called(1)]), SPEC)
    assert isinstance(reply, ChatReply)
    (message,) = request_body(SPEC, ChatRequest((reply.message,)))["messages"]
    assert set(message) == {"role", "content", "tool_calls"}


@pytest.mark.parametrize(("model", "temperature"), [("gpt-5.2", None), ("gpt-4o", 0.2)])
def test_reasoning_models_get_no_temperature(model: str, temperature: float | None) -> None:
    spec: ModelSpec = resolve(model, environ={"OPENAI_API_KEY": "k"})
    body = responses.request_body(spec, ChatRequest(({"role": "user", "content": "a"},), temperature=0.2, max_tokens=5))
    assert (body.get("temperature"), body["max_output_tokens"]) == (temperature, 5)


USED = Usage(1, 10, 5)
REPLIES: dict[str, tuple[Any, ChatReply]] = {
    "parts of one text": (response(said("a"), said("b")), ChatReply("ab", usage=USED)),
    "text of two messages": (
        response(said("a"), items=[{"type": "message", "content": [said("b")]}]),
        ChatReply("ab", usage=USED),
    ),
    "nothing said": (response(), ChatReply(usage=USED)),
    "refusal": (response({"type": "refusal", "refusal": "No."}), ChatReply(refusal="No.", usage=USED)),
    "thoughts": (
        response(said("a"), items=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]),
        ChatReply("a", reasoning="hm", usage=USED),
    ),
    "a call": (
        response(items=[{"type": "function_call", "id": "fc", "call_id": "c1", "name": "OCR", "arguments": "{"}]),
        ChatReply(tool_calls=(ToolCall("OCR", "{", "c1"),), finish_reason="tool_calls", usage=USED),
    ),
    "a call without an id": (
        response(items=[{"type": "function_call", "name": "OCR", "arguments": "{}"}]),
        ChatReply(tool_calls=(ToolCall("OCR", "{}"),), finish_reason="tool_calls", usage=USED),
    ),
    "cut at the limit": (
        response(said("half"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        ChatReply("half", finish_reason="length", usage=USED),
    ),
    "only thoughts before the limit": (
        response(
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
            items=[{"type": "reasoning", "summary": []}],
        ),
        ChatReply(finish_reason="length", usage=USED),
    ),
    "filtered": (
        response(status="incomplete", incomplete_details={"reason": "content_filter"}),
        ChatReply(refusal="the endpoint's content filter ended the reply", finish_reason="content_filter", usage=USED),
    ),
    "filtered in the middle": (
        response(said("half"), status="incomplete", incomplete_details={"reason": "content_filter"}),
        ChatReply("half", finish_reason="content_filter", usage=USED),
    ),
    "incomplete without a reason": (
        response(said("a"), status="incomplete", incomplete_details=None),
        ChatReply("a", finish_reason="incomplete", usage=USED),
    ),
    "no status, no usage": ({"output": [{"type": "message", "content": [said("a")]}]}, ChatReply("a", usage=Usage(1))),
    "odd items": (
        {
            "output": [
                "x",
                {"type": "message", "content": "y"},
                {"type": "message", "content": [3, {"type": "output_text", "text": 4}]},
            ]
        },
        ChatReply(usage=Usage(1)),
    ),
    "lone surrogate": (response(said("\ud800!")), ChatReply("?!", usage=USED)),
    "stop word": (response(said("yes STOP no")), ChatReply("yes ", usage=USED)),
}


@pytest.mark.parametrize("case", REPLIES)
def test_replies_are_read_leniently(case: str) -> None:
    data, reply = REPLIES[case]
    assert responses.read_reply(data, SPEC, ("STOP",)) == reply


FAULTS: dict[str, tuple[Any, str, str, str]] = {
    "a list": ([], "no output", "again", "JSON list"),
    "nothing": ({}, "no output", "again", "no output"),
    "chat completion": ({"choices": []}, "no output", "again", "no output"),
    "still at work": (response(said("a"), status="in_progress"), "no output", "again", "'in_progress'"),
    "server error": (
        response(status="failed", error={"code": "server_error", "message": "sorry"}),
        "failed: server_error",
        "again",
        "(server_error): sorry",
    ),
    "limit": (
        response(status="failed", error={"code": "rate_limit_exceeded"}),
        "failed: rate_limit_exceeded",
        "limit",
        "rate_limit",
    ),
    "prompt": (
        response(status="failed", error={"code": "invalid_prompt", "message": "m"}),
        "failed: invalid_prompt",
        "final",
        "m",
    ),
    "no word": (response(status="failed", error=None), "failed", "again", "failed"),
    "gateway": ({"error": {"code": 503, "message": "upstream down"}}, "http 503", "again", "upstream down"),
    "gateway text": ({"error": "odd"}, "failed", "again", "odd"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_is_no_reply_is_a_failure_with_a_cause(case: str) -> None:
    data, cause, kind, words = FAULTS[case]
    failure = responses.read_reply(data, SPEC)
    assert isinstance(failure, Failure)
    assert (failure.cause, "final" if failure.final else "limit" if failure.limited else "again") == (cause, kind)
    assert words in failure.message


_WORDS = st.sampled_from(
    ["message", "reasoning", "function_call", "output_text", "refusal", "failed", "incomplete", "completed", "\ud800"]
)
_KEYS = [
    "type",
    "status",
    "output",
    "error",
    "code",
    "content",
    "text",
    "refusal",
    "summary",
    "incomplete_details",
    "reason",
    "usage",
]
_KEYS += ["input_tokens", "output_tokens", "name", "arguments", "call_id", "message"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
)


@COSTLY
@given(st.dictionaries(st.sampled_from(_KEYS), _JSON) | _JSON)
def test_no_answer_makes_the_reader_fall(answer: Any) -> None:
    outcome = responses.read_reply(answer, SPEC)
    if isinstance(outcome, Failure):
        (outcome.cause + outcome.message).encode()
    else:
        assert isinstance(outcome, ChatReply)
        (outcome.text + (outcome.refusal or "") + outcome.finish_reason).encode()


# -- content filters

FILTER_SPEC = resolve("m", url="http://localhost:1/v1", environ={})


def error(message: Any, code: Any = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, **more}}


AZURE = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."

ERRORS = {
    "azure": (400, error(AZURE, "content_filter", innererror={"code": "ResponsibleAIPolicyViolation"})),
    "azure, code alone": (400, error("x", "content_filter")),
    "azure, inner code alone": (400, error("x", "BadRequest", innererror={"code": "ResponsibleAIPolicyViolation"})),
    "foundry": (400, error("The response was filtered by Microsoft's content management policy.")),
    "litellm": (400, error("litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - x", "400")),
    "litellm, wrapped": (500, error("litellm.ContentPolicyViolationError: x", "500")),
    "dashscope": (400, error("Input data may contain inappropriate content.", "data_inspection_failed")),
    "dashscope, inner": (400, error("<400> InternalError.Algo.DataInspectionFailed: Input text data ...")),
    "dashscope, native": (400, {"code": "DataInspectionFailed", "message": "Output data ...", "request_id": "r"}),
    "openai policy": (400, error("Your request was rejected.", "content_policy_violation")),
    "openai prompt": (400, error("Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
                                 "invalid_prompt")),
    "openai safety": (400, error("We've limited access to this content for safety reasons.", "invalid_prompt")),
    "openrouter": (403, error('m requires moderation on X. Your input was flagged for "harassment".', 403,
                              metadata={"reasons": ["harassment"], "flagged_input": "Hello", "provider_name": "X"})),
    "openrouter, metadata alone": (403, error("no", 403, metadata={"reasons": ["sexual"], "flagged_input": "Hello"})),
    "gateway, raw": (400, error("Provider error", 400, metadata={"raw": json.dumps(error("x", "content_filter"))})),
    "zhipu": (400, {"contentFilter": [{"level": 1, "role": "user"}], **error("...", "1301")}),
    "zhipu, words": (400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", "1301")),
    "z.ai": (400, error("System detected potentially unsafe or sensitive content in input or generation.", "1301")),
    "moonshot": (400, error("The request was rejected", 400, type="content_filter")),
    "deepseek": (400, error("Content Exists Risk", "invalid_request_error")),
    "deepseek, detail": (400, {"detail": "Content Exists Risk"}),
    "xai": (403, {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: x"}),
    "anthropic": (400, {"type": "error", **error("Output blocked by content filtering policy", type="invalid")}),
    "volcengine": (400, error("The input text may contain ...", "InputTextSensitiveContentDetected")),
    "new api": (400, error("input contains sensitive words: [x]", "sensitive_words_detected")),
    "guardrail": (400, error("Violated guardrail policy")),
    "cloudflare": (400, error("Prompt blocked due to security configurations", 2016)),
    "cloudflare, its status": (424, {"success": False, "error": [{"code": 2017, "message":
                               "Response blocked due to security configurations"}]}),
    "portkey": (446, error("The guardrail checks defined in the config failed.", type="hooks_failed")),
    "stepfun": (451, error("The content you provided or machine outputted is blocked.", type="censorship_blocked")),
    "volcengine, kind behind it": (400, error("...", "InputTextSensitiveContentDetected.PolicyViolation")),
    "openai, cyber": (400, error("This content was flagged for possible cybersecurity risk.", "cyber_policy")),
    "mistral": (403, {"object": "error", "message": "Moderation guardrail violated", "code": "3230"}),
    "litellm's guardrails": (400, error({"error": "Violated content safety policy", "lakera": {}}, "400")),
    "litellm's moderation": (400, error("{'error': 'Violated OpenAI moderation policy'}", "400")),
    "databricks": (400, {"error_code": "BAD_REQUEST", "message":
                         '{"input_guardrail": [{"flagged": true}], "finishReason": "input_guardrail_triggered"}'}),
    "sap": (400, error("Input Filter: Content filtered due to safety violations.", 400)),
    "google, candidate": (400, error("Candidate was blocked due to SAFETY", 400)),
    "google, name": (400, error("The prompt is blocked: PROHIBITED_CONTENT", 400)),
    "foundry, a completion": (400, {"choices": [{"index": 0, "finish_reason": "content_filter",
                                                 "message": {"role": "assistant", "content": ""}}]}),
    "google, a list": (400, [error("The prompt was blocked", 400, status="PROHIBITED_CONTENT")]),
    "plain text": (400, "Content Exists Risk"),
    # with status 200
    "200, error": (200, error("The request was rejected because it was considered high risk", type="content_filter")),
    "200, blocked prompt": (200, {"choices": None, "promptFeedback": {"blockReason": "SAFETY"}}),
    "200, blocked prompt, snake": (200, {"choices": [], "prompt_feedback": {"block_reason": "OTHER"}}),
    "200, no message": (200, {"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT", "index": 0}]}),
    "200, choice's error": (200, {"choices": [{"index": 0, "error": error("x", "content_filter")["error"]}]}),
    "200, openrouter's native reason": (200, {"choices": [{"finish_reason": "error", "native_finish_reason":
                                              "PROHIBITED_CONTENT", "message": {"content": None}}]}),
    "200, baidu": (200, {"error_code": 336003, "error_msg": "the content contains sensitive words"}),
    "200, iflytek": (200, {"code": 10013, "message": "输入内容审核不通过，涉嫌违规，请重新调整输入内容"}),
    "200, minimax": (200, {"choices": None, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}),
    "200, minimax output": (200, {**completion(""), "output_sensitive": True}),
}  # fmt: skip


@pytest.mark.parametrize(("status", "body"), ERRORS.values(), ids=ERRORS)
def test_a_filter_is_a_refusal_and_is_asked_once(status: int, body: Any) -> None:
    with FaultServer([data(body, code=status)]) as server:
        reply = talk_to(spec_at(server.url))
        assert len(server.requests) == 1
    assert reply.refusal and not reply.text and is_filtered(reply.finish_reason)
    assert reply.words == ""


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize(
    "finish",
    ["content_filter", "SAFETY", "refusal", "PROHIBITED_CONTENT", "sensitive", "guardrail_intervened", "RECITATION",
     "content_filter: SAFETY", "FinishReason.SPII", "FINISH_REASON_BLOCKLIST", "content_filtered", "ERROR_TOXIC",
     "content-filter", "IMAGE_PROHIBITED_CONTENT", "input_guardrail_triggered", "content_policy_violation"],
)  # fmt: skip
def test_an_empty_reply_that_a_filter_ended_is_a_refusal(finish: str, content: str | None) -> None:
    made = completion(content, refusal=None)
    made["choices"][0]["finish_reason"] = finish
    with FaultServer([data(made)]) as server:
        reply = talk_to(spec_at(server.url))
        assert len(server.requests) == 1
    assert (reply.refusal, reply.finish_reason) == ("the endpoint's content filter ended the reply", finish)
    assert reply.usage.prompt_tokens == 10, "it is paid for"


def test_a_filtered_reply_under_an_error_status_is_paid_for() -> None:
    made = completion("")
    made["choices"][0]["finish_reason"] = "content_filter"
    with FaultServer([data(made, code=400)]) as server:
        reply = talk_to(spec_at(server.url))
    assert (reply.refusal, reply.usage.prompt_tokens) == ("the endpoint's content filter ended the reply", 10)


def test_a_text_that_a_filter_has_cut_stays() -> None:
    made = completion("half")
    made["choices"][0]["finish_reason"] = "content_filter"
    with FaultServer([data(made)]) as server:
        reply = talk_to(spec_at(server.url))
    assert (reply.text, reply.refusal, reply.words) == ("half", None, "half")


OTHER_ERRORS = {
    "another prompt error": (400, error("Invalid prompt: messages must not be empty", "invalid_prompt")),
    "no rights": (403, {"code": "permission-denied", "error": "Access to the chat endpoint is denied"}),
    "a wrong setting": (400, error("Unknown parameter: 'content_filter'.", "unknown_parameter")),
    "a filter's own failure": (400, error("The filter is not available", "content_filter_error")),
    "a firewall": (403, error("Request blocked by the firewall", 403)),
    "a context": (400, error("maximum context length is 8192 tokens", "context_length_exceeded")),
    "no key": (401, error("content_filter", "invalid_api_key")),
    "a blocked account": (403, error("Your account is suspended because it violates our usage policy", 403)),
    "a blocked network": (403, error("Request blocked by security policy", 403)),
    "a guardrail that is away": (500, error("The guardrail service has timed out")),
    "a missing filter": (400, error("no such filter", "content_filter_not_found")),
    "a blocked region": (451, error("not available in your region", 451)),
    "zhipu, another": (400, error("bad parameter", "1210")),
}


@pytest.mark.parametrize(("status", "body"), OTHER_ERRORS.values(), ids=OTHER_ERRORS)
def test_other_errors_stay_faults(status: int, body: Any) -> None:
    assert not is_filter_error(status, body)
    with FaultServer([data(body, code=status)]) as server, pytest.raises(ModelFault, match=f"HTTP {status}"):
        talk_to(spec_at(server.url))


@pytest.mark.parametrize("finish", ["stop", "length", "tool_calls", "function_call_filter: MALFORMED_CALL", ""])
def test_usual_ends_are_no_filters(finish: str) -> None:
    assert not is_filtered(finish)


def test_the_responses_api() -> None:
    words = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
    found = responses.read_reply({"status": "failed", **error(words, "invalid_prompt"), "output": []}, FILTER_SPEC)
    assert isinstance(found, Failure)
    assert found.cause == "content filter" and found.final

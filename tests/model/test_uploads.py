"""Files that are uploaded before a request of the Responses API, and the request itself, against a server on
loopback."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.chat import ChatReply
from agentgauge.core.config import Config, ModelTable, Prices
from agentgauge.core.errors import ModelFault
from agentgauge.model.client import OpenAIModel
from agentgauge.model.presets import resolve
from tests.model import fault_server as serve
from tests.model.files_server import SECRET, FilesServer, ask, client, own, part, pdf, png, request, response, said

pytestmark = pytest.mark.slow


def test_files_are_uploaded_and_named_by_their_ids(tmp_path: Path) -> None:
    asked = request(
        part(tmp_path / "x.pdf", pdf(), name="report.docx"),
        part(tmp_path / "a.png", png()),
        temperature=0.2,
        max_tokens=9,
        seed=4,
    )
    table: dict[str, Any] = {
        "provider": "openai",
        "prices": Prices(1.0, 2.0),
        "extra_body": {"top_p": 0.5},
        "headers": {"X-Title": "t"},
    }
    with FilesServer() as server:
        (reply,) = ask(own(server.url, **table), asked)
    assert (reply.text, reply.finish_reason, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (
        "ok",
        "stop",
        10,
        5,
    )
    assert reply.usage.usd == pytest.approx(20e-6)
    expiry = {"expires_after[anchor]": "created_at", "expires_after[seconds]": "604800"}
    uploads = {seen.body["file"][2]: seen.body for seen in server.uploaded}
    assert uploads == {
        pdf(): {"purpose": "user_data", **expiry, "file": ("report.docx.pdf", "application/pdf", pdf())},
        png(): {"purpose": "user_data", **expiry, "file": ("a.png", "image/png", png())},
    }
    ids = {seen.body["file"][1]: f"file-{number}" for number, seen in enumerate(server.uploaded, start=1)}
    (seen,) = server.asked
    assert seen.path == "/v1/responses"
    assert seen.body == {
        "model": "judge",
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_file", "file_id": ids["application/pdf"]},
                    {"type": "input_image", "file_id": ids["image/png"], "detail": "auto"},
                ],
            }
        ],
        "store": False,
        "temperature": 0.2,
        "max_output_tokens": 9,
        "top_p": 0.5,
    }
    assert {seen.headers["authorization"] for seen in server.server.requests} == {f"Bearer {SECRET}"}
    assert {seen.headers["x-title"] for seen in server.server.requests} == {"t"}
    assert sorted(server.deleted) == ["/v1/files/file-1", "/v1/files/file-2"]


@pytest.mark.parametrize("name", ['a"b\r\nX: é.png', 'é "1" 漢.png', "a\\b.png"])
def test_no_name_ends_its_line_of_the_form(tmp_path: Path, name: str) -> None:
    with FilesServer() as server:
        ask(own(server.url, api="responses"), request(part(tmp_path / "a.png", png(), name=name)))
    (seen,) = server.uploaded
    assert seen.body.keys() == {"purpose", "file"} and seen.body["file"][1:] == ("image/png", png())


@pytest.mark.parametrize(
    ("table", "files", "path"),
    [
        ({"provider": "openai"}, True, "/v1/responses"),
        ({"provider": "openai"}, False, "/v1/chat/completions"),
        ({"provider": "openai", "api": "chat"}, True, "/v1/chat/completions"),
        ({"api": "responses"}, False, "/v1/responses"),
        ({}, True, "/v1/chat/completions"),
    ],
)
def test_which_api_is_asked(tmp_path: Path, table: dict[str, Any], files: bool, path: str) -> None:
    asked = request(*([part(tmp_path / "a.png", png())] if files else []))
    with FilesServer(answers=[serve.data(serve.completion() | response(said("ok")))]) as server:
        ask(own(server.url, **table), asked)
    assert [seen.path for seen in server.asked] == [path]
    assert len(server.uploaded) == (files and path == "/v1/responses")


def test_two_requests_share_one_upload_and_later_ones_use_it_again(tmp_path: Path) -> None:
    asked = request(part(tmp_path / "a.png", png()), part(tmp_path / "copy.png", png()))

    async def main(url: str) -> None:
        model = client(own(url, api="responses"))
        await asyncio.gather(model.complete(asked), model.complete(asked))
        await model.complete(asked)
        await model.close()

    with FilesServer() as server:
        asyncio.run(main(server.url))
    assert len(server.uploaded) == 1 and len(server.asked) == 3
    assert server.uploaded[0].body.keys() == {"purpose", "file"}  # only OpenAI itself is told an expiry
    assert {item["file_id"] for seen in server.asked for item in seen.body["input"][0]["content"][1:]} == {"file-1"}


def test_one_request_that_is_given_up_does_not_take_the_upload_from_another(tmp_path: Path) -> None:
    asked = request(part(tmp_path / "a.png", png()))

    begun = threading.Event()

    def slow(connection: Any, seen: Any, stopped: Any) -> bool:
        begun.set()
        stopped.wait(0.3)
        return serve.data({"id": "file-slow"})(connection, seen, stopped)

    async def main(server: FilesServer) -> ChatReply:
        model = client(own(server.url, api="responses"))
        first, second = (asyncio.create_task(model.complete(asked)) for _ in range(2))
        await asyncio.to_thread(begun.wait, 5)
        first.cancel()
        reply = await second
        await model.close()
        return reply

    with FilesServer(uploads=[slow]) as server:
        assert asyncio.run(main(server)).text == "ok"
    assert len(server.uploaded) == 1 and server.deleted == ["/v1/files/file-slow"]


@pytest.mark.parametrize(
    "act", [serve.status(500), serve.status(429), serve.reset(), serve.invalid_json(), serve.data({"id": None})]
)
def test_an_upload_is_tried_again(tmp_path: Path, act: serve.Act) -> None:
    with FilesServer(uploads=[act]) as server:
        (reply,) = ask(own(server.url, api="responses"), request(part(tmp_path / "a.png", png())))
    assert reply.text == "ok" and len(server.uploaded) == 2
    assert server.asked[0].body["input"][0]["content"][1]["file_id"] == "file-2"
    assert [seen.body["file"][2] for seen in server.uploaded] == [png(), png()]


@pytest.mark.parametrize("code", [400, 413, 415, 422])
def test_a_file_that_the_endpoint_refuses_is_replaced_and_not_sent_again(tmp_path: Path, code: int) -> None:
    asked = request(part(tmp_path / "a.png", png(), instead="It could not be shown."))

    async def main(url: str) -> None:
        model = client(own(url, api="responses"))
        await model.complete(asked)
        await model.complete(asked)
        await model.close()

    with FilesServer(uploads=[serve.status(code)]) as server:
        asyncio.run(main(server.url))
    assert len(server.uploaded) == 1 and server.deleted == []
    assert [seen.body["input"][0]["content"][1]["text"] for seen in server.asked] == ["It could not be shown."] * 2


UPLOAD_FAULTS: list[tuple[serve.Act, str, int, str]] = [
    (serve.status(401), "http 401", 1, "check the key in AGENTGAUGE_API_KEY"),
    (serve.status(403), "http 403", 1, "check the key"),
    (serve.status(404), "http 404", 1, 'serve /files? if not, set api = "chat"'),
    (serve.status(500), "http 500", 3, "HTTP 500: not now, after 3 tries"),
    (serve.data({}), "no file id", 3, "gave no id"),
    (serve.data([]), "no file id", 3, "gave no id"),
    (serve.html(), "not json (text/html)", 3, "instead of JSON"),
    (serve.silence(), "timeout", 3, "within 0.3 s"),
]


@pytest.mark.parametrize(("act", "cause", "tries", "words"), UPLOAD_FAULTS, ids=[case[1] for case in UPLOAD_FAULTS])
def test_other_mishaps_of_an_upload_are_faults_and_are_tried_anew_by_the_next_request(
    tmp_path: Path, act: serve.Act, cause: str, tries: int, words: str
) -> None:
    asked = request(part(tmp_path / "a.png", png()))

    async def main(url: str) -> tuple[ModelFault, ChatReply]:
        model = client(replace(own(url, api="responses"), timeout=0.3))
        with pytest.raises(ModelFault) as fault:
            await model.complete(asked)
        reply = await model.complete(asked)
        await model.close()
        return fault.value, reply

    with FilesServer(uploads=[act] * tries) as server:
        fault, reply = asyncio.run(main(server.url))
    assert fault.cause == cause and words in str(fault) and reply.text == "ok"
    assert len(server.uploaded) == tries + 1 and len(server.asked) == 1


def test_deleting_takes_no_longer_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgauge.model.files.upload._DELETE_SECONDS", 0.2)
    with FilesServer(delete=serve.silence()) as server:
        ask(own(server.url, api="responses"), request(part(tmp_path / "a.png", png())))
    assert len(server.deleted) == 1


def test_azure_has_paths_and_a_purpose_of_its_own(tmp_path: Path) -> None:
    environ = {"AZURE_OPENAI_API_KEY": SECRET}
    with FilesServer() as server:
        table = ModelTable(
            provider="azure",
            model="gpt-4o",
            deployment="dep",
            endpoint=server.url.removesuffix("/v1"),
            api_version="2025-03-01-preview",
            api="responses",
        )
        spec = resolve("mine", config=Config(models={"mine": table}), environ=environ)

        async def main() -> None:
            model = OpenAIModel(spec, environ=environ)
            await model.complete(request(part(tmp_path / "a.png", png())))
            await model.close()

        asyncio.run(main())
    version = "?api-version=2025-03-01-preview"
    assert [seen.path for seen in server.server.requests] == [
        f"/openai/{path}{version}" for path in ("files", "responses", "files/file-1")
    ]
    assert server.uploaded[0].body["purpose"] == "assistants" and server.asked[0].body["model"] == "dep"
    assert {seen.headers["api-key"] for seen in server.server.requests} == {SECRET}


PASSING: dict[str, serve.Act] = {
    "failed": serve.data(response(status="failed", error={"code": "server_error", "message": "sorry"})),
    "limit": serve.data(response(status="failed", error={"code": "rate_limit_exceeded", "message": "slowly"})),
    "still at work": serve.data(response(status="queued")),
    "no output": serve.data({}),
    "http 500": serve.status(500),
    "broken JSON": serve.invalid_json(),
    "half a body": serve.half_a_body(),
}


@pytest.mark.parametrize("passing", PASSING)
def test_a_response_that_did_not_come_about_is_asked_for_again(passing: str) -> None:
    with FilesServer(answers=[PASSING[passing], serve.data(response(said("at last")))]) as server:
        (reply,) = ask(own(server.url, api="responses"), request())
    assert reply.text == "at last" and len(server.asked) == 2


LASTING: list[tuple[serve.Act, str, int, str]] = [
    (
        serve.data(response(status="failed", error={"code": "invalid_prompt", "message": "no"})),
        "failed: invalid_prompt",
        1,
        "no",
    ),
    (
        serve.data(response(status="failed", error={"code": "server_error", "message": "sorry"})),
        "failed: server_error",
        3,
        "after 3 tries",
    ),
    (serve.status(400, "too long"), "http 400", 1, "too long"),
    (serve.status(404), "http 404", 1, "serve /responses?"),
    (serve.silence(), "timeout", 3, "within 0.2 s"),
]


@pytest.mark.parametrize(("act", "cause", "tries", "words"), LASTING, ids=[case[1] for case in LASTING])
def test_a_response_that_keeps_failing_is_a_fault(act: serve.Act, cause: str, tries: int, words: str) -> None:
    with FilesServer(answers=[act]) as server, pytest.raises(ModelFault) as fault:
        ask(replace(own(server.url, api="responses"), timeout=0.2), request())
    assert fault.value.cause == cause and words in str(fault.value) and len(server.asked) == tries


ENDS: list[tuple[serve.Act, str, str | None, str]] = [
    (serve.data(response({"type": "refusal", "refusal": "No."})), "", "No.", "stop"),
    (
        serve.data(response(said("a"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})),
        "a",
        None,
        "length",
    ),
    (serve.status(400, "filtered", error_code="content_filter"), "", "filtered", "content_filter"),
]


@pytest.mark.parametrize(("act", "text", "refusal", "finish"), ENDS, ids=["refusal", "cut", "filter"])
def test_replies_that_are_the_models_doing_are_not_asked_for_again(
    act: serve.Act, text: str, refusal: str | None, finish: str
) -> None:
    with FilesServer(answers=[act]) as server:
        (reply,) = ask(own(server.url, api="responses"), request())
    assert (reply.text, reply.refusal, reply.finish_reason, len(server.asked)) == (text, refusal, finish, 1)

"""What is replaced as a secret, in which forms, and what is not."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from agentgauge.core import redaction
from agentgauge.core.case import Case, CaseSettings
from agentgauge.core.chat import CaseKey, ChatRequest
from agentgauge.core.errors import ToolError, UsageProblem
from agentgauge.core.files import encoded
from agentgauge.core.redaction import (
    MARK,
    dumps,
    looks_random,
    redact,
    redacted,
    register,
    register_environment,
    register_login,
    without_logins,
)
from agentgauge.core.tools import ToolOutput
from agentgauge.core.types import Sample
from agentgauge.model.client import OpenAIModel
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import excerpt
from agentgauge.replies.store import Replies
from tests.model import fault_server as serve
from tests.model.fault_server import FaultServer
from tests.model.talking import talk_to

PLAIN, ODD, FOREIGN, SLASHES = "sk-test-a1b2c3d4", 'k"e\\y/a1&b2<c3>%e5', "pässword-€-😀-7", "a\\\\\\b\\\\c\\d\\"


@pytest.fixture(autouse=True)
def known(own_secrets: Callable[..., None]) -> None:
    own_secrets(PLAIN, ODD, FOREIGN, SLASHES)


def _json(text: str, **options: bool) -> str:
    return json.dumps(text, **options)[1:-1]


FORMS = {
    "plain": lambda key: key,
    "JSON": _json,
    "JSON of UTF-8": lambda key: _json(key, ensure_ascii=False),
    "JSON in JSON": lambda key: _json(_json(key)),
    "JSON in JSON in JSON": lambda key: _json(_json(_json(key))),
    "escaped characters": lambda key: "".join(f"\\u{unit.hex()}" for at in key for unit in _units(at)),
    "escaped slashes": lambda key: _json(key).replace("/", "\\/"),
    "address": lambda key: quote(key, safe=""),
    "address, in small letters": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "form": quote_plus,
    "path": quote,
    "HTML": html.escape,
}


def _units(sign: str) -> list[bytes]:
    data = sign.encode("utf-16-be")
    return [data[at : at + 2] for at in range(0, len(data), 2)]


@pytest.mark.parametrize("key", [PLAIN, ODD, FOREIGN, SLASHES], ids=["plain", "odd", "foreign", "slashes"])
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found_in_each_form(key: str, form: str) -> None:
    assert redact(f"before {FORMS[form](key)} after {key}") == f"before {MARK} after {MARK}"


@pytest.mark.parametrize("key", [PLAIN, ODD, FOREIGN, SLASHES], ids=["plain", "odd", "foreign", "slashes"])
@pytest.mark.parametrize("before", ["", ":", "me:", "user:", "Bearer "])
def test_a_secret_is_found_in_base64(key: str, before: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = redact(f"<{encode((before + key).encode()).decode()}>")
        assert MARK in text
        left = text.strip("<>").split(MARK)
        assert len(left[0]) <= -(-len(before) * 8 // 6) and len(left[1]) <= 4  # next to nothing of it


def test_values_of_json_are_redacted_and_names_too() -> None:
    value = {"a": [f"<{ODD}>", {PLAIN: 1, "n": None}], "b": ("x", 2.5, True)}
    wanted = {"a": [f"<{MARK}>", {MARK: 1, "n": None}], "b": ["x", 2.5, True]}
    assert redacted(value) == wanted
    assert json.loads(dumps(value, json.JSONEncoder())) == json.loads(encoded(value)) == wanted


def test_what_a_tool_returns_holds_no_secret(tmp_path: Path) -> None:
    class Box:
        async def call(self, *_: object, **__: object) -> tuple[ToolOutput, ...]:
            return (ToolOutput("text", f"the token is {PLAIN}"), ToolOutput("image", f"/{PLAIN}.png"))

    case = Case(Sample("0", "t", (), {}, tmp_path), 1, 7, CaseSettings(), None, Box(), tmp_path)  # type: ignore[arg-type]
    outputs = asyncio.run(case.use("Tell", {}))
    assert [output.content for output in outputs] == [
        f"the token is {MARK}",
        f"/{PLAIN}.png",
    ]  # a path has to lead to its file
    assert case.events[0].detail["result"][0]["content"] == f"the token is {MARK}"


@pytest.mark.parametrize("value", [None, "", "EMPTY", "ollama", "1234567"])
def test_short_values_are_no_secrets(value: str | None) -> None:
    register(value)
    assert redact(f"it says {value}") == f"it says {value}"


@pytest.mark.parametrize(
    ("address", "hidden"),
    [
        (
            "http://me:pass-word@host/a",
            ["me:pass-word", "pass-word", base64.b64encode(b"me:pass-word").decode().rstrip("=")],
        ),
        ("http://me:p%40ss-word@host", ["p%40ss-word", "p@ss-word"]),
        ("http://:pass-word@host", ["pass-word"]),
        ("http://a-long-token@host", ["a-long-token"]),
        ("http://me:short@host", ["me:short"]),
        ("http://host/a:b@c", []),
    ],
)
def test_the_login_of_an_address_is_secret(address: str, hidden: list[str]) -> None:
    register_login(address)
    assert [redact(f"-{text}-") for text in hidden] == [f"-{MARK}-"] * len(hidden)
    assert redact("host") == "host"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:pw@host/a", "http://host/a"),
        ("see https://me@host:80/a?b=c@d and ftp://x:y@z.", "see https://host:80/a?b=c@d and ftp://z."),
        ("http://a:b@c:d@host/", "http://host/"),
        ("--tool-server=http://:t@[::1]:80", "--tool-server=http://[::1]:80"),
        ("http:\\/\\/me:pw@host\\/", "http:\\/\\/host\\/"),
        ("http://host/me@home", "http://host/me@home"),
        ('{"a":"http://host","b":"me@home"}', '{"a":"http://host","b":"me@home"}'),
        ("me@home: http://host", "me@home: http://host"),
    ],
)
def test_addresses_are_shown_without_logins(text: str, shown: str) -> None:
    assert without_logins(text) == shown


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("SERPER_API_KEY", "0123456789abcdef0123", True),
        ("HF_TOKEN", "hf_0123456789abcdef", True),
        ("DB_PASSWORD", "correct-horse-7-battery", True),
        ("MY_KEY", "just-words-and-more-words", False),  # no digit
        ("MY_KEY", "short1", False),
        ("SSH_KEY", "/home/me/.ssh/id_ed25519", False),
        ("LOGIN_TOKEN", "two words 1234567890", False),
        ("HOME_FOLDER", "0123456789abcdef0123", False),
    ],
)
def test_variables_that_are_named_like_secrets_are_registered(name: str, value: str, secret: bool) -> None:
    register_environment({name: value})
    assert (redact(value) == MARK) is secret
    assert looks_random("0123456789abcdef")


def test_messages_of_errors_hold_no_secret() -> None:
    for kind in (UsageProblem, ToolError):
        assert str(kind(f"{PLAIN} at http://me:pw@host/")) == f"{MARK} at http://host/"


def test_a_secret_is_taken_out_before_a_message_is_cut() -> None:
    """Of one that the cut divides, the beginning would be left; so of a login, and of what has the shape of a key."""
    for hidden in (PLAIN, "http://me:pw-of-mine@host", "sk-0123456789abcdef"):
        for length in range(150, 205):
            text = excerpt("x" * length + " " + hidden + " and more" * 9)
            assert "sk-" not in text and "me:" not in text and len(text) <= 203


@pytest.mark.parametrize(
    "text", ["\\" * 1_000_000, "%" * 1_000_000, "\\u" * 500_000, 'k"' * 500_000, "&" * 1_000_000, "\\\\\\b" * 250_000]
)
def test_no_text_takes_long(text: str) -> None:
    start = time.monotonic()
    redact(text)
    assert time.monotonic() - start < 5


def test_a_spec_shows_no_headers() -> None:
    assert "s3cret" not in repr(ModelSpec("m", "openai", "m", "url", headers={"X-Team": "s3cret"}))


@pytest.mark.uses("recording")
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_reply_holds_no_secret_and_its_cassette_is_found_by_the_same_requests(api: str, tmp_path: Path) -> None:
    from agentgauge.plugins.recording.cassette import Cassette, RecordingModel, ReplayModel, begin

    message = {
        "type": "message",
        "content": [{"type": "output_text", "text": PLAIN[:5]}, {"type": "output_text", "text": PLAIN[5:]}],
    }
    call = {"type": "function_call", "call_id": PLAIN, "name": "f", "arguments": json.dumps({"q": PLAIN})}
    acts = {
        "chat": serve.answer(
            [{"text": PLAIN[:5]}, PLAIN[5:]], tool_calls=[serve.tool_call("f", json.dumps({"q": PLAIN}), PLAIN)]
        ),
        "responses": serve.data({"status": "completed", "output": [message, call]}),
    }
    cassette = tmp_path / "cassette.jsonl"
    begin(cassette, {})
    first = ChatRequest(({"role": "user", "content": "Hello"},), case=CaseKey("t", "s"))

    async def talk(model: OpenAIModel) -> list[dict[str, object]]:
        recording = RecordingModel(model, Replies(cassette, {}))
        reply = await recording.complete(first)
        await recording.complete(
            replace(first, messages=(*first.messages, reply.message), case=CaseKey("t", "s", turn=1))
        )
        return [dict(reply.message)]

    with FaultServer([acts[api]]) as server:
        environ = {"AGENTGAUGE_API_KEY": PLAIN}
        spec = ModelSpec("m", "openai", "m", "url", url=server.url, key_env="AGENTGAUGE_API_KEY", api=api)  # type: ignore[arg-type]
        said = talk_to(spec, talk, environ)  # type: ignore[arg-type]
    assert server.requests[0].headers["authorization"] == f"Bearer {PLAIN}"
    assert PLAIN not in json.dumps([said, [request.body for request in server.requests]]) and MARK in json.dumps(said)
    assert PLAIN.encode() not in cassette.read_bytes()

    async def again(_: OpenAIModel) -> None:
        model = ReplayModel(Cassette(cassette, {}), "m")
        reply = await model.complete(first)
        await model.complete(replace(first, messages=(*first.messages, reply.message), case=CaseKey("t", "s", turn=1)))

    redaction._known = ()  # whoever replays has no key
    talk_to(spec, again, {})  # type: ignore[arg-type]

"""``agentgauge serve-model`` as a person points programs at it: a process, HTTP, the ``openai`` package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest

from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import ModelFault
from tests.model import fault_server as serve
from tests.model.fault_server import FaultServer
from tests.model.talking import SECRET, spec_at, talk_to
from tests.plugin.project import ROOT

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "agentgauge.cli.main"]
ENVIRON = {**os.environ, "AGENTGAUGE_API_KEY": SECRET, "AGENTGAUGE_BACKOFF": "0.001", "PYTHONPATH": str(ROOT)}
USER = {"role": "user", "content": "Hi"}
SCRIPT = {
    "replies": {
        "toy/1": ["first", {"tool_calls": [{"name": "OCR", "arguments": {"image": "é.png"}}]}],
        "toy/*": ["other"],
        "/*": ["no case"],
    }
}


@dataclass
class Served:
    url: str
    key: str = ""
    errors: str = ""  # once it has ended

    def ask(self, body: Any, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps({"messages": [USER], **body}).encode()
        request = urllib.request.Request(f"{self.url}/v1/chat/completions", data, {**(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["error"]


@contextmanager
def served(*arguments: str, before: tuple[str, ...] = ()) -> Iterator[Served]:
    """The command, which has to print one line and to end by SIGTERM with status 0."""
    command = [*COMMAND, *before, "serve-model", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRON, cwd="/"
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = Served(**json.loads(line)) if line else Served("")
        try:
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            rest, found.errors = process.communicate(timeout=20)
            assert (process.returncode, rest) == (0, ""), found.errors


def test_a_scripted_model_answers_without_a_key(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(SCRIPT), encoding="utf-8")
    case = {"x-agentgauge-case": "toy/1/1/1"}
    with served(f"--model=scripted:{file}") as model:
        status, first = model.ask({"model": "mine", "seed": 3, "unknown": True}, case)
        (call,) = first["choices"][0]["message"]["tool_calls"]
        assert (status, first["choices"][0]["finish_reason"]) == (200, "tool_calls")
        assert json.loads(call["function"]["arguments"]) == {"image": "é.png"}
        again = model.ask({"model": "mine", "seed": 3, "unknown": True}, case)[1]
        assert again["choices"] == first["choices"] and again["id"] != first["id"]
        assert model.ask({})[1]["choices"][0]["message"]["content"] == "no case"
        with urllib.request.urlopen(f"{model.url}/v1/models", timeout=30) as answer:
            assert [one["id"] for one in json.load(answer)["data"]] == [f"scripted:{file}"]
        for body, headers, says in (
            (b"{", case, "the body is not JSON"),
            ({"messages": []}, case, "at least one message"),
            ({"n": 2}, case, "n must be 1"),
            ({"logprobs": True}, case, "the logprobs of a reply are not passed back"),
            ({}, {"x-agentgauge-case": "toy/12"}, "must be task/sample/attempt/turn, not 'toy/12'"),
            ({}, {"x-agentgauge-case": "box/1/1/0"}, "has no pattern for box/1"),
        ):
            status, error = model.ask(body, headers)
            assert status == 400 and says in error["message"], error

        # AgentGauge's own client, as pytest --model mine --model-url ... uses it
        reply = talk_to(spec_at(f"{model.url}/v1"))
        assert isinstance(reply, ChatReply) and reply.text == "no case" and reply.model == f"scripted:{file}"
        spec = spec_at(f"{model.url}/v1", headers={"x-agentgauge-case": "box/1/1/0"})
        with pytest.raises(ModelFault, match="the endpoint answered HTTP 400: model scripted:") as fault:
            talk_to(spec)
        assert fault.value.cause == "http 400"


def test_a_real_model_needs_the_key_that_is_printed_and_lends_no_other(tmp_path: Path) -> None:
    body = {"messages": [USER], "seed": 7, "user": "u", "temperature": 0.5, "max_completion_tokens": 9, "top_k": 4}
    body |= {"frequency_penalty": 1, "stop": ["END"], "response_format": {"type": "json_object"}}
    script = [serve.status(503), serve.answer("from there")]
    with FaultServer(script) as endpoint, served("--model=far", f"--model-url={endpoint.url}") as model:
        assert model.ask({})[0] == 401 and model.ask({}, {"Authorization": f"Bearer {SECRET}"})[0] == 401
        assert endpoint.requests == []
        key = {"Authorization": f"Bearer {model.key}"}
        status, answer = model.ask(body, key)
        assert (status, answer["choices"][0]["message"]["content"]) == (200, "from there")  # after a retry
        del body["max_completion_tokens"]
        assert endpoint.requests[-1].body == {**body, "model": "far", "max_tokens": 9}
        assert endpoint.requests[-1].headers["authorization"] == f"Bearer {SECRET}"
        status, error = model.ask({"model": "near"}, key)
        assert status == 404 and error["message"] == "there is no model 'near' here; ask 'far'"

        client = openai.OpenAI(base_url=f"{model.url}/v1", api_key=model.key, max_retries=0)
        whole = client.chat.completions.create(model="far", messages=[USER], logprobs=False, n=1)
        assert whole.choices[0].message.content == "from there" and whole.usage.total_tokens == 15
        parts = list(
            client.chat.completions.create(
                model="far", messages=[USER], stream=True, stream_options={"include_usage": True}
            )
        )
        assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == "from there"
        assert parts[-1].usage.total_tokens == 15
        assert [one.id for one in client.models.list()] == ["far"]
        with pytest.raises(openai.NotFoundError, match="a model is asked at /v1/chat/completions"):
            client.responses.create(model="far", input="Hi")

        endpoint.script = [serve.status(401, f"the key {SECRET} is wrong")]
        status, error = model.ask({}, key)
        assert status == 502 and error["code"] == "http 401" and SECRET not in error["message"]
    assert model.errors == ""


TASKS = """
from tests.plugin.toy import TOY, toy

def oracle(sample, request, *, one_call):
    return sample.payload["gold"]

TASKS = (TOY, toy(name="toy.wrong", oracle=oracle))
"""


def test_the_oracle_of_a_file_answers_and_shows_its_mistakes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TASKS)
    (tmp_path / "toy.jsonl").write_text('{"id": "s 0", "say": "gold"}\n')
    before = (f"--tasks={tmp_path / 'mine.py'}",)
    with served("--model=oracle", f"--data=toy={tmp_path}", "--latency-ms=1", before=before) as model:
        _, answer = model.ask({}, {"x-agentgauge-case": "toy.say/s%200/1/0"})
        assert answer["choices"][0]["message"]["content"] == "gold"
        assert "needs the header x-agentgauge-case" in model.ask({})[1]["message"]
        status, error = model.ask({}, {"x-agentgauge-case": "toy.wrong/s%200/1/0"})
        assert status == 400 and "internal error at mine.py:5: KeyError: 'gold'" in error["message"]
    assert "line 5, in oracle\n    return sample.payload[\"gold\"]\nKeyError: 'gold'" in model.errors


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "oracel"], "unknown model 'oracel' (did you mean oracle?)"),
        (["--model", "scripted:/no/such"], "cannot be read"),
        (["--model", "gpt-4o"], "set the environment variable OPENAI_API_KEY"),
        (["--model", "oracle", "--data", "gta_atomic"], "is not NAME=DIR"),
        (["--model", "oracle", "--options", "[]"], "is no JSON object"),
        (["--model", "baseline", "--dialect", "llama"], "--data, --options and --dialect say how oracle answers"),
        (["--model", "oracle", "--model-url", "http://x"], "is built in and has no address"),
        (["--model", "oracle", "--dialect", "klingon"], "there is no dialect 'klingon'"),
        (["--model", "baseline", "--port", "70000"], "port 70000 cannot be used"),
        ([], "--model"),
    ],
)
def test_wrong_arguments_end_with_a_sentence(arguments: list[str], says: str, tmp_path: Path) -> None:
    environ = {name: value for name, value in ENVIRON.items() if name != "OPENAI_API_KEY"}
    command = [*COMMAND, "serve-model", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=tmp_path, timeout=60)
    assert done.returncode not in (0, 1) and says in done.stderr and "Traceback" not in done.stderr

"""What a test gives to ``solve`` in a run that is recorded, replayed, scored again or resumed."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.project import Project, records

BODY = """
from agentgauge import benchmark_task

@benchmark_task("toy.say")
def test_say(sample, model, solve):
    outcome = solve(sample, {model})
    assert outcome.passed, outcome.explanation
"""

PARROT = """
import pytest
from agentgauge.authoring import ChatReply

class Parrot:
    name, fingerprint, reported = "parrot", "", None

    async def complete(self, request):
        with open("asked", "a") as stream:
            stream.write("x")
        return ChatReply(request.messages[-1]["content"].removeprefix("say "))

    async def close(self): ...

@pytest.fixture(scope="session")
def model():
    return Parrot()
"""


@pytest.fixture
def asked() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of an endpoint that says what it is asked to, and its requests."""
    requests: list[dict[str, Any]] = []

    class Endpoint(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(request)
            message = {"role": "assistant", "content": request["messages"][-1]["content"].removeprefix("say ")}
            choices = [{"index": 0, "finish_reason": "stop", "message": message}]
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            reply = json.dumps(
                {"id": "1", "object": "chat.completion", "model": "m", "choices": choices, "usage": usage}
            )
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply.encode())

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
        server.shutdown()


def project_of(path: Path, model: str = "model", samples: int = 3) -> Project:
    project = Project.make(path, samples)
    (path / "test_toy.py").write_text(BODY.format(model=model))
    return project


def given(run: Path) -> list[str]:
    return [record["given"]["model"] for record in records(run)]


KEY = {"OPENAI_API_KEY": "x"}


@pytest.mark.uses("recording")
def test_a_named_model_is_replayed_and_not_asked_again(tmp_path: Path, asked) -> None:
    url, requests = asked
    project = project_of(tmp_path, f'model.named("m", url="{url}")')
    first = project.run("--model=baseline", "--record=c.jsonl", "--run-dir=run", env=KEY)
    assert (first.status, len(requests)) == (0, 3), first.output
    again = project.run("--replay=c.jsonl", "--run-dir=again")
    assert again.status == 0, again.output
    assert "3 passed" in again.output
    assert len(requests) == 3
    assert given(tmp_path / "run") == given(tmp_path / "again") == ["m"] * 3


@pytest.mark.uses("recording")
def test_an_object_of_the_projects_own_is_recorded_and_replayed(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    project.add_to_conftest(PARROT)
    project.run("--model=baseline", "--record=c.jsonl", "--run-dir=run")
    assert (tmp_path / "asked").read_text() == "xxx"
    again = project.run("--replay=c.jsonl", "--run-dir=again")
    assert "3 passed" in again.output, again.output
    assert (tmp_path / "asked").read_text() == "xxx"


def test_a_rescored_run_says_what_was_given(tmp_path: Path, asked) -> None:
    url, _ = asked
    project = project_of(tmp_path, f'model.named("m", url="{url}")')
    project.run("--model=baseline", "--run-dir=run", env=KEY)
    again = project.run("--rescore=run", "--run-dir=again")
    assert again.status == 0, again.output
    assert given(tmp_path / "again") == ["m"] * 3


def test_a_named_model_is_asked_with_its_own_sampling(tmp_path: Path, asked) -> None:
    url, requests = asked
    table = '[models.{name}]\nurl = "{url}"\nmodel = "{name}"\ntemperature = {temperature}\nmax_tokens = {most}\n'
    (tmp_path / "agentgauge.toml").write_text(
        table.format(name="a", url=url, temperature=0.3, most=77)
        + table.format(name="b", url=url, temperature=0.9, most=11)
    )
    result = project_of(tmp_path, 'model.named("b")', samples=1).run("--model=a", "--run-dir=run", env=KEY)
    assert result.status == 0, result.output
    assert [(one["model"], one["temperature"], one["max_tokens"]) for one in requests] == [("b", 0.9, 11)]


def test_figures_with_another_model_say_so_and_are_not_comparable(tmp_path: Path) -> None:
    project = project_of(tmp_path, 'model.named("oracle")')
    result = project.run("--model=baseline", "--run-dir=run")
    note = "the tests of 3 of 3 cases gave another model or other tools than the run's"
    words = " ".join(result.output.split())
    assert f"toy.say: {note}" in words
    summary = result.summary("run")
    assert f"toy.say: {note}" in summary["doubts"]
    assert summary["tasks"]["toy.say"]["comparable"] is False
    assert words.index(note) < words.index("100.0")
    assert note in " ".join((tmp_path / "run" / "leaderboard.md").read_text().split())

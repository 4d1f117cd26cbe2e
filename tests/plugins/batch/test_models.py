"""A model that is asked in batches, by a stand-in of each provider: answers, faults, lost and resumed batches."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from agentgauge.core.causes import Failure
from agentgauge.core.chat import ChatReply
from agentgauge.core.errors import Fault
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.limits import AdaptiveLimiter
from agentgauge.model.open_requests import OpenRequests
from agentgauge.model.retry import RetryPolicy
from agentgauge.model.spec import ModelSpec
from agentgauge.plugins.batch.journal import FILE
from agentgauge.plugins.batch.model import BatchModel
from agentgauge.plugins.batch.providers import FORMATS, with_batch_prices
from tests.model.fault_server import FaultServer, completion, data
from tests.plugins.batch.asking import ENVIRON, ask, request, spec_of, words
from tests.plugins.batch.stand_ins import STAND_INS, OpenAIStandIn

pytestmark = pytest.mark.slow

TEXTS = [f"w{number}" for number in range(7)]


@pytest.fixture(params=STAND_INS, ids=lambda kind: kind.provider)
def server(request):
    with request.param() as running:
        yield running


def test_requests_that_wait_together_are_one_batch_at_half_the_price(server, tmp_path):
    replies = ask(server, tmp_path, TEXTS)
    assert words(replies) == TEXTS
    assert [len(job.items) for job in server.jobs.values()] == [7]
    assert sum(reply.usage.usd for reply in replies) == pytest.approx(server.usd)
    assert not any(path.endswith("/chat/completions") for _, path, _ in server.seen)


@pytest.mark.parametrize("fate", ["error", "expired", "lost"])
def test_requests_that_fail_in_a_batch_go_into_the_next_one(server, tmp_path, fate):
    server.fate = lambda batch, number: fate if batch == 0 and number % 2 else ""
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert [len(job.items) for job in server.jobs.values()] == [7, 3]
    assert server.answered == 7


@pytest.mark.parametrize("end", ["failed", "expired"])
def test_a_batch_that_fails_as_a_whole_is_sent_again(server, tmp_path, end):
    if server.provider == "anthropic":
        pytest.skip("its batches always end with a result for each request")
    server.ends = {0: end}
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert [len(job.items) for job in server.jobs.values()] == [7, 7]


def test_a_request_that_always_fails_is_broken_after_three_batches(server, tmp_path):
    server.fate = lambda batch, number: "error" if len(server.jobs) > 1 or number == 2 else ""
    told = words(ask(server, tmp_path, TEXTS))
    assert [word for word in told if not word.startswith("!")] == [text for text in TEXTS if text != "w2"]
    assert [len(job.items) for job in server.jobs.values()] == [7, 1, 1]


def test_a_batch_whose_creation_has_no_answer_is_found_and_not_created_again(server, tmp_path):
    server.lose = {0}
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert len(server.jobs) == 1
    assert server.answered == 7


def test_a_later_session_finds_the_answers_and_pays_nothing(server, tmp_path):
    first = ask(server, tmp_path, TEXTS)
    again = ask(server, tmp_path, TEXTS)
    assert words(again) == words(first)
    assert [reply.usage for reply in again] == [reply.usage for reply in first]
    assert len(server.jobs) == 1


@pytest.mark.parametrize("lists_files", [True, False])
@pytest.mark.parametrize("kept", ["planned", "uploaded", "submitted"])
def test_a_kill_after_each_note_of_the_journal(server, tmp_path, kept, lists_files):
    """The journal as a kill left it, with half a line at its end; the batch is away."""
    server.lists_files = lists_files
    ask(server, tmp_path, TEXTS)
    journal = tmp_path / FILE
    notes = [json.loads(line) for line in journal.read_text().split("\n") if line]
    files = "upload" in notes[1]
    assert ["requests" in notes[0], "id" in notes[-1]] == [True, True]
    count = {"planned": 1, "uploaded": 1 + files, "submitted": len(notes)}[kept]
    journal.write_text("".join(f"\n{json.dumps(note)}\n" for note in notes[:count]) + '\n{"batch": "ha')
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    # a kill before the note about the file came before the batch; the journal may have lost the note otherwise
    assert len(server.jobs) == (2 if files and kept == "planned" and not lists_files else 1)


def test_a_batch_of_another_run_is_not_taken_for_a_lost_one(server, tmp_path):
    (tmp_path / "other").mkdir()
    ask(server, tmp_path / "other", [f"x{number}" for number in range(7)])
    ask(server, tmp_path, TEXTS)
    journal = tmp_path / FILE
    lines = [line for line in journal.read_text().split("\n") if line and '"id"' not in line]
    journal.write_text("\n".join(lines) + "\n")
    (tmp_path / "third").mkdir()
    ask(server, tmp_path / "third", [f"y{number}" for number in range(7)])
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert len(server.jobs) == 3


def test_a_batch_that_the_provider_has_forgotten_is_sent_again(server, tmp_path):
    ask(server, tmp_path, TEXTS)
    server.jobs.clear()
    server.files.clear()
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert server.answered == 14


def test_an_answer_that_was_no_reply_is_asked_for_again(server, tmp_path):
    server.fate = lambda batch, number: "refused" if batch < 3 and number == 0 else ""
    before = words(ask(server, tmp_path, TEXTS[:1]))
    assert before[0].startswith("!")
    server.fate = lambda batch, number: ""
    assert words(ask(server, tmp_path, TEXTS[:1])) == TEXTS[:1]


def test_an_interruption_of_polls_and_downloads_is_waited_for(server, tmp_path):
    server.on_create = lambda job: setattr(server, "out", 40)  # far more than the attempts of one poll
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert len(server.jobs) == 1


def test_a_lasting_interruption_breaks_the_cases_and_a_resumed_run_asks_again(tmp_path):
    with OpenAIStandIn() as server:
        server.out = 1 << 30
        assert words(ask(server, tmp_path, TEXTS)) == ["! http 503"] * 7
        server.out = 0
        assert words(ask(server, tmp_path, TEXTS)) == TEXTS
        assert len(server.jobs) == 1


def test_answers_that_are_no_batch_are_not_awaited_for_ever(tmp_path):
    """As of a gateway that answers every path with a chat completion."""

    async def main() -> None:
        with FaultServer([data({**completion("I do not know."), "id": "x"})]) as server:
            spec = ModelSpec("m", "openai", "openai", "m", server.url)
            for form in FORMATS.values():
                endpoint = Endpoint(spec, AdaptiveLimiter(1), RetryPolicy(max_retries=0), ENVIRON)
                found = await form.status(endpoint, "x")
                assert isinstance(found, Failure) and found.cause == "no batch", form.title
                await endpoint.close()

    asyncio.run(main())


def test_a_status_that_is_not_known_is_not_awaited_for_ever(server, tmp_path):
    server.ends = {0: "on_hold"}
    found = ask(server, tmp_path, TEXTS[:2])
    assert words(found) == ["! batch not ended"] * 2
    assert "has the status 'on_hold', which AgentGauge does not know" in str(found[0])
    server.ends = {}
    assert words(ask(server, tmp_path, TEXTS[:2])) == TEXTS[:2]
    assert len(server.jobs) == 1


def test_a_batch_that_never_ends_is_not_awaited_for_ever(server, tmp_path, monkeypatch):
    monkeypatch.setattr("agentgauge.plugins.batch.queue.LONGEST", 5)
    server.ends = {0: "never"}
    found = ask(server, tmp_path, TEXTS[:2])
    assert words(found) == ["! batch not ended"] * 2
    assert "has not ended after 5 polls" in str(found[0])
    assert len(server.jobs) == 1


def without_tokens(row):
    return json.loads(re.sub(r'"(\w+_tokens)": \d+', r'"\1": 0', json.dumps(row)))


def failed(row):
    return {"custom_id": row["custom_id"], "error": {"code": "server_error"}, "result": {"type": "errored"}}


@pytest.mark.parametrize(
    "sent",
    [
        lambda row: [row, row],
        lambda row: [row, without_tokens(row)],
        lambda row: [without_tokens(row), row],
        lambda row: [row, failed(row)],
        lambda row: [failed(row), row],
    ],
    ids=["same", "tokens first", "tokens last", "failed last", "failed first"],
)
def test_a_result_that_comes_twice_is_counted_once(server, tmp_path, sent):
    server.twice = sent
    replies = ask(server, tmp_path, TEXTS)
    assert words(replies) == TEXTS
    assert sum(reply.usage.usd for reply in replies) == pytest.approx(server.usd)
    assert (len(server.jobs), sum(reply.usage.requests for reply in replies)) == (1, 7)


def test_a_lost_batch_is_not_sent_again_while_the_search_for_it_fails(server, tmp_path):
    ask(server, tmp_path, TEXTS)
    journal = tmp_path / FILE
    journal.write_text("\n".join(line for line in journal.read_text().split("\n") if '"id"' not in line) + "\n")
    server.out = 1 << 30
    assert words(ask(server, tmp_path, TEXTS)) == ["! http 503"] * 7
    server.out = 0
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert len(server.jobs) == 1


def test_nothing_is_submitted_that_the_journal_cannot_hold(server, tmp_path):
    with pytest.raises(Fault, match=r"the journal of batches: .* cannot be used"):
        ask(server, tmp_path / "gone", TEXTS)
    assert not server.jobs
    assert not any(method == "POST" for method, _, _ in server.seen)


def test_a_refused_creation_is_repeated_without_a_search(server, tmp_path):
    """A batch of another run with as many requests is not taken for this one."""
    (tmp_path / "other").mkdir()
    ask(server, tmp_path / "other", TEXTS)
    server.refusals = 2
    assert words(ask(server, tmp_path, TEXTS)) == TEXTS
    assert len(server.jobs) == 2
    assert not any(method == "GET" and "limit=" in path for method, path, _ in server.seen)


def test_a_cancelled_batch_breaks_its_requests(tmp_path):
    with OpenAIStandIn() as server:
        server.ends = {0: "cancelled"}
        assert words(ask(server, tmp_path, TEXTS[:2])) == ["! batch cancelled"] * 2
        assert len(server.jobs) == 1


def test_a_reply_is_what_a_chat_completion_gives(server, tmp_path):
    reply = ask(server, tmp_path, ["hello"])[0]
    assert isinstance(reply, ChatReply)
    assert reply.finish_reason == "stop"
    assert reply.message == {"content": "hello"}
    assert reply.usage.prompt_tokens > 0


def test_a_reply_knows_the_limit_that_was_sent(server, tmp_path):
    for name in ("limited", "usual"):
        (tmp_path / name).mkdir()
    (limited,) = ask(server, tmp_path / "limited", ["hello"], max_tokens=48)
    (usual,) = ask(server, tmp_path / "usual", ["hello"])
    # Anthropic requires a limit, so AgentGauge sends one
    assert (limited.max_tokens, usual.max_tokens) == (48, 8192 if server.provider == "anthropic" else None)


def test_a_run_that_stops_submits_no_further_batch_and_awaits_the_submitted_one(server, tmp_path):
    spec = with_batch_prices(spec_of(server))

    async def main():
        requests = OpenRequests()
        model = BatchModel(
            spec, FORMATS[server.provider], tmp_path / FILE, most=3, environ=ENVIRON, requests=requests
        )  # a batch of three is full; two further requests wait for others
        asked = [asyncio.ensure_future(model.complete(request(text, n))) for n, text in enumerate(TEXTS[:5])]
        while not server.jobs:  # noqa: ASYNC110 - the stand-in is a thread
            await asyncio.sleep(0.001)
        requests.stop()
        model.stop()
        try:
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    replies = asyncio.run(main())
    assert words(replies[:3]) == TEXTS[:3]
    submitted = [len(job.items) for job in server.jobs.values()]
    assert [isinstance(reply, ChatReply) for reply in replies].count(True) == sum(submitted)
    assert all(reply.cause == "stopped" for reply in replies if not isinstance(reply, ChatReply))

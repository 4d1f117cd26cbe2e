"""The cache of replies: what counts as the same request, and what a run does without a usable cache."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core import redaction
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest, Sampling, ToolCall
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.types import Usage
from agentgauge.plugins.cache.cache import REPLIES, Cache, CachedModel, cache_notes, check_cache

CASE = CaseKey("t", "s")
ASKED = ChatRequest(messages=({"role": "user", "content": "hi"},), seed=1, case=CASE)
PAID = Usage(2, 10, 5, 0.25, cached_tokens=4, estimated_requests=1)


class Stub:
    """A model that numbers its replies."""

    name = "m"

    def __init__(self, fingerprint: str = "f", reported: str | None = None, says: str = "m-1") -> None:
        self.fingerprint, self.reported, self.says = fingerprint, reported, says
        self.asked: list[ChatRequest] = []
        self.fault: ModelFault | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        if self.fault:
            raise self.fault
        return ChatReply(f"reply {len(self.asked)}", usage=PAID, model=self.says)

    async def close(self) -> None: ...


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


def cached(model: Stub, folder: Path, placeholders: Mapping[str, str] = {}) -> CachedModel:
    """As in a new run."""
    return CachedModel(model, Cache(folder / "kept", REPLIES, placeholders, folder / "run"))


def ask(model: CachedModel, *requests: ChatRequest) -> list[ChatReply]:
    async def all_() -> list[ChatReply]:
        return [await model.complete(request) for request in requests]

    return asyncio.run(all_())


def test_a_later_run_gets_the_reply_and_pays_nothing(folder: Path) -> None:
    model = Stub()
    (first,) = ask(cached(model, folder), ASKED)
    (again,) = ask(cached(model, folder), replace(ASKED, case=replace(CASE, sample="another", turn=7)))
    assert len(model.asked) == 1
    assert first.cached is None and first.usage == PAID
    assert again == replace(first, usage=again.usage) and again.model == "m-1"
    assert again.cached is not None and again.cached >= 0
    assert again.usage == replace(PAID, usd=0.0, cached_requests=2, saved_tokens=15, saved_usd=0.25)
    assert again.usage.paid_tokens == 0


@pytest.mark.parametrize(
    "other",
    [
        {"messages": ({"role": "user", "content": "ho"},)},
        {"messages": ({"role": "system", "content": "hi"},)},
        {"tools": ({"type": "function"},)},
        {"seed": 2},
        {"temperature": 0.5},
        {"max_tokens": 9},
        {"usual": Sampling(0.5)},
        {"stop": ("x",)},
        {"raw": True},
        {"template": {"thinking": True}},
        {"extra": {"tool_choice": "required"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_request_is_sent(folder: Path, other: dict[str, Any]) -> None:
    model = Stub()
    ask(cached(model, folder), ASKED)
    ask(cached(model, folder), replace(ASKED, **other))
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    ("other", "is_sent"),
    [
        (Stub(), False),
        (Stub("another address or model"), True),
        (Stub(reported="m-1"), False),
        (Stub(reported="m-2"), True),
    ],
    ids=["the same", "another fingerprint", "the same name", "another name"],
)
def test_a_reply_fits_the_model_that_gave_it(folder: Path, other: Stub, is_sent: bool) -> None:
    ask(cached(Stub(), folder), ASKED)
    ask(cached(other, folder), ASKED)
    assert len(other.asked) == is_sent


def test_a_new_reply_tells_that_the_endpoint_has_another_model_now(folder: Path) -> None:
    ask(cached(Stub(), folder), ASKED)
    now = Stub(says="m-2")
    texts = [reply.text for reply in ask(cached(now, folder), replace(ASKED, seed=2), ASKED)]
    assert texts == ["reply 1", "reply 2"] and len(now.asked) == 2


def test_an_endpoint_with_several_models_of_one_name_is_not_asked_for_ever(folder: Path) -> None:
    pool = Stub(reported="m-1", says="m-2")
    ask(cached(pool, folder), *(replace(ASKED, seed=seed) for seed in range(5)))
    ask(cached(pool, folder), *(replace(ASKED, seed=seed) for seed in (9, *range(5))))
    assert len(pool.asked) == 6


def test_what_a_case_asks_twice_is_answered_twice(folder: Path) -> None:
    model = Stub()
    texts = ["reply 1", "reply 2", "reply 3"]
    assert [reply.text for reply in ask(cached(model, folder), *[ASKED] * 3)] == texts
    assert [reply.text for reply in ask(cached(model, folder), *[ASKED] * 3)] == texts
    assert len(model.asked) == 3


def test_faults_are_not_kept_and_filters_are(folder: Path) -> None:
    model = Stub()
    model.fault = ModelFault("down", cause="http 500")
    with pytest.raises(ModelFault, match="down"):
        ask(cached(model, folder), ASKED)
    model.fault = None
    assert ask(cached(model, folder), ASKED)[0].cached is None


def test_replies_are_whole(folder: Path) -> None:
    model = Stub()
    full = ChatReply(
        "x", (ToolCall("f", "{", "", {"signature": "s"}),), "no", "length", PAID, "thought", "m-1",
        {"content": None}, {"thinking": [1]}, 5, {"reported": "m-1"},
    )  # fmt: skip

    async def complete(request: ChatRequest) -> ChatReply:
        return full

    model.complete = complete  # type: ignore[method-assign]
    ask(cached(model, folder), ASKED)
    (again,) = ask(cached(Stub(), folder), ASKED)
    assert replace(again, usage=PAID, cached=None) == full
    assert (again.model, again.max_tokens, again.observed) == ("m-1", 5, {"reported": "m-1"})
    assert again.message == full.message


def test_files_count_by_content_and_folders_by_what_they_are(folder: Path) -> None:
    model = Stub()
    asked = []
    for run in ("one", "two"):
        (folder / run).mkdir()
        (folder / run / "a.png").write_bytes(b"picture")
        part = {"type": "local_file", "kind": "image", "path": str(folder / run / "a.png"), "name": "a", "instead": ""}
        said = {"type": "text", "text": f"see {folder / run}/a.png"}
        asked.append(replace(ASKED, messages=({"role": "user", "content": [said, part]},)))
    for run, request in zip(("one", "two"), asked, strict=True):
        ask(cached(model, folder, {str(folder / run): "{RUN}"}), request)
    assert len(model.asked) == 1
    (folder / "two" / "a.png").write_bytes(b"another")
    ask(cached(model, folder, {str(folder / "two"): "{RUN}"}), asked[1])
    assert len(model.asked) == 2


def test_no_secret_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", ())
    redaction.register("sk-very-secret-1")
    model = Stub(says="sk-very-secret-1")
    ask(cached(model, folder), replace(ASKED, messages=({"role": "user", "content": "sk-very-secret-1"},)))
    kept = (folder / "kept" / REPLIES).read_text()
    assert "very-secret" not in kept and "[key]" in kept


@pytest.mark.parametrize("damage", [b"", b"{", b'{"key": 1}\n', b'\x00\xff\n{"x"\n'])
def test_what_is_damaged_is_asked_for_again(folder: Path, damage: bytes) -> None:
    model = Stub()
    ask(cached(model, folder), ASKED)
    file = folder / "kept" / REPLIES
    whole = file.read_bytes()
    for content, asked in ((whole[: len(whole) // 2] + damage, 2), (damage + b"\n" + whole, 2)):
        file.write_bytes(content)
        ask(cached(model, folder), ASKED)
        assert len(model.asked) == asked
    entry = json.loads(whole.splitlines()[1])
    for wrong in (
        {},
        {"reply": {}},
        {"reply": 3},
        {**entry["outcome"], "seconds": "x"},
        {**entry["outcome"], "seconds": 1e308},
        {"fault": "f", "cause": "c"},
    ):
        file.write_text(json.dumps({**entry, "outcome": wrong}) + "\n")
        assert ask(cached(Stub(), folder), ASKED)[0].cached is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_told_once_and_ends_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, written = Stub(), []
    whole = Cache(folder / "kept", REPLIES, {}, folder / "run")

    def full(key: str, outcome: object, about: object) -> None:
        written.append(key)
        Path("/dev/full").write_text("x")

    monkeypatch.setattr(whole._replies, "keep", full)
    assert [reply.text for reply in ask(CachedModel(model, whole), *[ASKED] * 3)] == ["reply 1", "reply 2", "reply 3"]
    (note,) = cache_notes(folder / "run")
    assert note.startswith(f"the cache {folder}/kept could not be written (No space left on device)")
    assert len(written) == 1


def test_a_folder_is_made_or_refused_at_the_start(folder: Path) -> None:
    check_cache(folder / "new" / "one")
    assert (folder / "new" / "one").is_dir()
    (folder / "file").write_text("")
    with pytest.raises(UsageProblem, match=r"--cache .*/file cannot be used \(File exists\); give a folder"):
        check_cache(folder / "file")
    os.mkfifo(folder / "new" / REPLIES)
    with pytest.raises(UsageProblem, match=r"replies\.jsonl in it is a pipe; remove it"):
        check_cache(folder / "new")

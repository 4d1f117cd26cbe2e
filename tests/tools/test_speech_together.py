"""Whispers that hear recordings of several threads together: the same words as alone, by faster-whisper and by
transformers, on small models whose weights are set."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolFault, ToolUnavailable
from tests.tools.tiny_whisper import HELLO, converted, whisper
from tool_impls import devices
from tool_impls.audio import hub_whisper
from tool_impls.audio.faster_whisper_model import FasterWhisper
from tool_impls.audio.hub_whisper import HubWhisper

numpy = pytest.importorskip("numpy")

Load = Callable[..., Any]
SECONDS = (2, 65, 0.5, 31, 12)
CUT = ("<|0.00|>", *"he", "<|10.00|>", "<|10.00|>", *"llo")  # a sentence, and the beginning of the next one


def sound(seconds: float) -> Any:
    """Noise, another one for each length."""
    return (0.1 * numpy.random.default_rng(int(10 * seconds)).standard_normal(int(seconds * 16_000))).astype("float32")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whispers for transformers by their names, and in ``NAME.c`` for faster-whisper."""
    folder = tmp_path_factory.mktemp("whispers")
    for name, said in (("hello", HELLO), ("cut", CUT)):
        converted(whisper(folder / name, said), folder / f"{name}.c")
    return folder


@pytest.fixture(params=["faster-whisper", "transformers"])
def load(request: pytest.FixtureRequest, made: Path) -> Load:
    """Loads a model of one of the back ends: its name, the longest batch and the beams."""
    if request.param == "transformers":
        return lambda name, batch=16, beams=1: HubWhisper(made / name, "cpu:1", batch, beams, None)
    return lambda name, batch=16, beams=1: FasterWhisper(made / f"{name}.c", "cpu:1", batch, beams, None)


def passes(
    model: Any, monkeypatch: pytest.MonkeyPatch, *, first: threading.Event | None = None, most: int = 99
) -> list[int]:
    """The lengths of the batches that the model gets from now on. The first one waits for ``first``; the memory
    suffices for ``most`` windows."""
    sizes: list[int] = []
    work = model._model.model if isinstance(model, FasterWhisper) else model
    name = "_generate" if isinstance(model, FasterWhisper) else "_hear"
    plain = getattr(work, name)

    def counted(windows: Sequence[Any]) -> Any:
        if first is not None:
            assert first.wait(30)
        sizes.append(len(windows))
        if len(windows) > most:
            raise RuntimeError("CUDA failed with error out of memory")
        return plain(windows)

    monkeypatch.setattr(work, name, counted)
    return sizes


def waiting(model: Any) -> int:
    work = model._model.model._generated if isinstance(model, FasterWhisper) else model._batched
    return len(work._waiting)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", ["hello", "cut"])
def test_recordings_are_heard_among_others_as_alone(load: Load, name: str, beams: int) -> None:
    model = load(name, 4, beams)
    alone = [model.words(sound(seconds)) for seconds in SECONDS]
    with ThreadPoolExecutor(len(SECONDS)) as pool:
        assert list(pool.map(lambda seconds: model.words(sound(seconds)), SECONDS)) == alone
    windows = {"hello": (1, 3, 1, 2, 1), "cut": (1, 7, 1, 4, 2)}[name]  # of half a minute each, or every 10 seconds
    assert alone == [" ".join(["hello" if name == "hello" else "he"] * number) for number in windows]


def test_windows_that_wait_form_one_batch(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    model, begin = load("hello", 3), threading.Event()
    sizes = passes(model, monkeypatch, first=begin)
    devices.SIZES.clear()
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(model.words, sound(1)) for _ in range(8)]
        while waiting(model) < 7:
            threading.Event().wait(0.01)
        begin.set()
        assert [one.result(60) for one in found] == ["hello"] * 8
    assert sizes == [1, 3, 3, 1] and list(devices.SIZES)[-4:] == sizes


def test_batch_that_does_not_fit_into_memory_is_halved(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    model, begin = load("hello", 4), threading.Event()
    sizes = passes(model, monkeypatch, first=begin, most=2)
    with ThreadPoolExecutor(5) as pool:
        found = [pool.submit(model.words, sound(1)) for _ in range(5)]
        while waiting(model) < 4:
            threading.Event().wait(0.01)
        begin.set()
        assert [one.result(60) for one in found] == ["hello"] * 5
    assert sizes == [1, 4, 2, 2]


def test_window_that_does_not_fit_into_memory_is_a_fault(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("hello")
    passes(model, monkeypatch, most=0)
    with pytest.raises(ToolFault, match="SpeechToText ran out of memory on cpu:1 over one call"):
        model.words(sound(1))


# --- transformers alone --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "seconds", "words"),
    [
        (HELLO, 30, "hello"),
        (HELLO, 30.005, "hello"),  # a rest of less than 10 ms holds no word
        (("<|0.00|>", *"he", "<|10.00|>", "<|10.00|>", *"llo", "<|20.00|>"), 29, "hello"),  # a time ends it: whole
        (("<|0.00|>", *"he", "<|10.00|>", "<|10.00|>"), 25, "he he he"),
        (("<|0.00|>", *"hello"), 31, "hello hello"),  # no time ends it: whole
    ],
)
def test_next_window_begins_after_the_last_whole_sentence(
    tmp_path: Path, said: tuple[str, ...], seconds: float, words: str
) -> None:
    assert HubWhisper(whisper(tmp_path, said), "cpu", 4, 1, None).words(sound(seconds)) == words


def test_language_is_found_in_the_first_window_or_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = whisper(tmp_path, first="<|de|>")
    for given, asked in ((None, "<|de|>"), ("fr", "<|fr|>")):
        model = HubWhisper(folder, "cpu", 4, 1, given)
        assert {"de", "fr", "en"} <= set(model.languages)
        seen: list[Any] = []
        plain = model._model.generate
        monkeypatch.setattr(
            model._model, "generate", lambda seen=seen, plain=plain, **values: seen.append(values) or plain(**values)
        )
        assert model.words(sound(31)) == "hello hello"
        assert [(values["language"], values["task"]) for values in seen] == [([asked], "transcribe")] * 2


@pytest.mark.parametrize(
    ("first", "unsure", "words"),
    [("<|de|>", -1.0, "hello"), ("<|nospeech|>", -1.0, "hello"), ("<|de|>", 0.0, "hello"), ("<|nospeech|>", 0.0, "")],
)
def test_window_of_silence_is_left_out_where_the_model_is_unsure_of_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, unsure: float, words: str
) -> None:
    monkeypatch.setattr(hub_whisper, "UNSURE", unsure)  # 0: always
    assert HubWhisper(whisper(tmp_path, first=first), "cpu", 4, 1, None).words(sound(2)) == words


@pytest.mark.usefixtures("no_network")
def test_local_folder_contacts_no_host(tmp_path: Path) -> None:
    assert HubWhisper(whisper(tmp_path), "cpu", 4, 5, None).words(sound(1)) == "hello"


def test_weights_that_do_not_load_are_told(tmp_path: Path) -> None:
    folder = whisper(tmp_path)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ToolUnavailable, match=r"SpeechToText cannot load the weights of \[tools.speech\]: "):
        HubWhisper(folder, "cpu", 4, 1, None)
    (whisper(tmp_path) / "generation_config.json").unlink()
    with pytest.raises(ToolUnavailable, match=r"generation_config\.json has no_timestamps_token_id"):
        HubWhisper(folder, "cpu", 4, 1, None)


# --- faster-whisper alone ------------------------------------------------------------------------------------------


def test_library_of_cuda_that_is_missing_is_told_when_the_model_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("faster_whisper")
    asked: dict[str, Any] = {}

    class OnGpu:
        def __init__(self, source: str, **values: Any) -> None:
            asked.update(values)
            self.model = type("Model", (), {"n_mels": 80})()

        def encode(self, features: Any) -> None:
            raise RuntimeError("Library libcublas.so.12 is not found or cannot be loaded")

    monkeypatch.setattr(package, "WhisperModel", OnGpu)
    with pytest.raises(ToolUnavailable, match=r'libcublas\.so\.12 is not found .*set backend = "transformers"'):
        FasterWhisper("some/name", "cuda:1", 4, 1, None)
    assert (asked["device"], asked["device_index"], asked["compute_type"]) == ("cuda", 1, "float16")

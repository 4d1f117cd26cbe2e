"""Speech to text: the tool, its back ends, and recordings that are heard together."""

from __future__ import annotations

import math
import threading
import wave
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError, ToolFault, ToolUnavailable
from tests.packages import absent
from tests.tools.tiny_whisper import HELLO, converted, whisper
from tool_impls import devices
from tool_impls.audio import hub_whisper, speech
from tool_impls.audio.faster_whisper_model import FasterWhisper
from tool_impls.audio.hub_whisper import HubWhisper
from tool_impls.audio.speech import RATE, SpeechToText, read_sound
from tool_impls.availability import fingerprints
from tool_impls.base import READY
from tool_impls.server.worker import environment
from tool_impls.settings import Option, ToolSettings

pytest.importorskip("av")
numpy = pytest.importorskip("numpy")


def tone(path: Path, seconds: float, rate: int = RATE, channels: int = 1, loud: tuple[float, ...] = (0.5,)) -> Path:
    """A WAV file with 440 Hz, in each channel as loud as ``loud`` says."""
    beat = [math.sin(2 * math.pi * 440 * index / rate) for index in range(rate)]
    second = b"".join(int(32767 * loud[channel % len(loud)] * value).to_bytes(2, "little", signed=True)
                      for value in beat for channel in range(channels))  # fmt: skip
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((second * math.ceil(seconds))[: round(seconds * rate) * channels * 2])
    return path


def add_picture(container: Any) -> None:
    """A video track of one frame."""
    import av

    stream = container.add_stream("mpeg4", rate=10)
    stream.width = stream.height = 32
    stream.pix_fmt = "yuv420p"
    frame = av.VideoFrame(32, 32, "yuv420p")
    frame.pts, frame.time_base = 0, Fraction(1, 10)
    for packet in [*stream.encode(frame), *stream.encode(None)]:
        container.mux(packet)


# --- sound ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 1), (44_100, 2), (8_000, 1), (48_000, 2)])
def test_sound_becomes_one_track_at_16_khz(tmp_path: Path, rate: int, channels: int) -> None:
    sound = read_sound(tone(tmp_path / "a.wav", 1.5, rate, channels))
    assert sound.dtype == numpy.float32 and abs(sound.size - 1.5 * RATE) <= 64
    crossings = int((numpy.diff(numpy.signbit(sound)) != 0).sum())
    assert abs(crossings - 2 * 440 * 1.5) <= 12
    assert 0.45 < float(numpy.abs(sound[800:-800]).max()) < 0.55


def test_channels_are_mixed_and_not_taken_one_after_the_other(tmp_path: Path) -> None:
    sound = read_sound(tone(tmp_path / "a.wav", 1, channels=2, loud=(0.5, 0.0)))
    assert sound.size == RATE and 0.2 < float(numpy.abs(sound).max()) < 0.4


@pytest.mark.parametrize(("seconds", "size"), [(0.5, 8_000), (2.0, 32_000), (0.0, 48_000), (9.0, 48_000)])
def test_only_the_beginning_is_read_where_that_is_wanted(tmp_path: Path, seconds: float, size: int) -> None:
    assert read_sound(tone(tmp_path / "a.wav", 3), seconds).size == size


def test_sound_of_a_video_and_of_other_formats_is_read(tmp_path: Path) -> None:
    import av

    for name, codec in (("a.mp3", "libmp3lame"), ("a.ogg", "libopus"), ("a.mp4", "aac")):
        with av.open(str(tmp_path / name), "w") as container:
            stream = container.add_stream(codec, rate=48_000)
            if name == "a.mp4":
                add_picture(container)
            values = (numpy.sin(numpy.arange(48_000) * 0.05) * 9_000).astype(numpy.int16).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(values, format="s16", layout="mono")
            frame.sample_rate = 48_000
            for packet in [*stream.encode(frame), *stream.encode(None)]:
                container.mux(packet)
        assert abs(read_sound(tmp_path / name).size - RATE) < 2_000


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("song.wav", b"", "song.wav is not a sound file"),
        ("song.mp3", b"not a sound at all" * 50, "song.mp3 is not a sound file"),
        ("song.wav", b"RIFF\xff\xff\xff\xffWAVEfmt ", "song.wav is not a sound file"),
        ("song.txt", b"#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1:9/a.ts\n", "song.txt is not a sound file"),
        ("gone.wav", None, "gone.wav is not a sound file"),
    ],
)
def test_broken_sound_is_refused_by_name(tmp_path: Path, name: str, content: bytes | None, told: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ToolError, match=told) as caught:
        read_sound(tmp_path / name)
    assert str(tmp_path) not in str(caught.value)


def test_files_without_sound_are_refused(tmp_path: Path) -> None:
    import av

    silent = tmp_path / "silent.mp4"
    with av.open(str(silent), "w") as container:
        add_picture(container)
    with pytest.raises(ToolError, match=r"silent\.mp4 has no sound: it holds no audio track"):
        read_sound(silent)
    with pytest.raises(ToolError, match=r"empty\.wav"):
        read_sound(tone(tmp_path / "empty.wav", 0))


def test_endless_sound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "RECORDING_SECONDS", 2)
    with pytest.raises(ToolError, match="is longer than"):
        read_sound(tone(tmp_path / "long.wav", 3))
    assert read_sound(tone(tmp_path / "long.wav", 3), 2.5).size == 2.5 * RATE


# --- settings ------------------------------------------------------------------------------------------------------


def spoken(
    folder: Path | str, released: bool = False, tool: dict[str, Any] | None = None, **values: Any
) -> ToolSettings:
    return ToolSettings(
        tables={"speech": {"weights": str(folder), **values}, "SpeechToText": tool or {}}, released=released
    )


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        (ToolSettings(), "unavailable: name its weights in [tools.speech]: a local folder, or faster-whisper-base "
                         "(about 150 MB), which `agentgauge fetch faster-whisper-base` brings; or set basic = true in [tools] for pocketsphinx, a small English recogniser"),  # noqa: E501
        (ToolSettings(basic=True), "basic: pocketsphinx, a small English recogniser"),
        (ToolSettings(basic=True, tables={"speech": {"language": "en"}}), "basic: pocketsphinx"),
        (ToolSettings(basic=True, tables={"speech": {"language": "de"}}), "unavailable: language = 'de' in [tools.speech] needs weights: "),  # noqa: E501
        (spoken("no/such/folder"), "unavailable: weights in [tools.speech] names nothing that exists: no/such/folder"),
        (spoken("some/name", allow_download=True), READY),
    ],
)  # fmt: skip
def test_state_says_what_to_set(settings: ToolSettings, state: str) -> None:
    assert SpeechToText.back_end(settings).startswith(state)


@pytest.mark.parametrize("missing", ["config.json", "model.bin", "tokenizer.json"])
def test_folder_that_would_send_the_library_to_the_network_is_refused(tmp_path: Path, missing: str) -> None:
    for name in ("config.json", "model.bin", "tokenizer.json"):
        (tmp_path / name).touch()
    assert SpeechToText.back_end(spoken(tmp_path)) == READY
    (tmp_path / missing).unlink()
    assert SpeechToText.back_end(spoken(tmp_path)).endswith(f"{tmp_path.name} has no {missing}")


FASTER = ("config.json", "model.bin", "tokenizer.json")
HUB = ("config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json", "model.safetensors")


def folder_with(folder: Path, names: tuple[str, ...], kind: str = "whisper") -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f'{{"model_type": "{kind}"}}')
    return folder


@pytest.mark.parametrize(
    ("backend", "names", "kind", "state"),
    [
        ("transformers", HUB, "whisper", READY),
        ("transformers", HUB, "moonshine", "must name a Whisper folder for transformers; w is moonshine"),
        ("transformers", HUB[:-1], "whisper", "for transformers; w has no model.safetensors"),
        ("transformers", HUB[:1], "whisper", "for transformers; w has no generation_config.json"),
        ("transformers", FASTER, "whisper", 'json; it is one for backend = "faster-whisper"'),
        ("faster-whisper", HUB, "whisper", 'w has no model.bin; it is one for backend = "transformers"'),
        ("faster-whisper", FASTER, "whisper", READY),
    ],
)  # fmt: skip
def test_folder_must_be_one_of_the_back_end(
    tmp_path: Path, backend: str, names: tuple[str, ...], kind: str, state: str
) -> None:
    settings = spoken(folder_with(tmp_path / "w", names, kind), backend=backend)
    assert SpeechToText.back_end(settings).endswith(state)
    assert SpeechToText.backend(settings) == f"{backend} w"


@pytest.mark.parametrize(
    ("backend", "package", "install"),
    [("faster-whisper", "faster_whisper", "agentgauge[speech]"), ("transformers", "torch", "agentgauge[vision]")],
)
def test_package_of_the_back_end_that_is_missing_is_told(
    monkeypatch: pytest.MonkeyPatch, backend: str, package: str, install: str
) -> None:
    absent(monkeypatch, package)
    state = SpeechToText.state(spoken("some/name", backend=backend, allow_download=True))
    assert state == f"unavailable: the Python package {package} is missing; install {install}"


def test_only_a_model_hears_several_recordings_at_a_time() -> None:
    tool = SpeechToText(spoken("some/name"))
    assert [tool.together(device) for device in ("cpu", "cpu:1", "cuda:0")] == [1, 1, 2 * speech.BATCH.default]


def test_backend_and_weights_name_what_works(tmp_path: Path) -> None:
    assert SpeechToText.backend(spoken(tmp_path)) == f"faster-whisper {tmp_path.name}"
    assert SpeechToText.weights(spoken(tmp_path)) == (tmp_path,)
    named = spoken("some/name", allow_download=True)
    assert (SpeechToText.backend(named), SpeechToText.weights(named)) == ("faster-whisper some/name", ())


def test_released_tool_hears_half_a_minute() -> None:
    (option,) = SpeechToText.options
    assert isinstance(option, Option) and (option.preset(False), option.preset(True)) == (0.0, 30.0)


# --- the basic form -------------------------------------------------------------------------------------------------

SAID = Path(__file__).with_name("sounds") / "museum.ogg"  # flite, voice rms
SENTENCE = "the small museum near the river opens every morning and closes late in the afternoon"
BASIC = ToolSettings(basic=True)


@pytest.fixture
def basic() -> SpeechToText:
    pytest.importorskip("pocketsphinx")
    tool = SpeechToText(BASIC)
    tool.setup()
    return tool


def test_basic_form_reads_a_clear_voice_and_each_recording_as_if_it_were_the_first(
    basic: SpeechToText, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    second = tmp_path / "b.wav"
    with wave.open(str(second), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((read_sound(SAID)[3 * RATE :] * 32767).astype(numpy.int16).tobytes())
    alone = basic.apply(tmp_path, audio=second)
    first = basic.apply(tmp_path, audio=SAID)
    words = SENTENCE.split()
    blocks = SequenceMatcher(None, words, first.split(), autojunk=False).get_matching_blocks()
    assert sum(block.size for block in blocks) >= 0.7 * len(words)
    assert alone and alone != first and basic.apply(tmp_path, audio=second) == alone
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("seconds", [0.01, 40])
def test_basic_form_hears_no_words_in_silence(basic: SpeechToText, tmp_path: Path, seconds: float) -> None:
    silent = tone(tmp_path / "a.wav", seconds, loud=(0.0,))
    assert basic.apply(tmp_path, audio=silent) == "No words were recognised in this recording."


def test_long_recordings_are_cut_where_they_are_quietest() -> None:
    sound = numpy.ones(70 * RATE, numpy.float32)
    sound[25 * RATE : 26 * RATE] = sound[50 * RATE : 51 * RATE] = 0
    cuts = numpy.cumsum([part.size for part in speech._parts(sound)]) / RATE
    assert cuts.tolist() == [25.05, 50.1, 70.0]


def test_form_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    pytest.importorskip("pocketsphinx")
    found = fingerprints(BASIC, ["SpeechToText"])["SpeechToText"]
    assert (found["state"], found["backend"]) == (f"basic: {speech.BASIC_NAME}", speech.BASIC_NAME)
    assert "pocketsphinx" in found["packages"] and "faster-whisper" not in found["packages"]
    other = fingerprints(spoken(tmp_path), ["SpeechToText"])["SpeechToText"]
    assert other["backend"] == f"faster-whisper {tmp_path.name}" and "pocketsphinx" not in other["packages"]


def test_only_the_basic_form_is_confined_to_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (SpeechToText.on_device(BASIC), SpeechToText.on_device(spoken(tmp_path))) == (False, True)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert "HTTPS_PROXY" not in environment(BASIC, ["SpeechToText"])
    assert "HTTPS_PROXY" in environment(spoken("some/name", allow_download=True), ["SpeechToText"])


# --- the model -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted Whisper for English alone, which hears hello in every half minute."""
    folder = tmp_path_factory.mktemp("whisper")
    return converted(whisper(folder / "made"), folder / "tiny")


def heard(settings: ToolSettings, sound: Path) -> str:
    tool = SpeechToText(settings)
    tool.setup("cpu")
    return tool.apply(sound.parent, audio=sound)


@pytest.mark.parametrize(
    ("seconds", "released", "table", "text"),
    [
        (2, False, {}, "hello"),
        (65, False, {}, "hello hello hello"),
        (65, True, {}, "hello"),
        (65, True, {"max_seconds": 40.0}, "hello hello"),
        (65, False, {"max_seconds": 30.0}, "hello"),
    ],
)
def test_words_of_the_whole_recording_or_of_its_beginning(
    weights: Path, tmp_path: Path, seconds: int, released: bool, table: dict[str, Any], text: str
) -> None:
    assert heard(spoken(weights, released, table), tone(tmp_path / "a.wav", seconds)) == text


@pytest.mark.usefixtures("no_network")
def test_local_model_contacts_no_host(weights: Path, tmp_path: Path) -> None:
    assert heard(spoken(weights), tone(tmp_path / "a.wav", 1)) == "hello"


def test_language_is_handed_on_and_checked(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = SpeechToText(spoken(weights, language="en"))
    tool.setup("cpu")
    asked: list[Any] = []
    library = tool._model._model
    plain = library.transcribe
    monkeypatch.setattr(library, "transcribe", lambda sound, **values: asked.append(values) or plain(sound, **values))
    assert tool.apply(tmp_path, audio=tone(tmp_path / "a.wav", 1)) == "hello"
    assert [(values["language"], values["temperature"]) for values in asked] == [("en", 0.0)]
    with pytest.raises(
        ToolUnavailable, match=r"language in \[tools.speech\] must be one that the model knows: en; got 'klingon'"
    ):
        SpeechToText(spoken(weights, language="klingon")).setup("cpu")


def test_weights_that_are_none_are_told_when_they_load(weights: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((weights / name).read_bytes())
    (tmp_path / "model.bin").write_bytes(b"no weights")
    with pytest.raises(ToolUnavailable, match=r"cannot load the weights of \[tools.speech\]"):
        SpeechToText(spoken(tmp_path)).setup("cpu")


# -- recordings that are heard together


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

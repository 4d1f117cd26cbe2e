"""Speech to text: the back end ``[tools.speech]`` and its tool (docs/benchmarks/tools.md#audio).

Where weights are set, with a Whisper of faster-whisper or of transformers, else in a basic form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agentgauge.core.errors import ToolError, ToolUnavailable
from tool_impls import base, devices
from tool_impls.audio import faster_whisper_model, hub_whisper
from tool_impls.bounds import RECORDING_SECONDS
from tool_impls.model_sources import ALLOW_DOWNLOAD, local, name_of, resolve, weights_option, weights_state
from tool_impls.settings import Option, ToolSettings
from tool_impls.video.frames import open_media

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


# -- without weights: pocketsphinx, a small English recogniser whose model comes in its package


BASIC_NAME = "pocketsphinx, a small English recogniser"
NO_WORDS = "No words were recognised in this recording."
RATE = 16_000  # samples a second that all models hear
LONGEST, EARLIEST = 30 * RATE, 20 * RATE  # samples of a part: memory grows with its length
WINDOW = RATE // 10  # samples over which loudness is taken
BLOCK = RATE // 5  # samples that are searched together: the library keeps all other threads waiting meanwhile


def basic_words(sound: NDArray[numpy.float32]) -> str:
    """The recognised words of a sound at RATE, samples from -1 to 1, in lower case; NO_WORDS without any.

    A decoder adapts to earlier input, so each recording gets a new one.
    """
    from pocketsphinx import Decoder, Vad

    decoder, voice = Decoder(loglevel="FATAL"), Vad()  # FATAL: nothing else goes to the terminal
    parts = (_samples(part) for part in _parts(sound))
    texts = (_said(decoder, part) for part in parts if _speaks(voice, part))
    return " ".join(text for text in texts if text) or NO_WORDS


def _parts(sound: NDArray[numpy.float32]) -> Iterator[NDArray[numpy.float32]]:
    """Parts of at most LONGEST samples, cut where the last third of each is quietest."""
    start = 0
    while sound.size - start > LONGEST:
        loudness = abs(sound[start + EARLIEST : start + LONGEST]).reshape(-1, WINDOW).mean(axis=1)
        end = start + EARLIEST + int(loudness.argmin()) * WINDOW + WINDOW // 2
        yield sound[start:end]
        start = end
    yield sound[start:]


def _samples(sound: NDArray[numpy.float32]) -> bytes:
    """Signed 16 bits."""
    return (sound * 32767).clip(-32768, 32767).astype("int16").tobytes()


def _speaks(voice: Any, samples: bytes) -> bool:
    """Whether any frame sounds like speech: in silence the decoder would hear short words."""
    size = voice.frame_bytes
    return any(voice.is_speech(samples[at : at + size]) for at in range(0, len(samples) - size + 1, size))


def _said(decoder: Any, samples: bytes) -> str:
    """The most probable words of one part."""
    decoder.start_utt()  # once without search, for the mean of the whole part, which levels the input
    decoder.process_raw(samples, no_search=True, full_utt=True)
    mean = decoder.get_cmn(False)
    decoder.end_utt()
    decoder.set_cmn(mean)
    decoder.start_utt()
    for at in range(0, len(samples), 2 * BLOCK):
        decoder.process_raw(samples[at : at + 2 * BLOCK])
    decoder.end_utt()
    found = decoder.hyp()
    return str(found.hypstr) if found else ""


# -- the tool


TABLE = "speech"
FASTER, HUB = "faster-whisper", "transformers"
BACKEND = Option("backend", "text", FASTER, "what runs the model", accepted=(FASTER, HUB))
SUGGESTED = {FASTER: ("Systran/faster-whisper-base", "about 150 MB"), HUB: ("openai/whisper-base", "about 290 MB")}
WEIGHTS = weights_option(f"{SUGGESTED[FASTER][0]} or, for transformers, {SUGGESTED[HUB][0]}")
LANGUAGE = Option("language", "text", None, "language of all recordings, such as en; found out for each one if not set")
BEAMS = Option("beams", "int", 5, "hypotheses that are followed at a time", least=1)
BATCH = Option("batch", "int", 16, "half minutes of sound that go through the model at once, at most", least=1)
OPTIONS = (BACKEND, WEIGHTS, ALLOW_DOWNLOAD, LANGUAGE, BEAMS, BATCH)

PACKAGES = {FASTER: ("faster_whisper",), HUB: hub_whisper.PACKAGES}


class Transcriber(Protocol):
    """A loaded model, for many threads. ``languages``: those that it knows, by their codes."""

    languages: tuple[str, ...]

    def words(self, sound: NDArray[numpy.float32]) -> str:
        """The words of a sound at RATE, samples from -1 to 1. They do not depend on what other threads ask."""


class SpeechToText(base.BenchTool):
    meta = base.tool(
        "SpeechToText",
        "Writes down what is said in a sound file.",
        (base.path("audio", "Path of the sound file."),),
        base.TEXT_OUT,
    )
    tables = ("speech",)
    category = "perception"
    packages = ("av", "numpy")
    extra = "speech"
    pure = True
    confined = True
    options = (
        Option(
            "max_seconds", "float", 0.0, "seconds of a recording that are transcribed; 0: all", released=30.0, least=0
        ),
    )
    seconds = 600.0
    concurrency = 32  # on a GPU two batches: one gathers while the model hears the other
    _model: Transcriber | None = None

    def together(self, device: str) -> int:
        # a processor gains nothing by several at a time
        return 1 if devices.kind(device) == devices.CPU else self.concurrency

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        backend, given = settings.value(TABLE, BACKEND), settings.value(TABLE, WEIGHTS)
        if _is_basic(settings):
            if (language := settings.value(TABLE, LANGUAGE)) not in (None, "en"):
                problem = f"language = {language!r} in [tools.{TABLE}] needs weights"
                return base.unavailable(f"{problem}: {BASIC_NAME}, recognises en only")
            return f"{base.BASIC}: {BASIC_NAME}"
        state = weights_state(settings, TABLE, given, *SUGGESTED[backend])
        if given is None:
            return f"{state}; or set basic = true in [tools] for {BASIC_NAME}"
        source = resolve(settings, TABLE, given)
        return _folder_state(source, backend) if isinstance(source, Path) else state

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        if _is_basic(settings):
            return BASIC_NAME
        source = resolve(settings, TABLE, settings.value(TABLE, WEIGHTS))
        return f"{settings.value(TABLE, BACKEND)} {name_of(source, str(source or ''))}".strip()

    @classmethod
    def form_packages(cls, settings: ToolSettings) -> tuple[str, ...]:
        return ("pocketsphinx",) if _is_basic(settings) else PACKAGES[settings.value(TABLE, BACKEND)]

    @classmethod
    def form_extra(cls, settings: ToolSettings) -> str:
        return "vision" if settings.value(TABLE, BACKEND) == HUB and not _is_basic(settings) else cls.extra

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return local(resolve(settings, TABLE, settings.value(TABLE, WEIGHTS)))

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return not _is_basic(settings)

    def setup(self, device: str = "cpu") -> None:
        if _is_basic(self.settings):
            return
        backend, batch, beams, language = (
            self.settings.value(TABLE, option) for option in (BACKEND, BATCH, BEAMS, LANGUAGE)
        )
        source = resolve(self.settings, TABLE, self.settings.value(TABLE, WEIGHTS))
        assert source is not None, "only where the state is ready"
        load: Callable[..., Transcriber] = (
            hub_whisper.HubWhisper if backend == HUB else faster_whisper_model.FasterWhisper
        )
        model = load(source, devices.plain(device), batch, beams, language)
        if language and language not in model.languages:
            known = f"one that the model knows: {', '.join(model.languages)}"
            raise ToolUnavailable(f"language in [tools.{TABLE}] must be {known}; got {language!r}")
        self._model = model

    def apply(self, folder: Path, /, audio: Path) -> str:
        """The words, with single blanks between segments. Raises ToolError for a file without sound."""
        sound = read_sound(audio, self.option("max_seconds"))
        return basic_words(sound) if self._model is None else self._model.words(sound)


def _is_basic(settings: ToolSettings) -> bool:
    return settings.basic and settings.value(TABLE, WEIGHTS) is None


def _folder_state(folder: Path, backend: str) -> str:
    """READY, or what the folder lacks. Reads one small file at most."""
    lacking = {FASTER: faster_whisper_model.missing_file(folder), HUB: hub_whisper.missing_file(folder)}
    must = f"weights in [tools.{TABLE}] must name a Whisper folder for {backend}"
    if missing := lacking[backend]:
        other = next((f'; it is one for backend = "{name}"' for name, lacks in lacking.items() if not lacks), "")
        return base.unavailable(f"{must}; {folder.name} has no {missing}{other}")
    if backend == HUB and (kind := hub_whisper.kind_of(folder)) != hub_whisper.KIND:
        return base.unavailable(f"{must}; {folder.name} is {kind}")
    return base.READY


def read_sound(path: Path, seconds: float = 0.0) -> NDArray[numpy.float32]:
    """The first audio track at RATE, mixed to one channel, from -1 to 1; at most ``seconds`` of it if that is not 0.

    Raises ToolError where the file has no sound that can be read, or more than RECORDING_SECONDS seconds of it.
    """
    import av
    import numpy

    limit = int((seconds or RECORDING_SECONDS) * RATE)
    parts, length = [], 0
    try:
        with open_media(path, "sound file") as container:
            if not container.streams.audio:
                raise ToolError(f"{path.name} has no sound: it holds no audio track")
            resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
            for frame in container.decode(container.streams.audio[0]):
                frame.pts = None  # gaps in the times are no silence
                for piece in resampler.resample(frame):
                    parts.append(piece.to_ndarray().reshape(-1))
                    length += parts[-1].size
                if length > limit:
                    break
            else:
                parts += [piece.to_ndarray().reshape(-1) for piece in resampler.resample(None)]
    except (av.FFmpegError, OSError, ValueError) as error:
        raise ToolError(f"{path.name} is not a sound file that can be read ({type(error).__name__})") from None
    if not parts:
        raise ToolError(f"{path.name} has no sound: its audio track is empty")
    if not seconds and length > limit:
        most = f"{RECORDING_SECONDS // 3600} hours, the longest accepted recording"
        raise ToolError(f"{path.name} is longer than {most}; cut it first")
    sound: NDArray[numpy.float32] = numpy.concatenate(parts)[:limit].astype(numpy.float32)
    sound /= 32768.0
    return sound

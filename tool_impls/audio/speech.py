"""Speech to text: the back end ``[tools.speech]`` and its tool (GTA tools spec 5.3).

With faster-whisper where weights are set, else in a basic form.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError, ToolUnavailable
from tool_impls import base
from tool_impls.audio import basic_speech
from tool_impls.bounds import RECORDING_SECONDS
from tool_impls.options import Option
from tool_impls.settings import ToolSettings
from tool_impls.video.frames import open_media
from tool_impls.weights import ALLOW_DOWNLOAD, local, name_of, resolve, weights_option, weights_state

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

TABLE = "speech"
DEFAULT = "Systran/faster-whisper-base"
SIZE = "about 150 MB"
WEIGHTS = weights_option(DEFAULT)
LANGUAGE = Option("language", "text", None, "language of all recordings, such as en; found out for each one if not set")
BEAMS = Option("beams", "int", 5, "hypotheses that are followed at a time", least=1)
OPTIONS = (WEIGHTS, ALLOW_DOWNLOAD, LANGUAGE, BEAMS)

NEEDED = ("config.json", "model.bin", "tokenizer.json")  # without the last faster-whisper would ask the hub for one
RATE = 16_000  # samples a second that Whisper hears


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

    def __init__(self, settings: ToolSettings) -> None:
        super().__init__(settings)
        self._model: Any = None
        self._lock = threading.Lock()

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        given = settings.value(TABLE, WEIGHTS)
        if given is None and not settings.basic:
            state = weights_state(settings, TABLE, given, DEFAULT, SIZE)
            return f"{state}; or set basic = true in [tools] for {basic_speech.NAME}"
        if given is None:
            if (language := settings.value(TABLE, LANGUAGE)) not in (None, "en"):
                problem = f"language = {language!r} in [tools.{TABLE}] needs weights"
                return base.unavailable(f"{problem}: {basic_speech.NAME}, recognises en only")
            return f"{base.BASIC}: {basic_speech.NAME}"
        state = weights_state(settings, TABLE, given, DEFAULT, SIZE)
        if state != base.READY:
            return state
        source = resolve(settings, TABLE, given)
        if isinstance(source, Path) and (missing := [name for name in NEEDED if not (source / name).is_file()]):
            must = "must name a Whisper folder for faster-whisper (CTranslate2)"
            return base.unavailable(f"weights in [tools.{TABLE}] {must}; {source.name} has no {missing[0]}")
        return base.READY

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        if _is_basic(settings):
            return basic_speech.NAME
        source = resolve(settings, TABLE, settings.value(TABLE, WEIGHTS))
        return f"faster-whisper {name_of(source, str(source or ''))}".strip()

    @classmethod
    def form_packages(cls, settings: ToolSettings) -> tuple[str, ...]:
        return ("pocketsphinx",) if _is_basic(settings) else ("faster_whisper",)

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return local(resolve(settings, TABLE, settings.value(TABLE, WEIGHTS)))

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return not _is_basic(settings)

    def setup(self, device: str = "cpu") -> None:
        if _is_basic(self.settings):
            return
        from faster_whisper import WhisperModel

        source = resolve(self.settings, TABLE, self.settings.value(TABLE, WEIGHTS))
        kind, _, index = device.partition(":")
        try:
            self._model = WhisperModel(
                str(source),
                device=kind,
                device_index=int(index or 0),
                compute_type="float16" if kind == "cuda" else "int8",
                local_files_only=isinstance(source, Path),
            )
        except (RuntimeError, ValueError, OSError) as error:
            reason = base.first_line(error)
            raise ToolUnavailable(f"SpeechToText cannot load the weights of [tools.{TABLE}]: {reason}") from None
        language = self.settings.value(TABLE, LANGUAGE)
        if language and language not in self._model.supported_languages:
            known = f"one that the model knows: {', '.join(self._model.supported_languages)}"
            raise ToolUnavailable(f"language in [tools.{TABLE}] must be {known}; got {language!r}")

    def apply(self, folder: Path, /, audio: Path) -> str:
        """The words of all segments, joined by blanks. Raises ToolError for a file without sound."""
        sound = read_sound(audio, self.option("max_seconds"))
        if self._model is None:
            return basic_speech.words_of(sound)
        with self._lock:  # the segments are worked out while they are read
            segments, _ = self._model.transcribe(
                sound,
                language=self.settings.value(TABLE, LANGUAGE),
                beam_size=self.settings.value(TABLE, BEAMS),
                temperature=0.0,  # higher ones are drawn by chance
                condition_on_previous_text=False,  # a slip would go on to the end of the recording
            )
            return " ".join(text for segment in segments if (text := segment.text.strip()))


def _is_basic(settings: ToolSettings) -> bool:
    return settings.basic and settings.value(TABLE, WEIGHTS) is None


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

"""Whisper by faster-whisper (CTranslate2), where recordings of several threads are heard together.

faster-whisper cuts a recording into windows of half a minute and asks its model about one after the other. Here the
model is replaced by one that gathers what several threads ask and answers it in one pass.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgauge.core.errors import ToolUnavailable
from tool_impls import devices
from tool_impls.base import first_line
from tool_impls.devices import Batched

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

NEEDED = ("config.json", "model.bin", "tokenizer.json")  # without the last faster-whisper would ask the hub for one
FRAMES = 3000  # of 10 ms in a window
TOOL = "SpeechToText"


def missing_file(folder: Path) -> str | None:
    """The first file that a folder of a converted Whisper lacks."""
    return next((name for name in NEEDED if not (folder / name).is_file()), None)


class FasterWhisper:
    """A model for many threads. ``source``: a local folder, or a name on the hub, which is only then contacted."""

    def __init__(self, source: Path | str, device: str, batch: int, beams: int, language: str | None) -> None:
        """Loads the model: in half precision on a GPU, in 8 bits on the processor. Raises ToolUnavailable if that
        fails."""
        from faster_whisper import WhisperModel

        on_gpu = devices.kind(device) != devices.CPU
        try:
            with devices.loading(TOOL, device):
                self._model: Any = WhisperModel(
                    str(source),
                    device=devices.kind(device),
                    device_index=int(device.partition(":")[2] or 0) if on_gpu else 0,
                    compute_type="float16" if on_gpu else "int8",
                    local_files_only=isinstance(source, Path),
                )
                if on_gpu:
                    _try_out(self._model)
        except (RuntimeError, ValueError, OSError) as error:
            raise ToolUnavailable(f"{TOOL} cannot load the weights of [tools.speech]: {first_line(error)}") from None
        self.languages: tuple[str, ...] = tuple(self._model.supported_languages)
        self._language = language
        self._beams = beams
        self._model.model = _SharedModel(self._model.model, batch, device)
        self._model.feature_extractor = _InTurn(self._model.feature_extractor)

    def words(self, sound: NDArray[numpy.float32]) -> str:
        """The words of a sound of 16,000 samples a second, from -1 to 1; those of all segments, joined by blanks."""
        segments, _ = self._model.transcribe(
            sound,
            language=self._language,
            beam_size=self._beams,
            temperature=0.0,  # higher ones are drawn by chance
            condition_on_previous_text=False,  # a slip would go on to the end of the recording
        )
        return " ".join(text for segment in segments if (text := segment.text.strip()))


def _try_out(model: Any) -> None:
    """Hear a silent window. Raises RuntimeError where a library of CUDA is missing: CTranslate2 opens it at the first
    use, and no call of a benchmark should fail of it."""
    import numpy

    try:
        model.encode(numpy.zeros((model.model.n_mels, FRAMES), numpy.float32))
    except RuntimeError as error:
        if devices.lacks_memory(error):
            raise
        advice = 'install what faster-whisper needs on a GPU, or set backend = "transformers"'
        raise RuntimeError(f"{first_line(error)}; {advice}") from None


class _Window(NamedTuple):
    features: NDArray[numpy.float32]  # (1, mels, FRAMES)
    prompt: tuple[int, ...]
    options: Mapping[str, Any]


class _SharedModel:
    """A model of CTranslate2 as faster-whisper uses it, which answers windows of several threads in one pass.

    What ``encode`` returns is only handed on to the other functions, which take features as well; so it returns the
    features, and the encoder runs where there is a batch.
    """

    def __init__(self, model: Any, batch: int, device: str) -> None:
        self._model = model
        self._device = device
        self._generated: Batched[_Window, Any] = Batched(self._generate_all, batch)
        self._detected: Batched[NDArray[numpy.float32], Any] = Batched(self._detect_all, batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)  # what it is: its languages, its device

    def encode(self, features: Any, to_cpu: bool) -> NDArray[numpy.float32]:
        import numpy

        return numpy.asarray(features)

    def detect_language(self, features: NDArray[numpy.float32]) -> list[Any]:
        return [self._detected(features)]

    def generate(self, features: NDArray[numpy.float32], prompts: Sequence[Sequence[int]], **options: Any) -> list[Any]:
        (prompt,) = prompts
        return [self._generated(_Window(features, tuple(prompt), options))]

    def _generate_all(self, windows: Sequence[_Window]) -> list[Any]:
        return devices.in_parts(self._generate, windows, tool=TOOL, device=self._device)

    def _generate(self, windows: Sequence[_Window]) -> Sequence[Any]:
        options = windows[0].options
        assert all(window.options == options for window in windows), "a tool asks with the same options always"
        features = _joined([window.features for window in windows])
        found: Sequence[Any] = self._model.generate(features, [list(window.prompt) for window in windows], **options)
        return found

    def _detect_all(self, features: Sequence[NDArray[numpy.float32]]) -> list[Any]:
        return devices.in_parts(self._detect, features, tool=TOOL, device=self._device)

    def _detect(self, features: Sequence[NDArray[numpy.float32]]) -> Sequence[Any]:
        found: Sequence[Any] = self._model.detect_language(_joined(features))
        return found


def _joined(features: Sequence[NDArray[numpy.float32]]) -> Any:
    import numpy
    from ctranslate2 import StorageView

    return StorageView.from_array(numpy.concatenate(features))


class _InTurn:
    """A feature extractor that works for one thread at a time: for hours of sound it takes gigabytes meanwhile."""

    def __init__(self, extractor: Any) -> None:
        self._extractor = extractor
        self._turn = threading.Lock()

    def __call__(self, sound: NDArray[numpy.float32], chunk_length: int | None = None) -> NDArray[numpy.float32]:
        with self._turn:
            found: NDArray[numpy.float32] = self._extractor(sound, chunk_length=chunk_length)
            return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._extractor, name)

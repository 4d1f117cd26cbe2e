"""Whisper by transformers, where recordings of several threads are heard together.

A recording is heard in windows of half a minute, as Whisper's authors do it: the next window begins where the last
whole sentence of this one ends. transformers can do so itself, but over a fixed set of recordings, which are all done
when the longest is. Here each window is one request, so that windows of any recordings form a batch at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgauge.core.errors import ToolUnavailable
from agentgauge.core.text import parse_json
from tool_impls import devices
from tool_impls.base import first_line
from tool_impls.devices import Batched

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

PACKAGES = ("torch", "transformers")
TOOL = "SpeechToText"
KIND = "whisper"
RATE = 16_000  # samples a second
WINDOW = 30 * RATE  # samples that the model hears at a time
STEP = RATE // 50  # samples between two times that it can name
SHORTEST = RATE // 100  # samples; a rest that is shorter holds no word

NEEDED = (
    ("config.json",),
    ("generation_config.json",),
    ("preprocessor_config.json", "processor_config.json"),
    ("tokenizer.json", "vocab.json"),
    ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json"),
)
"""Files of a folder as it is published; of each line one is enough."""

SILENT, UNSURE = 0.6, -1.0
"""A window is left out where the probability of silence is higher than the one, and the mean log probability of what
was heard lower than the other: the rule of Whisper's authors, which faster-whisper has too."""


def missing_file(folder: Path) -> str | None:
    """The first file that a folder of a Whisper lacks."""
    return next((names[0] for names in NEEDED if not any((folder / name).is_file() for name in names)), None)


def kind_of(folder: Path) -> str:
    """The type of model that config.json names: ``whisper``, or another text."""
    try:
        return str(parse_json((folder / "config.json").read_text("utf-8"))["model_type"])
    except (OSError, ValueError, KeyError, TypeError):
        return "of no known type"


class _Window(NamedTuple):
    sound: NDArray[numpy.float32]
    language: str | None  # as a token, <|en|>; None if it is to be found out


class _Heard(NamedTuple):
    text: str
    samples: int  # after which the next window begins
    language: str | None


class HubWhisper:
    """A model for many threads. ``source``: a local folder, or a name on the hub, which is only then contacted."""

    def __init__(self, source: Path | str, device: str, batch: int, beams: int, language: str | None) -> None:
        """Loads the model, in half precision on a GPU. Raises ToolUnavailable if that fails."""
        from tool_impls.devices import ready_torchvision

        ready_torchvision()  # before transformers imports it
        from transformers import AutoFeatureExtractor, AutoModelForSpeechSeq2Seq, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()
        # where it is left out, transformers asks at the terminal whether code of the folder may run
        where: dict[str, Any] = {"local_files_only": isinstance(source, Path), "trust_remote_code": False}
        self._kind = devices.half(device)
        try:
            with devices.loading(TOOL, device):
                self._ear: Any = AutoFeatureExtractor.from_pretrained(source, **where)
                self._tokenizer: Any = AutoTokenizer.from_pretrained(source, **where)
                model: Any = AutoModelForSpeechSeq2Seq.from_pretrained(source, dtype=self._kind, **where)
                self._model: Any = model.to(device).eval()
        except ToolUnavailable:
            raise
        except Exception as error:  # a folder may be broken in as many ways as there are models
            raise ToolUnavailable(f"{TOOL} cannot load the weights of [tools.speech]: {first_line(error)}") from None
        form = self._model.generation_config
        if self._model.config.model_type != KIND or not hasattr(form, "no_timestamps_token_id"):
            must = "must name a Whisper whose generation_config.json has no_timestamps_token_id"
            raise ToolUnavailable(f"weights in [tools.speech] {must}; take them as they are published")
        self._device = device
        self._beams = beams
        self._first_time: int = form.no_timestamps_token_id + 1
        self._end: int = self._model.config.eos_token_id  # text has lower numbers
        self._tokens: dict[str, int] = getattr(form, "lang_to_id", None) or {}
        self.languages: tuple[str, ...] = tuple(token.strip("<|>") for token in self._tokens) or ("en",)
        self._language = f"<|{language}|>" if language and self._tokens else None
        self._batched: Batched[_Window, _Heard] = Batched(self._hear_all, batch)

    def words(self, sound: NDArray[numpy.float32]) -> str:
        """The words of a sound of RATE samples a second, from -1 to 1; those of its windows, joined by blanks. The
        language of the first window is that of all."""
        texts: list[str] = []
        at, language = 0, self._language
        while sound.size and (at == 0 or sound.size - at >= SHORTEST):
            heard = self._batched(_Window(sound[at : at + WINDOW], language))
            texts.append(heard.text)
            at, language = at + heard.samples, heard.language
        return " ".join(filter(None, texts))

    def _hear_all(self, windows: Sequence[_Window]) -> list[_Heard]:
        return devices.in_parts(self._hear, windows, tool=TOOL, device=self._device)

    def _hear(self, windows: Sequence[_Window]) -> list[_Heard]:
        import torch

        with torch.inference_mode():
            sounds = [window.sound for window in windows]
            features = self._ear(sounds, sampling_rate=RATE, return_tensors="pt", device=self._device)["input_features"]
            encoded = self._model.get_encoder()(features.to(self._device, self._kind))
            silence, found = self._opening(encoded, len(windows))
            languages = [window.language or own for window, own in zip(windows, found, strict=True)]
            rows = self._written(encoded, languages)
            results = []
            for number, (sound, row) in enumerate(zip(sounds, rows, strict=True)):
                said = [token for token in row.tolist() if token < self._end or token >= self._first_time]
                kept, samples = self._whole_part(said)
                unheard = silence[number] > SILENT and self._sureness(encoded[0][number : number + 1], row) < UNSURE
                text = "" if unheard else self._text(kept)
                results.append(_Heard(text, sound.size if unheard or not samples else samples, languages[number]))
        return results

    def _opening(self, encoded: Any, count: int) -> tuple[list[float], list[str | None]]:
        """What the model says at the start of each window: the probability of silence, and the language's token."""
        import torch

        start = torch.full((count, 1), self._model.config.decoder_start_token_id, device=self._device)
        scores = self._model(encoder_outputs=encoded, decoder_input_ids=start).logits[:, -1].float()
        silence: list[float] = scores.softmax(-1)[:, self._first_time - 2].tolist()  # its token comes before the times'
        if not self._tokens:
            return silence, [None] * count
        names, numbers = list(self._tokens), list(self._tokens.values())
        return silence, [names[best] for best in scores[:, numbers].argmax(-1).tolist()]

    def _written(self, encoded: Any, languages: Sequence[str | None]) -> Any:
        """The tokens of each window, from the start to the end or to padding, which is the end's token."""
        spoken = {"language": list(languages), "task": "transcribe"} if self._tokens else {}
        return self._model.generate(
            encoder_outputs=encoded,
            num_beams=self._beams,
            temperature=0.0,  # higher ones are drawn by chance
            max_length=self._model.config.max_target_positions,
            pad_token_id=self._end,
            return_timestamps=True,
            force_unique_generate_call=True,  # where the next window begins is decided here
            return_dict_in_generate=False,
            **spoken,
        )

    def _whole_part(self, said: list[int]) -> tuple[list[int], int]:
        """The tokens up to where the next window begins, and after how many samples that is; 0: after this window.

        Two times side by side end a sentence and begin the next one. What follows the last such pair is cut off by the
        window's end, unless a time ends it.
        """
        times = [token >= self._first_time for token in said]
        pairs = [place for place in range(1, len(said)) if times[place - 1] and times[place]]
        if not pairs or times[-2:] == [False, True]:
            return said, 0
        last = pairs[-1]
        return said[:last], (said[last - 1] - self._first_time) * STEP

    def _text(self, said: Sequence[int]) -> str:
        words = [token for token in said if token < self._end]
        return str(self._tokenizer.decode(words, clean_up_tokenization_spaces=False)).strip()

    def _sureness(self, encoded: Any, row: Any) -> float:
        """The mean log probability of the tokens that were written in a window, the end included."""
        from transformers.modeling_outputs import BaseModelOutput

        tokens = row.tolist()
        first = 3 if self._tokens else 1  # after the start, the language and the task
        length = tokens.index(self._end, first) + 1 if self._end in tokens[first:] else len(tokens)
        outputs = BaseModelOutput(last_hidden_state=encoded)
        scores = self._model(encoder_outputs=outputs, decoder_input_ids=row[None, : length - 1]).logits[0].float()
        chosen = scores.log_softmax(-1).gather(-1, row[1:length, None])
        return float(chosen[first - 1 :].mean())

"""Speech to text without weights: pocketsphinx, a small English recogniser whose model comes in its package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

NAME = "pocketsphinx, a small English recogniser"
NO_WORDS = "No words were recognised in this recording."
RATE = 16_000  # samples a second that its model hears
LONGEST, EARLIEST = 30 * RATE, 20 * RATE  # samples of a part: memory grows with its length
WINDOW = RATE // 10  # samples over which loudness is taken
BLOCK = RATE // 5  # samples that are searched together: the library keeps all other threads waiting meanwhile


def words_of(sound: NDArray[numpy.float32]) -> str:
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

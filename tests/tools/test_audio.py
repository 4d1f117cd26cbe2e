"""AudioClipTool, NoiseReduction, PitchShifting and SoundCharacteristicExtraction, on sounds made here and by other
programs."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import wave
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from tests.packages import absent
from tests.tools import media
from tests.tools.media import RATE, make_sound, pitch, tone
from tool_impls.audio import features
from tool_impls.audio import sound_file as sound
from tool_impls.audio import tools as audio
from tool_impls.audio.tools import AudioClipTool, NoiseReduction, PitchShifting, SoundCharacteristicExtraction
from tool_impls.base import BenchTool
from tool_impls.settings import ToolSettings

av = pytest.importorskip("av")
numpy = pytest.importorskip("numpy")

ROAR = slice(3 * RATE, 3 * RATE + RATE // 5)
ALL: tuple[type[BenchTool], ...] = audio.TOOLS


def run(kind: type[BenchTool], folder: Path, **values: Any) -> Any:
    (folder / "out").mkdir(exist_ok=True)
    return kind(ToolSettings(released=False)).apply(folder / "out", **values)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seconds: 300, 600 and 900 Hz."""
    samples = numpy.concatenate([tone(1, [value]) for value in (300, 600, 900)], axis=1)
    return make_sound(tmp_path_factory.mktemp("sound") / "steps.wav", samples)


# --- AudioClipTool -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "name", "seconds", "hertz"),
    [
        (None, None, "audio_clip_0_10.mp3", 3.0, None),
        (None, 1.0, "audio_clip_0_1.mp3", 1.0, 300),
        (1.0, 2.0, "audio_clip_1_2.mp3", 1.0, 600),
        (2.25, 2.75, "audio_clip_2.25_2.75.mp3", 0.5, 900),
        (2.5, 99.0, "audio_clip_2.5_99.mp3", 0.5, 900),
    ],
)
def test_clip_holds_what_was_asked_for(
    steps: Path, tmp_path: Path, start: float | None, end: float | None, name: str, seconds: float, hertz: float | None
) -> None:
    made = run(AudioClipTool, tmp_path, audio=steps, start_time=start, end_time=end)
    heard = sound.read(made)
    assert (made.name, made.parent) == (name, tmp_path / "out")
    assert heard.seconds == pytest.approx(seconds, abs=0.002) and heard.rate == RATE
    assert hertz is None or pitch(heard.samples[0], heard.rate) == pytest.approx(hertz, abs=4)


@pytest.mark.parametrize(
    ("wanted", "name", "start"),
    [
        ("a", "a.mp3", b""),
        ("a.MP3", "a.mp3", b""),
        ("a.wav", "a.wav", b"RIFF"),
        ("a.flac", "a.flac", b"fLaC"),
        ("a.m4a", "a.m4a", b"\0\0\0\x1cftypM4A"),
        ("a.ogg", "a.ogg", b"OggS"),
        ("take 1.5", "take 1.5.mp3", b""),
    ],
)
def test_suffix_of_the_name_is_the_format(steps: Path, tmp_path: Path, wanted: str, name: str, start: bytes) -> None:
    made = run(AudioClipTool, tmp_path, audio=steps, start_time=1.0, end_time=2.0, filename=wanted)
    assert made.name == name and made.read_bytes().startswith(start)
    heard = sound.read(made)
    assert abs(heard.seconds - 1) < 0.07 and pitch(heard.samples[0], heard.rate) == pytest.approx(600, abs=4)


def test_lossless_clip_is_exact(steps: Path, tmp_path: Path) -> None:
    whole = sound.read(steps).samples
    made = sound.read(run(AudioClipTool, tmp_path, audio=steps, start_time=0.5, end_time=2.5, filename="a.wav")).samples
    assert made.shape == (1, 2 * RATE) and numpy.abs(made - whole[:, RATE // 2 : RATE * 5 // 2]).max() <= 1 / 32768


def test_same_clip_is_the_same_file(steps: Path, tmp_path: Path) -> None:
    for suffix in sound.KINDS:
        first, second = (
            run(AudioClipTool, tmp_path, audio=steps, end_time=1.0, filename=f"a{suffix}").read_bytes()
            for _ in range(2)
        )
        assert first == second, suffix


@pytest.mark.parametrize(
    ("start", "end", "told"),
    [
        (2.0, 2.0, "0 <= start_time < end_time.*got 2, 2"),
        (3.0, 1.0, "got 3, 1"),
        (-1.0, 1.0, "got -1, 1"),
        (12.0, None, "got 12, 10"),
        (float("nan"), 1.0, "got nan, 1"),
        (0.0, float("inf"), "got 0, inf"),
        (3.0, 4.0, "start_time 3 is after the end of steps.wav, which is 3.00 seconds long"),
        (50.0, 60.0, "is after the end"),
    ],
)
def test_impossible_times_are_refused(
    steps: Path, tmp_path: Path, start: float | None, end: float | None, told: str
) -> None:
    with pytest.raises(ToolError, match=told):
        run(AudioClipTool, tmp_path, audio=steps, start_time=start, end_time=end)


@pytest.mark.parametrize(
    ("name", "told"), [("a.wma", r"\.wma cannot be written"), ("a/b.mp3", "plain name"), ("..", "plain name")]
)
def test_other_names_are_refused(steps: Path, tmp_path: Path, name: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        run(AudioClipTool, tmp_path, audio=steps, filename=name)


@pytest.mark.parametrize("rate", [8_000, 44_100, 96_000])
@pytest.mark.parametrize("suffix", list(sound.KINDS))
def test_every_format_takes_any_rate(tmp_path: Path, suffix: str, rate: int) -> None:
    path = make_sound(tmp_path / "in.wav", tone(1, (440, 550), rate), rate)
    heard = sound.read(run(AudioClipTool, tmp_path, audio=path, filename=f"a{suffix}"))
    assert heard.samples.shape[0] == 2 and heard.seconds == pytest.approx(1, abs=0.14)
    assert [pitch(channel, heard.rate) for channel in heard.samples] == pytest.approx([440, 550], abs=4)


@pytest.mark.parametrize(("channels", "kept"), [(3, 3), (6, 6), (8, 8), (9, 0)])
def test_many_channels(tmp_path: Path, channels: int, kept: int) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(2 * channels * 800))
    if not kept:
        with pytest.raises(ToolError, match="declares 9 channels"):
            sound.read(tmp_path / "a.wav")
        return
    assert sound.read(tmp_path / "a.wav").samples.shape == (kept, 800)
    assert sound.read(run(AudioClipTool, tmp_path, audio=tmp_path / "a.wav", filename="b.flac")).samples.shape == (
        kept,
        800,
    )
    assert sound.read(run(AudioClipTool, tmp_path, audio=tmp_path / "a.wav")).samples.shape[0] == 2


def test_sound_of_a_film_is_cut(tmp_path: Path) -> None:
    film = media.make_video(tmp_path / "film.mp4", 20, sound=tone(2, [700]))
    heard = sound.read(run(AudioClipTool, tmp_path, audio=film, start_time=0.5, end_time=1.5, filename="a.wav"))
    assert heard.seconds == 1.0 and pitch(heard.samples[0], heard.rate) == pytest.approx(700, abs=3)


@pytest.mark.parametrize("begin", [0, 3])
def test_a_gap_in_a_recording_is_silence(tmp_path: Path, begin: int) -> None:
    """Two seconds of sound, four in which nothing was recorded, and two of another sound."""
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for start, hertz in ((begin, 600), (begin + 6, 900)):
            for second in range(2):
                frame = sound.frame_of(tone(1, [hertz])[:1], RATE, "mono", (start + second) * RATE)
                container.mux(stream.encode(av.AudioResampler(format="s16").resample(frame)[0]))
        container.mux(stream.encode(None))

    def clip(start: float, end: float) -> Any:
        return sound.read(run(AudioClipTool, tmp_path, audio=tmp_path / "a.mkv", start_time=start, end_time=end))

    assert pitch(clip(6.5, 7.5).samples[0], RATE) == pytest.approx(900, abs=4)
    assert abs(clip(2.5, 5.5).samples).max() < 0.01
    assert clip(0, 99).seconds == pytest.approx(8, abs=0.01)


# --- NoiseReduction ------------------------------------------------------------------------------------------------


def noisy() -> Any:
    """Six seconds of noise in two channels, and a short roar after three seconds of the first."""
    generator = numpy.random.default_rng(5)
    samples = generator.normal(0, 0.01, (2, 6 * RATE)).astype(numpy.float32)
    samples[0, ROAR] += generator.normal(0, 0.2, ROAR.stop - ROAR.start).astype(numpy.float32)
    return samples


def test_noise_goes_and_what_is_louder_stays() -> None:
    samples = noisy()
    clean = features.reduce_noise(samples, RATE)
    assert clean.shape == samples.shape and clean.dtype == numpy.float32
    quiet, loud = slice(RATE, 2 * RATE), slice(ROAR.start + 300, ROAR.stop - 300)
    assert clean[0, quiet].std() < samples[0, quiet].std() / 4 and clean[1, loud].std() < samples[1, loud].std() / 4
    assert clean[0, loud].std() > 0.8 * samples[0, loud].std()


@pytest.mark.parametrize(("size", "rate"), [(1, 44_100), (500, 16_000), (3_000, 1_000), (9_000, 400_000)])
def test_silence_and_odd_sounds_stay_numbers(size: int, rate: int) -> None:
    silence = numpy.zeros((2, size), dtype=numpy.float32)
    assert not features.reduce_noise(silence, rate).any()
    silence[0] = 0.25
    clean = features.reduce_noise(silence, rate)
    assert clean.shape == (2, size) and numpy.isfinite(clean).all() and not clean[1].any()


def test_clean_sound_is_a_wav_file_with_all_channels(tmp_path: Path) -> None:
    path = make_sound(tmp_path / "talk.v2.mp3", noisy(), codec="libmp3lame")
    made = run(NoiseReduction, tmp_path, audio=path)
    heard = sound.read(made)
    assert made.name == "talk.v2_denoised.wav" and heard.rate == RATE and heard.samples.shape == (2, 6 * RATE)
    assert heard.samples[1, RATE:].std() < 0.005 < 0.15 < heard.samples[0, ROAR].std()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch, "noisereduce")
    reason = "the Python package noisereduce is missing; install agentgauge[tools]"
    assert NoiseReduction.state(ToolSettings()) == f"unavailable: {reason}"


# --- PitchShifting and SoundCharacteristicExtraction
# -------------------------------------------------------------------


# What librosa 0.11 made of the sounds of ``hissing``, and samples 1000, 2000 … of a second of 440 Hz that it shifted.
LIBROSA = json.loads(Path(__file__).with_name("librosa.json").read_text())


def hissing(rate: int, channels: int) -> Any:
    """2.3 s of tones and of noise that is the same everywhere."""
    times = numpy.arange(round(2.3 * rate))
    noise = (times * 7919 % 1009 / 1009 - 0.5) * 0.2
    return (tone(2.3, (440, 1200)[:channels], rate) + noise).astype(numpy.float32)


@pytest.mark.parametrize(
    ("name", "steps", "made_name", "factor"),
    [
        ("a.wav", 0.0, "a_pitchshift_+0.wav", 1),
        ("a.wav", 12.0, "a_pitchshift_+12.wav", 2),
        ("b c.flac", -12.0, "b c_pitchshift_-12.flac", 0.5),
        ("A.MP3", 3.5, "A_pitchshift_+3.5.mp3", 2 ** (3.5 / 12)),
        ("a.ogg", 0.0, "a_pitchshift_+0.wav", 1),  # Opus has no such rate
    ],
)
def test_pitch_changes_and_the_length_does_not(
    tmp_path: Path, name: str, steps: float, made_name: str, factor: float
) -> None:
    codec, rate = {".wav": ("pcm_s16le", 44_100), ".flac": ("flac", 44_100), ".mp3": ("libmp3lame", 44_100)}.get(
        Path(name).suffix.lower(), ("libopus", 48_000)
    )
    path = make_sound(tmp_path / name, tone(2, (400, 900), rate), rate, codec)
    made = run(PitchShifting, tmp_path, audio=path, n_steps=steps)
    heard = sound.read(made)
    assert made.name == made_name and heard.rate == 22_050 and heard.seconds == pytest.approx(2, abs=0.01)
    assert [pitch(part, heard.rate) for part in heard.samples] == pytest.approx([400 * factor, 900 * factor], rel=0.01)


def test_steps_are_offered_only_beyond_the_released_set() -> None:
    names = {
        value: [each.name for each in PitchShifting.offered(ToolSettings(released=value)).inputs]
        for value in (True, False)
    }
    assert names == {True: ["audio", "output_dir"], False: ["audio", "output_dir", "n_steps"]}


@pytest.mark.parametrize("steps", [24.5, -25.0, float("nan"), float("inf")])
def test_steps_have_bounds(tmp_path: Path, steps: float) -> None:
    with pytest.raises(ToolError, match="n_steps must be semitones from -24 to 24"):
        run(PitchShifting, tmp_path, audio=tmp_path / "none.wav", n_steps=steps)


def test_long_sounds_are_not_shifted(tmp_path: Path) -> None:
    path = make_sound(tmp_path / "a.wav", tone(460, rate=1_000), 1_000)
    with pytest.raises(ToolError, match=r"a\.wav lasts 460 s; at most 450 s can be shifted by 12 semitones"):
        run(PitchShifting, tmp_path, audio=path, n_steps=12.0)
    assert run(PitchShifting, tmp_path, audio=path, n_steps=-24.0).is_file()


@pytest.mark.parametrize(("rate", "channels"), [(22_050, 1), (44_100, 2), (16_000, 1)])
def test_measures_are_those_of_librosa(tmp_path: Path, rate: int, channels: int) -> None:
    path = make_sound(tmp_path / "a.wav", hissing(rate, channels), rate)
    told = json.loads(run(SoundCharacteristicExtraction, tmp_path, audio=path))
    expected = LIBROSA[f"{rate} {channels}"]
    assert list(told) == list(expected)
    for name, figures in expected.items():
        for key, values in figures.items():
            assert numpy.atleast_1d(told[name][key]) == pytest.approx(values, rel=1e-3, abs=1e-3), (name, key)


@pytest.mark.parametrize("steps", [3.5, -12.0])
def test_shifted_samples_are_those_of_librosa(steps: float) -> None:
    made = features.shift(sound.Sound(tone(1.0, (440,), 22_050), 22_050, "mono"), steps, "a.wav")
    assert made.samples[0, 1000:11_000:1000] == pytest.approx(LIBROSA[str(steps)], abs=1e-4)


def test_measures_of_silence_are_numbers() -> None:
    told = features.measure(numpy.zeros(22_050, dtype=numpy.float32))
    assert told["spectral_centroid"] == told["zero_crossing_rate"] == {"mean": 0.0, "var": 0.0}
    assert numpy.isfinite(told["mfcc"]["mean"]).all()


def test_measures_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = numpy.random.default_rng(9).normal(0, 0.1, 60_000).astype(numpy.float32)
    whole = features.measure(samples)
    monkeypatch.setattr(features, "BLOCK", 7)
    parts = features.measure(samples)
    for name in whole:
        assert parts[name]["mean"] == pytest.approx(whole[name]["mean"], rel=1e-5, abs=1e-5), name


def test_the_shortest_sound_is_measured_and_shifted(tmp_path: Path) -> None:
    path = make_sound(tmp_path / "a.wav", tone(1 / RATE))
    told = json.loads(run(SoundCharacteristicExtraction, tmp_path, audio=path))
    assert told["zero_crossing_rate"]["mean"] >= 0 and "\n    " in run(
        SoundCharacteristicExtraction, tmp_path, audio=path
    )
    assert sound.read(run(PitchShifting, tmp_path, audio=path, n_steps=2.0)).samples.shape == (1, 2)


# --- whatever a file may hold
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.meta.name)
@pytest.mark.parametrize("content", list(media.BROKEN))
def test_what_is_no_sound_is_refused_by_name(tmp_path: Path, kind: type[BenchTool], content: str) -> None:
    (tmp_path / "song.mp3").write_bytes(media.BROKEN[content])
    with pytest.raises(ToolError, match=r"^song\.mp3 is not a sound file that can be read") as caught:
        run(kind, tmp_path, audio=tmp_path / "song.mp3")
    assert str(tmp_path) not in str(caught.value)


def header(rate: int, channels: int, size: int, content: bytes = bytes(400)) -> bytes:
    """A WAV file that declares what it wants."""
    bytes_a_second = rate * channels * 2 & 0xFFFFFFFF
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, bytes_a_second, channels * 2 & 0xFFFF, 16)
    return b"RIFF" + struct.pack("<I", 0xFFFFFFFF) + b"WAVE" + head + b"data" + struct.pack("<I", size) + content


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.meta.name)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (header(44_100, 1, 0, b""), "holds no sounds that can be decoded"),
        (header(44_100, 60_000, 400), "song.wav"),
        (header(1, 1, 400), "declares 1 channels with 1 samples a second"),
        (header(4_000_000_000, 1, 400), "song.wav"),
        (header(1_000_000, 1, 400), "declares 1 channels with 1000000 samples a second"),
    ],
)
def test_absurd_sounds_are_refused(tmp_path: Path, kind: type[BenchTool], content: bytes, told: str) -> None:
    (tmp_path / "song.wav").write_bytes(content)
    with pytest.raises(ToolError, match=told):
        run(kind, tmp_path, audio=tmp_path / "song.wav")


def test_only_the_sound_that_is_there_counts(tmp_path: Path) -> None:
    (tmp_path / "song.wav").write_bytes(header(8_000, 1, 0xFFFFFFF0, bytes(16_000)))
    assert sound.read(tmp_path / "song.wav").seconds == 1.0


def test_truncated_song_gives_what_is_left(tmp_path: Path) -> None:
    path = make_sound(tmp_path / "a.mp3", tone(4), codec="libmp3lame")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] + b"TAG" * 40)
    assert 1.5 < sound.read(path).seconds < 2.3


@pytest.mark.parametrize(
    "kind", [NoiseReduction, PitchShifting, SoundCharacteristicExtraction], ids=lambda kind: kind.meta.name
)
def test_endless_sounds_are_refused(tmp_path: Path, kind: type[BenchTool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "DENOISED", 20_000)
    monkeypatch.setattr(sound.read, "__defaults__", (20_000,))
    path = make_sound(tmp_path / "long.wav", tone(2))
    with pytest.raises(ToolError, match=r"long\.wav is too long"):
        run(kind, tmp_path, audio=path)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.meta.name)
def test_film_without_sound_is_refused(tmp_path: Path, kind: type[BenchTool]) -> None:
    film = media.make_video(tmp_path / "film.mp4", 2)
    with pytest.raises(ToolError, match=r"film\.mp4 has no sound: it holds no audio track"):
        run(kind, tmp_path, audio=film)


def test_a_title_in_an_old_code_page_is_no_reason_to_fail(tmp_path: Path) -> None:
    import av

    with av.open(str(tmp_path / "a.mka"), "w") as container:
        container.metadata["title"] = "Gr____e"
        stream: Any = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(numpy.zeros((1, 8000), numpy.int16), format="s16", layout="mono")
        frame.rate = 8000
        container.mux([*stream.encode(frame), *stream.encode(None)])
    content = (tmp_path / "a.mka").read_bytes()
    assert content.count(b"Gr____e") == 1
    (tmp_path / "a.mka").write_bytes(content.replace(b"Gr____e", b"Gr\xf6\xdfe  "))
    assert sound.read(tmp_path / "a.mka").seconds == 1.0


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        *(("a.wav", f"pcm_{kind}") for kind in ("u8", "s16le", "s24le", "s32le", "f32le", "f64le", "alaw", "mulaw")),
        *(("a.wav", f"adpcm_{kind}") for kind in ("ms", "ima_wav")),
        *(("a.aiff", "pcm_s16be"), ("a.au", "pcm_mulaw"), ("a.caf", "pcm_s24le"), ("a.w64", "pcm_s16le")),
        *(("a.m4a", "alac"), ("a.wv", "wavpack"), ("a.tta", "tta"), ("a.mov", "pcm_s16le"), ("a.mkv", "pcm_s16le")),
    ],
)
def test_kinds_of_sound_files_are_read(tmp_path: Path, name: str, codec: str) -> None:
    path = make_sound(tmp_path / name, tone(2, [523]), codec=codec)
    heard = sound.read(run(AudioClipTool, tmp_path, audio=path, start_time=0.5, end_time=1.5, filename="b.wav"))
    assert heard.seconds == 1.0 and pitch(heard.samples[0], heard.rate) == pytest.approx(523, abs=3)


@pytest.mark.parametrize("lengths", [(0, 0), (2**32 - 1, 2**32 - 1), (50, 10)], ids=["none", "streamed", "too short"])
def test_the_length_that_a_wav_file_declares_does_not_matter(tmp_path: Path, lengths: tuple[int, int]) -> None:
    """Programs that write to a pipe cannot know it."""
    path = make_sound(tmp_path / "a.wav", tone(2, [523]))
    content = bytearray(path.read_bytes())
    data = content.index(b"data")
    content[4:8], content[data + 4 : data + 8] = (length.to_bytes(4, "little") for length in lengths)
    path.write_bytes(content)
    if lengths[1] == 10:
        assert sound.read(path).samples.shape[1] == 5
    else:
        assert sound.read(path).seconds == 2.0


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
@pytest.mark.parametrize(
    ("name", "codec"),
    [("a.mp3", "libmp3lame"), ("a.m4a", "aac"), ("a.ogg", "libvorbis"), ("a.opus", "libopus"), ("a.wma", "wmav2"), ("a.aiff", "pcm_s24be"),  # noqa: E501
     ("a.wav", "pcm_f32le"), ("a.mka", "ac3"), ("a.flac", "flac")],
)  # fmt: skip
def test_files_of_other_programs_are_read(tmp_path: Path, name: str, codec: str) -> None:
    order = [
        "ffmpeg",
        "-v",
        "error",
        "-f",
        "lavfi",
        "-i",
        "sine=frequency=523:sample_rate=48000:duration=2",
        "-c:a",
        codec,
    ]
    subprocess.run([*order, "-metadata", "title=Größe", str(tmp_path / name)], check=True, timeout=60)
    heard = sound.read(
        run(AudioClipTool, tmp_path, audio=tmp_path / name, start_time=0.5, end_time=1.5, filename="b.wav")
    )
    assert heard.seconds == 1.0 and pitch(heard.samples[0], heard.rate) == pytest.approx(523, abs=3)

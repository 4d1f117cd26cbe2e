"""The bundled media can be made again, and the gold names what they show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the media need agentgauge[tools]")
pytest.importorskip("av", reason="the media need agentgauge[tools]")

from bench_gta.workflow.facts import facts
from bundled_data import audio_video, charts, documents, pictures, printed, scenes
from bundled_data.canvas import Picture

ROOT = Path(__file__).parents[2]
FILES = ROOT / audio_video.WORKFLOW


@pytest.mark.parametrize("draw", [printed.receipt_market, scenes.shapes, charts.chart_rain, charts.formula_pair])
def test_the_stored_picture_is_what_the_program_draws(draw: Callable[[], Picture]) -> None:
    """Other library versions may smooth edges differently, so the mean difference is bounded, not the bytes."""
    from PIL import Image, ImageChops, ImageStat

    (name,) = (name for name, function in pictures.drawn().items() if function is draw)
    with Image.open(ROOT / pictures.ATOMIC / "image" / name) as stored:
        difference = ImageStat.Stat(ImageChops.difference(stored.convert("RGB"), draw().image)).mean
    assert max(difference) < 6  # grey levels of 255; JPEG alone makes about 2


def test_documents_have_the_same_bytes(tmp_path: Path) -> None:
    documents.write(tmp_path)
    made = sorted((tmp_path / documents.WORKFLOW).iterdir())
    assert [path.name for path in made] == sorted([*documents.WORKBOOKS, *documents.PDFS])
    assert all(path.read_bytes() == (FILES / path.name).read_bytes() for path in made)


def test_sounds_and_films_have_the_same_measures(tmp_path: Path) -> None:
    """Other versions of the encoder may give other bytes and round otherwise."""
    audio_video.write(tmp_path)
    folder = tmp_path / audio_video.WORKFLOW
    for name in audio_video.MAKERS:
        made, stored = (dict(one.measures) for one in facts([folder / name, FILES / name], folder=tmp_path, read=False))
        assert {**made, "bytes": 0} == pytest.approx({**stored, "bytes": 0}, rel=0.01)


@pytest.mark.parametrize(
    ("draw", "name", "channel"),
    [(scenes.parking, "red car", 0), (scenes.street, "door 7", 1), (scenes.parking, "blue car", 2)],
)
def test_a_box_holds_what_the_gold_names(draw: Callable[[], Picture], name: str, channel: int) -> None:
    """In the middle of the box its colour is the strongest; a call or a return of the data has the same box."""
    picture = draw()
    left, top, right, bottom = box = picture.boxes[name]
    pixel = picture.image.getpixel((left + (right - left) // 3, top + (bottom - top) * 3 // 5))
    assert max(range(3), key=lambda place: pixel[place]) == channel
    assert str(box) in (ROOT / pictures.ATOMIC / "dataset.json").read_text(encoding="utf-8")

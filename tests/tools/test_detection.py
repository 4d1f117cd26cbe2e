"""Finding and counting things, with the bundled detector of drawn shapes and with models made here."""

from __future__ import annotations

import json
import re
import shutil
import sys
import threading
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from agentgauge.core.errors import ToolError, ToolFault, ToolUnavailable
from bundled_data.shapes import KINDS, draw
from tests.packages import absent, present
from tests.tools import tiny_detectors
from tool_impls.arguments import Box
from tool_impls.perception.detection import finder
from tool_impls.perception.detection.detector import SHIPPED, Hit, Names, Vocabulary, vocabulary
from tool_impls.perception.detection.finder import DetectionQuery, has_colour, wanted
from tool_impls.perception.detection.tools import CountGivenObject, TextToBbox, VideoObjectDetection
from tool_impls.settings import ToolSettings

SCRATCH = Path()  # these tools write nothing
SHAPES = ToolSettings(released=False, tables={"detection": {"weights": "shapes"}})
COCO = (
    "person",
    "bicycle",
    "car",
    "airplane",
    "bus",
    "boat",
    "traffic light",
    "dog",
    "wine glass",
    "knife",
    "orange",
    "hot dog",
    "cell phone",
)
SOME = ("circle", "square", "triangle")
STATE = "needs torch and ultralytics"


def needs_models() -> None:
    pytest.importorskip("torch", reason=STATE)
    if find_spec("ultralytics") is None:  # importing it here would change Pillow for the tests beside these
        pytest.skip(STATE)


# Words


@pytest.mark.parametrize(
    ("text", "classes", "colours"),
    [
        ("car", {"car"}, set()),
        ("the red cars", {"car"}, {"red"}),
        ("Automobile", {"car"}, set()),
        ("women", {"person"}, set()),
        ("people in the picture", {"person"}, set()),
        ("number of people", {"person"}, set()),
        ("knives", {"knife"}, set()),
        ("buses", {"bus"}, set()),
        ("the man with a dog", {"person"}, set()),
        ("left car", {"car"}, set()),
        ("traffic lights", {"traffic light"}, set()),
        ("Hot Dog", {"hot dog"}, set()),
        ("oranges", {"orange"}, set()),
        ("smartphone", {"cell phone"}, set()),
        ("vehicles", {"bicycle", "car", "airplane", "bus", "boat"}, set()),
    ],
)
def test_words_are_matched_to_the_classes_of_a_detector(text: str, classes: set[str], colours: set[str]) -> None:
    assert wanted(text, COCO) == (DetectionQuery(frozenset(classes), frozenset(colours)),)


def test_things_joined_by_and_are_all_looked_for_each_with_its_colour() -> None:
    assert wanted("dogs and red cars", COCO) == (
        DetectionQuery(frozenset({"dog"})),
        DetectionQuery(frozenset({"car"}), frozenset({"red"})),
    )
    assert wanted("red and blue circles", SOME) == (DetectionQuery(frozenset({"circle"}), frozenset({"red", "blue"})),)


@pytest.mark.parametrize(
    ("text", "kind"), [("balls", "circle"), ("dots", "circle"), ("boxes", "square"), ("green triangles", "triangle")]
)
def test_synonyms_of_shapes(text: str, kind: str) -> None:
    assert [one.classes for one in wanted(text, SOME)] == [{kind}]


@pytest.mark.parametrize("text", ["orange", "car", "circle saw", "dog and triangle", "日本"])
def test_what_a_detector_does_not_know_is_refused_by_name_with_what_it_knows(text: str) -> None:
    with pytest.raises(ToolError, match=f"{text}.*it only knows circle, square, triangle"):
        wanted(text, SOME)


def test_a_long_list_of_classes_is_cut_in_the_message() -> None:
    with pytest.raises(ToolError, match=r"class 19 and 60 more$"):
        wanted("zebra", tuple(f"class {number}" for number in range(80)))


# Colours


@pytest.mark.parametrize(
    ("fill", "is_", "is_not"),
    [
        ("#d62728", {"red"}, {"blue", "pink", "brown", "white", "black"}),
        ("#4070c0", {"blue"}, {"red", "green", "purple"}),
        ("#f0b43c", {"orange", "yellow"}, {"red", "green"}),
        ("#30963c", {"green"}, {"yellow", "blue"}),
        ("#8c5ab0", {"purple", "violet"}, {"red", "green"}),
        ("#101010", {"black"}, {"white", "blue"}),
        ("#fafafa", {"white"}, {"black", "yellow"}),
        ("#808080", {"grey", "gray"}, {"red", "white", "black"}),
        ("#7d4b23", {"brown"}, {"green", "pink"}),
    ],
)
def test_colour_of_a_hit_is_that_of_its_middle(fill: str, is_: set[str], is_not: set[str]) -> None:
    image = Image.new("RGB", (60, 60), "#00ffff")
    ImageDraw.Draw(image).ellipse((10, 10, 50, 50), fill=fill, outline="black", width=4)
    for name in is_:
        assert has_colour(image, (10, 10, 50, 50), [name])
    for name in is_not:
        assert not has_colour(image, (10, 10, 50, 50), [name])


@pytest.mark.parametrize("box", [(0, 0, 0, 0), (5, 5, 5.5, 5.5), (-3, -3, 2, 2), (0, 0, 999, 999)])
def test_colour_of_odd_boxes_is_no_error(box: tuple[float, float, float, float]) -> None:
    assert has_colour(Image.new("RGB", (8, 8), "red"), box, ["red", "black"])


# What the files tell


def test_vocabulary_is_told_without_loading_the_weights(tmp_path: Path) -> None:
    fixed, world, torn = tmp_path / "fixed.pt", tmp_path / "world.pt", tmp_path / "torn.pt"
    for file, content in ((fixed, b"DetectionModel"), (world, b"ultralytics.nn.tasks\nWorldModel")):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("archive/data.pkl", content)
    torn.write_bytes(b"no zip")
    assert vocabulary(fixed) == Vocabulary(False)
    assert vocabulary(world) == Vocabulary(True)
    assert vocabulary(torn) == Vocabulary(None)
    fixed.with_suffix(".json").write_text('{"classes": ["cat", "dog"]}')
    assert vocabulary(fixed) == Vocabulary(False, ("cat", "dog"))
    for name, config, expected in (
        ("dino", {"model_type": "grounding-dino"}, Vocabulary(True)),
        (
            "detr",
            {"model_type": "detr", "id2label": {"0": "cat", "10": "dog", "2": "cow"}},
            Vocabulary(False, ("cat", "cow", "dog")),
        ),
        ("other", {}, Vocabulary()),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        assert vocabulary(tmp_path / name) == expected


def test_bundled_weights_are_small_and_name_their_classes() -> None:
    assert vocabulary(SHIPPED) == Vocabulary(False, KINDS)
    assert SHIPPED.stat().st_size < 400_000


@pytest.mark.parametrize("kind", [TextToBbox, CountGivenObject, VideoObjectDetection])
def test_state_says_what_to_set_and_what_stands_in(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    present(monkeypatch, "torch", "ultralytics")
    assert kind.state(ToolSettings()).startswith("unavailable: name its weights in [tools.detection]")
    assert kind.state(ToolSettings()).endswith("or set basic = true in [tools] for a detector of drawn shapes")
    assert kind.state(ToolSettings(basic=True)) == "basic"
    assert kind.state(SHAPES) == "substitute: detector of fixed classes: circle, square, triangle"
    nowhere = ToolSettings(tables={"detection": {"weights": "/nowhere/yolo.pt"}})
    assert kind.state(nowhere).startswith(
        "unavailable: weights in [tools.detection] names nothing that exists: /nowhere/yolo.pt"
    )
    absent(monkeypatch, "torch")
    assert kind.state(SHAPES) == "unavailable: the Python package torch is missing; install agentgauge[vision]"


def test_open_checkpoint_without_the_text_encoder_stands_in_with_its_own_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "world.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"WorldModel")
    settings = ToolSettings(tables={"detection": {"weights": str(tmp_path / "world.pt")}})
    present(monkeypatch, "torch", "ultralytics")
    absent(monkeypatch, "clip")
    assert (
        TextToBbox.state(settings)
        == "substitute: detector of fixed classes: its free text needs the Python package clip"
    )
    assert VideoObjectDetection.state(settings) == "ready"
    present(monkeypatch, "clip")
    assert "needs the text encoder beside the checkpoint, clip/ViT-B-32.pt" in TextToBbox.state(settings)
    (tmp_path / "clip").mkdir()
    (tmp_path / "clip" / "ViT-B-32.pt").touch()
    assert TextToBbox.state(settings) == "ready"


def test_counting_is_left_to_vision_where_that_is_set_unless_the_option_says_otherwise() -> None:
    vision = {"url": "http://127.0.0.1:9/v1", "model": "m"}
    assert CountGivenObject.state(ToolSettings(tables={"vision": vision})) == "ready"
    assert CountGivenObject.weights(ToolSettings(tables={"vision": vision, "detection": {"weights": "shapes"}})) == ()
    by = ToolSettings(
        tables={"vision": vision, "detection": {"weights": "shapes"}, "CountGivenObject": {"by": "detection"}}
    )
    assert CountGivenObject.weights(by) == (SHIPPED,)
    assert CountGivenObject.on_device(by)
    asked = ToolSettings(tables={"detection": {"weights": "shapes"}, "CountGivenObject": {"by": "vision"}})
    assert CountGivenObject.state(asked).startswith("unavailable: ") and "[tools.vision]" in CountGivenObject.state(
        asked
    )
    assert not CountGivenObject.on_device(asked)


# The tools, with a detector of the test


class Given:
    """Finds what the test says. Notes the threshold and the number of pictures of each call."""

    def __init__(self, hits: Sequence[Hit], classes: Names | None = SOME) -> None:
        self.hits, self.classes = hits, classes
        self.calls: list[tuple[int, Any, float]] = []

    def detect_many(
        self, images: Sequence[Image.Image], names: Sequence[Names | None], threshold: float
    ) -> list[list[Hit]]:
        self.calls.append((len(images), names[0], threshold))
        return [[hit for hit in self.hits if hit.score >= threshold] for _ in images]


HITS = (
    Hit(Box(1.4, 2.6, 30.2, 40.5), 0.914, "circle", 0),
    Hit(Box(50, 60, 70, 80), 0.6, "square", 1),
    Hit(Box(5, 6, 7, 8), 0.55, "circle", 0),
    Hit(Box(15, 16, 17, 18), 0.3, "circle", 0),
)


def tool(kind: Any, detector: Given, released: bool = False, **options: Any) -> Any:
    made = kind(ToolSettings(released=released, tables={kind.meta.name: options, "detection": {"weights": "shapes"}}))
    made.finder = finder.Finder(detector, batch=4)
    return made


PICTURE = Image.new("RGB", (100, 90), "white")


def test_boxes_are_whole_pixels_with_a_score_in_percent() -> None:
    assert tool(TextToBbox, Given(HITS)).apply(SCRATCH, image=PICTURE, text="circle") == "(1, 3, 30, 40), score 91"
    every = tool(TextToBbox, Given(HITS)).apply(SCRATCH, image=PICTURE, text="circles", top1=False)
    assert every == "(1, 3, 30, 40), score 91\n(5, 6, 7, 8), score 55"


def test_best_match_may_score_low_but_every_match_may_not() -> None:
    weak = Given(HITS[3:])
    assert tool(TextToBbox, weak).apply(SCRATCH, image=PICTURE, text="circle") == "(15, 16, 17, 18), score 30"
    assert (
        tool(TextToBbox, weak).apply(SCRATCH, image=PICTURE, text="circle", top1=False)
        == "No such object was found in the picture."
    )


def test_nothing_found_is_a_sentence_and_as_released_an_empty_text_for_every_match() -> None:
    assert (
        tool(TextToBbox, Given(HITS)).apply(SCRATCH, image=PICTURE, text="triangle")
        == "No such object was found in the picture."
    )
    assert tool(TextToBbox, Given(HITS), released=True).apply(SCRATCH, image=PICTURE, text="triangle", top1=False) == ""
    assert "No such" in tool(TextToBbox, Given(HITS), released=True).apply(SCRATCH, image=PICTURE, text="triangle")


def test_free_text_goes_to_a_detector_that_takes_any_words() -> None:
    detector = Given([Hit(Box(1, 2, 3, 4), 0.8, "left crate", 0)], classes=None)
    assert tool(TextToBbox, detector).apply(SCRATCH, image=PICTURE, text=" left crate ") == "(1, 2, 3, 4), score 80"
    assert detector.calls == [(1, ("left crate",), 0.1)]


def test_count_is_the_number_of_hits_above_the_threshold() -> None:
    assert tool(CountGivenObject, Given(HITS)).apply(SCRATCH, image=PICTURE, text="circles") == 2
    assert tool(CountGivenObject, Given(HITS)).apply(SCRATCH, image=PICTURE, text="triangle") == 0
    made = CountGivenObject(ToolSettings(tables={"detection": {"weights": "shapes", "threshold": 0.25}}))
    made.finder = finder.Finder(Given(HITS), batch=1)
    assert made.apply(SCRATCH, image=PICTURE, text="circles") == 3


class Small(Given):
    """Has memory for two pictures, or for none."""

    room = 2

    def detect_many(
        self, images: Sequence[Image.Image], names: Sequence[Names | None], threshold: float
    ) -> list[list[Hit]]:
        found = super().detect_many(images, names, threshold)
        if len(images) > self.room:
            raise RuntimeError("CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of ...")
        return found


def test_pictures_that_do_not_fit_into_memory_together_go_through_in_parts() -> None:
    small = Small(HITS)
    assert finder.Finder(small, batch=8).find_all([PICTURE] * 5, None, 0.5) == [list(HITS[:3])] * 5
    assert [count for count, _, _ in small.calls] == [5, 2, 3, 1, 2]


def test_a_picture_that_does_not_fit_into_memory_is_a_fault_that_says_what_it_needed() -> None:
    small = Small(HITS)
    small.room = 0
    told = r"^the model of \[tools.detection\] ran out of memory on cpu: it needed 96.00 MiB more, over one call"
    with pytest.raises(ToolFault, match=told):
        finder.Finder(small, batch=8).find(PICTURE, "circle", 0.5)


def test_counting_by_vision_takes_the_first_number_of_the_answer_on_the_crop() -> None:
    class Asker:
        def ask(self, image: Image.Image, question: str) -> str:
            asked.append((image.size, question))
            return answers.pop(0)

    asked: list[Any] = []
    answers = ["There are 12 of them, not 7.", "None."]
    made = CountGivenObject(ToolSettings(tables={"vision": {"url": "http://127.0.0.1:9/v1", "model": "m"}}))
    made._model = Asker()
    assert made.apply(SCRATCH, image=PICTURE, text="plate", bbox="(10, 10, 40, 30)") == 12
    assert made.apply(SCRATCH, image=PICTURE, text="plate") == 0
    assert [size for size, _ in asked] == [(30, 20), (100, 90)] and all("plate" in question for _, question in asked)


@pytest.mark.parametrize("kind", [TextToBbox, CountGivenObject])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("  ", "text must name an object.*empty"),
        ("a" * 201, "at most 200 characters; it has 201"),
        ("whale", "cannot look for 'whale'"),
    ],
)
def test_a_text_that_names_nothing_is_refused(kind: Any, text: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        tool(kind, Given(HITS)).apply(SCRATCH, image=PICTURE, text=text)


def test_calls_of_several_threads_go_through_the_detector_together() -> None:
    busy, free = threading.Event(), threading.Event()

    class Slow(Given):
        def detect_many(self, images: Any, names: Any, threshold: float) -> list[list[Hit]]:
            busy.set()
            assert free.wait(5)
            return super().detect_many(images, names, threshold)

    detector = Slow(HITS)
    made = tool(CountGivenObject, detector)
    counts: list[int] = []
    threads = [
        threading.Thread(target=lambda: counts.append(made.apply(SCRATCH, image=PICTURE, text="circle")))
        for _ in range(5)
    ]
    threads[0].start()
    assert busy.wait(5)
    for thread in threads[1:]:
        thread.start()
    while len(made.finder._batched._waiting) < 4:
        pass
    free.set()
    for thread in threads:
        thread.join(5)
    assert counts == [2] * 5
    assert [size for size, *_ in detector.calls] == [1, 4]


# Videos


def video(path: Path, pictures: Sequence[Image.Image]) -> Path:
    av = pytest.importorskip("av")
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = *pictures[0].size, "yuv420p"
        stream.bit_rate = 4_000_000
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_image(picture)))
        container.mux(stream.encode())
    return path


def test_each_frame_is_a_line_and_several_go_through_at_once(tmp_path: Path) -> None:
    detector = Given(HITS[1:3])
    made = tool(VideoObjectDetection, detector)
    clip = video(tmp_path / "clip.mp4", [Image.new("RGB", (64, 48))] * 9)
    line = "(50, 60, 70, 80) conf: 0.60, class: square (1) | (5, 6, 7, 8) conf: 0.55, class: circle (0)"
    assert made.apply(SCRATCH, video=clip, frame_skip=2) == "\n".join(
        f"Frame {number}: {line}" for number in (0, 2, 4, 6, 8)
    )
    assert [size for size, *_ in detector.calls] == [4, 1]
    assert (
        tool(VideoObjectDetection, Given(()))
        .apply(SCRATCH, video=clip, frame_skip=8)
        .endswith("\nFrame 8: (no detections)")
    )


def test_long_video_is_cut_and_says_so(tmp_path: Path) -> None:
    clip = video(tmp_path / "clip.mp4", [Image.new("RGB", (64, 48))] * 6)
    lines = tool(VideoObjectDetection, Given(()), limit=5).apply(SCRATCH, video=clip).split("\n")
    assert lines[4:] == [
        "Frame 4: (no detections)",
        "(only the first 5 frames looked at; a larger frame_skip reaches further)",
    ]
    assert len(tool(VideoObjectDetection, Given(()), limit=6).apply(SCRATCH, video=clip).split("\n")) == 6


def test_detector_of_free_text_looks_for_the_listed_objects(tmp_path: Path) -> None:
    detector = Given((), classes=None)
    tool(VideoObjectDetection, detector, objects="cat, toy car,").apply(
        SCRATCH, video=video(tmp_path / "clip.mp4", [Image.new("RGB", (64, 48))])
    )
    assert detector.calls == [(1, ("cat", "toy car"), 0.25)]


def test_broken_video_and_frame_skip_of_zero_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"not a video")
    with pytest.raises(ToolError, match=r"^broken\.mp4 is not a video"):
        tool(VideoObjectDetection, Given(())).apply(SCRATCH, video=broken)
    with pytest.raises(ToolError, match="frame_skip must be at least 1; got 0"):
        tool(VideoObjectDetection, Given(())).apply(SCRATCH, video=broken, frame_skip=0)


# The bundled detector


@pytest.fixture(scope="module")
def shapes() -> finder.Finder:
    needs_models()
    return finder.load_finder(SHAPES, "cpu")


def test_bundled_detector_counts_shapes_in_fresh_pictures(shapes: finder.Finder) -> None:
    right = 0
    for seed in range(900, 920):
        drawing = draw(seed)
        kind = KINDS[seed % 3]
        right += len(shapes.find(drawing.image, kind, 0.4)) == drawing.count(kind)
    assert right >= 18


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - shared)


def sheet() -> Image.Image:
    image = Image.new("RGB", (500, 300), "#fffdf5")
    pen = ImageDraw.Draw(image)
    pen.ellipse((40, 40, 100, 100), fill="#d03030", outline="black", width=2)
    pen.ellipse((220, 60, 290, 130), fill="#3060c0", outline="black", width=2)
    pen.rectangle((380, 180, 440, 240), fill="#30963c")
    return image


def test_bundled_detector_finds_the_place_of_a_shape(shapes: finder.Finder) -> None:
    (red,) = shapes.find(sheet(), "red circle", 0.4)
    (green,) = shapes.find(sheet(), "box", 0.4)
    assert overlap(red.box, (40, 40, 100, 100)) > 0.8 and overlap(green.box, (380, 180, 440, 240)) > 0.8
    assert len(shapes.find(sheet(), "circles", 0.4)) == 2
    assert shapes.find(sheet(), "triangle", 0.4) == []


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (900, 2), (3000, 20)])
@pytest.mark.parametrize("mode", ["RGB", "1", "LA", "P", "CMYK", "I;16"])
def test_odd_pictures_are_no_error(shapes: finder.Finder, size: tuple[int, int], mode: str) -> None:
    assert shapes.find(Image.new(mode, size), "red circle", 0.5) == []


def test_tools_share_one_detector_in_a_process(shapes: finder.Finder) -> None:
    made = [kind(SHAPES) for kind in (TextToBbox, CountGivenObject, VideoObjectDetection)]
    for one in made:
        one.setup("cpu")
        assert one.finder is shapes
    assert finder.load_finder(SHAPES, "cpu:1") is shapes  # of another process, there
    assert made[1].apply(SCRATCH, image=sheet(), text="circle", bbox="(200, 0, 500, 300)") == 1
    assert made[0].apply(SCRATCH, image=sheet(), text="blue circle").startswith("(2")


def test_what_is_found_in_a_picture_does_not_depend_on_the_batch(shapes: finder.Finder) -> None:
    images = [sheet(), draw(3).image, draw(5).image.convert("L"), sheet().convert("RGBA")]
    alone = [shapes.find_all([image], None, 0.4)[0] for image in images]
    together = shapes.find_all(images, None, 0.4)
    flat = [[[hit.label, *map(round, hit.box)] for hit in hits] for hits in alone]
    assert flat == [[[hit.label, *map(round, hit.box)] for hit in hits] for hits in together]


def test_video_of_a_moving_circle(shapes: finder.Finder, tmp_path: Path) -> None:
    pictures = []
    for step in range(3):
        image = Image.new("RGB", (320, 240), "white")
        ImageDraw.Draw(image).ellipse((20 + 80 * step, 80, 90 + 80 * step, 150), fill="#c02020")
        pictures.append(image)
    made = VideoObjectDetection(SHAPES)
    made.setup("cpu")
    lines = made.apply(SCRATCH, video=video(tmp_path / "clip.mp4", pictures)).split("\n")
    assert len(lines) == 3
    for step, line in enumerate(lines):
        frame, x1, *_ = (int(number) for number in re.findall(r"\d+", line))
        assert frame == step and abs(x1 - (20 + 80 * step)) <= 6 and line.count("class: circle (0)") == 1


def test_a_file_that_is_no_checkpoint_is_refused_in_one_sentence(tmp_path: Path) -> None:
    needs_models()
    from tool_impls.perception.detection.yolo import load

    for name, content in (("junk.pt", b"junk"), ("empty.pt", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ToolUnavailable, match=f"{name} cannot be loaded by ultralytics") as caught:
            load(tmp_path / name, "cpu")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("back_end", ["ultralytics", "transformers"])
def test_a_detector_that_does_not_fit_into_memory_is_told(
    back_end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_models()
    import torch

    from tool_impls.perception.detection import hub, yolo

    moved = torch.nn.Module.to

    def full(self: Any, *device: Any, **values: Any) -> Any:
        if str(*device) != "cpu:1":
            return moved(self, *device, **values)
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has ...")

    weights = SHIPPED if back_end == "ultralytics" else tiny_detectors.rt_detr(tmp_path)
    monkeypatch.setattr(torch.nn.Module, "to", full)
    told = r"^the model of \[tools.detection\] ran out of memory on cpu:1: it needed 700.00 MiB more, while it"
    with pytest.raises(ToolUnavailable, match=told):
        (yolo if back_end == "ultralytics" else hub).load(weights, "cpu:1")


def test_a_name_is_fetched_into_the_users_cache_only_where_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_models()
    from tool_impls.perception.detection import yolo
    from tool_impls.perception.detection.yolo import load_ultralytics

    load_ultralytics()
    from ultralytics.utils import downloads

    table = {"weights": "yolo11n.pt"}
    assert finder.chosen(ToolSettings(tables={"detection": table})) is None
    choice = finder.chosen(ToolSettings(tables={"detection": {**table, "allow_download": True}}))
    assert choice is not None and choice.weights == "yolo11n.pt"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(downloads, "attempt_download_asset", lambda file: shutil.copyfile(SHIPPED, file))
    assert yolo.load("yolo11n.pt", "cpu").classes == KINDS
    assert (tmp_path / "agentgauge" / "ultralytics" / "yolo11n.pt").is_file()

    def unreachable(file: Path) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(downloads, "attempt_download_asset", unreachable)
    with pytest.raises(
        ToolUnavailable, match=r"yolo12\.pt could not be fetched \(ConnectionError\); give the path of a local file"
    ):
        yolo.load("yolo12.pt", "cpu")


CLIP = """
import torch

class Encoder(torch.nn.Module):
    def encode_text(self, tokens):
        return torch.cat([torch.randn(1, 512, generator=torch.Generator().manual_seed(int(row.sum()))) for row in tokens])

def load(size, device, download_root):
    return Encoder(), None

def tokenize(texts, truncate):
    return torch.tensor([[sum(map(ord, text))] for text in texts])
"""  # noqa: E501


def test_open_checkpoint_takes_any_words_with_an_encoder_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YOLO-World of random weights, with a stand-in for the package that reads the words."""
    needs_models()
    from tool_impls.perception.detection.yolo import load, load_ultralytics

    load_ultralytics()
    import torch
    from ultralytics.nn.tasks import WorldModel

    torch.manual_seed(0)
    model = WorldModel("yolov8n-worldv2.yaml", nc=2, verbose=False)
    model.names = {0: "cat", 1: "dog"}
    for head in model.model[-1].cv4:
        head.bias.data.fill_(0.0)  # so that untrained scores are not all near 0
    torch.save({"model": model, "train_args": {"imgsz": 64}}, tmp_path / "world.pt")
    assert vocabulary(tmp_path / "world.pt") == Vocabulary(True)
    image = sheet()
    absent(monkeypatch, "clip")
    own = load(tmp_path / "world.pt", "cpu")
    assert own.classes == ("cat", "dog") and {hit.label for hit in own.detect_many([image], [None], 0.0)[0]} <= {
        "cat",
        "dog",
    }

    for name in ("clip", "package/clip"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "clip" / "ViT-B-32.pt").touch()
    (tmp_path / "package" / "clip" / "__init__.py").write_text(CLIP)
    monkeypatch.syspath_prepend(tmp_path / "package")
    monkeypatch.delitem(sys.modules, "clip")
    free = load(tmp_path / "world.pt", "cpu")
    assert free.classes is None
    first, second, third = free.detect_many([image] * 3, [("red circle",), ("box", "kite"), ("red circle",)], 0.0)
    assert {hit.label for hit in first} == {"red circle"} and {hit.label for hit in second} <= {"box", "kite"}
    assert first == third
    for name in ("clip", "ultralytics.nn.text_model"):
        monkeypatch.delitem(sys.modules, name, raising=False)


# Drawing


def test_drawing_is_repeatable_and_its_boxes_hold_its_shapes() -> None:
    one, two, other = draw(11), draw(11), draw(12)
    assert one.image.tobytes() == two.image.tobytes() and one.shapes == two.shapes
    assert one.shapes != other.shapes
    assert {shape.kind for seed in range(10) for shape in draw(seed).shapes} == set(KINDS)
    for seed in range(10):
        drawing = draw(seed, (320, 240))
        assert drawing.image.size == (320, 240)
        for shape in drawing.shapes:
            x1, y1, x2, y2 = shape.box
            assert -8 <= x1 < x2 <= 328 and -8 <= y1 < y2 <= 248


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # torch's loading of samples
def test_training_makes_a_checkpoint_that_loads(tmp_path: Path) -> None:
    needs_models()
    from bundled_data.shapes import save, train
    from tool_impls.perception.detection.yolo import load

    losses: list[float] = []
    save(train(steps=2, seed=1, report=lambda step, loss: losses.append(loss)), tmp_path / "tiny.pt")
    assert len(losses) == 2 and all(loss > 0 for loss in losses)
    assert vocabulary(tmp_path / "tiny.pt") == Vocabulary(False, KINDS)
    assert load(tmp_path / "tiny.pt", "cpu").classes == KINDS


# nms


@pytest.mark.parametrize(
    ("boxes", "scores", "kept"),
    [
        ([], [], []),
        ([[0, 0, 10, 10]], [0.5], [0]),
        ([[0, 0, 10, 10], [1, 0, 11, 10], [50, 50, 60, 60]], [0.5, 0.9, 0.1], [1, 2]),
        ([[0, 0, 10, 10], [5, 0, 15, 10]], [0.9, 0.8], [0, 1]),
    ],
)
def test_overlapping_boxes_are_one_thing(boxes: list[list[float]], scores: list[float], kept: list[int]) -> None:
    torch = pytest.importorskip("torch")
    from tool_impls.devices import nms

    assert nms(torch.tensor(boxes).reshape(-1, 4), torch.tensor(scores), 0.6).tolist() == kept

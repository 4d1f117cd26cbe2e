"""RapidOCR for all threads of a process: on the processor in a thread of its own, on a GPU with the lines of several
pictures read together.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agentgauge.core.errors import ToolUnavailable
from tool_impls import devices
from tool_impls.devices import Batched

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Pixels = NDArray[numpy.uint8]  # height by width by blue, green and red

T = TypeVar("T")

PROVIDER, CUDA_PROVIDER = "CUDAExecutionProvider", "libonnxruntime_providers_cuda.so"
HEIGHT, NARROWEST = 48, 128  # pixels of a line as the recogniser sees it
PICTURES = 8  # whose lines are read together, at most
LINES = 32  # that go through the recogniser at once, at most

PARAMETERS: Mapping[str, Any] = {
    "Global.use_cls": False,  # text that stands upside down is not worth a third of the time
    "Global.text_score": 0.6,  # of 1; below that it reads letters into photographs
    "Global.log_level": "critical",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,  # two take twice the processor time
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,  # pixels; larger pictures are scaled down for finding the lines
    # Lines are filled up to this width, 320 as preset: a receipt of short prices takes half as long again.
    "Rec.rec_img_shape": [3, HEIGHT, NARROWEST],
    "Rec.rec_batch_num": 1,  # one by one, no line's reading depends on its neighbours
}


def lacks_gpu() -> str:
    """Why the reader runs on the processor only, and what would help; empty where it can use a GPU."""
    found = find_spec("onnxruntime")
    folders = [Path(folder) for folder in (found and found.submodule_search_locations) or ()]
    if any((folder / "capi" / CUDA_PROVIDER).is_file() for folder in folders):
        return ""
    return "the package onnxruntime is built for the processor; install onnxruntime-gpu in its place"


class OnProcessor:
    """RapidOCR in a thread of its own, where calls queue."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "ocr")
        self.run(_flush_denormals)
        self._engine = _rapidocr(PARAMETERS)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of the function, which the engine's thread calls after the calls before it."""
        return self._thread.submit(function, *arguments).result()

    def __call__(self, pixels: Pixels) -> Any:
        return self.run(self._engine, pixels)


class SharedEngine:
    """RapidOCR for many threads. Text is looked for in one picture at a time; the lines of all pictures that wait are
    read together.

    RapidOCR fills the lines of a batch up to the width of the longest, and a line is read differently with another
    filling. So only lines of the same width go together: each is read as if it were alone.
    """

    def __init__(self, device: str = devices.CPU, parameters: Mapping[str, Any] = PARAMETERS) -> None:
        self._device = device
        self._engine = _rapidocr({**parameters, "Rec.rec_batch_num": LINES})
        self._find, self._read = self._engine.detect_and_crop, self._engine.recognize_txt
        self._engine.detect_and_crop, self._engine.recognize_txt = self._found, self._all_read
        self._finding = threading.Lock()
        self._batched: Batched[Sequence[Pixels], Any] = Batched(self._work, PICTURES)

    def __call__(self, pixels: Pixels) -> Any:
        return self._engine(pixels)

    def providers(self) -> list[str]:
        """What runs the two models, once a picture has been read."""
        return [model.session.session.get_providers()[0] for model in (self._engine.text_det, self._engine.text_rec)]

    def _found(self, pixels: Pixels, record: dict[str, Any]) -> Any:
        """In place of ``RapidOCR.detect_and_crop``."""
        with self._finding:
            (found,) = self._in_parts(lambda one: [self._find(*one[0])], [(pixels, record)])
        return found

    def _all_read(self, lines: Sequence[Pixels]) -> Any:
        """In place of ``RapidOCR.recognize_txt``."""
        return self._batched(lines)

    def _work(self, pages: Sequence[Sequence[Pixels]]) -> list[Any]:
        """What stands in the lines of each page, in RapidOCR's form."""
        from rapidocr.ch_ppocr_rec import TextRecOutput

        alike: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by width: page and place of each line
        for page, lines in enumerate(pages):
            for place, line in enumerate(lines):
                alike[width(line)].append((page, place))
        texts: dict[tuple[int, int], tuple[str, float]] = {}
        for places in alike.values():
            for start in range(0, len(places), LINES):
                part = places[start : start + LINES]
                read = self._in_parts(self._texts, [pages[page][place] for page, place in part])
                texts |= zip(part, read, strict=True)
        results: list[Any] = []
        for page, lines in enumerate(pages):
            words, scores = zip(*(texts[page, place] for place in range(len(lines))), strict=True)
            rest: Any = {"scores": scores, "word_results": (None,) * len(lines), "elapse": 0.0}
            results.append(TextRecOutput(list(lines), words, **rest))
        return results

    def _texts(self, lines: Sequence[Pixels]) -> list[tuple[str, float]]:
        found = self._read(list(lines))
        return list(zip(found.txts, found.scores, strict=True))

    def _in_parts(self, work: Callable[[Sequence[T]], list[Any]], values: Sequence[T]) -> list[Any]:
        def plain(part: Sequence[T]) -> list[Any]:
            try:
                return work(part)
            except Exception as error:
                raise (error.__cause__ or error) from None  # RapidOCR wraps what onnxruntime says into text

        return devices.in_parts(plain, values, tool="OCR", device=self._device)


def width(line: Pixels) -> int:
    """Pixels to which RapidOCR fills a line up that it reads alone."""
    return int(HEIGHT * max(NARROWEST / HEIGHT, line.shape[1] / line.shape[0]))


def on_gpu(device: str) -> SharedEngine:
    """The engine on ``cuda:N``, ready for the first picture. Raises ToolUnavailable where it would work on the
    processor instead, and where the GPU has too little memory.
    """
    import onnxruntime

    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()  # the libraries that torch came with
    with devices.loading("OCR", device):
        engine = SharedEngine(device, {**PARAMETERS, **_cuda(device)})
        engine(_sample())
    if set(engine.providers()) == {PROVIDER}:
        return engine
    # onnxruntime goes on without a word
    libraries = f"install the CUDA and cuDNN libraries that onnxruntime {onnxruntime.__version__} is built for"
    lacking = lacks_gpu() or f"onnxruntime could not load its libraries; {libraries}"
    raise ToolUnavailable(f'OCR cannot use {device}: {lacking}, or set device = "cpu" in [tools.OCR]')


def _cuda(device: str) -> dict[str, Any]:
    """Results are those of the processor, as far as can be: no numbers of 19 bits, no algorithm chosen by the clock."""
    values = {
        "device_id": int(device.partition(":")[2] or 0),
        "arena_extend_strategy": "kSameAsRequested",
        "cudnn_conv_algo_search": "HEURISTIC",  # the preset measures all for every new size of a picture
        "use_tf32": 0,
    }
    engine = "EngineConfig.onnxruntime"
    return {f"{engine}.use_cuda": True, **{f"{engine}.cuda_ep_cfg.{name}": value for name, value in values.items()}}


def _sample() -> Pixels:
    """A picture with a word, so that both models are loaded."""
    import numpy
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (320, 160), "white")
    ImageDraw.Draw(image).text((40, 50), "Total 450", fill="black", font=ImageFont.load_default(48))
    return numpy.array(image)


def _rapidocr(parameters: Mapping[str, Any]) -> Any:
    # Asking for the level in the parameters is not enough: the package logs while it reads them.
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    from rapidocr import RapidOCR

    return RapidOCR(params=dict(parameters))


def _flush_denormals() -> None:
    """Have this thread count floats below 1e-38 as zero, and the threads that it starts.

    Two thirds of the weights of one layer of the detection model are that small. With them the processor takes fifty
    times as long for the layer, two thirds of a picture's time, and finds the same boxes. RapidOCR has no parameter
    for it. onnxruntime obeys the option of the first session of a process, for the thread that makes the session.
    """
    import onnxruntime
    from onnxruntime.datasets import get_example

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    onnxruntime.InferenceSession(get_example("sigmoid.onnx"), options, providers=["CPUExecutionProvider"])

"""Where models run: what settings name, what there is, and what the errors of libraries mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolFault, ToolUnavailable, UsageProblem
from tool_impls import availability, devices
from tool_impls.base import BenchTool
from tool_impls.devices import Gpu, gpus, in_parts, is_lost, lacks_memory, loading, placed
from tool_impls.perception import ocr
from tool_impls.registry import TOOLS, parse
from tool_impls.server.calls import CallAnswer, QueuedCall
from tool_impls.server.execution import DevicePool
from tool_impls.settings import ToolSettings

GIB = 2**30
SMALL = Gpu("cuda:0", "NVIDIA L4", 3 * GIB, 24 * GIB)
LARGE = Gpu("cuda:1", "NVIDIA H100", 70 * GIB, 80 * GIB)
FREE = Gpu("cuda:2", "NVIDIA H100", 71 * GIB, 80 * GIB)


class OnnxError(Exception):
    """As those of onnxruntime, which are no RuntimeErrors."""


OnnxError.__module__ = "onnxruntime.capi.onnxruntime_pybind11_state"


class OutOfMemoryError(RuntimeError):
    """As torch's."""


@pytest.mark.parametrize(
    ("wanted", "there", "found"),
    [
        ("auto", [], ["cpu"]),
        ("", [SMALL], ["cuda:0"]),
        ("auto", [SMALL, LARGE], ["cuda:1"]),
        ("auto", [SMALL, LARGE, FREE], ["cuda:1"]),  # the first of those that are equally free
        ("cpu", [LARGE], ["cpu"]),
        ("cpu:0, cpu:1,cpu:0", [], ["cpu:0", "cpu:1"]),
        ("cuda:0,auto", [SMALL], ["cuda:0"]),
        ("cuda:1,cuda:0,", [SMALL, LARGE], ["cuda:1", "cuda:0"]),
    ],
)
def test_a_setting_names_devices(wanted: str, there: list[Gpu], found: list[str]) -> None:
    assert list(placed(wanted, there)) == found


@pytest.mark.parametrize(
    ("wanted", "there", "told"),
    [
        ("gpu", [], "the device 'gpu' is none; accepted are auto, cpu and cuda:N, such as cuda:0"),
        ("cuda", [LARGE], "the device 'cuda' is none"),
        ("cpu,cuda:0", [], "the device cuda:0 is not there; torch sees no GPU here; name another, or auto"),
        ("cuda:7", [SMALL], "cuda:7 is not there; torch sees cuda:0 (NVIDIA L4, 3.0 GiB of 24.0 GiB free); name"),
    ],
)
def test_a_device_that_is_not_there_is_refused(wanted: str, there: list[Gpu], told: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        placed(wanted, there)
    assert told in str(problem.value)


@pytest.mark.parametrize(
    ("probe", "found"),
    [
        ('print("a warning\\n[[\\"NVIDIA L4\\", 5, 9], [\\"NVIDIA H100\\", 6, 9]]")', ["cuda:0", "cuda:1"]),
        ("print([])", []),  # without torch, or one that is built for the processor
    ],
)
def test_gpus_are_those_that_torch_sees(monkeypatch: pytest.MonkeyPatch, probe: str, found: list[str]) -> None:
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    monkeypatch.setattr(devices, "_PROBE", probe)
    assert [gpu.device for gpu in gpus()] == found


TORCH = """
def device_count(): return 2
def get_device_name(number): return "NVIDIA L4"
def mem_get_info(number):
    if number == {broken}: raise RuntimeError("CUDA error: out of memory")
    return 7 << 30, 8 << 30
"""


@pytest.mark.parametrize(("broken", "chosen"), [(0, "cuda:1"), (1, "cuda:0"), (2, "cuda:0")])
def test_a_gpu_that_cannot_be_used_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: int, chosen: str
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "cuda.py").write_text(TORCH.replace("{broken}", str(broken)))
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert (len(gpus()), placed("auto", gpus())) == (2, (chosen,))


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        ("raise OSError('libcudart.so.13 is missing')", "OSError: libcudart.so.13 is missing"),
        ("import os; os._exit(3)", "exit status 3"),
        ("import time; time.sleep(60)", "no answer within 0.5 s"),
    ],
)
def test_where_torch_fails_no_model_moves_to_the_processor(
    monkeypatch: pytest.MonkeyPatch, probe: str, why: str
) -> None:
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    monkeypatch.setattr(devices, "_PROBE", probe)
    monkeypatch.setattr(devices, "_PROBE_SECONDS", 0.5 if "sleep" in probe else 60)
    with pytest.raises(UsageProblem) as told:
        gpus()
    reason = f"this machine has a GPU, but torch cannot look at it ({why}); mend the driver, or name cpu as the device"
    assert str(told.value) == reason
    devices.seen.cache_clear()
    with pytest.raises(UsageProblem) as told:
        devices.seen()
    assert str(told.value) == f"devices in [tools]: {reason}"


@pytest.mark.parametrize(
    ("error", "memory", "lost"),
    [
        # torch
        (RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity"), True, False),
        (OutOfMemoryError("HIP out of memory. Tried to allocate 2.00 GiB"), True, False),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"), True, False),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True, False),
        (RuntimeError("CUDA error: device-side assert triggered"), False, True),
        (RuntimeError("CUDA error: uncorrectable ECC error encountered"), False, True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(handle)`"), False, True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), False, True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED"), False, False),
        (RuntimeError("HIP error: the operation cannot be performed in the present state"), False, True),
        # CTranslate2
        (RuntimeError("CUDA failed with error out of memory"), True, False),
        (RuntimeError("CUDA failed with error unspecified launch failure"), False, True),
        # onnxruntime
        (OnnxError("bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 9"), True, False),
        (OnnxError("CUDA failure 2: out of memory ; GPU=0 ; hostname=box ; expr=cudaMalloc((void**)&p)"), True, False),
        (OnnxError("CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=box"), False, True),
        # neither
        (RuntimeError("the sizes of the tensors must match"), False, False),
        (ValueError("CUDA error: what a model has written"), False, False),
        (MemoryError("out of memory"), False, False),  # of this process; GPUs have nothing to do with it
    ],
)  # fmt: skip
def test_what_errors_of_libraries_mean(error: Exception, memory: bool, lost: bool) -> None:
    assert (lacks_memory(error), is_lost(error)) == (memory, lost)


@pytest.mark.parametrize(
    ("inner", "lost"),
    [
        (RuntimeError("CUDA error: device-side assert triggered"), True),
        (RuntimeError("CUDA out of memory"), False),
        (RuntimeError("no"), False),
    ],
)
def test_an_error_that_a_tool_has_put_into_its_own_words_is_known(inner: Exception, lost: bool) -> None:
    told = ToolUnavailable("the weights cannot be loaded")
    told.__context__ = inner  # raised while that one was handled, "from None"
    assert is_lost(told) == lost


def test_an_error_that_leads_back_to_itself_is_looked_at_once() -> None:
    """As OCR's, which is taken out of its wrapping and raised again."""
    inner, wrapper = OnnxError("INVALID_ARGUMENT : got invalid dimensions"), RuntimeError("wrapped")
    wrapper.__cause__, inner.__context__ = inner, wrapper
    assert not is_lost(inner)


def room_for(most: int, error: Callable[[], Exception]) -> tuple[list[int], Callable[[Sequence[int]], list[int]]]:
    """The sizes of lists that a model was given, and the model, which takes lists of at most ``most`` values."""
    sizes: list[int] = []

    def double(values: Sequence[int]) -> list[int]:
        sizes.append(len(values))
        if len(values) > most:
            raise error()
        return [2 * value for value in values]

    return sizes, double


@pytest.mark.parametrize(
    ("most", "number", "sizes"),
    [(9, 5, [5]), (2, 5, [5, 2, 3, 1, 2]), (1, 2, [2, 1, 1]), (3, 0, [0])],
)
def test_a_list_that_does_not_fit_is_halved(most: int, number: int, sizes: list[int]) -> None:
    given, double = room_for(most, lambda: OutOfMemoryError("CUDA out of memory."))
    assert in_parts(double, range(number), tool="Doubler", device="cpu") == [2 * value for value in range(number)]
    assert given == sizes


def test_one_value_that_does_not_fit_is_no_fault_of_the_model() -> None:
    _, double = room_for(0, lambda: RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."))
    with pytest.raises(ToolFault) as told:
        in_parts(double, [1, 2], tool="Doubler", device="cpu:1")
    assert str(told.value) == "Doubler ran out of memory on cpu:1: it needed 2.00 GiB more, over one call"
    assert told.value.cause == "memory"


def test_other_errors_go_through_and_nothing_is_tried_again() -> None:
    given, double = room_for(0, lambda: ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        in_parts(double, [1, 2, 3], tool="Doubler", device="cpu")
    assert given == [3]


def test_a_model_that_does_not_fit_names_tool_need_and_device() -> None:
    with pytest.raises(ToolUnavailable) as told, loading("Doubler", "cpu:1"):
        raise OnnxError("Failed to allocate memory for requested buffer of size 3221225472")
    words = "the model of Doubler ran out of memory on cpu:1: it needed 3.0 GiB more, while it was loaded; name another"
    assert str(told.value).startswith(words)
    with pytest.raises(ValueError, match="no"), loading("Doubler", "cpu"):
        raise ValueError("no")


# -- the places of tools


def kinds(names: str) -> dict[str, type[BenchTool]]:
    return {name: TOOLS[name] for name in names.split()}


def settings(table: dict[str, Any]) -> ToolSettings:
    return parse(table, Path())


@pytest.fixture(params=["", "onnxruntime is built for the processor"])
def lacking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Why the reader of texts can use no GPU."""
    monkeypatch.setattr(ocr, "lacks_gpu", lambda: request.param)
    return str(request.param)


ALL = "OCR VideoOCR TextToBbox CountGivenObject ImageDescription"
OTHERS = "TextToBbox CountGivenObject ImageDescription"
MODELS = {"vision": {"weights": "v"}, "detection": {"weights": "shapes"}}


@pytest.mark.parametrize(
    ("table", "reader", "detector", "vision"),
    [
        ({}, "cuda:1", "cuda:1", "cuda:1"),
        ({"devices": "cuda:0,cuda:1"}, "cuda:0 cuda:1", "cuda:0 cuda:1", "cuda:0 cuda:1"),
        ({"devices": "cpu"}, "cpu", "cpu", "cpu"),
        ({"devices": "cpu", "detection": {"device": "cuda:0"}}, "cpu", "cuda:0", "cpu"),
        ({"devices": "cuda:0", "detection": {"device": "auto"}}, "cuda:0", "cuda:1", "cuda:0"),
        ({"OCR": {"device": "cpu"}, "vision": {"device": "cuda:0"}}, "cpu", "cuda:1", "cuda:0"),
    ],
)
def test_each_tool_runs_where_its_table_says(
    lacking: str, table: dict[str, Any], reader: str, detector: str, vision: str
) -> None:
    given = settings({**table, **{name: {**values, **table.get(name, {})} for name, values in MODELS.items()}})
    found = availability.places(given, kinds(ALL), [SMALL, LARGE])
    reading = "cpu" if lacking else reader
    assert {name: " ".join(each) for name, each in found.items()} == {
        "OCR": reading,
        "VideoOCR": reading,
        "TextToBbox": detector,
        "CountGivenObject": vision,  # it asks the model of [tools.vision] where there is one
        "ImageDescription": vision,
    }


def test_a_gpu_that_a_tool_cannot_use_is_refused_where_its_table_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "lacks_gpu", lambda: "it is built for the processor; install another")
    with pytest.raises(UsageProblem) as told:
        availability.places(settings({"OCR": {"device": "cuda:0"}}), kinds("OCR"), [SMALL])
    reason = "OCR cannot use a GPU here: it is built for the processor; install another; or name cpu"
    assert str(told.value) == f"device in [tools.OCR] is 'cuda:0', but {reason}"


def test_devices_of_all_tools_leave_one_that_can_use_no_gpu_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "lacks_gpu", lambda: "it is built for the processor")
    monkeypatch.setattr(availability, "seen", lambda: pytest.fail("nobody asks for a GPU"))
    assert availability.shown_here(settings({"devices": "cuda:0"}), ["OCR"]) == {"OCR": "cpu"}


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ({"devices": "cuda:5"}, "devices in [tools]"),
        ({"detection": {"device": "cuda:5"}}, "device in [tools.detection]"),
    ],
)
def test_the_setting_that_names_a_missing_gpu_is_named(table: dict[str, Any], where: str) -> None:
    given = settings({**table, "basic": True})
    with pytest.raises(UsageProblem) as told:
        availability.places(given, kinds("TextToBbox"), [SMALL])
    assert str(told.value).startswith(f"{where}: the device cuda:5 is not there")


@pytest.mark.parametrize(
    ("table", "asked"),
    [
        ({}, True),
        ({"devices": "cpu:0,cpu:1"}, False),
        ({"devices": "cpu", "detection": {"device": "auto"}}, True),
        ({"detection": {"device": "cpu"}, "vision": {"device": "cpu"}}, False),
    ],
)
def test_gpus_are_looked_for_only_where_a_model_may_run_on_one(table: dict[str, Any], asked: bool) -> None:
    given = settings({**table, **{name: {**values, **table.get(name, {})} for name, values in MODELS.items()}})
    assert availability.asks_for_gpu(given, kinds(OTHERS)) == asked
    assert availability.with_models(settings({}), ["Calculator", "TextToBbox"]) == {}  # it has no weights


def test_devices_are_shown_with_their_cards_and_results_are_kept_by_cards() -> None:
    found = {"A": ("cuda:0", "cuda:1"), "B": ("cpu",)}
    assert availability.shown(found, [SMALL, LARGE]) == {"A": "cuda:0 (NVIDIA L4), cuda:1 (NVIDIA H100)", "B": "cpu"}


@pytest.mark.parametrize(
    ("there", "asked", "told"),
    [
        (None, False, []),
        ((), True, ["--gpus", "[]"]),
        ((SMALL, LARGE), True, ["--gpus", '[["cuda:1", "NVIDIA H100"], ["cuda:0", "NVIDIA L4"]]']),
        ((SMALL, LARGE), False, ["--gpus", "later"]),
    ],
)
def test_a_run_tells_its_server_what_it_knows_of_the_gpus(
    monkeypatch: pytest.MonkeyPatch, there: tuple[Gpu, ...] | None, asked: bool, told: list[str]
) -> None:
    """The server means the same GPU by auto, and does not look for them once more."""
    monkeypatch.setattr(availability, "has_gpu", lambda: there is not None)
    monkeypatch.setattr(devices, "gpus", lambda: there)
    devices.seen.cache_clear()
    try:
        if asked:
            devices.seen()
        assert availability.handed_on() == told
    finally:
        devices.seen.cache_clear()
    if asked:
        handed = availability.handed(told[1])
        assert placed("auto", handed) == placed("auto", there or ())
        assert {(gpu.device, gpu.card) for gpu in handed} == {(gpu.device, gpu.card) for gpu in there or ()}


@pytest.mark.parametrize("text", ["", "now", "{}x", "[1]", '[["cuda:0"]]'])
def test_what_no_run_tells_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match="--gpus must be later, or a JSON list"):
        availability.handed(text)


# -- processes that wait for the GPUs to be known


class Pool:
    """Stands for the processes."""

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        return CallAnswer(200, call.tool.encode())

    async def close(self) -> None:
        """There is nothing to end."""


@pytest.mark.parametrize("problem", [False, True])
def test_gpus_are_looked_for_once_and_only_calls_of_models_wait(problem: bool) -> None:
    made: list[Pool] = []

    def make() -> Any:
        made.append(Pool())
        if problem:
            raise UsageProblem("the device cuda:1 is not there")
        return made[-1]

    async def call() -> tuple[int, set[tuple[int, bytes]], int]:
        pool = DevicePool(make, later=True)
        before = len(made)
        answers = await asyncio.gather(*(pool.run(QueuedCall("OCR", "", {}), 1) for _ in range(8)))
        await pool.close()
        late = await DevicePool(make, later=True).run(QueuedCall("OCR", "", {}), 1) if problem else CallAnswer(200, b"")
        return before, {(answer.status, answer.body) for answer in answers}, late.status

    before, answers, late = asyncio.run(call())
    expected = (500, b'{"detail":"the device cuda:1 is not there"}') if problem else (200, b"OCR")
    assert (before, answers, late) == (0, {expected}, expected[0])
    assert problem or len(made) == 1


def test_a_closed_pool_looks_for_no_gpu() -> None:
    async def call() -> CallAnswer:
        pool = DevicePool(lambda: pytest.fail("it was made"), later=True)
        await pool.close()
        return await pool.run(QueuedCall("OCR", "", {}), 1)

    assert asyncio.run(call()).status == 503

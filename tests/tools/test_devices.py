"""Where models run, batches of calls, and processes on devices."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError, ToolFault, ToolUnavailable, UsageProblem
from agentgauge.core.tools import Parameter, Tool
from tests.tools.test_faults import Running
from tool_impls import availability, devices
from tool_impls.base import BenchTool
from tool_impls.devices import Batched, Gpu, gpus, in_parts, is_lost, lacks_memory, loading, placed
from tool_impls.perception import ocr
from tool_impls.registry import TOOLS, parse
from tool_impls.server.calls import CallAnswer, QueuedCall, ToolRunner
from tool_impls.server.client import ToolServerBox
from tool_impls.server.command import main
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
    ("most", "number", "sizes"), [(9, 5, [5]), (2, 5, [5, 2, 3, 1, 2]), (1, 2, [2, 1, 1]), (3, 0, [0])]
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


# -- dynamic batching


def together(model: Batched[int, int], values: list[int]) -> list[int | Exception]:
    """Results of calls from as many threads."""

    def one(value: int) -> int | Exception:
        try:
            return model(value)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(one, values))


def test_each_call_gets_its_own_result_and_busy_models_get_full_lists() -> None:
    sizes: list[int] = []

    def double(values: list[int]) -> list[int]:
        sizes.append(len(values))
        time.sleep(0.02)
        return [2 * value for value in values]

    assert together(Batched(double, 8), list(range(40))) == [2 * value for value in range(40)]
    assert max(sizes) <= 8 and sum(sizes) == 40 and len(sizes) < 20


def test_lone_call_does_not_wait_for_company() -> None:
    assert Batched(lambda values: [len(values)], 8)(5) == 1


def test_one_bad_value_fails_no_other() -> None:
    ready = threading.Barrier(6)

    def careful(values: list[int]) -> list[int]:
        if 3 in values:
            raise ValueError("three")
        return values

    model = Batched(careful, 8)

    def one(value: int) -> int | str:
        ready.wait()
        try:
            return model(value)
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(6))) == [0, 1, 2, "three", 4, 5]


def test_model_that_answers_too_few_is_an_error_for_all_and_nobody_waits() -> None:
    model: Batched[int, int] = Batched(lambda values: [], 8)
    results = together(model, [1, 2, 3])
    assert all(isinstance(result, ValueError) for result in results)
    with pytest.raises(ValueError, match="shorter"):
        model(1)


class Pair(BenchTool):
    """Two calls work at a time on a GPU, one on the processor."""

    meta = Tool("Pair", "", (), (Parameter("text"),))
    category = "logic"
    concurrency = 2

    def __init__(self) -> None:
        super().__init__(ToolSettings())
        self.at_work = self.most = 0

    def together(self, device: str) -> int:
        return 1 if device == "cpu" else self.concurrency

    def apply(self, folder: Path, /) -> str:
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        time.sleep(0.05)
        self.at_work -= 1
        return "done"


@pytest.mark.parametrize(("device", "most"), [("cpu", 1), ("cuda:0", 2)])
def test_calls_wait_for_their_turn_before_their_time_runs(device: str, most: int, tmp_path: Path) -> None:
    tool = Pair()
    runner = ToolRunner([tool], device=device)
    begun: list[int] = []
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(runner.run, QueuedCall("Pair", str(tmp_path), {}), lambda: begun.append(tool.at_work))
            for _ in "12"
        ]
        assert [call.result().status for call in calls] == [200, 200]
    assert tool.most == most
    assert len(begun) == 2 and max(begun) < most


# -- processes


DEVICE_TOOLS = Path(__file__).with_name("device_tools.py")
NAMES = "Loaded,Pinned,Narrow,TooLarge,Loses,Aborts"


class Devices(Running):
    """A server whose tools run on two devices, and the file in which they note each load."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "loads.txt"
        tables = "".join(f'[tools.{name}]\nlog = "{self.log}"\n' for name in NAMES.split(","))
        settings = folder / "agentgauge.toml"
        pinned = tables.replace("[tools.Pinned]", '[tools.Pinned]\ndevice = "cpu:1"')
        settings.write_text(f'[tools]\ndevices = "cpu:0,cpu:1"\n{pinned}')
        super().__init__("--tools", f"{NAMES},Echo", "--settings", str(settings), "--extra", str(DEVICE_TOOLS))

    def loads(self, tool: str) -> list[str]:
        """The devices on which a tool was loaded, in order."""
        lines = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return sorted(device for name, device, _ in lines if name == tool)

    def from_clients(self, clients: int, tool: str, words: Sequence[str], folder: Path) -> list[Any]:
        """Answers to calls that come at once, from as many clients with connections of their own."""

        async def one(box: ToolServerBox, word: str) -> Any:
            try:
                (output,) = await box.call(tool, {"word": word}, folder=folder, readable=())
                return output.content.split()
            except (ToolError, ToolFault) as error:
                return error

        async def every() -> list[Any]:
            boxes = [ToolServerBox(self.url) for _ in range(clients)]
            try:
                return await asyncio.gather(*(one(boxes[i % clients], word) for i, word in enumerate(words)))
            finally:
                for box in boxes:
                    await box.close()

        return asyncio.run(every())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    running = Devices(tmp_path_factory.mktemp("devices"))
    yield running
    told = running.stop().decode()
    assert "tools on cpu:0, cpu:1: Aborts, Loaded, Loses, Narrow, TooLarge\ntools on cpu:1: Pinned\n" in told


def test_32_calls_of_8_clients_share_one_model_on_each_device(server: Devices, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(32)]
    (alone,) = server.from_clients(1, "Loaded", ["w0"], tmp_path)
    answers = server.from_clients(8, "Loaded", words, tmp_path)
    assert [answer[0] for answer in answers] == [word.upper() for word in words] and alone[0] == "W0"
    spread = Counter(answer[1] for answer in answers)
    assert set(spread) == {"cpu:0", "cpu:1"} and min(spread.values()) > 4
    assert server.loads("Loaded") == ["cpu:0", "cpu:1"]  # as many as for one call on each


def test_a_tool_runs_where_its_table_says_in_the_process_of_that_device(server: Devices, tmp_path: Path) -> None:
    answers = server.from_clients(2, "Pinned", ["a", "b", "c", "d"], tmp_path)
    others = server.from_clients(1, "Loaded", ["x"] * 8, tmp_path)
    assert [answer[1] for answer in answers] == ["cpu:1"] * 4 and server.loads("Pinned") == ["cpu:1"]
    processes = {answer[1]: answer[2] for answer in others}
    assert {answer[2] for answer in answers} == {processes["cpu:1"]} and len(set(processes.values())) == 2


def test_tools_and_metrics_name_the_devices(server: Devices) -> None:
    found = json.loads(server.get("/tools"))
    assert {name: tool.get("device") for name, tool in found.items()} == {
        **dict.fromkeys(("Loaded", "Narrow", "TooLarge", "Loses", "Aborts"), "cpu:0, cpu:1"),
        "Pinned": "cpu:1",
        "Echo": None,
    }
    assert "device" not in found["Pinned"]["options"]  # another place is no other tool
    assert 'agentgauge_tool_device{device="cpu:1",tool="Pinned"} 1.0' in server.get("/metrics").decode()


def test_batches_that_do_not_fit_are_answered_as_one_by_one(server: Devices, tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(32)]
    answers = server.from_clients(8, "Narrow", words, tmp_path)
    assert [answer[0] for answer in answers] == [word.upper() for word in words]
    long, short = server.from_clients(2, "Narrow", ["a-long-word", "short"], tmp_path)
    assert isinstance(long, ToolFault) and "Narrow ran out of memory on cpu:" in str(long)
    assert "it needed 2.00 GiB more, over one call" in str(long) and short[0] == "SHORT"


def test_a_model_that_does_not_fit_names_tool_and_device(server: Devices, tmp_path: Path) -> None:
    (error,) = server.from_clients(1, "TooLarge", ["x"], tmp_path)
    assert isinstance(error, ToolFault)
    assert "HTTP 500" in str(error) and "the model of TooLarge ran out of memory on cpu:" in str(error)


@pytest.mark.parametrize("tool", ["Loses", "Aborts"])
def test_a_process_that_ends_once_costs_no_call(server: Devices, tmp_path: Path, tool: str) -> None:
    """Neither its own nor one of those that it was executing with it."""
    before = restarts(server)
    words = [str(tmp_path / "first"), *(f"w{number}" for number in range(7))]
    answers = server.from_clients(4, tool, words, tmp_path)
    assert [answer[0] for answer in answers] == [word.upper() for word in words]
    assert restarts(server) == before + 1


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("always", "CUDA error: an illegal memory access was encountered)"),
        ("wraps", "CUDA failed with error unspecified launch failure)"),
    ],
)
def test_a_call_that_loses_every_device_is_no_answer_of_the_model(
    server: Devices, tmp_path: Path, word: str, said: str
) -> None:
    answers = server.from_clients(2, "Loses", [word, "a", "b"], tmp_path)
    assert isinstance(answers[0], ToolFault) and [answer[0] for answer in answers[1:]] == ["A", "B"]
    told = str(answers[0])
    assert (
        "HTTP 500" in told
        and "Loses: its processes ended, the last one because it lost its device cpu:" in told
        and said in told
    )
    assert "see the driver's messages, or name another device" in told


def restarts(server: Devices) -> float:
    (line,) = [line for line in server.get("/metrics").decode().splitlines() if line.startswith(RESTARTS)]
    return float(line.split()[1])


RESTARTS = "agentgauge_process_restarts_total"


@pytest.mark.heavy  # without torch, TextToBbox has a stand-in that needs no device
@pytest.mark.parametrize(
    ("devices", "gpus", "told"),
    [
        ("gpu", "[]", "--devices: the device 'gpu' is none; accepted are auto, cpu and cuda:N, such as cuda:0"),
        ("cuda:0", "[]", "devices in [tools]: the device cuda:0 is not there; torch sees no GPU here; name another"),
        ("cuda:1", '[["cuda:0", "NVIDIA L4"]]', "the device cuda:1 is not there; torch sees cuda:0 (NVIDIA L4); name"),
    ],
)
def test_a_server_refuses_a_device_that_is_not_there_when_it_starts(
    devices: str, gpus: str, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.toml").write_text("[tools]\nbasic = true\n")
    arguments = ["--port", "0", "--tools", "TextToBbox", "--settings", str(tmp_path / "a.toml")]
    assert main([*arguments, "--devices", devices, "--gpus", gpus]) == 4
    assert told in capfd.readouterr().err


def test_a_server_whose_run_has_not_looked_for_gpus_does_so_at_the_first_call(tmp_path: Path) -> None:
    settings = tmp_path / "agentgauge.toml"
    settings.write_text(f'[tools.Loaded]\nlog = "{tmp_path / "log"}"\n')
    arguments = ("--tools", "Loaded,Echo", "--settings", str(settings), "--extra", str(DEVICE_TOOLS))
    running = Running(*arguments, "--gpus", "later", CUDA_VISIBLE_DEVICES="")
    try:
        assert "agentgauge_tool_device{" not in running.get("/metrics").decode()
        assert running.calls(tmp_path, ("Loaded", {"word": "a"}))[0].split()[:2] == ["A", "cpu"]
        assert 'agentgauge_tool_device{device="cpu",tool="Loaded"} 1.0' in running.get("/metrics").decode()
        assert json.loads(running.get("/tools"))["Loaded"]["device"] == "cpu"
    finally:
        assert b"tools on" not in running.stop()

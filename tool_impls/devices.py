"""Where models run: the processor and GPUs, their free memory, what follows where a GPU fails, and batches of calls."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from agentgauge.core.errors import ToolFault, ToolUnavailable, UsageProblem
from tool_impls.settings import Option

if TYPE_CHECKING:
    import torch
    from torch import Tensor


T = TypeVar("T")
R = TypeVar("R")

AUTO, CPU = "auto", "cpu"

DEVICE = Option("device", "text", None, "where its model runs: auto, cpu or cuda:0; as devices in [tools] if not set")
"""An option of every table that names a model."""

NOISE = 2 * 2**30
"""Bytes. GPUs whose free memory differs by less are equally free: each process that looks at them takes some."""

_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""One of these is there where torch can find a GPU: of NVIDIA, of AMD, and under WSL."""

_NAME = re.compile(r"cpu(:\d+)?|cuda:\d+")
_PROBE_SECONDS = 120
_PROBE = """
import importlib.util, json
found = []
if importlib.util.find_spec("torch"):
    from torch import cuda
    for n in range(cuda.device_count()):
        name = cuda.get_device_name(n)
        try:
            found.append((name, *cuda.mem_get_info(n)))
        except RuntimeError:
            found.append((name, 0, 0))
print(json.dumps(found))
"""
"""Prints of each GPU that torch sees its name, and its free and all memory; 0 where it cannot be used."""


class Gpu(NamedTuple):
    device: str  # cuda:0
    card: str  # NVIDIA H100 80GB HBM3
    free: int = 0  # bytes
    total: int = 0  # bytes

    def __str__(self) -> str:
        return f"{self.device} ({self.card}{f', {_size(self.free)} of {_size(self.total)} free' if self.total else ''})"


def has_gpu() -> bool:
    """Whether this machine has a GPU, as far as files of its driver say; torch may still not be able to use it."""
    return any(Path(name).exists() for name in _FILES)


def gpus() -> tuple[Gpu, ...]:
    """The GPUs that torch sees; none without torch, or with one that is built for the processor. Asked in a process of
    its own, because torch takes seconds to import, and some 500 MB of each GPU that a process asks for its memory.

    Raises UsageProblem where torch fails: that the models run on the processor then is for the user to say.
    """
    if not has_gpu():
        return ()
    why = f"no answer within {_PROBE_SECONDS} s"
    with suppress(subprocess.TimeoutExpired):
        command = [sys.executable, "-c", _PROBE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS)
        if done.returncode == 0:
            found = json.loads(done.stdout.splitlines()[-1])  # torch may warn before
            return tuple(Gpu(f"cuda:{number}", *one) for number, one in enumerate(found))
        why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    advice = "mend the driver, or name cpu as the device"
    raise UsageProblem(f"this machine has a GPU, but torch cannot look at it ({why[:300]}); {advice}")


@cache
def seen() -> tuple[Gpu, ...]:
    """The GPUs for the tools, as this process saw them when it asked first. Raises UsageProblem as ``gpus``."""
    try:
        return gpus()
    except UsageProblem as problem:
        raise UsageProblem(f"devices in [tools]: {problem}") from None


def names(wanted: str) -> list[str]:
    """The names that a setting has between commas."""
    return [name.strip() for name in wanted.split(",") if name.strip()] or [AUTO]


def placed(wanted: str, there: Sequence[Gpu]) -> tuple[str, ...]:
    """The devices that a setting names, each once. ``wanted``: names with commas, where ``auto`` is the GPU with the
    most free memory, or the processor without a GPU. ``cpu:0,cpu:1`` are two processes on the processor.

    Raises UsageProblem for a name that is none, or of a GPU that is not there.
    """
    return tuple(dict.fromkeys(_placed(name, there) for name in names(wanted)))


def check_names(wanted: str) -> None:
    """Raises UsageProblem for a name that no device can have."""
    if unknown := [name for name in names(wanted) if name != AUTO and not _NAME.fullmatch(name)]:
        raise UsageProblem(f"the device {unknown[0]!r} is none; accepted are auto, cpu and cuda:N, such as cuda:0")


def _placed(name: str, there: Sequence[Gpu]) -> str:
    check_names(name)
    if name == AUTO:
        most = max((gpu.free for gpu in there), default=0)
        return next((gpu.device for gpu in there if gpu.free >= most - NOISE), CPU)
    if name.startswith("cuda") and name not in [gpu.device for gpu in there]:
        seen = f"torch sees {', '.join(map(str, there))}" if there else "torch sees no GPU here"
        raise UsageProblem(f"the device {name} is not there; {seen}; name another, or auto")
    return name


def kind(device: str) -> str:
    """``cuda`` or ``cpu``."""
    return device.partition(":")[0]


def plain(device: str) -> str:
    """The name that libraries know: that of the processor has no number."""
    return CPU if kind(device) == CPU else device


def half(device: str) -> torch.dtype:
    """The precision of large models: a half one on a GPU, where it takes half of the memory."""
    import torch

    if kind(device) == CPU:
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


# -- memory that does not suffice

_FULL = re.compile(
    r"out of memory|failed to allocate memory|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED", re.I
)


def lacks_memory(error: BaseException) -> bool:
    """Whether an error of torch, CTranslate2 or onnxruntime says that the memory of a GPU does not suffice."""
    return type(error).__name__ == "OutOfMemoryError" or bool(_of_library(error) and _FULL.search(str(error)))


def in_parts(work: Callable[[Sequence[T]], Sequence[R]], values: Sequence[T], *, tool: str, device: str) -> list[R]:
    """What ``work`` makes of the values: of all at once, or of halves where the memory of the GPU does not suffice.

    Raises ToolFault where it does not suffice for one value.
    """
    try:
        return list(work(values))
    except Exception as error:
        if not lacks_memory(error):
            raise
        if len(values) == 1:
            raise ToolFault(f"{tool} {_lacking(error, device)} over one call", cause="memory") from None
    _release(device)
    middle = len(values) // 2
    parts = (values[:middle], values[middle:])
    return [result for part in parts for result in in_parts(work, part, tool=tool, device=device)]


@contextmanager
def loading(tool: str, device: str) -> Iterator[None]:
    """Context in which a model is loaded. Raises ToolUnavailable where the memory of the GPU does not suffice."""
    try:
        yield
    except Exception as error:
        if not lacks_memory(error):
            raise
        _release(device)
        advice = "name another device, smaller weights, or end what else uses the GPU"
        raise ToolUnavailable(f"the model of {tool} {_lacking(error, device)} while it was loaded; {advice}") from None


def _lacking(error: BaseException, device: str) -> str:
    """``ran out of memory on cuda:0: it needed 2.00 GiB more, and 512.00 MiB were free``, as far as it is known."""
    needed = re.search(r"Tried to allocate ([\d.]+ [KMG]iB)", str(error))
    size = re.search(r"requested buffer of size (\d+)", str(error))
    more = needed[1] if needed else _size(int(size[1])) if size else ""
    left = _free(device)
    known = [f"it needed {more} more" if more else "", f"{_size(left)} were free" if left is not None else ""]
    details = ", and ".join(filter(None, known))
    return f"ran out of memory on {device}" + (f": {details}," if details else "")


def _free(device: str) -> int | None:
    """Bytes of a GPU that are free; None where torch cannot say it."""
    if kind(device) == CPU or "torch" not in sys.modules:
        return None
    import torch

    try:
        free: int = torch.cuda.mem_get_info(device)[0]
    except RuntimeError:  # there is not even enough to ask
        return None
    return free


def _release(device: str) -> None:
    if kind(device) != CPU and "torch" in sys.modules:
        import torch

        torch.cuda.empty_cache()


def _size(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


# -- GPUs that fail

_FAILED = re.compile(
    r"(?:CUDA|HIP) error|CUDA failed with error|CUDA failure"
    r"|CU(?:BLAS|DNN)_STATUS_(?:EXECUTION_FAILED|MAPPING_ERROR|INTERNAL_ERROR)"
)
"""What torch, CTranslate2 and onnxruntime say of it: an assertion on the GPU, memory outside of an array, a reset."""


def is_lost(error: BaseException) -> bool:
    """Whether this process can no longer use its GPU: only another process can."""
    return bool(loss(error))


def loss(error: BaseException) -> str:
    """What an error, or one that it was raised for, says of a GPU that this process can no longer use, in one line;
    empty for any other error."""
    found: BaseException | None = error
    looked_at: list[BaseException] = []
    while found is not None and found not in looked_at:  # an error that is raised again may lead back to itself
        if lacks_memory(found):
            return ""
        if _of_library(found) and _FAILED.search(str(found)):
            return str(found).splitlines()[0]
        looked_at.append(found)
        found = found.__cause__ or found.__context__
    return ""


def _of_library(error: BaseException) -> bool:
    """Whether an error may be of a library that uses the GPU. Those of onnxruntime are no RuntimeErrors."""
    return isinstance(error, RuntimeError) or type(error).__module__.startswith("onnxruntime")


# -- dynamic batching: calls of several threads become one call of a model


SIZES: deque[int] = deque(maxlen=10_000)
"""Lengths of the lists that models of this process worked on, until a worker reports and removes them."""


class Batched(Generic[T, R]):
    """Lets many threads share a function that works on lists.

    While one list is worked on, further calls wait; they are the next list, at most ``limit`` long. So a single call
    never waits for others, and a busy model gets full batches. If the function fails, each value of the list is tried
    alone, so that the exception reaches the call that caused it.
    """

    def __init__(self, function: Callable[[list[T]], Sequence[R]], limit: int) -> None:
        self._function = function
        self._limit = limit
        self._waiting: deque[tuple[T, Future[R]]] = deque()
        self._lock = threading.Lock()
        self._working = False

    def __call__(self, value: T) -> R:
        """The function's result for one value. The first thread runs the function for all waiting threads."""
        mine: Future[R] = Future()
        with self._lock:
            self._waiting.append((value, mine))
            lead = not self._working
            self._working = True
        if lead:
            self._work_off(until=mine)
        return mine.result()

    def _work_off(self, until: Future[R] | None = None) -> None:
        """Work off lists until none waits. The calling thread leaves with its own result; another one goes on."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._working = False
                    return
                if until is not None and until.done():
                    threading.Thread(target=self._work_off, name="batches", daemon=True).start()
                    return
                batch = [self._waiting.popleft() for _ in range(min(self._limit, len(self._waiting)))]
            self._work(batch)

    def _work(self, batch: list[tuple[T, Future[R]]]) -> None:
        SIZES.append(len(batch))
        try:
            results = self._function([value for value, _ in batch])
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)
        except BaseException as error:  # of any kind: no thread may wait forever
            left = [(value, future) for value, future in batch if not future.done()]
            if len(batch) > 1 and isinstance(error, Exception):
                for one in left:  # one bad value must not fail the others
                    self._work([one])
            else:
                for _, future in left:
                    future.set_exception(error)


# -- torchvision beside a torch that its compiled part was not built for

# From the package index torchvision comes built for CUDA. Beside a CPU build of torch its compiled part does not load,
# and then its import fails (``operator torchvision::nms does not exist``), and with it every prediction of ultralytics
# and every image processor of transformers. Both need little more than the Python part of it and one operator, which
# is written here in torch.


MISSING = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
"""Operators that torchvision (to 0.28) describes further on import, without a look at its compiled part."""

_declared: list[Any] = []  # a library of operators goes with its last reference


@cache
def ready_torchvision() -> bool:
    """Import torchvision, with our own ``nms`` where the compiled one is missing; whether ours had to be put in."""
    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError:
        return False  # not installed: the caller reports it
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
        _declare()
        return True
    return False


def _declare() -> None:
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for schema in MISSING:
        library.define(schema)
    _declared.append(library)
    import torchvision.ops
    import torchvision.ops.boxes

    torchvision.ops.nms = nms
    torchvision.ops.boxes.nms = nms


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Places of the boxes that no better one covers, by intersection over union, best first.

    ``boxes``: N by 4, corners in pixels. As torchvision's: same results, equal scores aside.
    """
    import torch

    order = scores.argsort(descending=True, stable=True)
    ordered = boxes[order]
    area = (ordered[:, 2] - ordered[:, 0]) * (ordered[:, 3] - ordered[:, 1])
    kept = []
    left = torch.arange(len(order), device=boxes.device)
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        low = torch.maximum(ordered[best, :2], ordered[left, :2])
        high = torch.minimum(ordered[best, 2:], ordered[left, 2:])
        shared = (high - low).clamp(min=0).prod(dim=1)
        left = left[shared <= iou_threshold * (area[best] + area[left] - shared)]
    return order[torch.stack(kept)] if kept else order

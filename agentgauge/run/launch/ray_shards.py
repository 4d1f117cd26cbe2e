"""Shards as Ray tasks. With ``cluster``, the only module of a launch that imports Ray."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from agentgauge.run.launch.node import ShardCommand, ShardSpec, run_shard
from agentgauge.run.launch.remote_cases import ShardFailed
from agentgauge.run.launch_settings import LaunchOptions

ANSWER_SECONDS = 5.0
"""How long a shard waits for the driver's answer. Then it ends, because the driver has gone."""
SILENT_SECONDS = 30.0
"""Seconds after which a shard that sends no request counts as lost. A machine that lost power closes no connection, and
Ray would wait for minutes."""


class _Control:
    """An actor beside the driver, which ends with it: the shards ask it what to do, and for the tool server's token."""

    def __init__(self) -> None:
        self._command: ShardCommand = ""
        self._tool_token = ""
        self._asked: dict[int, float] = {}  # shard → when it asked last

    def keep(self, tool_token: str) -> None:
        self._tool_token = tool_token

    def tool_token(self) -> str:
        return self._tool_token

    def send_command(self, command: ShardCommand) -> None:
        self._command = command

    def command(self, number: int) -> ShardCommand:
        self._asked[number] = time.monotonic()
        return self._command

    def silent(self) -> set[int]:
        """The shards that have asked, but not for SILENT_SECONDS: they are lost, or have ended."""
        return {number for number, asked in self._asked.items() if time.monotonic() - asked > SILENT_SECONDS}


def _run(number: int, spec: ShardSpec, archive: bytes | None, control: Any) -> Iterator[dict[str, Any]]:
    """The Ray task. It raises when its driver is gone, which ends its processes."""
    tool_token = ray.get(control.tool_token.remote(), timeout=ANSWER_SECONDS)
    yield from run_shard(
        spec, archive, lambda: ray.get(control.command.remote(number), timeout=ANSWER_SECONDS), tool_token
    )


class RayShards:
    """A ``Backend``: every shard is a Ray task, which sends its messages while it runs. Ray repeats no task: the
    remaining cases of a failed shard become a new shard."""

    def __init__(self, options: LaunchOptions, data: Callable[[], bytes], tool_token: str) -> None:
        """In a process that is connected to Ray. ``data`` returns an archive of the data, for nodes without it.
        ``tool_token``: of the tool server; it is kept in memory, and is not part of a task's description."""
        self._task = ray.remote(num_cpus=options.cpus, num_gpus=options.gpus, max_retries=0)(_run)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._control = ray.remote(num_cpus=0)(_Control).options(scheduling_strategy=here).remote()
        ray.get(self._control.keep.remote(tool_token))
        self._data = data
        self._archive: Any = None
        self._running: dict[Any, int] = {}  # stream of messages → number of the shard
        self._looked = time.monotonic()  # for silent shards

    def start(self, number: int, spec: ShardSpec, *, with_data: bool) -> None:
        if with_data and self._archive is None:
            self._archive = ray.put(self._data())
        stream = self._task.options(name=f"shard {number}").remote(
            number, spec, self._archive if with_data else None, self._control
        )
        self._running[stream] = number

    def messages(self, seconds: float) -> Iterator[tuple[int, Mapping[str, Any] | ShardFailed]]:
        if not self._running:
            time.sleep(seconds)
            return
        ready, others = ray.wait(list(self._running), timeout=seconds)
        if others:
            more, others = ray.wait(others, num_returns=len(others), timeout=0)
            ready += more
        yield from self._lost(others)
        for stream in ready:
            if (number := self._running.get(stream)) is None:
                continue  # it was dropped meanwhile
            message: Mapping[str, Any] | ShardFailed
            try:
                message = ray.get(next(stream))
            except StopIteration:
                message = ShardFailed("it ended without a message")
            except RayError as error:
                message = ShardFailed(_short(error))
                self.drop(number)  # only a message may be lost, and the task go on
            if isinstance(message, ShardFailed) or message["kind"] in ("refused", "data", "ended"):
                self._running.pop(stream, None)
            yield number, message

    def _lost(self, streams: Sequence[Any]) -> Iterator[tuple[int, ShardFailed]]:
        """Those of the streams without a message whose nodes have fallen silent; now and then."""
        if time.monotonic() - self._looked < SILENT_SECONDS / 10:
            return
        self._looked = time.monotonic()
        silent = ray.get(self._control.silent.remote())
        for stream in streams:
            if (number := self._running.get(stream)) is not None and number in silent:
                self.drop(number)  # should its node come back
                yield number, ShardFailed(f"its node has not answered for {SILENT_SECONDS:g} seconds")

    def send_command(self, command: ShardCommand) -> None:
        ray.get(self._control.send_command.remote(command))

    def drop(self, number: int) -> None:
        for stream in [stream for stream, one in self._running.items() if one == number]:
            ray.cancel(stream, force=True)
            del self._running[stream]

    def close(self) -> None:
        for number in list(self._running.values()):
            self.drop(number)


def _short(error: RayError) -> str:
    """What happened, without the traceback and Ray's advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {(lines or [''])[-1 if type(error).__name__.startswith('RayTaskError') else 0]}"

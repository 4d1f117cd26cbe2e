"""Tools on Ray Serve, seen from the server: it deploys them, sends calls with their files, and repeats lost calls."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import ray
from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve.exceptions import RayServeException

from agentgauge.core.announcement import own_version
from agentgauge.core.errors import UsageProblem
from tool_impls.ray_serve.placement import LIGHT, Deployment, planned, share_of_gpus
from tool_impls.ray_serve.replica import Replica, ReplicaPlan, ReplicaReport, packed
from tool_impls.server.calls import CallAnswer, QueuedCall, failure
from tool_impls.server.execution import Execution, ExecutionRequest, ToolMetrics
from tool_impls.server.worker_pool import ATTEMPTS, LOAD_SECONDS, STOPPED

START_SECONDS = 300.0  # for the first replica of each deployment; a cluster may have to add a node
HEALTH_SECONDS = 5.0  # after which a replica is asked again whether it works, and asks whether its server is there
STOP_SECONDS = 1.0  # for the calls of a replica that is to end; the server has ended them before


@ray.remote(num_cpus=0)
class Lease:
    """An actor that lives as long as the process that made it; replicas use it to check whether their server still
    runs."""

    def held(self) -> None:
        """Fails if the process has ended."""


class ServePool:
    """The replicas of a deployment, for those of its tools that are confined or for the others.

    ``name``: of its Serve application, which ``close`` deletes if ``joined``. ``confinement``: as of ``ProcessPool``,
    in the replica that answered last.
    """

    def __init__(self, handle: Any, name: str, metrics: ToolMetrics, *, joined: bool, confined: bool) -> None:
        self.confinement = "begins with the first call" if confined else ""
        self._handle, self._name, self._metrics, self._joined = handle, name, metrics, joined
        self._replies: set[asyncio.Future[ReplicaReport]] = set()
        self._closed = False

    async def run(self, call: QueuedCall, seconds: float) -> CallAnswer:
        """The answer. A call whose replica dies is sent to another one."""
        sent = await asyncio.to_thread(packed, call)
        return await self._ask(call.tool, partial(self._handle.run.remote, sent, seconds), LOAD_SECONDS + seconds)

    async def load(self, name: str) -> CallAnswer:
        """Load a tool's models in a replica. With ``preload`` each replica has loaded them before it takes a call."""
        return await self._ask(name, partial(self._handle.load.remote, name), LOAD_SECONDS)

    async def close(self) -> None:
        """Answer what is running. Delete the application with its replicas, or leave that to the end of the cluster."""
        self._closed = True
        for reply in self._replies:
            reply.cancel()
        if self._joined:
            with suppress(RayError, RayServeException, TimeoutError):  # the cluster has gone, and the replicas with it
                await asyncio.to_thread(serve.delete, self._name)

    def ask(self, method: str, *arguments: Any, seconds: float = LOAD_SECONDS) -> Any:
        """The result of a replica's method; for a thread without an event loop. Raises UsageProblem if no replica
        works, and OSError if the method raises it.
        """
        try:
            return getattr(self._handle, method).remote(*arguments).result(timeout_s=seconds)
        except (RayError, RayServeException, TimeoutError) as error:
            if isinstance(error, RayTaskError) and isinstance(error, OSError):
                raise
            raise UsageProblem(f"no replica of {self._name} works within {seconds:g} s: {self._state(error)}") from None

    def _state(self, error: Exception) -> str:
        """What Serve says of the deployment, else the error: the first line, and the last one of a traceback."""
        found = serve.status().applications.get(self._name)
        messages = "\n".join(deployment.message for deployment in found.deployments.values()) if found else ""
        lines = (messages.strip() or repr(error)).splitlines()
        return " ".join(dict.fromkeys([lines[0], lines[-1]]))

    async def _ask(self, tool: str, ask: Callable[[], Any], seconds: float) -> CallAnswer:
        lost = ""
        for _ in range(ATTEMPTS):
            if self._closed:
                return failure(*STOPPED)
            reply = asyncio.ensure_future(_awaited(ask()))
            self._replies.add(reply)
            try:
                async with asyncio.timeout(seconds):
                    return self._noted(await reply)
            except TimeoutError:
                return failure(500, f"no replica of {tool} has answered within {seconds:g} s; see `serve status`")
            except asyncio.CancelledError:
                if self._closed:
                    return failure(*STOPPED)
                raise
            except RayTaskError as error:  # of the replica itself, such as a full disk
                return failure(500, f"the replica of {tool} failed: {error.cause!r}")
            except (RayError, RayServeException) as error:
                lost = (str(error).strip().splitlines() or [type(error).__name__])[0]
                self._metrics.restarted()
            finally:
                self._replies.discard(reply)
        return failure(500, f"{ATTEMPTS} replicas of {tool} have died at this call: {lost}")

    def _noted(self, report: ReplicaReport) -> CallAnswer:
        self.confinement = report.confinement
        for size in report.batches:
            self._metrics.batch(size)
        for _ in range(report.restarts):
            self._metrics.restarted()
        return report.answer


async def _awaited(response: Any) -> ReplicaReport:
    found: ReplicaReport = await response
    return found


def on_ray(wanted: ExecutionRequest, *, joined: bool) -> Execution:
    """Deploy the tools on the cluster that this process has joined, and wait for a replica of each deployment.

    ``joined``: whether the cluster continues when the server ends, so that the server must delete its tools there.
    Raises UsageProblem where no replica comes up.
    """
    if wanted.settings.devices not in ("auto", "cpu"):
        reason = "names devices of one machine; with --ray, gpus and replicas of [tools.NAME] say where models run"
        raise UsageProblem(f"devices = {wanted.settings.devices!r} {reason}")
    settings, kinds = wanted.settings, wanted.kinds
    deployments = planned(settings, kinds)
    share = share_of_gpus(deployments, 0 if settings.devices == "cpu" else ray.cluster_resources().get("GPU", 0))
    run = f"agentgauge-{secrets.token_hex(4)}"
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(proxy_location="Disabled")  # our server is the only one that clients reach
    lease = Lease.remote() if joined else None  # type: ignore[attr-defined]
    targets = [
        serve.RunTarget(_application(deployment, wanted, share, lease), f"{run}-{deployment.name}", None)
        for deployment in deployments
    ]
    with ExitStack() as stack:  # until a server takes the pools over, nothing else takes the tools off the cluster
        if joined:
            stack.callback(_delete, [target.name for target in targets])
        handles = serve.run_many(targets, wait_for_applications_running=False)
        execution = _execution(wanted, deployments, handles, [target.name for target in targets], joined=joined)
        stack.pop_all()
    return execution


def _delete(names: Sequence[str]) -> None:
    for name in names:
        with suppress(RayError, RayServeException, TimeoutError):  # the cluster has gone
            serve.delete(name)


def _execution(
    wanted: ExecutionRequest,
    deployments: Sequence[Deployment],
    handles: Sequence[Any],
    names: Sequence[str],
    *,
    joined: bool,
) -> Execution:
    """The tools of deployments that are coming up. Raises UsageProblem where no replica comes up."""
    settings, kinds = wanted.settings, wanted.kinds
    pools: dict[str, ServePool] = {}
    slots: dict[str, int] = {}
    states: dict[str, str] = {}
    for deployment, handle, application in zip(deployments, handles, names, strict=True):
        confined, other = (
            ServePool(handle, application, wanted.metrics, joined=joined, confined=confined)
            for confined in (True, False)
        )
        seconds = START_SECONDS + (LOAD_SECONDS if wanted.preload else 0)
        states |= _same_version(*other.ask("about", seconds=seconds))
        for name in deployment.tools:
            is_confined = kinds[name].confined and not kinds[name].on_device(settings)
            pools[name] = confined if is_confined else other
            slots[name] = kinds[name].concurrency * deployment.most
    homes = [pools[deployment.tools[0]] for deployment in deployments]
    return Execution(
        pools,
        slots,
        states,
        lambda: {name: found for pool in homes for name, found in pool.ask("fingerprints").items()},
    )


def _same_version(there: str, states: dict[str, str]) -> dict[str, str]:
    """The states. Raises UsageProblem where a node has another version of AgentGauge."""
    if there != (here := own_version()):
        raise UsageProblem(f"a node of the Ray cluster has AgentGauge {there}, and this machine {here}; install one")
    return states


def _application(deployment: Deployment, wanted: ExecutionRequest, share: float, lease: Any) -> Any:
    gpus = share if deployment.gpus is None else deployment.gpus
    together = [wanted.kinds[name].concurrency for name in deployment.tools]
    scaled = {"min_replicas": deployment.fewest, "max_replicas": deployment.most}
    number: dict[str, Any] = (
        {"num_replicas": deployment.most}
        if deployment.fewest == deployment.most
        else {"autoscaling_config": {**scaled, "target_ongoing_requests": max(together)}}
    )
    plan = ReplicaPlan(
        wanted.settings,
        deployment.tools,
        tuple((path, path.read_bytes()) for path in wanted.extras),
        "auto" if gpus else "cpu",
        wanted.root,
        wanted.scratch,
        int(deployment.cpus) or (1 if deployment.name == LIGHT else None),
        wanted.preload,
        lease,
    )
    options = serve.deployment(
        name=deployment.name,
        max_ongoing_requests=sum(together),
        ray_actor_options={"num_cpus": deployment.cpus, "num_gpus": gpus},
        health_check_period_s=HEALTH_SECONDS,
        graceful_shutdown_timeout_s=STOP_SECONDS,
        graceful_shutdown_wait_loop_s=0.1,
        **number,
    )
    return options(Replica).bind(plan)

"""The Ray cluster that this process uses: one that the process starts on this machine, or an existing one.

Call ``connect`` before anything imports ray, because ray reads environment variables when it is imported.
"""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import socket
from importlib.util import find_spec
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import expanded_if_known
from agentgauge.core.redaction import register

LOCAL, AUTO = "local", "auto"
PROBE_SECONDS = 3.0
_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}", re.ASCII)
_ACCEPTED = "local (a cluster on this machine), auto (the cluster of this machine, or of RAY_ADDRESS), or HOST:PORT"
_ADVICE = {
    LOCAL: "its logs are below /tmp/ray/session_latest",
    AUTO: "start one with `ray start --head`, or use --ray local",
}
_PROBE = "/ray.rpc.NodeInfoGcsService/CheckAlive"
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray listens on loopback on systems where it supports one machine only. This variable makes Ray treat Linux as
such."""


def connect(address: str, *, cpus: float | None = None) -> None:
    """Start a cluster on this machine (``local``), or join the one at ``address``: ``auto`` or ``host:port``.

    ``cpus``: processors that a cluster started here offers to Ray; None: those of the machine. Such a cluster listens
    on loopback, requires a token, and ends with ``disconnect`` or with this process. Sets environment variables of this
    process, which its children inherit: no usage statistics, and what Ray needs to find the cluster and its token.

    Raises UsageProblem for an address of another form, without ray, and where no cluster can be joined. A cluster
    without authentication is joined with a warning.
    """
    if address.startswith("ray://"):
        reason = "starts a client outside of the cluster; run the command on a node of the cluster with --ray auto"
        raise UsageProblem(f"--ray takes no ray:// address, because {address} {reason}")
    if address not in (LOCAL, AUTO) and not _ADDRESS.fullmatch(address):
        raise UsageProblem(f"--ray takes {_ACCEPTED}; got {address!r}")
    if find_spec("ray") is None:
        raise UsageProblem("--ray needs the package ray, which is not installed: pip install 'agentgauge[ray]'")
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_AUTO_CONNECT": "0"}
    register(os.environ.get("RAY_AUTH_TOKEN"))
    if address == AUTO:
        address = os.environ.get("RAY_ADDRESS") or AUTO
    if address == LOCAL:
        os.environ.update(_LOOPBACK)
        _use_token()
    elif address != AUTO:
        _check(address)
        if _is_on_loopback_only(address):
            os.environ.update(_LOOPBACK)
    _initialise(address, cpus)


def check_room(cpus: float, gpus: float) -> None:
    """Raises UsageProblem if no node of the cluster can run a shard with these reservations: Ray would wait for
    ever."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
        largest = ", ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
        raise UsageProblem(
            f"no node of the Ray cluster has {cpus:g} CPUs and {gpus:g} GPUs for a shard (its nodes: {largest}); lower"
            " --cpus or --gpus, or start a larger node first"
        )


def head() -> str:
    """The address of the head of the cluster that was joined, ``host:port``."""
    import ray

    return str(ray.get_runtime_context().gcs_address)


def disconnect() -> None:
    """Leave the cluster. A cluster that ``connect`` has started ends, with everything that runs on it."""
    import ray

    ray.shutdown()


def _initialise(address: str, cpus: float | None) -> None:
    import ray

    own = {"num_cpus": cpus and math.ceil(cpus), "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # ray raises Exception itself where its own processes do not start in time
        words = (str(error).strip().splitlines() or ["no cluster runs there"])[0].rstrip(".")
        advice = _ADVICE.get(address, "see `ray status`")
        raise UsageProblem(f"the Ray cluster {address} cannot be used: {words}; {advice}") from None
    if address == AUTO:
        _check(ray.get_runtime_context().gcs_address)


def _use_token() -> None:
    """Protect the cluster that is to be started by the user's token, or by one that only this process knows."""
    os.environ["RAY_AUTH_MODE"] = "token"
    if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ["RAY_AUTH_TOKEN"] = os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
    register(os.environ.get("RAY_AUTH_TOKEN"))


def _given_token() -> str | None:
    """The user's token, where Ray looks for it."""
    if given := os.environ.get("RAY_AUTH_TOKEN"):
        return given
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or expanded_if_known("~/.ray/auth_token"))
    return path.read_text("utf-8").strip() if path.is_file() else None


def _check(address: str) -> None:
    """Ask the cluster's head whether it is there, and whether it takes our token; warn where it takes anyone.

    ray itself tries for 20 seconds or more. Raises UsageProblem.
    """
    if os.environ.get("RAY_USE_TLS", "").lower() in ("1", "true"):
        return  # a head that wants certificates of its callers
    if _answers(address, None):
        danger = "anyone who can connect to it can run programs on it"
        logging.getLogger("agentgauge.ray").warning(
            "warning: the Ray cluster %s has no authentication, so %s; set RAY_AUTH_MODE=token where it is started",
            *(address, danger),
        )
        return
    token = _given_token()
    if token is None or not _answers(address, token):
        wrong = "requires its token" if token is None else "does not take the given token"
        raise UsageProblem(f"the Ray cluster {address} {wrong}: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH")
    os.environ["RAY_AUTH_MODE"] = "token"


def _answers(address: str, token: str | None) -> bool:
    """Whether a cluster's head answers to this token; False where it wants another one.

    Raises UsageProblem where no head answers at all.
    """
    import grpc

    login = [("authorization", f"Bearer {token}")] if token else []
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            channel.unary_unary(_PROBE)(b"", timeout=PROBE_SECONDS, metadata=login)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                return False
            reason = f"nothing answers there as the head of a Ray cluster ({error.code().name.lower()})"
            advice = "start one there with `ray start --head`, or use --ray local"
            raise UsageProblem(f"the Ray cluster {address} cannot be reached: {reason}; {advice}") from None
    return True


def _is_on_loopback_only(address: str) -> bool:
    """Whether a cluster is one that ``connect`` has started: ray takes this machine's outer address for 127.0.0.1."""
    host, _, port = address.rpartition(":")
    if host not in ("127.0.0.1", "localhost"):
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outer:
            outer.connect(("192.0.2.1", 9))  # sends nothing: it finds the address that leads outside
            own = outer.getsockname()[0]
        socket.create_connection((own, int(port)), PROBE_SECONDS).close()
    except OSError:
        return True
    return False

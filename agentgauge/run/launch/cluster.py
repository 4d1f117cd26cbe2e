"""The Ray cluster that this process uses: one that it starts on this machine, or one that is there.

Only ``connect`` imports ray, after it has set the environment variables that ray reads when it is imported.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
from importlib.util import find_spec
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.redaction import register

LOCAL, AUTO = "local", "auto"
PROBE_SECONDS = 3.0
_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}", re.ASCII)
_ACCEPTED = "local (a cluster on this machine), auto (the cluster of this machine, or of RAY_ADDRESS), or HOST:PORT"
_PROBE = "/ray.rpc.NodeInfoGcsService/CheckAlive"
_LOOPBACK = "127.0.0.1"


def connect(address: str, *, cpus: float | None = None) -> None:
    """Start a cluster on this machine (``local``), or join the one at ``address``: ``auto`` or ``host:port``.

    ``cpus``: processors that a cluster which is started here offers to Ray; None: those of the machine. Such a cluster
    listens on loopback, wants a token, and ends with ``disconnect`` or with this process. Sets environment variables of
    this process, which its children inherit: no usage statistics, and where a token is used, how Ray finds it.

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
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address == LOCAL:
        _use_token()
    elif address != AUTO or (address := os.environ.get("RAY_ADDRESS") or AUTO) != AUTO:
        if _wants_token(address):
            _use_given_token(address)
    _initialise(address, cpus)


def disconnect() -> None:
    """Leave the cluster. One that ``connect`` has started ends with all that runs on it."""
    import ray

    ray.shutdown()


def _initialise(address: str, cpus: float | None) -> None:
    import ray

    own = {"num_cpus": cpus, "include_dashboard": False, "_node_ip_address": _LOOPBACK} if address == LOCAL else {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        words = (str(error).strip().splitlines() or ["no cluster runs there"])[0]
        advice = "start one with `ray start --head`, or use --ray local" if address == AUTO else "see `ray status`"
        raise UsageProblem(f"the Ray cluster {address} cannot be used: {words}; {advice}") from None
    if address == AUTO:
        _wants_token(ray.get_runtime_context().gcs_address)


def _use_token() -> None:
    """Protect the cluster that is to be started by the user's token, or by one that only this process knows."""
    os.environ["RAY_AUTH_MODE"] = "token"
    if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ["RAY_AUTH_TOKEN"] = os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32)
    register(os.environ.get("RAY_AUTH_TOKEN"))


def _use_given_token(address: str) -> None:
    """Raises UsageProblem where the user has no token."""
    register(os.environ.get("RAY_AUTH_TOKEN"))
    given = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    if not given and not (Path.home() / ".ray" / "auth_token").is_file():
        raise UsageProblem(f"the Ray cluster {address} wants its token: set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH")
    os.environ["RAY_AUTH_MODE"] = "token"


def _wants_token(address: str) -> bool:
    """Ask the cluster's head without a token whether it is there; warn where it answers.

    ray itself waits a minute for a head that does not answer. Raises UsageProblem where no head answers.
    """
    import grpc

    if os.environ.get("RAY_USE_TLS", "").lower() in ("1", "true"):
        return False  # a head that wants certificates of its callers
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            channel.unary_unary(_PROBE)(b"", timeout=PROBE_SECONDS)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                return True
            reason = f"nothing answers there as the head of a Ray cluster ({error.code().name.lower()})"
            raise UsageProblem(f"the Ray cluster {address} cannot be reached: {reason}; `ray status` tells it") from None
    danger = "everyone who reaches it can run programs on it"
    logging.getLogger("agentgauge.ray").warning(
        "warning: the Ray cluster %s has no authentication, so %s; start it with RAY_AUTH_MODE=token", address, danger
    )
    return False

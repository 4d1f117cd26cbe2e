"""Settings that a launch passes to its processes in the environment: to the driver the launch options, to each shard
its assignment, and to each of several runs side by side what the runs share."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.processes import end_with
from agentgauge.model.spec import ModelSpec
from agentgauge.store.jsonl import CaseId

LAUNCH = "AGENTGAUGE_LAUNCH"
"""Environment variable of the driver: ``LaunchOptions`` as JSON."""
ASSIGNMENT = "AGENTGAUGE_ASSIGNMENT"
"""Environment variable of the pytest processes of a shard: the file with its ``Assignment`` as JSON."""
SHARED = "AGENTGAUGE_SHARED"
"""Environment variable of each of several runs side by side: ``Shared`` as JSON."""


@dataclass(frozen=True)
class LaunchOptions:
    """The options of ``agentgauge launch``."""

    address: str  # of Ray: "local", "auto" or host:port
    workers: int  # shards that run at a time
    cpus: float  # that Ray reserves for each shard
    gpus: float
    processes: int = 0  # xdist workers of each shard; 0: its one pytest process runs its cases
    tools: bool = False  # one tool server for all shards, whose tools run on the cluster
    sharing: int = 1  # runs side by side that ask the same model, and share its rates

    @classmethod
    def take(cls) -> LaunchOptions | None:
        """The options from the environment, which are removed there, so that a pytest that a test starts is not a
        launch. None in a run without a launch."""
        text = os.environ.pop(LAUNCH, None)
        return cls(**json.loads(text)) if text else None

    def variables(self) -> dict[str, str]:
        return {LAUNCH: json.dumps(asdict(self))}

    def part(self, total: int, number: int) -> int:
        """Of the shard that is the ``number``-th of those that run, from 0."""
        return max(1, total // self.workers + (number < total % self.workers))


@dataclass(frozen=True)
class Assignment:
    """The assignment of a shard's pytest processes."""

    cases: frozenset[CaseId]
    configs: Mapping[str, str]  # task → fingerprint of all that may change what its cases yield, as the driver has it
    share: float  # of the rates that a model's table names: 1 / shards that run at a time

    @classmethod
    def given(cls) -> Assignment | None:
        """The assignment of this process; None outside of shards. The process ends with its parent process, and at once
        if the parent has ended already; xdist's workers end with their controller."""
        if not (file := os.environ.get(ASSIGNMENT)):
            return None
        data = json.loads(Path(file).read_text(encoding="utf-8"))
        end_with(data["parent"])
        if "PYTEST_XDIST_WORKER" not in os.environ and os.getppid() != data["parent"]:
            raise SystemExit(1)
        cases = frozenset((task, sample, attempt) for task, sample, attempt in data["cases"])
        return cls(cases, data["configs"], data["share"])

    def write(self, file: Path) -> dict[str, str]:
        """Returns the environment variables with which a child of this process finds it."""
        data = asdict(self) | {"cases": sorted(self.cases), "parent": os.getpid()}
        file.write_text(json.dumps(data), encoding="utf-8")
        return {ASSIGNMENT: str(file)}

    def limited(self, spec: ModelSpec) -> ModelSpec:
        """A model with this shard's share of its rates."""
        requests, tokens = spec.requests_per_minute, spec.tokens_per_minute
        return replace(
            spec,
            requests_per_minute=requests and requests * self.share,
            tokens_per_minute=tokens and tokens * self.share,
        )

    def check(self, configs: Mapping[str, str]) -> None:
        """``configs``: as this machine has them. Raises UsageProblem where one differs."""
        for name, config in configs.items():
            if self.configs.get(name) != config:
                raise UsageProblem(
                    f"the data, prompts, options, model or tool settings of {name} differ from those of the driver;"
                    " make them the same on every node"
                )


@dataclass(frozen=True)
class Shared:
    """What several runs of one launcher share."""

    launcher: int  # its process id
    services: int  # descriptor of the socket at which it is asked for services; see ``run.several.shared_services``
    rates: str  # file of the rates of all models
    token: str = field(repr=False)  # of the tool servers that the launcher starts
    run: int = 0  # process id of the run, once it is known; its workers get it, too

    @classmethod
    def given(cls) -> Shared | None:
        """The shared settings; None in any other run, also in one that a test starts. The process ends with the
        launcher, and at once if that has ended already; xdist's workers end with their controller."""
        if not (text := os.environ.get(SHARED)):
            return None
        shared = cls(**json.loads(text))
        if shared.run:
            return shared if os.getppid() == shared.run and "PYTEST_XDIST_WORKER" in os.environ else None
        end_with(shared.launcher)
        if os.getppid() != shared.launcher:
            raise SystemExit(1)
        os.set_inheritable(shared.services, False)
        os.environ |= replace(shared, run=os.getpid()).variables()
        return shared

    def variables(self) -> dict[str, str]:
        return {SHARED: json.dumps(asdict(self))}

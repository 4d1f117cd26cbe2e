"""What a launcher hands over to the run that it starts, in one environment variable: to a driver the options of the
launch, to a shard its assignment, and to one of several runs side by side what the runs share."""

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

HANDED = "AGENTGAUGE_HANDED"
"""Environment variable of a run that a launcher has started: ``Handed`` as JSON."""


@dataclass(frozen=True)
class LaunchOptions:
    """The options of ``agentgauge launch``."""

    address: str  # of Ray: "local", "auto" or host:port
    workers: int  # shards that run at a time
    cpus: float  # that Ray reserves for each shard
    gpus: float
    processes: int = 0  # xdist workers of each shard; 0: its one pytest process runs its cases
    sharing: int = 1  # runs side by side that ask the same model, and share its rates

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
    def read(cls, file: Path) -> Assignment:
        data = json.loads(file.read_text(encoding="utf-8"))
        cases = frozenset((task, sample, attempt) for task, sample, attempt in data["cases"])
        return cls(cases, data["configs"], data["share"])

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self) | {"cases": sorted(self.cases)}), encoding="utf-8")

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

    services: int  # descriptor of the socket at which it is asked for services; see ``run.several.shared_services``
    rates: str  # file of the rates of all models
    token: str = field(repr=False)  # of the tool servers that the launcher starts


@dataclass(frozen=True)
class Handed:
    """The value of the variable. A run without a launcher gets an empty one."""

    launcher: int = 0  # process id; 0: the launcher becomes the run's own process
    launch: LaunchOptions | None = None  # of a driver: its cases are solved on a cluster
    assignment: str = ""  # of a shard: the file with its ``Assignment``
    shared: Shared | None = None
    run: int = 0  # process id of the run, once it is known; its workers get it, too

    @classmethod
    def given(cls) -> Handed:
        """Of this process, once. The run ends with its launcher, and at once if that has ended already; xdist's workers
        get what concerns them, and end with their controller. A pytest that a test starts gets nothing."""
        if not (text := os.environ.get(HANDED)):
            return cls()
        found = json.loads(text)
        launch, shared = found["launch"], found["shared"]
        parts = {"launch": launch and LaunchOptions(**launch), "shared": shared and Shared(**shared)}
        handed = cls(**found | parts)
        if handed.run:
            return handed if os.getppid() == handed.run and "PYTEST_XDIST_WORKER" in os.environ else cls()
        if handed.launcher:
            end_with(handed.launcher)
            if os.getppid() != handed.launcher:
                raise SystemExit(1)
        if handed.shared:
            os.set_inheritable(handed.shared.services, False)
        os.environ |= replace(handed, launch=None, run=os.getpid()).variables()
        return handed

    @staticmethod
    def is_one_of_several() -> bool:
        """Whether this process runs one of several models; can be asked at any time."""
        return bool(json.loads(os.environ.get(HANDED) or '{"shared": null}')["shared"])

    def variables(self) -> dict[str, str]:
        return {HANDED: json.dumps(asdict(self))}

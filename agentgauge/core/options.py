"""The options of a run: one table, from which everything that is told or decided about them follows.

Of an option the table says its name, what it accepts, its default, its text in ``--help``, what it excludes, and who
gets its value: a run that is resumed, rescored or replayed, the fingerprint, the members of a fleet.
``run.option_values`` reads the values. A new option is a field of ``RunOptions``, and its owner reads it in the
settings of the run.

Imports nothing heavy, because the pytest side imports it in every project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

PREFIX = "--agentgauge-"
"""Each option also exists with this prefix, so that other plugins and the project can use the short name."""

LAUNCH = "agentgauge launch"
SEVERAL = "several models"
"""What an option may exclude beside other options: that cases run on a cluster, and several runs of one command."""

VALUE = "value"
"""What the fingerprint has of an option: the value itself."""

RESUMED = frozenset({"resume"})
EARLIER = frozenset({"resume", "rescore", "replay"})


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of every run."""

    name: str  # "--in-flight"
    attribute: str = ""  # of ``RunOptions``, and so of the run's settings
    metavar: str  # what stands for the value in texts; empty for a switch
    help: str  # without the default
    owner: str  # the module or package that does what the option says

    # -- its values
    kind: type = str  # of the value: str, int, float, Path; bool: a switch
    many: bool = False  # it may repeat
    accepted: tuple[str, ...] = ()  # none: any value of the kind
    least: int = 1  # of a number
    most: int = 10**12
    reader: str = ""  # "module:function" that makes the value of a text, and raises UsageProblem
    default: Any = None
    beside: Mapping[str, Any] = field(default_factory=dict)  # defaults beside other options: their key → default
    usual: str = ""  # the default in words, if it is no value

    # -- who gets them
    kept: frozenset[str] = frozenset()  # keys of options with which the earlier run's value holds, unless one is given
    stored: str = ""  # its key in the settings of run.json; empty: not stored, or part of another value there
    same: bool = False  # --resume refuses another value
    fingerprint: str = ""  # it changes results, so the fingerprint of a case has the VALUE, or what follows from it
    to_shards: bool = False  # the pytest processes of ``agentgauge launch`` get the value
    to_models: bool = True  # so do the runs of several models; otherwise their launcher alone reads it
    divided: bool = False  # it is a total: each of these processes and runs gets a part
    excludes: Mapping[str, str] = field(default_factory=dict)  # key of an option, LAUNCH or SEVERAL → why

    @property
    def key(self) -> str:
        """Its name in Python, and in files."""
        return key_of(self.name)

    @property
    def is_path(self) -> bool:
        """Whether the value may be a path."""
        return not {"DIR", "FILE"}.isdisjoint(self.metavar.split("|"))

    @property
    def shown_default(self) -> str:
        """The default as texts show it; empty where there is nothing to say."""
        others = (f"; {value} with {written(key)}" for key, value in self.beside.items())
        return (self.usual or str(self.default or "")) + "".join(others)

    def default_beside(self, values: Mapping[str, Any]) -> Any:
        """The default where others have these values, by their keys."""
        return next((default for key, default in self.beside.items() if values[key]), self.default)

    def arguments(self) -> dict[str, Any]:
        """For pytest's ``addoption``."""
        more: dict[str, Any] = {"action": "append"} if self.many else {}
        if self.kind in (int, float):
            more["type"] = self.kind
        default = f" (default: {self.shown_default})" if self.shown_default else ""
        return described(self.metavar, self.help + default, **more)


def prefixed(option: str) -> str:
    """The name that no other plugin has."""
    return PREFIX + option.removeprefix("--")


def key_of(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def written(key: str) -> str:
    """The name of the option with this key."""
    return "--" + key.replace("_", "-")


def destination(option: str) -> str:
    """The attribute of pytest's parsed options that holds an option of ours. It has a prefix, because a project may
    have a ``--model``, too."""
    return "agentgauge_" + key_of(option)


def described(metavar: str | None, text: str, **more: Any) -> dict[str, Any]:
    """For pytest's ``addoption``; without a ``metavar`` the option is a switch."""
    return {"help": text, **({"metavar": metavar} if metavar else {"action": "store_true"}), **more}


def _option(form: str, help: str, *, owner: str, **more: Any) -> Any:
    """A field. ``form``: "--in-flight=N"."""
    name, _, metavar = form.partition("=")
    return field(metadata={"option": Option(name=name, metavar=metavar, help=help, owner=owner, **more)})


_NO_MODEL = "a rescored run calls no model"
_REPLAYED = "a replayed run calls no model"
_ONE_CASSETTE = "a cassette holds the exchanges of one run; {} each model by itself"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunOptions:
    """The value of each option in a run, in the order of ``--help``. None: it has none, such as no limit."""

    model: Any = _option(
        "--model=NAME",
        "model to test: gpt-4o, provider/model, a [models.NAME] table of agentgauge.toml, or an embedded one: oracle,"
        " baseline, scripted:FILE; may repeat: then each model has a run of its own, side by side",
        owner="agentgauge.model.presets",
        many=True,
        default="baseline",
        kept=EARLIER,
        fingerprint="model",
        to_models=False,
    )
    temperature: float | None = _option(
        "--temperature=T",
        "sampling temperature of the tested model",
        owner="agentgauge.model.wire",
        kind=float,
        least=0,
        usual="the model's",
        kept=RESUMED,
        stored="temperature",
        fingerprint="model",
        to_shards=True,
    )
    max_tokens: int | None = _option(
        "--max-tokens=N",
        "most tokens of a reply of the tested model",
        owner="agentgauge.model.wire",
        kind=int,
        usual="the model's",
        kept=RESUMED,
        stored="max_tokens",
        fingerprint="model",
        to_shards=True,
    )
    model_url: str | None = _option(
        "--model-url=URL",
        "any OpenAI-compatible endpoint; of several models, their gateway",
        owner="agentgauge.model.presets",
        usual="the provider's",
        kept=EARLIER,
        fingerprint="model",
        to_shards=True,
    )
    agent: Any = _option(
        "--agent=COMMAND",
        "test an agent program in the model's place, or a function that a package announces; --model"
        " then names the model that the agent may ask",
        owner="agentgauge.run.external_agent",
        usual="test the model",
        kept=EARLIER,
        fingerprint="agent",
        excludes={"batch": "an agent would wait up to a day for each reply", LAUNCH: "agents run on this machine"},
    )
    dialect: str = _option(
        "--dialect=NAME",
        "how tools are presented to the model and calls are parsed: native, react, or the name of a model family, such"
        " as qwen; docs/dialects.md lists them",
        owner="agentgauge.agent.dialects",
        default="native",
        kept=EARLIER,
        stored="dialect",
        same=True,
        fingerprint=VALUE,
        to_shards=True,
    )
    data: str = _option(
        "--data=auto|mini|DIR",
        "auto: official data if present, else bundled; mini: bundled; or a folder",
        owner="agentgauge.data.find",
        default="auto",
        kept=EARLIER,
        stored="data",
        fingerprint="data",
    )
    attempts: int = _option(
        "--attempts=K",
        "independent attempts per sample, each with its own seed",
        owner="agentgauge.run.planned",
        kind=int,
        most=10_000,
        default=1,
        kept=EARLIER,
        stored="attempts",
        same=True,
        to_shards=True,
    )
    limit: int | None = _option(
        "--limit=N",
        "at most N of the selected samples per task, in whole groups such as sessions, the same ones every time, with"
        " the shares of the task's labels",
        owner="agentgauge.run.limit",
        kind=int,
        usual="all",
    )
    shard: Any = _option(
        "--shard=K/N",
        "run the K-th of N parts of the selected tests; agentgauge merge puts the parts together",
        owner="agentgauge.run.shards",
        usual="all",
        kept=RESUMED,
    )
    slots: int = _option(
        "--in-flight=N",
        "limit of concurrent cases, and of concurrent requests to a model, over all workers",
        owner="agentgauge.run.coordination.slots",
        kind=int,
        most=10**6,
        default=32,
        beside={"batch": 5000},  # requests of a batch: all of them wait at a time, and each takes some 25 KB
        kept=RESUMED,
        stored="in_flight",
        to_models=False,
        divided=True,
    )
    batch: bool = _option(
        "--batch",
        "send requests in batches, for half the price and answers within a day",
        owner="agentgauge.model.batch",
        kind=bool,
        default=False,
        usual="one by one",
        kept=RESUMED,
        stored="batch",
        excludes={
            "replay": "a replayed run sends no requests",
            "rescore": "a rescored run sends no requests",
            LAUNCH: "a batch needs one process that waits for it; give it to pytest",
        },
    )
    tool_server: str | None = _option(
        "--tool-server=URL",
        "an AgentLego-compatible tool server",
        owner="agentgauge.run.run_services",
        reader="agentgauge.run.option_values:server_address",
        usual="the run starts its own",
        kept=RESUMED,
        stored="tool_server",
        to_shards=True,
    )
    run_dir: Path = _option(
        "--run-dir=DIR",
        "folder to write this run to, or the runs of several models",
        owner="agentgauge.run.run_folder",
        kind=Path,
        usual="runs/<time>-<model>",
        to_models=False,
    )
    resume: Path | None = _option(
        "--resume=DIR",
        "continue a run: finished cases are kept, broken and missing ones run again",
        owner="agentgauge.run.run_folder",
        kind=Path,
        to_models=False,
        excludes={
            "rescore": "one continues a run, the other scores it again",
            "run_dir": "a resumed run stays in its folder",
            "replay": "a resumed run calls a live model",
        },
    )
    rescore: Path | None = _option(
        "--rescore=DIR",
        "score the stored transcripts of a run again, without a model",
        owner="agentgauge.run.solve",
        kind=Path,
        excludes={
            "model": _NO_MODEL,
            "model_url": _NO_MODEL,
            "temperature": _NO_MODEL,
            "max_tokens": _NO_MODEL,
            "prompts": "a rescored run sends no prompts",
            "agent": "a rescored run starts no agent",
            "shard": "a rescored run has the plan of the earlier one",
            "record": "a rescored run has no exchanges",
            "replay": "a rescored run has no exchanges",
            LAUNCH: "a rescored run asks no model; give it to pytest",
            SEVERAL: "it scores one run; score each by itself",
        },
    )
    record: Path | None = _option(
        "--record=FILE",
        "write every model and tool exchange to a cassette",
        owner="agentgauge.replies.recording",
        kind=Path,
        excludes={
            "replay": "a replayed run has no new exchanges",
            LAUNCH: "exchanges are made on other machines",
            SEVERAL: _ONE_CASSETTE.format("record"),
        },
    )
    replay: Path | None = _option(
        "--replay=FILE",
        "answer from a cassette; an exchange that the cassette lacks is an error, never a live call",
        owner="agentgauge.replies.recording",
        kind=Path,
        to_shards=True,
        excludes={
            "tool_server": "a replayed run calls no tool server",
            "temperature": _REPLAYED,
            "max_tokens": _REPLAYED,
            SEVERAL: _ONE_CASSETTE.format("replay"),
        },
    )
    cache: Path | None = _option(
        "--cache=DIR",
        "folder of replies of models, and of results of deterministic tools, that runs share: the same request is not"
        " paid twice",
        owner="agentgauge.replies.cache",
        kind=Path,
        usual="none",
        to_shards=True,
        excludes={
            "rescore": "a rescored run asks no model",
            "replay": "a replayed run has all its replies from the cassette",
        },
    )
    prompts: Path | None = _option(
        "--prompts=DIR",
        "folder of texts that replace AgentGauge's own prompts, such as a judge's",
        owner="agentgauge.core.task",
        reader="agentgauge.run.option_values:folder_of_texts",
        usual="[prompts] of agentgauge.toml",
        fingerprint="prompts",
        to_shards=True,
    )
    allow_unsafe_code: bool = _option(
        "--allow-unsafe-code",
        "run code that a model wrote even where this machine cannot confine it",
        owner="agentgauge.sandbox",
        kind=bool,
        default=False,
        usual="refuse",
        to_shards=True,
    )
    budget: Any = _option(
        "--budget=AMOUNT",
        "stop gracefully when the amount is reached: 5usd, 2Mtok, 30min",
        owner="agentgauge.run.costs",
        reader="agentgauge.run.gates:parse_budget",
        usual="none",
        to_models=False,
    )
    gates: Any = _option(
        "--gate=EXPR",
        "fail the run unless the condition holds, such as 'gta_atomic.e2e.AnsAcc>=40', or 'no significant regression"
        " against RUN'; may repeat",
        owner="agentgauge.run.gates",
        many=True,
        default=(),
        kept=RESUMED,
        stored="gates",
    )
    scoring: str = _option(
        "--scoring=parity|strict",
        "parity reproduces the published evaluators, quirks included; strict applies the documented fixes",
        owner="agentgauge.run.solve",
        accepted=("parity", "strict"),
        default="parity",
        kept=EARLIER,
        stored="scoring",
        same=True,
        fingerprint=VALUE,
        to_shards=True,
    )


OPTIONS: Mapping[str, Option] = {
    one.metadata["option"].name: replace(one.metadata["option"], attribute=one.name) for one in fields(RunOptions)
}
"""The options of every run by their names."""

DIVIDED = [option for option in OPTIONS.values() if option.divided]

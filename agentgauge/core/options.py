"""The options of a run: one table, from which everything that is told or decided about them follows.

``run.option_values`` reads their values. A new option is a field of ``RunOptions``, or of the class that a plugin of
AgentGauge returns in ``pytest_agentgauge_options``; its owner reads it in the settings of the run.

Imports nothing heavy, because the pytest side imports it in every project.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgauge.core.features import PREFIX, features
from agentgauge.core.option import EARLIER, LAUNCH, RESUMED, SEVERAL, VALUE, Option, option, options_of

_NO_MODEL = "a rescored run calls no model"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RunOptions:
    """The value of each option in a run, in the order of ``--help``. None: it has none, such as no limit."""

    model: Any = option(
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
    temperature: float | None = option(
        "--temperature=T",
        "sampling temperature of the tested model, 0 or more; overrides that of the model's table and the task's own",
        owner="agentgauge.model.wire",
        kind=float,
        least=0,
        usual="the model's",
        kept=RESUMED,
        stored="temperature",
        fingerprint="model",
        to_shards=True,
    )
    max_tokens: int | None = option(
        "--max-tokens=N",
        "most tokens of a reply of the tested model; overrides that of the model's table and the task's own; longer"
        " replies are cut",
        owner="agentgauge.model.wire",
        kind=int,
        usual="the model's",
        kept=RESUMED,
        stored="max_tokens",
        fingerprint="model",
        to_shards=True,
    )
    model_url: str | None = option(
        "--model-url=URL",
        "any OpenAI-compatible endpoint; of several models, their gateway",
        owner="agentgauge.model.presets",
        usual="the provider's",
        kept=EARLIER,
        fingerprint="model",
        to_shards=True,
    )
    dialect: str = option(
        "--dialect=NAME",
        "how tools are presented to the model and calls are parsed: native (function calling), react (text), or the"
        " syntax of a model family, such as qwen",
        owner="agentgauge.agent.dialects",
        default="native",
        kept=EARLIER,
        stored="dialect",
        same=True,
        fingerprint=VALUE,
        to_shards=True,
    )
    data: str = option(
        "--data=auto|mini|DIR",
        "auto: official data if present, else the bundled set; mini: the bundled set; or a folder",
        owner="agentgauge.data.find",
        default="auto",
        kept=EARLIER,
        stored="data",
        fingerprint="data",
    )
    attempts: int = option(
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
    limit: int | None = option(
        "--limit=N",
        "at most N of the selected samples per task, in whole groups such as sessions, the same ones every time, with"
        " the shares of the task's labels",
        owner="agentgauge.run.limit",
        kind=int,
        usual="all",
    )
    slots: int = option(
        "--in-flight=N",
        "limit of concurrent cases, and of concurrent requests to a model, over all workers",
        owner="agentgauge.run.coordination.slots",
        kind=int,
        most=10**6,
        default=32,
        kept=RESUMED,
        stored="in_flight",
        to_models=False,
        divided=True,
    )
    tool_server: str | None = option(
        "--tool-server=URL",
        "an AgentLego-compatible tool server; the password in the URL is its token: http://:TOKEN@HOST:PORT",
        owner="agentgauge.run.run_services",
        reader="agentgauge.run.option_values:server_address",
        usual="the run starts its own",
        kept=RESUMED,
        stored="tool_server",
        to_shards=True,
    )
    run_dir: Path = option(
        "--run-dir=DIR",
        "folder to write this run to, or the runs of several models",
        owner="agentgauge.run.run_folder",
        kind=Path,
        usual="runs/<time>-<model>",
        to_models=False,
        keeps_run=True,
    )
    resume: Path | None = option(
        "--resume=DIR",
        "continue a run, or the runs of several models: finished cases are kept, broken and missing ones run again",
        owner="agentgauge.run.run_folder",
        kind=Path,
        to_models=False,
        keeps_run=True,
        excludes={
            "rescore": "one continues a run, the other scores it again",
            "run_dir": "a resumed run stays in its folder",
        },
    )
    rescore: Path | None = option(
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
            LAUNCH: "a rescored run asks no model; give it to pytest",
            SEVERAL: "it scores one run; score each by itself",
        },
    )
    prompts: Path | None = option(
        "--prompts=DIR",
        "folder of texts that replace AgentGauge's own prompts, such as a judge's",
        owner="agentgauge.core.task",
        reader="agentgauge.run.option_values:folder_of_texts",
        usual="[prompts] of agentgauge.toml",
        fingerprint="prompts",
        to_shards=True,
    )
    allow_unsafe_code: bool = option(
        "--allow-unsafe-code",
        "run code that a model wrote even where this machine cannot confine it",
        owner="agentgauge.sandbox",
        kind=bool,
        default=False,
        usual="refuse",
        to_shards=True,
    )
    scoring: str = option(
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


OF_PLUGINS: tuple[type, ...] = tuple(
    hook() for plugin in features() if (hook := getattr(plugin.load(), f"{PREFIX}options", None))
)
"""The classes of options that AgentGauge's own plugins have."""


def _options() -> dict[str, Option]:
    found = {name: each for owner in (RunOptions, *OF_PLUGINS) for name, each in options_of(owner).items()}
    for one in [*found.values()]:
        for name, default in one.sets.items():
            found[name] = replace(found[name], beside={**found[name].beside, one.key: default})
    return found


OPTIONS: Mapping[str, Option] = _options()
"""The options of every run by their names."""

DIVIDED = [option for option in OPTIONS.values() if option.divided]

TOGETHER = [option for option in OPTIONS.values() if option.together]

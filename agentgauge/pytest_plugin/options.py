"""pytest's command-line options of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialects.registry import FAMILIES
from agentgauge.core.task_registry import known_options
from agentgauge.run.settings import DEFAULT_IN_FLIGHT, destination

OPTIONS: Sequence[tuple[str, Mapping[str, Any]]] = (
    (
        "--model",
        {
            "metavar": "NAME",
            "help": (
                "model to test: gpt-4o, provider/model, a [models.NAME] table of agentgauge.toml, "
                "or an embedded one: oracle, baseline, scripted:FILE (default: baseline)"
            ),
        },
    ),
    ("--model-url", {"metavar": "URL", "help": "any OpenAI-compatible endpoint (default: the provider's)"}),
    (
        "--dialect",
        {
            "metavar": "NAME",
            "help": (
                f"how tools are put to the model and calls are read back: native, react, {', '.join(FAMILIES)}"
                " (default: native)"
            ),
        },
    ),
    (
        "--data",
        {
            "metavar": "auto|mini|DIR",
            "help": "official data where present, the bundled set, or a folder (default: auto)",
        },
    ),
    (
        "--attempts",
        {
            "metavar": "K",
            "type": int,
            "help": "independent attempts per sample, each with a seed of its own (default: 1)",
        },
    ),
    (
        "--limit",
        {"metavar": "N", "type": int, "help": "at most N samples per task, spread evenly over the task (default: all)"},
    ),
    (
        "--in-flight",
        {
            "metavar": "N",
            "type": int,
            "help": f"concurrent requests, over all workers (default: {DEFAULT_IN_FLIGHT})",
        },
    ),
    (
        "--tool-server",
        {"metavar": "URL", "help": "an AgentLego-compatible tool server (default: one of our own is started)"},
    ),
    ("--run-dir", {"metavar": "DIR", "help": "where this run is written (default: runs/<time>-<model>)"}),
    (
        "--resume",
        {"metavar": "DIR", "help": "go on with a run: what is done is kept, broken and missing cases run again"},
    ),
    ("--rescore", {"metavar": "DIR", "help": "no model: score the stored transcripts of a run again"}),
    ("--record", {"metavar": "FILE", "help": "write every model and tool exchange to a cassette"}),
    (
        "--replay",
        {"metavar": "FILE", "help": "answer from a cassette; an exchange that it lacks is an error, never a live call"},
    ),
    (
        "--allow-unsafe-code",
        {
            "action": "store_true",
            "help": "run code that a model wrote even where this machine cannot confine it (default: refuse)",
        },
    ),
    ("--budget", {"metavar": "AMOUNT", "help": "stop gracefully when reached: 5usd, 2Mtok, 30min (default: none)"}),
    (
        "--gate",
        {
            "metavar": "EXPR",
            "action": "append",
            "default": [],
            "help": (
                "fail the run unless it holds, such as 'gta_atomic.e2e.AnsAcc>=40', or "
                "'no significant regression against RUN'; may repeat"
            ),
        },
    ),
    (
        "--scoring",
        {
            "metavar": "parity|strict",
            "help": (
                "parity reproduces the published evaluators, quirks included; strict applies the documented fixes"
                " (default: parity)"
            ),
        },
    ),
)


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup(
        "agentgauge",
        "agentgauge (exit status: 0 every case attempted, none broken, gates hold; 1 broken or missing cases or a"
        " failed gate; wrong answers are results)",
    )
    for name, keywords in OPTIONS:
        group.addoption(name, **keywords)
    for option in known_options().values():
        accepted = "|".join(option.accepted) or (option.metavar if option.default is not None else "")
        group.addoption(
            option.name,
            dest=destination(option.name),
            help=option.help,
            default=None,  # not given: the earlier run's where there is one
            **({"metavar": accepted} if accepted else {"action": "store_true"}),
        )


def test_paths(config: pytest.Config) -> list[Path]:
    """Where pytest looks for tests: the paths of the command line, or else of the settings. Known before collection."""
    return [_path(config, word.partition("::")[0]) for word in config.args]


def _path(config: pytest.Config, word: str) -> Path:
    path = config.invocation_params.dir / word
    spec = find_spec(word.partition(".")[0]) if config.option.pyargs and word and not path.exists() else None
    return Path(spec.origin).parent if spec and spec.origin else path

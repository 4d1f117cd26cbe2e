"""pytest's command-line options of a run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from agentgauge.agent.dialects.registry import FAMILIES
from agentgauge.core.task_registry import known_options
from agentgauge.run.settings import DEFAULT_IN_FLIGHT, destination

OPTIONS: Mapping[str, tuple[str | None, str]] = {
    "--model": (
        "NAME",
        "model to test: gpt-4o, provider/model, a [models.NAME] table of agentgauge.toml, or an embedded one: oracle,"
        " baseline, scripted:FILE (default: baseline)",
    ),
    "--model-url": ("URL", "any OpenAI-compatible endpoint (default: the provider's)"),
    "--dialect": (
        "NAME",
        f"how tools are put to the model and calls are read back: native, react, {', '.join(FAMILIES)}"
        " (default: native)",
    ),
    "--data": ("auto|mini|DIR", "official data where present, the bundled set, or a folder (default: auto)"),
    "--attempts": ("K", "independent attempts per sample, each with a seed of its own (default: 1)"),
    "--limit": ("N", "at most N samples per task, spread evenly over the task (default: all)"),
    "--in-flight": ("N", f"concurrent requests, over all workers (default: {DEFAULT_IN_FLIGHT})"),
    "--tool-server": ("URL", "an AgentLego-compatible tool server (default: one of our own is started)"),
    "--run-dir": ("DIR", "where this run is written (default: runs/<time>-<model>)"),
    "--resume": ("DIR", "go on with a run: what is done is kept, broken and missing cases run again"),
    "--rescore": ("DIR", "no model: score the stored transcripts of a run again"),
    "--record": ("FILE", "write every model and tool exchange to a cassette"),
    "--replay": ("FILE", "answer from a cassette; an exchange that it lacks is an error, never a live call"),
    "--allow-unsafe-code": (
        None,
        "run code that a model wrote even where this machine cannot confine it (default: refuse)",
    ),
    "--budget": ("AMOUNT", "stop gracefully when reached: 5usd, 2Mtok, 30min (default: none)"),
    "--gate": (
        "EXPR",
        "fail the run unless it holds, such as 'gta_atomic.e2e.AnsAcc>=40', or 'no significant regression against RUN';"
        " may repeat",
    ),
    "--scoring": (
        "parity|strict",
        "parity reproduces the published evaluators, quirks included; strict applies the documented fixes"
        " (default: parity)",
    ),
}
"""Option → what stands for its value (None: a switch), and its help."""

_FURTHER: Mapping[str, Mapping[str, Any]] = {
    "--attempts": {"type": int},
    "--limit": {"type": int},
    "--in-flight": {"type": int},
    "--allow-unsafe-code": {"action": "store_true"},
    "--gate": {"action": "append", "default": []},
}
"""Option → what pytest is told besides."""


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup(
        "agentgauge",
        "agentgauge (exit status: 0 every case attempted, none broken, gates hold; 1 broken or missing cases or a"
        " failed gate; wrong answers are results)",
    )
    for name, (metavar, text) in OPTIONS.items():
        group.addoption(name, help=text, **({"metavar": metavar} if metavar else {}), **_FURTHER.get(name, {}))
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

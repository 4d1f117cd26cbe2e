"""The options of a run. Imports nothing heavy, because the pytest side imports it in every project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULT_IN_FLIGHT = 32
DEFAULT_BATCH = 5000
"""Requests of a batch. All of them wait at a time; each takes some 25 KB."""

PREFIX = "--agentgauge-"
"""Each option also exists with this prefix, so that other plugins and the project can use the short name."""


def destination(option: str) -> str:
    """The attribute of pytest's parsed options that holds an option of ours. It has a prefix, because a project may
    have a ``--model``, too."""
    return "agentgauge_" + option.removeprefix("--").replace("-", "_")


def described(metavar: str | None, text: str, **more: Any) -> dict[str, Any]:
    """For pytest's ``addoption``; without a ``metavar`` the option is a switch."""
    return {"help": text, **({"metavar": metavar} if metavar else {"action": "store_true"}), **more}


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--model": described(
        "NAME",
        "model to test: gpt-4o, provider/model, a [models.NAME] table of agentgauge.toml, or an embedded one: oracle,"
        " baseline, scripted:FILE; may repeat: then each model has a run of its own, side by side (default: baseline)",
        action="append",
    ),
    "--temperature": described("T", "sampling temperature of the tested model (default: the model's)", type=float),
    "--max-tokens": described("N", "most tokens of a reply of the tested model (default: the model's)", type=int),
    "--model-url": described(
        "URL", "any OpenAI-compatible endpoint; of several models, their gateway (default: the provider's)"
    ),
    "--agent": described(
        "COMMAND",
        "test an agent program in the model's place, or a function that a package announces; --model"
        " then names the model that the agent may ask (default: test the model)",
    ),
    "--dialect": described(
        "NAME",
        "how tools are presented to the model and calls are parsed: native, react, or the name of a model family, such"
        " as qwen; docs/dialects.md lists them (default: native)",
    ),
    "--data": described(
        "auto|mini|DIR", "auto: official data if present, else bundled; mini: bundled; or a folder (default: auto)"
    ),
    "--attempts": described("K", "independent attempts per sample, each with its own seed (default: 1)", type=int),
    "--limit": described(
        "N",
        "at most N of the selected samples per task, in whole groups such as sessions, the same ones every time, with"
        " the shares of the task's labels (default: all)",
        type=int,
    ),
    "--shard": described(
        "K/N", "run the K-th of N parts of the selected tests; agentgauge merge puts the parts together (default: all)"
    ),
    "--in-flight": described(
        "N",
        "limit of concurrent cases, and of concurrent requests to a model, over all workers"
        f" (default: {DEFAULT_IN_FLIGHT}; {DEFAULT_BATCH} with --batch)",
        type=int,
    ),
    "--batch": described(
        None, "send requests in batches, for half the price and answers within a day (default: one by one)"
    ),
    "--tool-server": described("URL", "an AgentLego-compatible tool server (default: the run starts its own)"),
    "--run-dir": described(
        "DIR", "folder to write this run to, or the runs of several models (default: runs/<time>-<model>)"
    ),
    "--resume": described("DIR", "continue a run: finished cases are kept, broken and missing ones run again"),
    "--rescore": described("DIR", "score the stored transcripts of a run again, without a model"),
    "--record": described("FILE", "write every model and tool exchange to a cassette"),
    "--replay": described(
        "FILE", "answer from a cassette; an exchange that the cassette lacks is an error, never a live call"
    ),
    "--cache": described(
        "DIR",
        "folder of replies of models, and of results of deterministic tools, that runs share: the same request is not"
        " paid twice (default: none)",
    ),
    "--prompts": described(
        "DIR",
        "folder of texts that replace AgentGauge's own prompts, such as a judge's (default: [prompts] of"
        " agentgauge.toml)",
    ),
    "--allow-unsafe-code": described(
        None, "run code that a model wrote even where this machine cannot confine it (default: refuse)"
    ),
    "--budget": described("AMOUNT", "stop gracefully when the amount is reached: 5usd, 2Mtok, 30min (default: none)"),
    "--gate": described(
        "EXPR",
        "fail the run unless the condition holds, such as 'gta_atomic.e2e.AnsAcc>=40', or 'no significant regression"
        " against RUN'; may repeat",
        action="append",
    ),
    "--scoring": described(
        "parity|strict",
        "parity reproduces the published evaluators, quirks included; strict applies the documented fixes"
        " (default: parity)",
    ),
}
"""The options of every run: name → arguments for pytest's ``addoption``."""

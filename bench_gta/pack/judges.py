"""Which judge a user means, and where it is."""

from __future__ import annotations

from dataclasses import replace

from bench_gta.workflow.judge import RULES
from harness.config import Config, ModelTable
from harness.errors import UsageProblem


def base_url(address: str | None) -> str | None:
    """A service address without blanks, closing slash and ``/chat/completions``; None where there is none.

    The released code takes ``/v1`` along with ``/chat/completions``, which breaks such addresses; here it stays (GTA-Workflow spec 6.2).
    """
    text = (address or "").strip().rstrip("/")
    return text.removesuffix("/chat/completions").rstrip("/") or None


def config_for(name: str, votes: int, address: str | None, config: Config) -> Config:
    """The configuration with the judge at that address. Raises UsageProblem for what the judge ``rules`` cannot do."""
    url = base_url(address)
    if votes < 1:
        raise UsageProblem(f"--judge-votes must be 1 or more, not {votes}")
    if name == RULES and (votes > 1 or url):
        raise UsageProblem(f"the judge {RULES!r} is built in and always says the same; leave --judge-votes and --judge-url out")
    if url is None:
        return config
    table = config.models.get(name, ModelTable(model=name))
    return replace(config, models={**config.models, name: replace(table, url=url, endpoint=None)})

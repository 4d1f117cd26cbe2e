"""Estimates the cost of a run from the sizes in the indexes of its data. No sample is read, and no request is
delayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from agentgauge.core.task_options import SAME
from agentgauge.core.types import Usage
from agentgauge.model.budget import Budget, unpriced
from agentgauge.model.spec import ModelSpec
from agentgauge.model.usage import BYTES_PER_TOKEN
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId

REPLY_TOKENS = 200
"""The assumption: each request contains its whole sample, and gets a reply of so many tokens."""


def asked_models(settings: Settings, tasks: Collection[str]) -> list[ModelSpec]:
    """The tested model and the models of roles, such as a judge, that a task uses. None where no model is called."""
    used = {option.name for name in tasks for option in settings.tasks[name].options}
    roles = [spec for role, spec in settings.roles.items() if role in used]
    return [settings.spec, *roles] if settings.spec else []


def assumed_costs(settings: Settings, tasks: Collection[str], budget: Budget) -> dict[str, float]:
    """Task → what a case is assumed to cost, as the budget counts it."""
    return {
        name: settings.tasks[name].expected_requests
        * max((budget.amount(_request(settings, name, spec)) for spec in asked_models(settings, [name])), default=0.0)
        for name in tasks
    }


def cost_lines(settings: Settings, plan: Sequence[CaseId]) -> Iterator[str]:
    """The lines about the cost at the start. Looks up prices, which takes time."""
    models = asked_models(settings, {task for task, _, _ in plan})
    if unknown := unpriced([spec for spec in models if not spec.is_own_server]):
        yield (
            f"cost: not known, because the prices of {unknown} are not known; give prices in its [models.NAME] table of"
            " agentgauge.toml"
        )
    elif any(spec.prices.known and not spec.prices.free for spec in models):
        yield _estimate(settings, models, _left(settings, plan))


def _estimate(settings: Settings, models: Sequence[ModelSpec], cases: Mapping[str, int]) -> str:
    own = models[0]
    asked = {task: count * _own_requests(settings, task) for task, count in cases.items()}
    dollars = sum(requests * _request(settings, task, own).usd for task, requests in asked.items())
    priced = [spec for spec in models if spec.prices.known and not spec.prices.free]
    sources = ", ".join(dict.fromkeys(spec.prices.source for spec in priced))
    other = ", ".join(dict.fromkeys(spec.name for spec in priced if spec.name != own.name))
    if own.prices.free or not own.prices.known:
        why = "costs nothing" if own.prices.free else "is a server of your own"
        return f"cost: {own.name} {why}; what {other} costs is not estimated"
    return (
        f"cost: about ${dollars:,.2f}, an estimate: {sum(asked.values()):,.0f} requests with the whole sample at"
        f" {BYTES_PER_TOKEN} bytes a token, replies of {REPLY_TOKENS} tokens, nothing cached; prices of {sources}"
        + (f"; without what {other} costs" if other else "")
    )


def _left(settings: Settings, plan: Sequence[CaseId]) -> Counter[str]:
    """Task → cases that will run."""
    lines = RunFolder(settings.run_dir).lines() if settings.resume else {}
    return Counter(case[0] for case in plan if not (case in lines and lines[case].finished))


def _own_requests(settings: Settings, name: str) -> float:
    """Those of a case to the tested model."""
    task = settings.tasks[name]
    others = (each.requests for each in task.options if settings.options.get(each.name) != SAME)
    return task.expected_requests - sum(others)


def _request(settings: Settings, task: str, spec: ModelSpec) -> Usage:
    """What one request of a task to a model is assumed to use."""
    rows = settings.tasks[task].data.index(settings.roots[task]).rows
    size = sum(len(row.text) for row in rows) // max(1, len(rows))
    tokens = Usage(1, size // BYTES_PER_TOKEN, REPLY_TOKENS)
    return Usage(1, tokens.prompt_tokens, tokens.completion_tokens, spec.prices.dollars(tokens))

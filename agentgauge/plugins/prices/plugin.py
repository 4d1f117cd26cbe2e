"""The prices of known models: those that the package genai-prices knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentgauge.model.prices import PriceList
    from agentgauge.run.part import Process
    from agentgauge.run.settings import Draft


def pytest_agentgauge_prices() -> Sequence[Callable[[str, str], PriceList | None]]:
    from agentgauge.plugins.prices.listed import listed

    return [listed]


def pytest_agentgauge_configure(draft: Draft) -> None:
    from agentgauge.plugins.prices.listed import installed

    draft.about["versions"] = installed()


def pytest_agentgauge_process(process: Process) -> None:
    from agentgauge.plugins.prices.listed import look_up_early

    settings = process.settings
    for spec in (settings.spec, *settings.roles.values()):
        if spec:
            look_up_early(spec.prices)

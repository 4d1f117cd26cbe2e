"""``--batch``: sends the requests of a run in batches, where the provider of a model has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agentgauge.run.part import Part, Process
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft


def pytest_agentgauge_options() -> type:
    from agentgauge.plugins.batch.options import BatchOptions

    return BatchOptions


def pytest_agentgauge_configure(draft: Draft) -> None:
    from agentgauge.plugins.batch.options import BatchOptions

    if draft.spec and draft.facts[BatchOptions].batch:
        from agentgauge.core.options import OPTIONS
        from agentgauge.plugins.batch.providers import check_batches, with_batch_prices

        check_batches(draft.spec)
        draft.spec = with_batch_prices(draft.spec)
        draft.roles = {name: with_batch_prices(role) for name, role in draft.roles.items()}
        draft.patient = True
        draft.at_once = OPTIONS["--in-flight"].default  # for a judge, say, whose provider has no batches


def pytest_agentgauge_check(run: Run) -> None:
    from agentgauge.plugins.batch.counts import FILE as COUNTS
    from agentgauge.plugins.batch.options import BatchOptions

    (run.folder / COUNTS).unlink(missing_ok=True)
    if run.settings.of(BatchOptions).batch:
        from agentgauge.plugins.batch.journal import FILE, Journal

        Journal(run.folder / FILE)  # is it damaged?


def pytest_agentgauge_header(run: Run) -> Iterable[str]:
    from agentgauge.core.text import counted
    from agentgauge.plugins.batch.options import BatchOptions

    is_batched = run.settings.of(BatchOptions).batch
    return [f"batches of up to {counted(run.settings.slots, 'request')}"] if is_batched else []


def pytest_agentgauge_process(process: Process) -> Part | None:
    from agentgauge.plugins.batch.options import BatchOptions

    if not process.settings.of(BatchOptions).batch:
        return None
    from agentgauge.plugins.batch.part import BatchPart

    return BatchPart(process)


def pytest_agentgauge_progress(folder: Path) -> str:
    from agentgauge.plugins.batch.counts import counts_of

    return str(counts_of(folder))


def pytest_agentgauge_ended(run: Run) -> None:
    from agentgauge.plugins.batch.counts import FILE

    (run.folder / FILE).unlink(missing_ok=True)

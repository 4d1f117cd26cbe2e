"""``--shard``: keeps the cases of one shard, says what they are a part of, and lets no incomplete set of shards be
merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentgauge.run.candidates import Candidates
    from agentgauge.run.merging import Merging
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft


def pytest_agentgauge_options() -> type:
    from agentgauge.plugins.shards.options import ShardOptions

    return ShardOptions


def pytest_agentgauge_configure(draft: Draft) -> None:
    from agentgauge.plugins.shards.options import ShardOptions
    from agentgauge.plugins.shards.shard import chosen_shard, whole_plan

    shard = chosen_shard(draft)
    draft.facts[ShardOptions] = ShardOptions(shard=shard)
    draft.about["shard"] = shard and whole_plan(shard)


def pytest_agentgauge_choose(candidates: Candidates) -> None:
    from agentgauge.plugins.shards.options import ShardOptions

    if shard := candidates.settings.of(ShardOptions).shard:
        from agentgauge.plugins.shards.shard import FILE, kept, whole_plan

        if candidates.cases and not candidates.is_planned:
            candidates.files[FILE] = whole_plan(shard, candidates.cases, candidates.tasks)
        candidates.kept &= kept(shard, candidates.cases, is_planned=candidates.is_planned)


def pytest_agentgauge_check(run: Run) -> None:
    from agentgauge.plugins.shards.shard import read_whole_plan

    run.about["shard"] = read_whole_plan(run)


def pytest_agentgauge_header(run: Run) -> Iterable[str]:
    from agentgauge.core.text import counted
    from agentgauge.plugins.shards.options import ShardOptions

    shard = run.settings.of(ShardOptions).shard
    return [f"{shard}: {len(run.plan):,} of {counted(run.about['shard']['planned'], 'case')}"] if shard else []


def pytest_agentgauge_empty(run: Run) -> str | None:
    """A shard may have no test where others have some."""
    from agentgauge.core.text import counted
    from agentgauge.plugins.shards.options import ShardOptions
    from agentgauge.plugins.shards.shard import FILE

    shard = run.settings.of(ShardOptions).shard
    if shard is None or not (run.folder / FILE).exists():
        return None
    planned = run.files.read_json(FILE)["planned"]
    return f"{shard} has none of the {counted(planned, 'case')}; it has nothing to do and leaves no folder"


def pytest_agentgauge_merge(merging: Merging) -> None:
    from agentgauge.plugins.shards.together import check_together

    if whole := check_together(merging.runs):
        merging.whole = whole["tasks"]
    merging.about["shard"] = None

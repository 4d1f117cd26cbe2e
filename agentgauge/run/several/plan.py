"""From the members of a folder to the pytest processes that are still to be run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from agentgauge.core.config import Config
from agentgauge.core.option import prefixed
from agentgauge.core.options import OPTIONS, TOGETHER
from agentgauge.model.presets import resolve
from agentgauge.run.live import LiveRun
from agentgauge.run.several.command_line import own_paths
from agentgauge.run.several.launcher import Launch
from agentgauge.run.several.parent import RunGroup, is_begun, is_finished


def launches(
    parent: Path,
    group: RunGroup,
    config: Config,
    together: Mapping[str, str],
    *,
    again: bool = False,
) -> list[Launch]:
    """The runs that are not finished, to be begun or resumed. Members at one host share the totals.
    ``together``: values of the options that all runs have together. ``again``: finished runs are resumed, too.

    Raises UsageProblem for a model that is not known or lacks its key.
    """
    side_by_side = group.side_by_side or len(group.members)
    left = [member for member in group.members if again or not is_finished(parent, member.name)]
    specs = [resolve(member.model, url=member.url, config=config) for member in left]
    hosts = [urlsplit(spec.url or "").netloc for spec in specs]  # empty: embedded, answered by its run
    found, before = [], Counter[str]()
    for member, spec, host in zip(left, specs, hosts, strict=True):
        folder = parent / member.name
        where = "--resume" if is_begun(folder) else "--run-dir"
        words = [f"{prefixed('--model')}={member.model}", f"{prefixed(where)}={folder}"]
        sharing = min(side_by_side, hosts.count(host)) if host else 1
        for name, total in group.totals.items():
            if total or sharing > 1:
                words.append(f"{prefixed(name)}={_share(total or OPTIONS[name].default, sharing, before[host])}")
        before[host] += 1
        # an empty value, too, so that none of the project's settings counts for each run by itself
        words += (f"{prefixed(option.name)}={together.get(option.name, '')}" for option in TOGETHER)
        words += own_paths(member.words, member.name)
        found.append(Launch(member.name, words, folder, LiveRun(folder), spec))
    return found


def _share(total: int, sharing: int, number: int) -> int:
    """Of the ``number``-th of so many, from 0."""
    return max(1, total // sharing + (number % sharing < total % sharing))

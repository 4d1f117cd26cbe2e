"""How many worker processes are started: with ``-n`` no more than the processors can use.

A worker keeps many requests in the air at once, so that processes beyond the processors add start-up, collection and
memory, and no speed (docs/performance.md has the measurement). ``--in-flight`` is a total and stays as it is.
"""

from __future__ import annotations

import pytest

ASKED = pytest.StashKey[int]()
"""How many workers ``-n`` asked for, where fewer are started."""


def limit_workers(config: pytest.Config, most: int) -> None:
    """Take workers away from ``-n N`` that are more than ``most``. ``--tx`` is taken as it is."""
    option = config.option
    asked = getattr(option, "numprocesses", None)
    if not isinstance(asked, int) or asked <= most:
        return
    config.stash[ASKED] = asked
    option.numprocesses = most
    del option.tx[most:]  # xdist has filled it


def limit_restarts(config: pytest.Config) -> None:
    """Replace no more workers with ``--tx`` than xdist does with ``-n``: four times as many as are started. Without
    that those of a Python that cannot start them would be replaced for ever."""
    option = config.option
    if (
        getattr(option, "dist", "no") != "no"
        and option.tx
        and not option.numprocesses
        and option.maxworkerrestart is None
    ):
        from xdist.workermanage import parse_tx_spec_config

        option.maxworkerrestart = str(4 * len(parse_tx_spec_config(config)))


def told(config: pytest.Config) -> str | None:
    """What the header says of it."""
    asked = config.stash.get(ASKED, None)
    if asked is None:
        return None
    started = config.option.numprocesses
    return (
        f"{started} worker{'' if started == 1 else 's'} instead of {asked}: more than there are processors would cost"
        f" start-up and memory and gain nothing, as each keeps many requests in the air; --tx '{asked}*popen' --dist"
        " load starts them all"
    )

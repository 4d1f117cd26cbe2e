"""The queue of a replacement worker, which holds what a dead worker has left.

This is the one place that uses internals of another package: xdist offers a worker no public view of its queue. If the
queue has another form than expected, the worker runs its cases one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def queued_items(session: pytest.Session) -> tuple[Sequence[pytest.Item], bool]:
    """The items in the queue, and whether these are all that will come."""
    for plugin in session.config.pluginmanager.get_plugins():
        queue: Any = getattr(plugin, "torun", None)
        if type(plugin).__name__ == "WorkerInteractor" and hasattr(queue, "lock"):
            with queue.lock() as entries:
                numbers = [entry for entry in entries if isinstance(entry, int)]
                is_complete = len(numbers) < len(entries)  # the last entry is xdist's mark for the end
            return [session.items[number] for number in numbers], is_complete
    return [], False

"""What a plugin does beside several runs of one command (``pytest_agentgauge_several``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from agentgauge.core.types import Usage
from agentgauge.model.spec import ModelSpec


class Beside:
    """Nothing, but for what it overrides. All is called in the launcher's process and thread."""

    def check(self, models: Sequence[ModelSpec]) -> None:
        """``models``: of the runs that are to start. A UsageProblem that is raised refuses them."""

    def begin(self) -> None:
        """No run has been started yet; the folder is theirs alone."""

    def why_stop(self, running: Collection[str], used: Callable[[], Usage]) -> str:
        """Why all of them should stop; empty while they may go on. Called several times a second. ``running``: the
        names of those that run; ``used``: by all of them, since ``begin``, of the records that it reads then."""
        return ""

    def ended(self, run: str) -> None:
        """The run of this name has ended, or was killed."""

    def close(self) -> None:
        """All have ended."""

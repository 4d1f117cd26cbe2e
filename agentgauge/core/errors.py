"""The errors of AgentGauge, grouped by who has to act on them.

AgentGaugeError
├── UsageProblem       the user must fix something; one sentence, exit status 4
│   ├── DataProblem    a data set is missing, damaged or of an unknown shape
│   └── ToolUnavailable  a tool lacks weights, a key or a setting
├── Fault              not the model's doing; the case ends as *broken*
│   ├── ModelFault     the endpoint failed, after retries
│   ├── ToolFault      the tool server failed
│   ├── SandboxFault   code could not be run at all
│   └── ReplayMiss     a cassette lacks an exchange
└── ToolError          a tool refused or failed on what the model asked; the model sees why
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from agentgauge.core.redaction import redact, without_logins
from agentgauge.core.text import clean
from agentgauge.core.types import Usage


class AgentGaugeError(Exception):
    """Base of every error that AgentGauge raises on purpose. Its text holds no secret and no login of an address."""

    def __str__(self) -> str:
        return without_logins(redact(super().__str__()))


class UsageProblem(AgentGaugeError):
    """The user must fix something before a run can start. The text is one helpful sentence, which a terminal may show
    although it names what is in a file of others."""

    def __str__(self) -> str:
        return clean(super().__str__())


class DataProblem(UsageProblem):
    """A data set is missing, damaged or of an unknown shape."""


class ToolUnavailable(UsageProblem):
    """A tool cannot work as configured. The text names the tool and the setting that would help."""


class Fault(AgentGaugeError):
    """A failure that the model did not cause; the case ends as broken.

    ``cause`` is a stable short word for grouping (``http 500``, ``timeout``); ``str()`` is the whole sentence.
    """

    def __init__(self, message: str, *, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause or type(self).__name__


class ModelFault(Fault):
    """The model endpoint failed, and retrying did not help. ``usage``: that of billed answers that could not be
    used."""

    def __init__(
        self,
        message: str,
        *,
        cause: str = "",
        usage: Usage = Usage(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(message, cause=cause)
        self.usage = usage


class ToolFault(Fault):
    """The tool server failed: unreachable, overloaded, or an answer outside its protocol."""


class SandboxFault(Fault):
    """Code could not be run: the sandbox itself failed to start."""


class ReplayMiss(Fault):
    """A replayed run asked for an exchange that the cassette does not hold."""


class ToolError(AgentGaugeError):
    """A tool refused its arguments or failed on them. The model gets ``str(error)``, and the case continues."""


def did_you_mean(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str:
    """A suggestion for a mistyped name: `` (did you mean X?)``, with at most two names; empty if no name is like the
    word. ``likeness``: from 0 to 1, that of equal words."""
    matches = difflib.get_close_matches(word, list(known), n=2, cutoff=likeness)
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""

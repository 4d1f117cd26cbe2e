"""The options of WildToolBench: how sessions are read, sent and scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentgauge.core.task_options import Chosen, TaskOption
from bench_wild.data import LANGUAGES
from bench_wild.prompts import ORIGINAL, RELEASES, SCHEMAS, Release, Sending

LANGUAGE = TaskOption(
    "--wild-language", "WildToolBench's dialogues and tools in English or Chinese (default: en)", LANGUAGES
)
EVALUATOR = TaskOption(
    "--wild-evaluator",
    "WildToolBench's release: that of April 2026, or the earlier one that the published tables used; how tasks are"
    " scored, and how a model with calls of its own is asked (default: 2026)",
    RELEASES,
    asks=False,
)
NO_CONTEXT = TaskOption(
    "--wild-no-context",
    "send WildToolBench's turns without the earlier turns of their session; the first turn of each session is left out"
    " (default: off)",
)
NO_ROLES = TaskOption(
    "--wild-no-roles",
    "send WildToolBench's texts without the speaker's name in front, such as 'User:' (default: off)",
)
TOOL_SCHEMAS = TaskOption(
    "--wild-schemas",
    "WildToolBench's tools as in the data, or normalised as the earlier release does for OpenAI and Azure, which its"
    " evaluator (2025) implies for a model with calls of its own (default: original)",
    SCHEMAS,
)
SKIP_INVALID = TaskOption(
    "--skip-invalid",
    "leave out and report WildToolBench sessions whose data breaks a rule, instead of refusing the file (default:"
    " refuse)",
)

OPTIONS = (LANGUAGE, EVALUATOR, NO_CONTEXT, NO_ROLES, TOOL_SCHEMAS, SKIP_INVALID)


@dataclass(frozen=True, slots=True)
class WildOptions:
    """The values of the options."""

    language: str = "en"  # of the twins in the data: "en" or "zh"
    evaluator: Release = "2026"
    sending: Sending = ORIGINAL
    skip_invalid: bool = False  # leave sessions out that break a rule, instead of refusing the file

    @classmethod
    def of(cls, chosen: Chosen) -> WildOptions:
        evaluator = next(name for name in RELEASES if name == chosen[EVALUATOR.name])
        sending = Sending(
            context=not chosen[NO_CONTEXT.name],
            roles=not chosen[NO_ROLES.name],
            schemas=next(name for name in SCHEMAS if name == chosen[TOOL_SCHEMAS.name]),
            release=evaluator,
        )
        return cls(str(chosen[LANGUAGE.name]), evaluator, sending, bool(chosen[SKIP_INVALID.name]))

    @property
    def chosen(self) -> Chosen:
        """As the command line gives them."""
        return {
            LANGUAGE.name: self.language,
            EVALUATOR.name: self.evaluator,
            NO_CONTEXT.name: not self.sending.context,
            NO_ROLES.name: not self.sending.roles,
            TOOL_SCHEMAS.name: self.sending.schemas,
            SKIP_INVALID.name: self.skip_invalid,
        }


def not_comparable(chosen: Chosen) -> Sequence[str]:
    """Reasons why figures with these options are not comparable with published ones."""
    found = {
        "evaluator 2026 instead of 2025": chosen[EVALUATOR.name] != "2025",
        "language zh instead of en": chosen[LANGUAGE.name] != "en",
        "without the earlier tasks": chosen[NO_CONTEXT.name],
        "schemas azure instead of original": chosen[TOOL_SCHEMAS.name] == "azure",
    }
    return [reason for reason, holds in found.items() if holds]

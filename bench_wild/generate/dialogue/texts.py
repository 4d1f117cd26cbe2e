"""The wording of every prompt: ours, or that of a folder that replaces it (wild spec 9.5)."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_text
from bench_wild.generate.dialogue.dialogue import TYPES, Group, Language, TaskType

FOLDER = Path(__file__).parents[1] / "prompts"

FIRST_TASKS: Mapping[TaskType, tuple[str, ...]] = {
    "ST": ("user_single_tool",),
    "MT": ("user_multi_tool", "user_multi_tool_parallel", "user_multi_tool_serial_parallel"),
    "CQ": ("user_ask",),
    "CC": ("user_chat",),
}
"""Agents that write the first task of a type. ``user_multi_tool`` is the serial one."""

CONTINUE = "user_continue_question"

PROMPTS = (
    *(name for names in FIRST_TASKS.values() for name in names),
    *(CONTINUE, "user_answer_ask", "user_vague_answer_ask"),
    *("planner", "checker_planner", "tool", "agent_ask", "agent_answer", "agent_answer_chat"),
)
"""One file each, ``NAME.txt``."""

KINDS: Mapping[str, Group] = {
    **dict.fromkeys(
        ("reply_ordinal_front", "reply_ordinal_end", "reply_interrogative", "reply_short_name", "reply_description"),
        "reply",
    ),
    **dict.fromkeys(("omit_subject", "omit_attribute", "omit_modifier", "omit_several"), "omission"),
    **dict.fromkeys(("refer_personal", "refer_demonstrative"), "reference"),
    **dict.fromkeys(("add_subject", "add_modifier"), "addition"),
    **dict.fromkeys(("modify_correction", "modify_restatement"), "modification"),
    **dict.fromkeys(
        ("follow_more", "follow_longer", "follow_shorter", "follow_example", "follow_continue"), "follow_up"
    ),
    **dict.fromkeys(("topic_neighbour", "topic_back"), "topic"),
}
"""The 22 variants of a follow-up task, with their group: 5 refer to the assistant's reply, 17 to the user's earlier
task."""

SLOTS: Mapping[str, str] = {
    "tools": "the tool list as JSON, one tool a line, without the pseudo tools",
    "tool": "the drawn tool as JSON",
    "env_info": "date, time and weekday",
    "wanted": "the sentence of the wanted type of task",
    "what": "what the variant of the follow-up is",
    "example": "its worked example",
}
"""What a text may hold in braces."""

_SLOT = re.compile("{(" + "|".join(SLOTS) + ")}")


@dataclass(frozen=True)
class FollowUp:
    """One variant of the follow-up task."""

    what: str
    example: str


@dataclass(frozen=True)
class Texts:
    """All wording of one language."""

    prompts: Mapping[str, str]  # by the names of PROMPTS, and ``user_continue_question_KIND`` where a folder has one
    follow_ups: Mapping[str, FollowUp]  # by KINDS
    wanted: Mapping[TaskType, str]

    def prompt(self, name: str, slots: Mapping[str, str]) -> str:
        """A text with its slots filled; slots without a value stay as they are."""
        return _SLOT.sub(lambda found: slots.get(found[1], found[0]), self.prompts[name])

    def follow_up(self, kind: str, wanted: TaskType, slots: Mapping[str, str]) -> str:
        """The prompt of one variant for one wanted type of task."""
        variant, own = self.follow_ups[kind], f"{CONTINUE}_{kind}"
        filled = {**slots, "wanted": self.wanted[wanted], "what": variant.what, "example": variant.example}
        return self.prompt(own if own in self.prompts else CONTINUE, filled)

    @property
    def fingerprint(self) -> str:
        """Short digest of all wording."""
        whole = [dict(self.prompts), {kind: vars(text) for kind, text in self.follow_ups.items()}, dict(self.wanted)]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:12]


def load_texts(language: Language, folder: Path | None = None) -> Texts:
    """Our texts, those of ``folder`` (or of its sub-folder named by the language) in place of ours of the same name.

    Raises UsageProblem for a folder that does not exist, that replaces nothing, or that holds a text with an unknown
    name.
    """
    own = FOLDER / language
    prompts = {name: (own / f"{name}.txt").read_text(encoding="utf-8").strip() for name in PROMPTS}
    table = tomllib.loads((own / "follow_ups.toml").read_text(encoding="utf-8"))
    if folder is not None:
        prompts |= _replacements(folder / language if (folder / language).is_dir() else folder)
    return Texts(
        prompts,
        {kind: FollowUp(**{key: text.strip() for key, text in table[kind].items()}) for kind in KINDS},
        {wanted: table["wanted"][wanted].strip() for wanted in TYPES},
    )


def _replacements(folder: Path) -> dict[str, str]:
    known = {*PROMPTS, *(f"{CONTINUE}_{kind}" for kind in KINDS)}
    if not folder.is_dir():
        raise UsageProblem(
            f"--prompts: there is no folder {folder}; give a folder of texts named NAME.txt, such as planner.txt"
        )
    files = sorted(folder.glob("*.txt"))
    if not files:
        raise UsageProblem(f"--prompts: {folder} holds no .txt file; name the texts as ours are: {', '.join(PROMPTS)}")
    found: dict[str, str] = {}
    for file in files:
        if file.stem not in known:
            raise UsageProblem(f"--prompts: {file} replaces nothing; texts are {', '.join(sorted(known))}")
        try:
            found[file.stem] = read_text(file).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"--prompts: {file} cannot be read as UTF-8 text: {error}") from None
    return found

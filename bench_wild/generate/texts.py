"""What dialogues are about and how models are asked: sequences of task types, tool lists, and the wording of every
prompt, ours or that of a folder that replaces it (docs/benchmarks/wild.md#generator)."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.text import read_text
from agentgauge.core.types import Json
from bench_wild.check import read_tool_lists
from bench_wild.data import FILES, load_sessions
from bench_wild.generate.transcript import TYPES, Group, Language, TaskType
from bench_wild.labels import ASK, PREPARE, PSEUDO

Tasks = tuple[TaskType, ...]
"""The types of a dialogue's tasks, in order."""

DEFAULT_LENGTH = 4
MAX_LENGTH = 8
"""4 ** 8 = 65,536 dialogues."""


def all_sequences(length: int) -> list[Tasks]:
    """Every sequence of that length: 4 ** length of them. The last task varies fastest."""
    return list(product(TYPES, repeat=length))


def name_of(sequence: Sequence[str]) -> str:
    """``ST-MT-CQ-CC``."""
    return "-".join(sequence)


def chosen_sequences(text: str | None, length: int | None) -> list[Tasks]:
    """The sequences that ``--sequences`` and ``--layer-num-total`` select together, in the order of ``all_sequences``,
    each once.

    Raises UsageProblem for an unknown type, and for sequences of another length.
    """
    if length is not None and not 1 <= length <= MAX_LENGTH:
        raise UsageProblem(f"--layer-num-total is {length}; give the number of tasks of a dialogue, 1 to {MAX_LENGTH}")
    if text is None:
        return all_sequences(length or DEFAULT_LENGTH)
    wanted = {_parsed(word.strip()) for word in text.split(",")}
    total = length or len(next(iter(wanted)))
    for sequence in sorted(wanted):
        if len(sequence) != total:
            whole = f"--layer-num-total is {total}" if length else "all of one run must be equally long"
            tasks = f"{len(sequence)} {'task' if len(sequence) == 1 else 'tasks'}"
            raise UsageProblem(f"--sequences: {name_of(sequence)} has {tasks}, and {whole}")
    return [sequence for sequence in all_sequences(total) if sequence in wanted]


def _parsed(word: str) -> Tasks:
    kinds: dict[str, TaskType] = {name: name for name in TYPES}
    types = word.upper().split("-")
    if len(types) > MAX_LENGTH or not all(kind in kinds for kind in types):
        accepted = f"write up to {MAX_LENGTH} of {', '.join(TYPES)} with dashes between them, such as ST-MT-CQ-CC"
        raise UsageProblem(f"--sequences: {word!r} is not a sequence of task types; {accepted}")
    return tuple(kinds[kind] for kind in types)


Tools = list[dict[str, Any]]

BUNDLED = Path(__file__).parents[1] / "mini" / FILES[0]


def tool_lists(file: Path | None, language: Language) -> list[Tools]:
    """The lists of a file, or those of the bundled sessions. Raises DataProblem for a file without a usable list."""
    lists = (
        list(read_tool_lists(file)) if file else [_plain(session.tools) for session in load_sessions(BUNDLED, language)]
    )
    if not lists:
        raise DataProblem(f"--tools: {file} holds no tool list; each line is a JSON list of tools")
    for number, tools in enumerate(lists, 1):
        names = {tool["function"]["name"] for tool in tools}
        if not names or names & PSEUDO:
            why = f"has a tool named {min(names & PSEUDO)}, a name that the generator needs" if names else "is empty"
            raise DataProblem(f"--tools: {file}, line {number} {why}; take the line out")
    return lists


def _plain(tools: Sequence[Any]) -> Tools:
    copy: Tools = json.loads(json.dumps(list(tools)))
    return copy


def digest_of(lists: Sequence[Tools]) -> str:
    """Short digest of tool lists, independent of their file's location."""
    return hashlib.sha256(json.dumps(list(lists), sort_keys=True).encode()).hexdigest()[:12]


def as_text(tools: Sequence[dict[str, Any]]) -> str:
    """Tools as a prompt shows them: one JSON object a line."""
    return "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)


def pseudo_tools(language: Language) -> Tools:
    """The two actions of a planner that are no tools, described as tools."""
    words = _WORDS[language]
    ask = {
        "tool_name": {"type": "string", "description": words["tool_name"]},
        "missing_required_parameters": {"type": "array", "items": {"type": "string"}, "description": words["missing"]},
    }
    answer = {"answer_type": {"type": "string", "enum": ["tool", "chat"], "description": words["answer_type"]}}
    return [_function(ASK, words["ask"], ask), _function(PREPARE, words["prepare"], answer)]


def _function(name: str, description: str, properties: Json) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


_WORDS = {
    "en": {
        "ask": "Ask the user for values of required parameters that the dialogue does not give.",
        "tool_name": "The tool whose required parameters lack values.",
        "missing": "The names of the required parameters without a value.",
        "prepare": "Nothing is left to call: the user gets an answer now.",
        "answer_type": "'tool' where the answer rests on tool results, 'chat' where no tool fits.",
    },
    "zh": {
        "ask": "对话里没有给出必填参数的值时，向用户询问。",
        "tool_name": "缺少必填参数值的工具的名称。",
        "missing": "没有值的必填参数的名称。",
        "prepare": "不再需要调用工具，现在可以回答用户。",
        "answer_type": "答案依据工具结果时为“tool”，没有合适的工具时为“chat”。",
    },
}


FOLDER = Path(__file__).parent / "prompts"

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

"""One dialogue while it is written: its messages, its random numbers, its models, and the requests that are kept (wild
spec 9.3)."""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from agentgauge.core.chat import Message
from bench_wild.generate.dialogue.dialogue import MARKS, ROLES, SWITCH, Language, Speaker, speaker
from bench_wild.generate.dialogue.texts import Texts
from bench_wild.generate.dialogue.toolset import Tools, as_text, pseudo_tools

Part = Literal["user", "planner", "tool", "agent", "checker"]
"""The role whose model gets a request."""

Ask = Callable[[Part, str, tuple[Message, ...]], Awaitable[str]]
"""(role, name of the model, messages) → the model's reply."""

_WEEKDAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}
_NOW = {"en": "Current Time", "zh": "当前时间"}
_SECONDS = 366 * 24 * 60 * 60  # of 2024


class DialogueError(Exception):
    """The dialogue cannot be finished: models wrote what the protocol does not allow."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause  # short and stable


@dataclass(frozen=True)
class KeptRequest:
    """One successful model request, without the messages that the transcript already holds."""

    task: str  # the agent's name
    prompt: str
    role: str  # of the prompt's message
    before: int  # messages of the transcript that were sent
    switch: str  # the switch message behind them; empty: none
    answer: str

    def messages(self, transcript: list[dict[str, str]]) -> list[dict[str, str]]:
        """The request's messages, out of the finished transcript."""
        last = [{"role": "user", "content": self.switch}] if self.switch else []
        return [{"role": self.role, "content": self.prompt}, *transcript[: self.before], *last]


@dataclass
class DialogueState:
    """The state of one dialogue. ``chance`` is its own random generator, so that dialogues do not depend on each
    other.
    """

    language: Language
    tools: Tools  # with the pseudo tools
    env_info: str
    texts: Texts
    cast: Mapping[Part, tuple[str, ...]]  # names of models; one is drawn where there are several
    ask_model: Ask
    chance: random.Random
    messages: list[dict[str, str]] = field(default_factory=list)
    kept: list[KeptRequest] = field(default_factory=list)
    _shown_tools: str = field(init=False)

    def __post_init__(self) -> None:
        self._shown_tools = as_text(self.tools[:-2])

    # -- what is said

    @property
    def last(self) -> Speaker | None:
        return speaker(self.messages[-1]["content"]) if self.messages else None

    def switch(self, to: Speaker) -> None:
        content = SWITCH[self.language] + ROLES[self.language][to]
        self.messages.append({"role": "user", "content": content})

    def drop_switch(self) -> None:
        self.messages.pop()

    def add_message(self, who: Speaker, content: str) -> None:
        """Store a message with the original's role: of the first task, of the tools and of switch messages it is
        ``user``, of all others ``assistant``, also of the user's later words."""
        role = "user" if who == "tool" or not self.messages else "assistant"
        self.messages.append({"role": role, "content": content})

    def add_user_message(self, text: str) -> None:
        """The user's message, with the mark of the language if the model did not write it. Raises DialogueError for an
        empty one."""
        if speaker(text) != "user":
            text = MARKS[self.language]["user"] + " " * (self.language == "en") + text
        if not re.sub(r"^\w+[:：]", "", text).strip():
            raise DialogueError("empty reply", "the user's message is empty")
        self.add_message("user", text)

    # -- who is asked

    async def ask(self, part: Part, prompt: str, *, role: str = "system") -> str:
        """The reply of a role's model to the prompt and the transcript, without a leading thought in tags."""
        names = self.cast[part]
        name = self.chance.choice(names) if len(names) > 1 else names[0]
        # many endpoints take no request without a user message
        first: Message = {"role": role if self.messages else "user", "content": prompt}
        reply = await self.ask_model(part, name, (first, *(dict(message) for message in self.messages)))
        _, end, answer = reply.partition("</think>")
        return answer.strip() if end and reply.lstrip().startswith("<think>") else reply.strip()

    def request(self, agent: str, prompt: str, answer: str, *, role: str = "system") -> KeptRequest:
        """A request that may be kept. Call this before the next message is added, because the last message must be the
        request's switch."""
        switch = self.messages[-1]["content"] if self.messages else ""
        return KeptRequest(agent, prompt, role if switch else "user", max(0, len(self.messages) - 1), switch, answer)

    def keep(self, agent: str, prompt: str, answer: str) -> None:
        """Keep a request. Call this before the next message is added."""
        self.kept.append(self.request(agent, prompt, answer))

    def slots(self, **more: str) -> dict[str, str]:
        """The values that every prompt may show."""
        return {"tools": self._shown_tools, "env_info": self.env_info, **more}


def new_state(
    lists: list[Tools],
    language: Language,
    texts: Texts,
    cast: Mapping[Part, tuple[str, ...]],
    ask: Ask,
    chance: random.Random,
) -> DialogueState:
    """A dialogue before its first message: tool list and time are drawn."""
    tools: list[dict[str, Any]] = [*chance.choice(lists), *pseudo_tools(language)]
    return DialogueState(language, tools, draw_time(language, chance), texts, cast, ask, chance)


def draw_time(language: Language, chance: random.Random) -> str:
    """A random second of 2024 with its weekday, after a label with a full-width colon (wild spec 9.3)."""
    moment = datetime(2024, 1, 1) + timedelta(seconds=chance.randrange(_SECONDS))
    return f"{_NOW[language]}：{moment:%Y-%m-%d %H:%M:%S} {_WEEKDAYS[language][moment.weekday()]}"

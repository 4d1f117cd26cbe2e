"""One dialogue while it is written: its state, and the speakers in their order (docs/benchmarks/wild.md#generator).

The planner decides the next calls, and a checker checks each plan; the user writes tasks and answers questions; the
agent speaks; a simulator answers calls. Three refused plans or results end the dialogue."""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from agentgauge.core.chat import Message
from bench_wild.generate.checker import PlanVerdict, check_plan, needs_judge, read_judgement, required
from bench_wild.generate.texts import CONTINUE, FIRST_TASKS, KINDS, Texts, Tools, as_text, pseudo_tools
from bench_wild.generate.transcript import (
    MARKS,
    ROLES,
    SWITCH,
    DialogueError,
    GeneratedDialogue,
    GeneratedTurn,
    Language,
    Speaker,
    TaskType,
    fence,
    fenced_json,
    speaker,
    strict_json,
)
from bench_wild.labels import ASK, PREPARE

ModelRole = Literal["user", "planner", "tool", "agent", "checker"]
"""The role whose model gets a request."""

Ask = Callable[[ModelRole, str, tuple[Message, ...]], Awaitable[str]]
"""(role, name of the model, messages) → the model's reply."""

_WEEKDAYS = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "zh": ("星期一", "星期二", "星期三", "星期四", "星期五", "星期六", "星期日"),
}
_NOW = {"en": "Current Time", "zh": "当前时间"}
_SECONDS = 366 * 24 * 60 * 60  # of 2024


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
    cast: Mapping[ModelRole, tuple[str, ...]]  # names of models; one is drawn where there are several
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

    async def ask(self, part: ModelRole, prompt: str, *, role: str = "system") -> str:
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
    cast: Mapping[ModelRole, tuple[str, ...]],
    ask: Ask,
    chance: random.Random,
) -> DialogueState:
    """A dialogue before its first message: tool list and time are drawn."""
    tools: list[dict[str, Any]] = [*chance.choice(lists), *pseudo_tools(language)]
    return DialogueState(language, tools, draw_time(language, chance), texts, cast, ask, chance)


def draw_time(language: Language, chance: random.Random) -> str:
    """A random second of 2024 with its weekday, after a label with a full-width colon
    (docs/benchmarks/wild.md#state)."""
    moment = datetime(2024, 1, 1) + timedelta(seconds=chance.randrange(_SECONDS))
    return f"{_NOW[language]}：{moment:%Y-%m-%d %H:%M:%S} {_WEEKDAYS[language][moment.weekday()]}"


ANSWERS = 0.75
"""The share of questions that the user answers; the user evades the others."""

_DESCRIPTION = ("description", "Task Description", "task", "任务描述", "任务", "描述")
"""Where a task of several tools keeps its text, in the order in which they are looked for."""


async def first_task(state: DialogueState, wanted: TaskType) -> None:
    """The first task of a dialogue. Raises DialogueError where the reply holds none."""
    agents = FIRST_TASKS[wanted]
    agent = state.chance.choice(agents) if len(agents) > 1 else agents[0]
    more = {}
    if agent == "user_single_tool":
        more["tool"] = as_text([state.chance.choice(state.tools[:-2])])
    elif agent == "user_ask":  # where nothing is required, nothing can be missing
        more["tool"] = as_text(
            [state.chance.choice([tool for tool in state.tools[:-2] if required(tool["function"])] or state.tools[:-2])]
        )
    prompt = state.texts.prompt(agent, state.slots(**more))
    reply = await state.ask("user", prompt)
    task = state.chance.choice(_tasks(agent, reply))
    state.keep(agent, prompt, reply)
    state.add_user_message(task)


def _tasks(agent: str, reply: str) -> list[str]:
    """The tasks of ``{"Task 1": ..., "Task 2": ...}``: texts, or objects with a description whose plan is not kept."""
    found = fenced_json(reply)
    if not isinstance(found, Mapping):
        raise DialogueError("no tasks", f"{agent} wrote no JSON object of tasks: {reply[:80]!r}")
    tasks = [text for value in found.values() if (text := _text(value))]
    if not tasks:
        raise DialogueError("no tasks", f"{agent} wrote an object without a task: {reply[:80]!r}")
    return tasks


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in _DESCRIPTION if key in value), None)
    return value.strip() if isinstance(value, str) else ""


async def follow_up(state: DialogueState, wanted: TaskType) -> str:
    """A further task after a solved one, introduced by a switch message. Returns the variant, drawn out of the 22."""
    kind = state.chance.choice(list(KINDS))
    await _speak(state, CONTINUE, state.texts.follow_up(kind, wanted, state.slots()))
    return kind


async def reply_to_question(state: DialogueState) -> None:
    """A reply to a question: in three of four cases everything that the agent asked for, else something vague."""
    agent = "user_answer_ask" if state.chance.random() < ANSWERS else "user_vague_answer_ask"
    await _speak(state, agent, state.texts.prompt(agent, state.slots()))


async def _speak(state: DialogueState, agent: str, prompt: str) -> None:
    state.switch("user")
    reply = await state.ask("user", prompt)
    state.keep(agent, prompt, reply)
    state.add_user_message(re.sub(r"^```\w*\n(.*)\n```$", r"\1", reply, flags=re.DOTALL))


PLAN_ATTEMPTS = 3
JUDGEMENTS = 5
"""A judgement that speaks of the ask action is asked for again, so many times at most."""


async def plan(state: DialogueState) -> list[dict[str, Any]]:
    """The accepted list of actions, ``{"name", "arguments", ...}``. Raises DialogueError when three plans were
    refused."""
    after_tool = state.last == "tool"
    prompt = state.texts.prompt("planner", state.slots())
    verdict = PlanVerdict()
    for _ in range(PLAN_ATTEMPTS):
        state.switch("planner")
        reply = await state.ask("planner", prompt, role="user")
        request = state.request("planner", prompt, reply, role="user")
        state.add_message("planner", reply)
        state.switch("checker_planner")
        verdict = check_plan(reply, state.tools, after_tool=after_tool)
        if verdict.accepted and needs_judge(reply):
            verdict = await _judge(state, verdict)
        if verdict.accepted:
            state.drop_switch()
            state.kept.append(request)  # behind its judgement
            actions: list[dict[str, Any]] = strict_json(reply)["Action_List"]
            return actions
        state.add_message("checker_planner", f"{MARKS[state.language]['checker_planner']}\n{fence(verdict.to_json())}")
    raise DialogueError(
        "plan refused", f"{PLAN_ATTEMPTS} plans in a row were refused, the last because {verdict.why()}"
    )


async def _judge(state: DialogueState, verdict: PlanVerdict) -> PlanVerdict:
    """What a model says about calling in parallel or one after the other."""
    prompt = state.texts.prompt("checker_planner", state.slots())
    for _ in range(JUDGEMENTS):
        reply = await state.ask("checker", prompt)
        if ASK not in reply:
            break
    else:
        raise DialogueError("no judgement", f"{JUDGEMENTS} judgements in a row mentioned {ASK}")
    judged = read_judgement(reply)
    if judged is None:
        raise DialogueError(
            "no judgement", f"the checker wrote no JSON with tool_call_analysis and correct: {reply[:80]!r}"
        )
    state.keep("checker_planner", prompt, reply)
    return verdict.with_judgement(*judged)


_FENCE = re.compile(r"```(?:markdown|md)?[ \t]*\n(.*?)\n?```", re.DOTALL | re.IGNORECASE)


async def speak(state: DialogueState, agent: Literal["agent_ask", "agent_answer", "agent_answer_chat"]) -> None:
    """A question, a summary of results, or an answer out of its own knowledge.

    The text stays as it was written, but for a Markdown fence around it: one that does not begin with the agent's mark
    is not recognised afterwards. Raises DialogueError for an empty one.
    """
    state.switch("agent")
    prompt = state.texts.prompt(agent, state.slots())
    reply = await state.ask("agent", prompt)
    text = without_fence(reply)
    if not text:
        raise DialogueError("empty reply", f"{agent} wrote nothing")
    state.keep(agent, prompt, text)
    state.add_message("agent", text)


def without_fence(text: str) -> str:
    """A text without the Markdown fence around all of it, or around everything after its mark. Fences inside stay."""
    mark = re.match(r"\s*Agent(?: Assistant|助手)?\s*[:：]\s*", text)
    body = text[mark.end() :] if mark else text
    whole = _FENCE.fullmatch(body.strip())
    if whole is None or "```" in whole[1]:
        return text.strip()
    inner = whole[1].strip()
    return f"{mark[0].strip()} {inner}" if mark else inner


RESULT_ATTEMPTS = 3


async def simulate(state: DialogueState, actions: list[dict[str, Any]]) -> None:
    """Results for all actions of a list. Raises DialogueError when three replies were refused."""
    prompt = state.texts.prompt("tool", state.slots())
    problem = ""
    for _ in range(RESULT_ATTEMPTS):
        state.switch("tool")
        reply = await state.ask("tool", prompt)
        problem = check_results(reply, len(actions))
        if not problem:
            state.keep("tool", prompt, reply)
        state.add_message("tool", reply)
        if not problem:
            return
        state.switch("checker_tool")
        verdict = {"format_analysis": problem, "correct": "no"}
        state.add_message("checker_tool", f"{MARKS[state.language]['checker_tool']}\n{fence(verdict)}")
    raise DialogueError(
        "results refused", f"{RESULT_ATTEMPTS} tool results in a row were refused, the last because {problem}"
    )


def check_results(reply: str, actions: int) -> str:
    """Why the simulated results cannot be accepted; empty if they can."""
    found = strict_json(reply)
    observations = found.get("Observation_List") if isinstance(found, dict) else None
    if not isinstance(observations, list):
        return "there is no ```json fence whose object has an Observation_List"
    if len(observations) != actions:
        return f"there are {len(observations)} observations for {actions} actions"
    return ""


ROUNDS = 100
"""At most so many rounds in a task: a plan is one, what is done by it another. A task that is not done then stays
unfinished."""


async def play(state: DialogueState, sequence: Sequence[TaskType], seed: int) -> GeneratedDialogue:
    """A whole dialogue. Raises DialogueError, and the Fault of an endpoint."""
    turns: list[GeneratedTurn] = []
    for number, wanted in enumerate(sequence):
        start, kind = len(state.messages), "first"
        if number == 0:
            await first_task(state, wanted)
        else:
            kind = await follow_up(state, wanted)
        await _solve(state)
        turns.append(GeneratedTurn(wanted, kind, KINDS.get(kind, "first"), start, len(state.messages)))
    return GeneratedDialogue(
        tuple(sequence), state.language, seed, state.tools, state.env_info, state.messages, tuple(turns)
    )


async def _solve(state: DialogueState) -> None:
    """One task, from the user's words to the answer. A message whose speaker is not recognised ends it, as in the
    original."""
    planned: list[dict[str, Any]] = []
    for _ in range(ROUNDS):
        last = state.last
        actions, planned = planned, []
        if last in ("user", "tool", "checker_tool"):
            planned = await plan(state)
        elif last == "agent":
            await reply_to_question(state)
        elif last != "planner" or not actions:
            return
        elif actions[0]["name"] == ASK:
            await speak(state, "agent_ask")
        elif actions[0]["name"] == PREPARE:
            kind = actions[0]["arguments"]["answer_type"]
            await speak(state, "agent_answer" if kind == "tool" else "agent_answer_chat")
            return
        else:
            await simulate(state, actions)

"""One dialogue: the order of the speakers, the files as both releases write them, and whatever words models write."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bench_wild.generate.folder import ENDINGS, Ledger, write_outputs
from bench_wild.generate.records import record_of, write_records
from bench_wild.generate.texts import KINDS
from bench_wild.generate.transcript import (
    DIALOGUES,
    MARKS,
    SWITCH,
    TYPES,
    DialogueError,
    GeneratedDialogue,
    Language,
    fence,
    is_switch,
    kept_messages,
    speaker,
    without_mark,
)
from bench_wild.labels import ASK, PREPARE
from tests.costly import COSTLY
from tests.wild.generate import talks
from tests.wild.generate.stage import ASKS, CALL, CHAT, DONE, Stage, judge, plan, result, tasks

ANSWERED = "Agent: 4 metres."
BAD = plan({"name": "getMoon", "arguments": {}})


def speakers(dialogue: Any) -> list[str]:
    return [
        "switch" if is_switch(message["content"]) else str(speaker(message["content"])) for message in dialogue.messages
    ]


def seed_of(agent: str) -> int:
    """A seed with which the user's first reply to a question is of that kind."""
    for seed in range(20):
        stage = Stage([tasks(), plan(ASKS), "Agent: Where?", "User: Brest", plan(CHAT), "Agent: Bye."], seed=seed)
        stage.play("CQ")
        if agent in stage.agents:
            return seed
    raise AssertionError(f"{agent} never came")


def test_one_call_goes_from_user_to_planner_to_tool_to_planner_to_agent() -> None:
    stage = Stage([tasks(), plan(CALL), result(), plan(DONE), ANSWERED])
    dialogue = stage.play("ST")
    assert speakers(dialogue) == ["user", "switch", "planner", "switch", "tool", "switch", "planner", "switch", "agent"]
    assert stage.agents == ["user_single_tool", "planner", "tool", "planner", "agent_answer"]
    (turn,) = dialogue.turns
    assert (turn.type, turn.kind, turn.group, turn.start, turn.end) == ("ST", "first", "first", 0, 9)


def test_every_request_is_a_prompt_the_whole_transcript_and_a_switch() -> None:
    stage = Stage([tasks(), plan(CALL), result(), plan(DONE), ANSWERED])
    dialogue = stage.play("ST")
    assert [[message["role"] for message in messages][:1] for _, _, messages in stage.asked] == [
        ["user"], ["user"], ["system"], ["user"], ["system"]
    ]  # fmt: skip
    _, _, last = stage.asked[-1]
    assert last[1:] == dialogue.messages[:-1]
    assert last[-1] == {"role": "user", "content": "Switch to the role of Agent"}
    assert all("getTide" in stage.asked[number][2][0]["content"] for number in range(4))
    assert all(dialogue.env_info in messages[0]["content"] for _, _, messages in stage.asked)
    assert ASK not in stage.asked[0][2][0]["content"], "the user is not shown the pseudo tools"


def test_small_talk_is_answered_out_of_the_agents_own_knowledge() -> None:
    stage = Stage([tasks(), plan(CHAT), "Agent: The sea is big."])
    assert speakers(stage.play("CC")) == ["user", "switch", "planner", "switch", "agent"]
    assert stage.agents[-1] == "agent_answer_chat"


@pytest.mark.parametrize("agent", ["user_answer_ask", "user_vague_answer_ask"])
def test_a_question_is_answered_or_evaded_and_then_planned_again(agent: str) -> None:
    stage = Stage(
        [tasks(), plan(ASKS), "Agent: Where?", "User: Brest", plan(CALL), result(), plan(DONE), ANSWERED],
        seed=seed_of(agent),
    )
    dialogue = stage.play("CQ")
    assert stage.agents[2:4] == ["agent_ask", agent]
    assert [who for who in speakers(dialogue) if who != "switch"] == [
        "user", "planner", "agent", "user", "planner", "tool", "planner", "agent"
    ]  # fmt: skip


def test_three_of_four_questions_are_answered() -> None:
    drawn: Counter[str] = Counter()
    for seed in range(400):
        stage = Stage([tasks(), plan(ASKS), "Agent: Where?", "User: Brest", plan(CHAT), "Agent: Bye."], seed=seed)
        stage.play("CQ")
        drawn[stage.agents[3]] += 1
    assert 270 <= drawn["user_answer_ask"] <= 330 and drawn.total() == 400


def test_a_refused_plan_stays_in_the_raw_transcript_with_the_checkers_words_and_leaves_the_clean_one() -> None:
    stage = Stage([tasks(), BAD, plan(CALL), result(), plan(DONE), ANSWERED])
    dialogue = stage.play("ST")
    assert speakers(dialogue)[:6] == ["user", "switch", "planner", "switch", "checker_planner", "switch"]
    assert "there is no tool getMoon" in dialogue.messages[4]["content"]
    assert dialogue.messages[4]["content"] in [message["content"] for message in stage.asked[2][2]], (
        "the planner reads why"
    )
    kept, ranges = kept_messages(dialogue)
    assert [speaker(message["content"]) for message in kept] == ["user", "planner", "tool", "planner", "agent"]
    assert ranges == [(0, 5)] and not any("getMoon" in message["content"] for message in kept)
    assert [request.task for request in stage.state.kept] == [
        "user_single_tool",
        "planner",
        "tool",
        "planner",
        "agent_answer",
    ]


@pytest.mark.parametrize(
    "mark",
    [
        "Checker_Planner: " + fence(["no"]),
        "Checker_Tool: " + fence(["no"]),
        "Switch to the role of User",
        "User: hm",
    ],
)
def test_a_refused_plan_takes_only_itself_along_whosever_mark_it_begins_with(mark: str) -> None:
    kept, ranges = kept_messages(
        Stage([tasks(), mark, mark, plan(CALL), mark, result(), plan(DONE), ANSWERED]).play("ST")
    )
    assert [speaker(message["content"]) for message in kept] == ["user", "planner", "tool", "planner", "agent"]
    assert ranges == [(0, 5)]


@pytest.mark.parametrize("text", ["Switch to the role of User", "Checker_Tool: no", "切换角色为用户", "hm"])
def test_a_refused_result_takes_only_itself_along_whatever_it_is(text: str) -> None:
    dialogue = Stage([tasks(), plan(CALL), text, text, result(), plan(DONE), ANSWERED]).play("ST")
    kept, _ = kept_messages(dialogue)
    assert [speaker(message["content"]) for message in kept] == ["user", "planner", "tool", "planner", "agent"]


def test_a_refused_result_stays_in_the_raw_transcript_only() -> None:
    stage = Stage([tasks(), plan(CALL), result(2), result(), plan(DONE), ANSWERED])
    dialogue = stage.play("ST")
    assert speakers(dialogue)[3:9] == ["switch", "tool", "switch", "checker_tool", "switch", "tool"]
    assert "2 observations for 1 actions" in dialogue.messages[6]["content"]
    assert [speaker(message["content"]) for message in kept_messages(dialogue)[0]] == [
        "user",
        "planner",
        "tool",
        "planner",
        "agent",
    ]


@pytest.mark.parametrize(
    ("replies", "cause", "words"),
    [
        (
            [tasks(), BAD, "Planner: hm", plan()],
            "plan refused", "3 plans in a row were refused, the last because Action_List is empty"
        ),
        ([tasks(), plan(CALL), result(0), "Tool: hm", result(2)], "results refused", "2 observations for 1 actions"),
        ([tasks(), *[plan(CALL, CALL), judge("no")] * 3], "plan refused", "they wait for each other"),
        ([tasks(), plan(CALL, CALL), "looks good"], "no judgement", "looks good"),
        ([tasks(), plan(CALL, CALL), *[f"It should {ASK}."] * 5], "no judgement", "5 judgements in a row"),
        (["I cannot."], "no tasks", "I cannot."),
        (["```json\n{\"Task 1\": }\n```"], "no tasks", "wrote no JSON object"),
        (["```json\n{\"Task 1\": 5}\n```"], "no tasks", "without a task"),
        ([tasks(), plan(CHAT).replace('"Thought"', '"Mood"')], "incomplete plan", "without Thought"),
        ([tasks(), plan(CHAT).replace('"Plan"', '"Mood"')], "incomplete plan", "without Plan"),
        ([tasks(), plan(CHAT), ""], "empty reply", "agent_answer_chat wrote nothing"),
        ([tasks(), plan(ASKS), "Agent: Where?", "User:"], "empty reply", "the user's message is empty"),
    ],
)  # fmt: skip
def test_what_fails_the_dialogue(replies: list[str], cause: str, words: str) -> None:
    stage = Stage(replies)
    with pytest.raises(DialogueError) as failure:
        stage.play("ST")
    assert failure.value.cause == cause and words in str(failure.value)
    assert not stage.replies


def test_the_judge_decides_about_several_actions_and_is_asked_again_while_it_speaks_of_asking() -> None:
    both = plan(CALL, {"name": "getTide", "arguments": {"port": "Roscoff"}})
    stage = Stage(
        [tasks(), both, judge("no"), both, f"Better {ASK}.", judge("yes"), result(2), plan(DONE), ANSWERED], seed=1
    )
    dialogue = stage.play("ST")
    assert [part for part in stage.parts if part != "planner"] == [
        "user",
        "checker",
        "checker",
        "checker",
        "tool",
        "agent",
    ]
    assert "they wait for each other" in next(
        text["content"] for text in dialogue.messages if speaker(text["content"]) == "checker_planner"
    )
    kept = [request.task for request in stage.state.kept]
    assert kept == [kept[0], "checker_planner", "checker_planner", "planner", "tool", "planner", "agent_answer"]


def test_three_refusals_are_counted_for_each_plan_anew() -> None:
    stage = Stage([tasks(), BAD, BAD, plan(CALL), result(), BAD, BAD, plan(DONE), ANSWERED])
    assert speakers(stage.play("ST")).count("checker_planner") == 4


@pytest.mark.parametrize("mark", ["Tool:", "Tool："])
def test_small_talk_behind_a_result_is_refused_whichever_colon_the_tool_wrote(mark: str) -> None:
    stage = Stage([tasks(), plan(CALL), result().replace("Tool:", mark), plan(CHAT), plan(DONE), ANSWERED])
    assert "right after a tool's result" in next(
        text["content"] for text in stage.play("ST").messages if speaker(text["content"]) == "checker_planner"
    )


@pytest.mark.parametrize(
    "replies",
    [
        [fence({"Thought": "", "Plan": "", "Action_List": [CALL]})],
        [plan(CALL), fence({"Observation_List": [1]})],
        [plan(ASKS), "Where, please?"],
    ],
)
def test_a_plan_result_or_question_without_its_mark_leaves_the_task_silently(replies: list[str]) -> None:
    stage = Stage([tasks(), *replies, "User: tell me about the sea", plan(CHAT), "Agent: It is big."])
    dialogue = stage.play("CQ", "CC")
    first, second = dialogue.turns
    assert first.end == second.start == 1 + 2 * len(replies)
    assert dialogue.messages[first.end - 1]["content"] == replies[-1]


@pytest.mark.parametrize("mark", ["Agent:", "Agent Assistant:", "Agent助手："])
def test_the_agent_is_known_by_each_name_that_the_originals_prompts_give_it(mark: str) -> None:
    stage = Stage([tasks(), plan(ASKS), f"{mark} Where?", "User: Brest", plan(CHAT), f"{mark} Bye."])
    kept, _ = kept_messages(stage.play("CQ"))
    assert [(speaker(text), without_mark(text)) for text in (kept[2]["content"], kept[-1]["content"])] == [
        ("agent", "Where?"), ("agent", "Bye.")
    ]  # fmt: skip


def test_a_task_without_an_end_is_left_after_a_hundred_rounds_of_plans_and_of_results() -> None:
    stage = Stage([tasks(), *[plan(CALL), result()] * 50])
    dialogue = stage.play("ST")
    assert speakers(dialogue).count("tool") == 50


def test_a_later_task_begins_with_a_switch_and_is_one_of_the_22_variants() -> None:
    seen = set()
    for seed in range(200):
        stage = Stage([tasks(), plan(CHAT), "Agent: Yes.", "And Roscoff?", plan(CHAT), "Agent: Yes."], seed=seed)
        dialogue = stage.play("CC", "ST")
        _, turn = dialogue.turns
        assert speakers(dialogue)[turn.start :][:2] == ["switch", "user"]
        assert dialogue.messages[turn.start + 1] == {"role": "assistant", "content": "User: And Roscoff?"}
        assert KINDS[turn.kind] == turn.group
        variant = stage.texts.follow_ups[turn.kind]
        prompt = stage.asked[3][2][0]["content"]
        assert variant.what in prompt and variant.example in prompt and stage.texts.wanted["ST"] in prompt
        seen.add(turn.kind)
    assert seen == set(KINDS) and len(seen) == 22


@pytest.mark.parametrize("key", ["Task Description", "任务描述", "description"])
def test_a_task_of_several_tools_is_read_with_the_originals_prompts_too(key: str) -> None:
    written = fence({"Task 1": {"Task Difficulty": "hard", key: "both tides?", "Overall Plan": "think"}})
    dialogue = Stage([written, plan(CHAT), "Agent: Yes."]).play("MT")
    assert dialogue.messages[0]["content"] == "User: both tides?"


def test_several_tools_are_wanted_serially_in_parallel_or_both() -> None:
    seen = set()
    for seed in range(30):
        stage = Stage([tasks(), plan(CHAT), "Agent: Yes."], seed=seed)
        stage.play("MT")
        seen.add(stage.agents[0])
    assert seen == {"user_multi_tool", "user_multi_tool_parallel", "user_multi_tool_serial_parallel"}


def test_one_of_several_user_models_is_drawn_for_each_use_and_one_name_is_one_model() -> None:
    seen: Counter[str] = Counter()
    for seed in range(60):
        stage = Stage(
            [tasks(), plan(CHAT), "Agent: Yes.", "User: And?", plan(CHAT), "Agent: Yes."], seed=seed, users=("u", "v")
        )
        stage.play("CC", "CC")
        seen.update(name for part, name, _ in stage.asked if part == "user")
    assert set(seen) == {"u", "v"} and min(seen.values()) > 40


BAD_PLAN = plan({"name": "getMoon", "arguments": {}})

ROLES = {
    "first task": "user",
    "switch": "user",
    "planner": "assistant",
    "checker_planner": "assistant",
    "tool": "user",
    "checker_tool": "assistant",
    "agent": "assistant",
    "user": "assistant",  # replies and follow-up tasks
}


def everything(language: Language = "en", **how: Any) -> Stage:
    """A stage with a dialogue in which everybody speaks, and each checker refuses once."""
    return Stage(
        [
            *(
                tasks(),
                plan(ASKS),
                "Agent: Where?",
                "User: Brest",
                BAD_PLAN,
                plan(CALL),
                result(0),
                result(),
                plan(DONE),
            ),
            *("Agent: 4 metres.", "User: And Roscoff?", plan(CALL, CALL), judge("no"), plan(CALL, CALL), judge("yes")),
            *(result(2), plan(DONE), "Agent: 5 metres."),
        ],
        language=language,
        **how,
    )


@pytest.mark.parametrize(("language", "begins"), [("en", "Switch"), ("zh", "切换角色为")])
def test_tools_are_stored_as_user_and_all_words_after_the_first_task_as_assistant(
    language: Language, begins: str
) -> None:
    dialogue = everything(language).play("CQ", "MT")
    seen = set()
    for place, message in enumerate(dialogue.messages):
        content = message["content"]
        who = "first task" if place == 0 else "switch" if content.startswith(begins) else str(speaker(content))
        assert message["role"] == ROLES[who]
        assert (who == "switch") is (place % 2 == 1)
        seen.add(who)
    assert seen == set(ROLES)
    kept, _ = kept_messages(dialogue)
    assert [message["role"] for message in kept] == [
        *("user", "assistant", "assistant", "assistant", "assistant", "user", "assistant", "assistant"),
        *("assistant", "assistant", "user", "assistant", "assistant"),
    ]


@pytest.mark.parametrize(("language", "label"), [("en", "Current Time："), ("zh", "当前时间：")])
def test_time_and_checkers_have_a_full_width_colon_in_either_language(language: Language, label: str) -> None:
    dialogue = everything(language).play("CQ", "MT")
    assert dialogue.env_info.startswith(f"{label}2024-")
    checkers = [message["content"] for message in dialogue.messages if message["content"].startswith("Checker")]
    assert [text.partition("\n")[0] for text in checkers] == [
        "Checker_Planner：",
        "Checker_Tool：",
        "Checker_Planner：",
    ]


def test_the_first_task_has_no_time_and_the_judge_comes_before_the_plan_that_it_accepts(tmp_path: Path) -> None:
    rows = requests(everything(), tmp_path, "CQ", "MT")
    assert [(row["task"], row["env_info"] is None) for row in rows[:3]] == [
        ("user_ask", True),
        ("planner", False),
        ("agent_ask", False),
    ]
    assert rows[3]["task"] in ("user_answer_ask", "user_vague_answer_ask")
    assert [row["task"] for row in rows[4:]] == [
        *("planner", "tool", "planner", "agent_answer", "user_continue_question"),
        *("llm_parallel_checker", "llm_parallel_checker", "planner", "tool", "planner", "agent_answer"),
    ]
    assert list(rows[0]) == ["task", "tools", "env_info", "messages", "answer"]
    assert [row["messages"][0]["role"] for row in rows[:3]] == ["user", "user", "system"]
    judged, planned = rows[10:12]
    assert judged["messages"][:-3] == [judged["messages"][0], *planned["messages"][1:-1]]
    assert (judged["messages"][-2]["content"], judged["answer"]) == (planned["answer"], judge("yes"))


def test_small_talk_is_stored_as_user_ask_without_the_pseudo_tools(tmp_path: Path) -> None:
    first, *others = requests(Stage([tasks(), plan(CHAT), "```markdown\nAgent: Yes.\n```"]), tmp_path, "CC")
    assert first["task"] == "user_ask"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["getTide"]
    assert [len(row["tools"]) for row in others] == [3, 3]
    assert others[-1]["answer"] == "Agent: Yes."


def requests(stage: Stage, folder: Path, *sequence: Any) -> list[dict[str, Any]]:
    dialogue = stage.play(*sequence)
    Ledger(folder).add(dialogue, stage.state.kept)
    file = write_outputs(folder, "now", Ledger(folder))[2]
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


# -- dialogues of earlier versions

OLD: dict[Language, str] = {"en": "Now switch the role to ", "zh": "现在切换角色为"}


def in_the_old_form(dialogue: GeneratedDialogue) -> GeneratedDialogue:
    """Everybody but the user was ``assistant``, switches began otherwise, and a plan needed no fence."""
    messages = []
    for message in dialogue.messages:
        content = message["content"].replace(SWITCH[dialogue.language], OLD[dialogue.language])
        if speaker(content) == "planner":
            content = content.replace("```json\n", "").removesuffix("\n```")
        mine = content.startswith(OLD[dialogue.language]) or speaker(content) == "user"
        messages.append({"role": "user" if mine else "assistant", "content": content})
    return replace(dialogue, messages=messages)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_dialogue_of_an_earlier_version_gives_the_same_record(language: Language) -> None:
    new = talks.dialogue(talks.clarify(rejected=True), talks.mixed(), talks.chat(), talks.parallel(), language=language)
    old = in_the_old_form(new)
    assert old.messages != new.messages
    assert kept_messages(old)[1] == kept_messages(new)[1]
    assert record_of(old, 3) == record_of(new, 3)


def test_a_folder_of_an_earlier_version_is_continued_and_keeps_its_dialogues(tmp_path: Path) -> None:
    sound = talks.clarify(), talks.mixed(), talks.chat(), talks.parallel()
    old = in_the_old_form(talks.dialogue(*sound))
    new = talks.dialogue(talks.single(), *sound[1:])
    Ledger(tmp_path).add(old, [])
    before = (tmp_path / DIALOGUES).read_bytes()
    Ledger(tmp_path).add(new, [])
    write_outputs(tmp_path, "now", Ledger(tmp_path))
    assert before in (tmp_path / DIALOGUES).read_bytes()
    origin = (tmp_path / f"now{ENDINGS[0]}").read_text("utf-8").splitlines()
    assert [json.loads(line)["messages"] for line in origin] == [new.messages, old.messages]
    made = write_records(tmp_path)
    assert (made.sessions, made.left_out) == (2, ())


ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    "",
    "tool",
    ["port"],
    {"port": ["port"]},
    7,
    True,
    "getTide",
    ASK,
    PREPARE,
    1e999,
    "\u2028|`<b>",
)

SOUND = {
    "user": (tasks(), "User: the tide at Brest?", "User: Brest"),
    "planner": (plan(CALL), plan(CALL, CALL), plan(ASKS), plan(DONE), plan(CHAT)),
    "tool": (result(), result(2)),
    "agent": ("Agent: 4 metres.", "```markdown\nAgent: Where?\n```"),
    "checker": (judge("yes"), judge("no")),
}


@some.composite
def actions(draw: some.DrawFn) -> Any:
    odd = some.sampled_from(ODD)
    name = draw(some.sampled_from(["getTide", ASK, PREPARE]) | odd)
    keys = some.sampled_from(["port", "tool_name", "missing_required_parameters", "answer_type"])
    return draw(some.just({"name": name, "arguments": draw(some.dictionaries(keys, odd, max_size=3) | odd)}) | odd)


WORDS = (
    some.builds(lambda listed: plan(*listed), some.lists(actions(), max_size=3))
    | some.builds(
        lambda listed: "Tool: " + fence({"Observation_List": listed}), some.lists(some.sampled_from(ODD), max_size=2)
    )
    | some.builds(lambda found: fence({"Task 1": found}), some.sampled_from(ODD))
    | some.builds(
        lambda mark, text: f"{mark} {text}",
        some.sampled_from([*MARKS["en"].values(), *MARKS["zh"].values(), *SWITCH.values(), "<think>", "```", ""]),
        some.sampled_from(
            ["", "hm", fence({"correct": "no"}), fence({"correct": "yes"}), fence(7), "</think>", "\x00\ud800"]
        ),
    )
)


class AnyWords(Stage):
    """At times what is not wanted; else what can be."""

    def __init__(self, odd: list[str], seed: int) -> None:
        super().__init__([], seed=seed)
        self._odd, self._chance = odd, random.Random(seed)

    async def _ask(self, part: str, name: str, messages: Any) -> str:
        if self._odd and self._chance.random() < 0.3:
            return self._odd.pop()
        return self._chance.choice(SOUND[part])


@pytest.mark.slow
@given(odd=some.lists(WORDS, max_size=12), seed=some.integers(0, 10_000))
@COSTLY
def test_any_words_end_or_fail_a_dialogue_and_nothing_else(tmp_path_factory: Any, odd: list[str], seed: int) -> None:
    stage = AnyWords(odd, seed)
    try:
        dialogue = stage.play(*TYPES)
    except DialogueError:
        return
    out: Path = tmp_path_factory.mktemp("out")
    Ledger(out).add(dialogue, stage.state.kept)
    write_outputs(out, "now", Ledger(out))
    (clean,) = map(
        json.loads, (out / f"now{ENDINGS[1]}").read_bytes().splitlines()
    )  # of a text, U+2028 ends a line too
    said = sum(speaker(message["content"]) == "user" for message in clean["messages"])
    assert said >= len(TYPES), "no word of the user is lost"
    made = write_records(out)
    assert made.sessions + len(made.left_out) == 1
    assert (out / DIALOGUES).is_file()

"""The generator's files as both releases of WildToolBench write them: roles, names and order, as literals; and the form
of earlier versions, which stays readable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench_wild.generate.folder import ENDINGS, Ledger, write_outputs
from bench_wild.generate.records import record_of, write_records
from bench_wild.generate.transcript import DIALOGUES, SWITCH, GeneratedDialogue, Language, kept_messages, speaker
from tests.wild.generate import talks
from tests.wild.generate.stage import ASKS, CALL, CHAT, DONE, Stage, judge, plan, result, tasks

BAD = plan({"name": "getMoon", "arguments": {}})

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
            *(tasks(), plan(ASKS), "Agent: Where?", "User: Brest", BAD, plan(CALL), result(0), result(), plan(DONE)),
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

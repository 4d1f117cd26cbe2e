"""Marks, texts, times, tool lists and sequences of the generator; and the original's defects in them, which are
mended."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentgauge.core.errors import DataProblem, UsageProblem
from bench_wild.generate.command import main
from bench_wild.generate.play import draw_time, without_fence
from bench_wild.generate.texts import (
    CONTINUE,
    KINDS,
    PROMPTS,
    SLOTS,
    all_sequences,
    chosen_sequences,
    load_texts,
    name_of,
    pseudo_tools,
    tool_lists,
)
from bench_wild.generate.transcript import (
    LANGUAGES,
    MARKS,
    SWITCH,
    TYPES,
    GeneratedDialogue,
    GeneratedTurn,
    fence,
    fenced_json,
    is_switch,
    kept_messages,
    read_dialogues,
    speaker,
    strict_json,
    without_mark,
)
from tests.wild.generate.player import PlayerModel
from tests.wild.generate.stage import ASKS, CALL, CHAT, DONE, TIDE, Stage, judge, plan, result, tasks

# -- messages

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@pytest.mark.parametrize(
    ("content", "who", "said"),
    [
        ("User: hello: you", "user", "hello: you"),
        ("用户：你好", "user", "你好"),
        ("用户: 你好", "user", "你好"),
        ("Planner:\n{}", "planner", "{}"),
        ("Checker_Planner：{}", "checker_planner", "{}"),
        ("Checker_Tool: {}", "checker_tool", "{}"),
        ("Agent：好", "agent", "好"),
        ("Agents: two", None, "Agents: two"),
        ("User says: x", None, "User says: x"),
        (" User: x", None, "User: x"),
        ("Agent Assistant: two", "agent", "two"),
        ("Agent助手：好", "agent", "好"),
        ("User Assistant: x", None, "User Assistant: x"),
        ("Switch to the role of Agent", None, "Switch to the role of Agent"),
    ],
)
def test_who_speaks_is_told_by_the_beginning_with_either_colon(content: str, who: str | None, said: str) -> None:
    assert (speaker(content), without_mark(content)) == (who, said)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_mark_is_recognised_and_a_switch_is_none(language: str) -> None:
    for who, mark in MARKS[language].items():  # type: ignore[index]
        assert speaker(f"{mark} x") == who
        assert not is_switch(f"{mark} x")
    assert is_switch({"en": "Now switch the role to ", "zh": "现在切换角色为"}[language]), "of earlier versions"
    assert is_switch(SWITCH[language] + "Tool") and speaker(SWITCH[language] + "Tool") is None  # type: ignore[index]


@given(JSON)
@example({"```": None})
def test_a_fenced_value_is_read_back_whatever_stands_around_it(value: Any) -> None:
    assert fenced_json(fence(value)) == value
    assert fenced_json(f"Here:\n{fence(value)}\nand ``` more ```") == value
    assert fenced_json(f"```text\nhm\n```\n{fence(value)}") == value
    assert fenced_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Planner:\n```json\n{"a": 1}\n```', {"a": 1}),
        ('```json{"a": 1}```, or ```json{"a": 2}```', {"a": 1}),
        ('```\n{"a": 1}\n```\n```json\n{"a": 2}\n```', {"a": 2}),
        ('{"a": 1}', None),
        ('```\n{"a": 1}\n```', None),
        ('```JSON\n{"a": 1}\n```', None),
        ('```json\n{"a": 1}', None),
        ('```json\n{"a": 1} // so\n```', None),
        ('```json\n{"a": "```"}\n```', None),
        ('```json\n{"a": }\n```\n```json\n{"a": 2}\n```', None),
    ],
)
def test_the_checkers_read_the_first_fence_that_is_labelled_json_and_nothing_else(text: str, value: Any) -> None:
    assert strict_json(text) == value


@given(st.text())
def test_no_text_breaks_the_reader_of_json(text: str) -> None:
    fenced_json(text)
    fenced_json(f"```{text}")
    strict_json(f"```json{text}```")


@pytest.mark.parametrize(
    "text", ["", "yes", "```json\n```", "```\n{'a': 1}\n```", '```json\n{"a": NaN}\n```', "[" * 100_000, "here: {}"]
)
def test_what_is_no_json_is_none(text: str) -> None:
    assert fenced_json(text) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Agent: plain", "Agent: plain"),
        ("```markdown\nAgent: in a fence\n```", "Agent: in a fence"),
        ("```\nAgent: in a bare fence\n```", "Agent: in a bare fence"),
        ("Agent:\n```md\n# inside\n```", "Agent: # inside"),
        ("Agent：```markdown\n好\n```", "Agent： 好"),
        ("Agent Assistant:\n```markdown\n# inside\n```", "Agent Assistant: # inside"),
        ("Agent助手：\n```markdown\n好\n```", "Agent助手： 好"),
        ("Agent: see\n```python\n1\n```", "Agent: see\n```python\n1\n```"),
        ("Agent:\n```python\n1\n```", "Agent:\n```python\n1\n```"),
        ("```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```"),
    ],
)
def test_a_markdown_fence_around_an_answer_goes_and_others_stay(text: str, shown: str) -> None:
    assert without_fence(text) == shown


def test_a_dialogue_is_read_back_as_it_was_and_damaged_lines_are_named(tmp_path: Path) -> None:
    dialogue = GeneratedDialogue(
        ("ST", "CC"),
        "zh",
        7,
        pseudo_tools("zh"),
        "当前时间：2024-01-01 00:00:00 星期一",
        [{"role": "user", "content": "用户：\ud83d"}],
        (GeneratedTurn("ST", "first", "first", 0, 1), GeneratedTurn("CC", "follow_more", "follow_up", 1, 1)),
    )
    assert GeneratedDialogue.from_json(json.loads(json.dumps(dialogue.to_json()))) == dialogue
    file = tmp_path / "dialogues.jsonl"
    assert list(read_dialogues(file)) == []
    line = json.dumps(dialogue.to_json()) + "\n"
    file.write_text(line + line[:50])
    assert list(read_dialogues(file)) == [dialogue]
    file.write_text(line + "{}\n")
    with pytest.raises(DataProblem, match="line 2: this is no finished dialogue"):
        list(read_dialogues(file))


def test_cleaning_keeps_the_ranges_of_tasks() -> None:
    no = "Checker_Planner：" + fence({"correct": "no"})
    said = [
        "User: a",
        "Now switch the role to Planner",
        "Planner: 1",
        "Now switch the role to Checker_Planner",
        no,
        "Planner: 2",
        "Agent: b",
    ]
    yes = "Checker_Tool: " + fence({"correct": "yes"})
    said += ["Now switch the role to User", "User: c", "Agent: d", "Now switch the role to Checker_Tool", yes]
    messages = [{"role": "user", "content": content} for content in said]
    turns = (GeneratedTurn("CC", "first", "first", 0, 7), GeneratedTurn("CC", "follow_more", "follow_up", 7, 12))
    kept, ranges = kept_messages(GeneratedDialogue(("CC", "CC"), "en", 0, [], "", messages, turns))
    assert [message["content"] for message in kept] == ["User: a", "Planner: 2", "Agent: b", "User: c", "Agent: d"]
    assert ranges == [(0, 3), (3, 5)]


# -- times, sequences, tools


@pytest.mark.parametrize(
    ("language", "form"),
    [
        ("en", r"Current Time：2024-\d\d-\d\d \d\d:\d\d:\d\d (Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"),
        ("zh", r"当前时间：2024-\d\d-\d\d \d\d:\d\d:\d\d 星期[一二三四五六日]"),
    ],
)
def test_the_time_is_a_second_of_2024_with_its_weekday(language: Any, form: str) -> None:
    from datetime import datetime

    drawn = {draw_time(language, random.Random(seed)) for seed in range(300)}
    assert len(drawn) == 300 and all(re.fullmatch(form, text) for text in drawn)
    day = {"Monday": 0, "星期一": 0, "Sunday": 6, "星期日": 6}
    for text in drawn:
        stamp, _, weekday = text.partition("：")[2].rpartition(" ")
        if weekday in day:
            assert datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").weekday() == day[weekday]


def test_sequences_are_all_there_once_and_a_choice_keeps_their_order() -> None:
    assert [len(all_sequences(length)) for length in (1, 2, 4)] == [4, 16, 256]
    assert len(set(all_sequences(4))) == 256
    assert [name_of(sequence) for sequence in all_sequences(1)] == list(TYPES)
    assert chosen_sequences(None, None) == all_sequences(4)
    assert [name_of(one) for one in chosen_sequences("cc-st, ST-MT,CC-ST", None)] == ["ST-MT", "CC-ST"]
    with pytest.raises(UsageProblem, match="equally long"):
        chosen_sequences("ST,ST-MT", None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_bundled_tool_lists_are_there_in_both_languages(language: Any) -> None:
    lists = tool_lists(None, language)
    assert len(lists) >= 3 and all(tools for tools in lists)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no tool list"),
        ("[]\n", "line 1 is empty"),
        ("{}\n", "must be a list of tools"),
        (json.dumps(pseudo_tools("en")) + "\n", "line 1 has a tool named ask_user_for_required_parameters"),
    ],
)
def test_tool_files_without_a_usable_list_are_refused(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "tools.jsonl").write_text(content)
    with pytest.raises(DataProblem, match=words):
        tool_lists(tmp_path / "tools.jsonl", "en")


# -- texts


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_prompt_begins_with_a_title_of_its_own_and_has_known_slots_only(language: Any) -> None:
    texts = load_texts(language)
    assert len({text.splitlines()[0] for text in texts.prompts.values()}) == len(PROMPTS) == 15
    filled = {name: texts.prompt(name, dict.fromkeys(SLOTS, "")) for name in PROMPTS}
    assert not [name for name, text in filled.items() if re.search(r"\{[a-z_]+\}", text)]
    assert all("{env_info}" in text for text in texts.prompts.values())
    assert len({(text.what, text.example) for text in texts.follow_ups.values()}) == 22
    user = "User:" if language == "en" else "用户："
    assert all(user in text.example for text in texts.follow_ups.values())
    assert len(set(texts.wanted.values())) == 4


def test_slots_are_filled_once_and_braces_of_json_stay() -> None:
    texts = load_texts("en")
    text = texts.prompt("tool", {"tools": "{env_info} {}", "env_info": "now"})
    assert "{env_info} {}" in text and '"response": {}' in text and "\nnow\n" in text


def test_a_folder_of_texts_replaces_ours_by_name(tmp_path: Path) -> None:
    (tmp_path / "planner.txt").write_text("Plan with {tools}.")
    (tmp_path / f"{CONTINUE}_follow_more.txt").write_text("More: {wanted}")
    texts, ours = load_texts("en", tmp_path), load_texts("en")
    assert texts.prompt("planner", {"tools": "T"}) == "Plan with T."
    assert texts.prompts["tool"] == ours.prompts["tool"]
    assert texts.follow_up("follow_more", "CC", {}) == f"More: {ours.wanted['CC']}"
    assert texts.follow_up("follow_longer", "CC", {}) == ours.follow_up("follow_longer", "CC", {})
    assert texts.fingerprint != ours.fingerprint
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "tool.txt").write_text("工具")
    assert load_texts("zh", tmp_path).prompts["tool"] == "工具"


@pytest.mark.parametrize(
    ("name", "words"), [("plan.txt", "plan.txt replaces nothing"), ("plan.md", "holds no .txt file")]
)
def test_a_folder_that_replaces_nothing_is_refused(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(UsageProblem, match=words):
        load_texts("en", tmp_path)


def test_the_folder_of_an_unknown_kind_of_follow_up_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"{CONTINUE}_sing.txt").write_text("x")
    with pytest.raises(UsageProblem, match="replaces nothing"):
        load_texts("en", tmp_path)
    assert len(KINDS) == 22


# -- defects of the original


@pytest.mark.parametrize("wanted", TYPES)
@pytest.mark.parametrize(("language", "mark"), [("en", "User: "), ("zh", "用户：")])
def test_every_first_task_has_the_mark_of_its_language(language: Any, mark: str, wanted: Any) -> None:
    dialogue = Stage([tasks("tide?"), plan(CHAT), "Agent: Yes."], language=language).play(wanted)
    assert dialogue.messages[0]["content"] == f"{mark}tide?"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_judge_is_asked_in_the_language_of_the_dialogue_whatever_the_environment_says(
    language: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("language", "zh" if language == "en" else "en")
    monkeypatch.setenv("LANGUAGE", "zh" if language == "en" else "en")
    stage = Stage([tasks(), plan(CALL, CALL), judge("yes"), result(2), plan(DONE), "Agent: Yes."], language=language)
    stage.play("ST")
    asked = next(messages for part, _, messages in stage.asked if part == "checker")
    assert asked[0]["content"].startswith(load_texts(language).prompts["checker_planner"].splitlines()[0])


def test_one_user_model_is_one_name_and_not_its_letters(tmp_path: Path) -> None:
    asked: set[str] = set()

    class Named(PlayerModel):
        async def complete(self, request: Any) -> Any:
            asked.add(self.name)
            return await super().complete(request)

    argv = [
        "wild",
        "--out",
        str(tmp_path / "out"),
        "--user-model",
        "gpt-like",
        "--model-url",
        "http://127.0.0.1:9/v1",
        "--sequences",
        "CC",
    ]
    assert main(argv, Named) == 0
    assert asked == {"gpt-like"}


def test_a_clarify_task_is_about_a_tool_that_requires_something() -> None:
    free = {
        "type": "function",
        "function": {"name": "listPorts", "description": "", "parameters": {"type": "object", "properties": {}}},
    }
    for seed in range(10):
        stage = Stage([tasks(), plan(CHAT), "Agent: Yes."], seed=seed)
        stage.state.tools[:1] = [free, TIDE, free]
        stage.play("CQ")
        assert "\n\n" + json.dumps(TIDE) + "\n\n" in stage.asked[0][2][0]["content"].replace("about:\n", "\n\n")


def test_a_thought_in_tags_before_a_reply_is_no_part_of_it() -> None:
    replies = [
        f"<think>\nhm ``` {{}}\n</think>\n{text}"
        for text in (tasks(), plan(ASKS), "Agent: Where?", "User: Brest", plan(CHAT), "Agent: Hi.")
    ]
    dialogue = Stage(replies).play("CQ")
    assert not any("think" in message["content"] for message in dialogue.messages)


def test_a_thought_without_an_end_stays_and_takes_no_time_however_long() -> None:
    thought = "<think>" * 20_000 + "\n" * 200_000 + "hm"
    stage = Stage([tasks(), plan(CHAT), thought])
    assert stage.play("CC").messages[-1]["content"] == thought

"""From finished dialogues to evaluation records: types and order of the gold, the file that the checks accept and the
oracle solves, and transcripts of any kind."""

from __future__ import annotations

import errno
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.cli.main import main
from agentgauge.core.errors import DataProblem
from bench_wild.data import LANGUAGES, WildTask, differences, load_sessions
from bench_wild.generate.actions import AcceptedAction, NoRecord, actions_of, link, occurs, plain, telling
from bench_wild.generate.records import SUBTYPE_OF, faults, record_of, type_of, write_records
from bench_wild.generate.transcript import DIALOGUES, GeneratedDialogue, Language, fence, kept_messages
from bench_wild.graph import Graph
from bench_wild.labels import ASK, PREPARE
from bench_wild.layout import ACCEPTED, NOT_VERIFIED
from tests.costly import COSTLY
from tests.plugin.project import run_wild, summary
from tests.wild.generate.talks import (
    TOOLS,
    Task,
    chat,
    clarify,
    dialogue,
    find,
    get,
    mixed,
    ok,
    parallel,
    serial,
    single,
)


def with_three(task: Task) -> Any:
    return dialogue(chat("Good morning to you."), task, chat("How do stars burn?"), chat("Thanks and goodbye."))


def gold(task: Task) -> tuple[list[list[int]], str]:
    """Dependencies and type of a task among chats."""
    record = record_of(with_three(task), 0)
    assert faults(record) == []
    return [node["dependency_list"] for node in record["english_answer_list"][1]], record["english_task_types"][1]


def task(meant: Any = "MT", text: str = "Please see to it.") -> Task:
    return Task(meant, text)


THREE = ok(items=[{"shelf_id": 7}, {"shelf_id": 12}])


@pytest.mark.parametrize(
    ("told", "waits", "type"),
    [
        (single(), [[], [0]], "Single-Tool"),
        (parallel(), [[], [], [0, 1]], "Parallel Multi-Tool"),
        (serial(), [[], [0], [1]], "Sequential Multi-Tool"),
        (mixed(), [[], [0], [0], [1, 2]], "Mixed Multi-Tool"),
        (clarify(), [[], [0], [1]], "Clarify"),
        (chat(), [[]], "Chat"),
        # asked twice, because the user evaded
        (
            task("CQ").ask("Which?", "Guess.").ask("Which order?", "ORD-3003").call(get("ORD-3003")).say("Here."),
            [[], [0], [1], [2]],
            "Clarify",
        ),
        # found, then asked which, then opened: the value comes from the reply
        (
            task("CQ").call(find("me")).ask("Which?", "ORD-5519").call(get("ORD-5519")).say("Here."),
            [[], [0], [1], [2]],
            "Clarify",
        ),
        # a value from before a question keeps its edge beside that to the question
        (
            task("CQ")
            .call(find("me"))
            .ask("Why?", "late")
            .call(("cancelOrder", {"order_id": "ORD-5519", "reason": "late"}, ok()))
            .say("Done."),
            [[], [0], [0, 1], [2]],
            "Clarify",
        ),
        # two after one, one after both: the join waits for the two its text quotes
        (
            task()
            .call(find())
            .call(get("ORD-5519", ok(carrier="Blue Parcel")), get("ORD-6620", ok(carrier="Green Van")))
            .call(("sendNote", {"to": "Ines", "text": "Look out for Blue Parcel and Green Van!"}, ok()))
            .say("Sent."),
            [[], [0], [0], [1, 2], [3]],
            "Mixed Multi-Tool",
        ),
        # the later call uses the first result, not the second: both may come next
        (
            task().call(find()).call(get("ORD-5519")).call(get("ORD-6620")).say("Here."),
            [[], [0], [0], [1, 2]],
            "Mixed Multi-Tool",
        ),
        # an order's number that only its own call repeats is no source
        (
            task(text="ORD-1 then note ORD-1").call(get("ORD-1")).call(get("ORD-2", ok(order_id="ORD-2"))).say("x"),
            [[], [0], [1]],
            "Sequential Multi-Tool",
        ),
        # a small number counts under its own name
        (
            task()
            .call(("findOrders", {"customer": "me"}, THREE))
            .call(("getShelf", {"shelf_id": 7}, ok()), ("getShelf", {"shelf_id": 12}, ok()))
            .say("x"),
            [[], [0], [0], [1, 2]],
            "Mixed Multi-Tool",
        ),
        # within one list a value that the planner could not have seen still flows
        (task().call(find(), get("ORD-6620")).say("x"), [[], [0], [1]], "Sequential Multi-Tool"),
        # without a value that flows the planned order stays
        (
            task(text="Open ORD-1001, and when that is done ORD-1002.")
            .call(get("ORD-1001"))
            .call(get("ORD-1002"))
            .say("x"),
            [[], [0], [1]],
            "Sequential Multi-Tool",
        ),
        # a value in two results waits for both
        (
            task().call(find("a", ok(id="ORD-9")), find("b", ok(id="ORD-9"))).call(get("ORD-9")).say("x"),
            [[], [], [0, 1], [2]],
            "Mixed Multi-Tool",
        ),
        # a task that contradicts its type takes what the transcript shows
        (task("ST").ask("Which?", "ORD-1").call(get("ORD-1")).say("x"), [[], [0], [1]], "Clarify"),
        # but a date of the same list says nothing, nor what a sibling was handed too
        (
            task().call(get("2024-05-02", ok(day="2024-05-02", next="2024-05-03")), get("2024-05-03")).say("x"),
            [[], [], [0, 1]],
            "Parallel Multi-Tool",
        ),
    ],
)
def test_the_gold_of_every_type_and_structure(told, waits, type):
    assert gold(told) == (waits, type)


def test_actions_come_as_accepted_with_their_results_and_words():
    record = record_of(dialogue(clarify(rejected=True), single(), parallel(), chat()), 3)
    assert record["id"] == "wild_tool_bench_3"
    assert record["english_tasks"][0] == "Where is my parcel?"
    answer = {"name": PREPARE, "arguments": {"answer_type": "tool"}}
    assert record["english_answer_list"][0] == [
        {
            "idx": 0,
            "action": {
                "name": ASK,
                "arguments": {"tool_name": "getOrder", "missing_required_parameters": ["order_id"]},
            },
            "observation": "Which order is it?",
            "user_input": "It is ORD-3003.",
            "dependency_list": [],
        },
        {
            "idx": 1,
            "action": {"name": "getOrder", "arguments": {"order_id": "ORD-3003"}},
            "observation": ok(order_id="ORD-3003", carrier="Blue Parcel"),
            "dependency_list": [0],
        },
        {"idx": 2, "action": answer, "observation": "With Blue Parcel.", "dependency_list": [1]},
    ]


@pytest.mark.parametrize(("language", "twin", "day"), [("en", "english_", "Wednesday"), ("zh", "", "星期三")])
def test_fields_are_those_of_the_language(language, twin, day):
    record = record_of(dialogue(single("a"), parallel("b"), clarify("c"), chat("d"), language=language), 0)
    fields = {f"{twin}{name}" for name in ("env_info", "tools", "tasks", "answer_list", "task_types", "turn_subtypes")}
    assert set(record) == {"id", "unverified", "generated", *fields}
    assert record[f"{twin}env_info"] == f"2024-05-01 09:12:44 {day}"
    assert record[f"{twin}tools"] == TOOLS[:-2]
    assert record["unverified"] is True
    assert record["generated"] == {
        "sequence": "ST-MT-CQ-CC",
        "language": language,
        "seed": 7,
        "kinds": ["first", *["short_name"] * 3],
    }


def test_every_group_of_follow_up_tasks_has_a_subtype():
    shown = {}
    for group in list(SUBTYPE_OF)[1:]:
        record = record_of(dialogue(single(), chat("b", group=group), chat("c"), chat("d")), 0)
        shown[group] = record["english_turn_subtypes"][0]
    assert shown == {
        "reply": "Coreferential Reference",
        "reference": "Coreferential Reference",
        "omission": "Partial Information",
        "addition": "Partial Information",
        "modification": "Partial Information",
        "follow_up": "Partial Information",
        "topic": "Long-Range Dependency",
    }


def rewritten(old: str, new: str) -> Any:
    told = with_three(serial())
    return replace(told, messages=[{**one, "content": one["content"].replace(old, new)} for one in told.messages])


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (dialogue(single(), chat()), "the number of its tasks is 2; a record has 4"),
        (with_three(Task("ST", "x").call(find())), "task 2 ends where a final answer should come"),
        (with_three(Task("ST", "x")), "task 2 ends where its words are followed"),
        (with_three(Task("ST", "").say("x")), "task 2 has an empty message of user"),
        (with_three(single().say("And more.")), "task 2 continues after its final answer"),
        (rewritten('"Action_List"', '"Actions"'), "task 1 has an accepted plan without a list of actions"),
        (rewritten('"Observation_List"', '"Results"'), "task 2 has 1 calls and no list of results"),
        (
            rewritten('"name": "findOrders"', '"name": 5'),
            "task 2 has an accepted action without a name or without an object of arguments",
        ),
        (
            rewritten("Tool: ", "Agent: "),
            "task 2 has a message of agent where tools were called; one of tool is needed",
        ),
    ],
)
def test_what_cannot_become_a_record_is_named_with_the_reason(told, reason):
    with pytest.raises(NoRecord) as problem:
        record_of(told, 0)
    assert str(problem.value) == reason


def test_a_question_in_one_list_with_a_call_is_refused():
    told = rewritten('"name": "findOrders",', f'"name": "{ASK}", "arguments": {{}}}}, {{"name": "findOrders",')
    with pytest.raises(NoRecord, match="must stand alone"):
        record_of(told, 0)


# -- files

SESSIONS = Path("wild") / "Wild-Tool-Bench.jsonl"
SAID: dict[Language, str] = {
    "en": "Number {}: Ines Duarte, ORD-1001, ORD-1002.",
    "zh": "第{}件事：Ines Duarte，ORD-1001，ORD-1002。",
}


def talks(language: Language = "en") -> list[GeneratedDialogue]:
    """Every type and structure, in an order that is not the sequences'."""
    said = iter(SAID[language].format(number) for number in range(100))
    return [
        dialogue(
            chat(next(said)), clarify(next(said)), mixed(next(said)), single(next(said)), language=language, seed=1
        ),
        dialogue(
            single(next(said)), parallel(next(said)), clarify(next(said)), chat(next(said)), language=language, seed=2
        ),
        dialogue(
            serial(next(said)), single(next(said)), parallel(next(said)), mixed(next(said)), language=language, seed=3
        ),
    ]


def folder(path: Path, dialogues: list[GeneratedDialogue]) -> Path:
    path.mkdir(exist_ok=True)
    (path / DIALOGUES).write_text(
        "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in dialogues), encoding="utf-8"
    )
    return path


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / SESSIONS).read_text(encoding="utf-8").splitlines()]


def accept(out: Path, *numbers: int) -> None:
    """What a person does with lines of the file."""
    lines = records(out)
    for number in numbers:
        del lines[number]["unverified"]
    (out / SESSIONS).write_text("".join(json.dumps(one) + "\n" for one in lines))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return folder(tmp_path / "made", talks())


def test_the_oracle_solves_generated_records(tmp_path):
    out = folder(tmp_path / "made", talks())
    assert write_records(out).sessions == 3
    assert main(["data", "check", "wild", "--data", str(out)]) == 0
    result = run_wild("--model", "oracle", f"--data={out}", "--run-dir=run", cwd=tmp_path)
    assert "12 passed" in result.output
    assert "3 sessions, first 'wild_tool_bench_0': generated, and not verified by a person" in result.output
    assert summary(tmp_path / "run")["tasks"]["wild"]["metrics"]["Session"]["value"] == 100
    text = (tmp_path / "run" / "leaderboard.md").read_text(encoding="utf-8")
    assert re.search(r"\*\*Not comparable\*\*: .*3 sessions, first", text)


def test_chinese_records_alone_are_checked_anyway_but_run_in_chinese_only(tmp_path, capsys):
    out = folder(tmp_path / "made", talks("zh"))
    write_records(out)
    assert main(["data", "check", "wild", "--data", str(out)]) == 0
    assert "session 'wild_tool_bench_2': findOrders.customer has no description" in capsys.readouterr().out
    result = run_wild("--model=oracle", f"--data={out}", "--run-dir=run", cwd=tmp_path, status=4)
    assert "has no session in the language en; give --wild-language zh" in result.output


def test_the_order_is_that_of_the_sequences_and_ids_are_line_numbers(out):
    write_records(out)
    first = (out / SESSIONS).read_bytes()
    assert [one["id"] for one in records(out)] == [f"wild_tool_bench_{number}" for number in range(3)]
    assert [one["generated"]["sequence"] for one in records(out)] == ["ST-MT-CQ-CC", "MT-ST-MT-MT", "CC-CQ-MT-ST"]
    folder(out, talks()[::-1])
    write_records(out)
    assert (out / SESSIONS).read_bytes() == first


def test_what_becomes_no_record_is_named_and_takes_no_line(out, capsys):
    unfinished = dialogue(single("a"), single("b"), single("c"), Task("ST", "d").call(find()), seed=8)
    wrong = dialogue(
        single("e"), single("f"), single("g"), Task("ST", "h").call(("getOrder", {"order": "x"}, {})).say("i"), seed=9
    )
    summary = write_records(folder(out, [*talks(), unfinished, wrong]))
    assert [one["id"] for one in records(out)] == [f"wild_tool_bench_{number}" for number in range(3)]
    assert summary.left_out[0] == "dialogue ST-ST-ST-ST (seed 8): task 4 ends where a final answer should come"
    assert summary.left_out[1].startswith("dialogue ST-ST-ST-ST (seed 9): task 4: no path that the evaluator accepts")
    assert summary.lines()[1] == f"no record: {summary.left_out[0]}"


# -- a person's word


def test_accepted_sessions_stay_as_they_are_left(out):
    write_records(out)
    accept(out, 1, 2)
    lines = records(out)
    lines[1]["english_tasks"][0] = "Mended by a person."
    (out / SESSIONS).write_text("".join(json.dumps(one) + "\n" for one in lines))
    # a further dialogue comes before them
    summary = write_records(
        folder(out, [*talks(), dialogue(single("p"), single("q"), single("r"), single("s"), seed=5)])
    )
    assert (summary.sessions, summary.unverified) == (4, 2)
    assert [text.rpartition(": ")[2] for text in differences(out / SESSIONS)] == [NOT_VERIFIED, ACCEPTED]
    assert [one["english_tasks"][0] for one in records(out)][2] == "Mended by a person."
    assert [one["id"] for one in records(out)] == [f"wild_tool_bench_{number}" for number in range(4)]


def test_an_accepted_session_is_never_dropped(out):
    write_records(out)
    accept(out, 0)
    folder(out, talks()[:1])  # its dialogue is gone
    assert write_records(out).sessions == 2
    assert records(out)[0]["generated"]["sequence"] == "ST-MT-CQ-CC"
    lines = records(out)
    del lines[0]["english_tasks"][0]
    (out / SESSIONS).write_text("".join(json.dumps(one) + "\n" for one in lines))
    before = (out / SESSIONS).read_bytes()
    with pytest.raises(
        DataProblem,
        match=r"accepted session of dialogue ST-MT-CQ-CC \(seed 2\) .* cannot be run any more: english_tasks",
    ):
        write_records(out)
    assert (out / SESSIONS).read_bytes() == before


def test_a_line_that_is_no_json_is_named(out):
    write_records(out)
    (out / SESSIONS).write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(DataProblem, match=r"Wild-Tool-Bench.jsonl, line 1: is not JSON"):
        write_records(out)


@pytest.mark.parametrize("line", ['{"id": "wild_tool_bench_3"}', "[]", "7"])
def test_a_line_of_somebody_else_is_never_dropped(out, line):
    write_records(out)
    with (out / SESSIONS).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    before = (out / SESSIONS).read_bytes()
    with pytest.raises(
        DataProblem, match=r"session 4 is none of these dialogues and would be lost|line 4: is not a JSON object"
    ):
        write_records(out)
    assert (out / SESSIONS).read_bytes() == before


def test_a_result_that_is_nested_without_end_becomes_no_record(tmp_path):
    deep = "@deep@"
    told = [single(), parallel(), clarify(), Task("ST", "Again?").call(find(result=deep)).say("Done.")]
    out = folder(tmp_path / "made", [*talks(), dialogue(*told, seed=9)])
    file = out / DIALOGUES
    file.write_text(file.read_text(encoding="utf-8").replace('\\"@deep@\\"', "[" * 900 + "]" * 900), encoding="utf-8")
    made = write_records(out)
    assert made.sessions == 3
    assert made.left_out == (
        "dialogue ST-MT-CQ-ST (seed 9): task 4 has a value of more than 100 lists or objects in one another",
    )


def test_a_full_disk_is_told_in_a_sentence_and_the_records_stay(out, capsys, monkeypatch):
    write_records(out)
    before = (out / SESSIONS).read_bytes()

    def full(path: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("bench_wild.generate.records.write_whole", full)
    assert main(["generate", "records", str(out)]) == 4
    assert "made cannot be written (No space left on device); free disk space" in capsys.readouterr().err
    assert (out / SESSIONS).read_bytes() == before


def test_a_folder_without_dialogues_is_refused_and_left_alone(tmp_path, capsys):
    assert main(["generate", "records", str(tmp_path / "typo")]) == 4
    assert "typo has no dialogues.jsonl; give the output folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_records_are_made_anew_by_a_command(out, capsys):
    assert main(["generate", "records", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"3 sessions in {out / SESSIONS}, 3 of them unverified\n")


# -- the order that people gave the bundled sessions

BUNDLED = Path(__file__).parents[3] / "bench_wild" / "mini" / "Wild-Tool-Bench.jsonl"


def lists(task: WildTask) -> tuple[list[AcceptedAction], list[list[int]]]:
    """A bundled task as a planner that takes the shortest way would have it, and its gold dependencies in the same
    order."""
    path = list(Graph(task.answer_list).optimal())
    nodes = [(number, task.answer_list[place]) for number, group in enumerate(path) for place in group]
    actions = [
        AcceptedAction(node.name, node.arguments, node.observation, number, node.user_input) for number, node in nodes
    ]
    moved = {node.position: place for place, (_, node) in enumerate(nodes)}
    return actions, [[moved[one] for one in node.dependencies] for _, node in nodes]


def before(waits: list[list[int]]) -> list[set[int]]:
    """Everything that must come before each action."""
    found: list[set[int]] = []
    for direct in waits:
        found.append(set(direct).union(*(found[one] for one in direct)))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_order_of_the_bundled_gold_is_found_again(language):
    """Measured: in 59 of 64 tasks the same order; in four the planner's order stays, one follows from no value."""
    same, right_type, tasks = 0, 0, 0
    for session in load_sessions(BUNDLED, language):
        known = plain(session.env_info)
        for task in session.tasks:
            known += "\n" + plain(task.text)
            actions, gold = lists(task)
            waits = link(actions, known)
            same += before(waits) == before(gold)
            right_type += type_of(actions, waits) == task.type
            tasks += 1
            known = "\n".join([known, *(plain(action.user_input or "") for action in actions)])
    assert tasks == 64
    assert same >= 59
    assert right_type >= 63


# -- transcripts of any kind

TOLD = dialogue(single(), mixed(), clarify(), chat())
MESSAGES, RANGES = kept_messages(TOLD)
SOUND = [MESSAGES[start:end] for start, end in RANGES]
words = st.sampled_from(["Planner: ", "Tool: ", "Agent: ", "User: ", "用户：", ""])
names = st.sampled_from(["Action_List", "Observation_List", "name", "arguments"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda one: st.lists(one) | st.dictionaries(names, one),
    max_leaves=8,
)
contents = st.one_of(st.text(max_size=20), st.builds(lambda word, value: word + fence(value), words, values))


@COSTLY
@given(st.sampled_from(SOUND), st.integers(0, 9), st.integers(0, 9), contents)
def test_a_damaged_transcript_is_read_or_refused(messages, start, end, content):
    try:
        text, actions = actions_of([*messages[:start], {"role": "user", "content": content}, *messages[end:]])
    except NoRecord:
        return
    assert text
    assert not actions[-1].is_tool
    assert all(isinstance(action.arguments, dict) for action in actions)


@given(st.text(), st.text(), st.text())
def test_a_value_between_blanks_occurs(one, value, other):
    assert occurs(value, plain(f"{one} {value} {other}")) == bool(plain(value))


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("BK-1", "take BK-1, please", True),
        ("BK-1", "take BK-12, please", False),
        ("cat", "a category", False),
        ("2024-05-01", "2024-05-01T09:00", True),
        ("北门", "去北门分馆", True),
        ("ＡＢＣ１", "abc1", True),
        (3, "3 rows", True),
        (3, "13 rows", False),
        (3, "3.5 rows", False),
        (3, "3.0 rows", True),
        (3.0, "3 rows", True),
        (3.5, "3.5 rows", True),
        ("", "anything", False),
    ],
)
def test_where_values_occur(value, text, found):
    assert occurs(value, plain(text)) is found


@pytest.mark.parametrize(
    ("value", "tells"),
    [("ab", False), ("abc", True), ("a-b-", False), ("北门", True), ("北", False), (12, False), (120, True)],
)
def test_what_tells(value, tells):
    assert telling(value) is tells

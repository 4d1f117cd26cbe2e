"""WildToolBench's data files of both releases: sessions, rules, gaps in tool lists, and what is kept of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench_wild
from agentgauge.core.errors import DataProblem
from bench_wild.check import lacks, read_tool_lists
from bench_wild.data import (
    RecordProblem,
    Session,
    build_session,
    index,
    labels,
    load,
    load_sessions,
    problems,
    read_sessions,
    recently,
    resolve,
    sample_id,
    split_id,
    tags,
)
from bench_wild.labels import PSEUDO
from bench_wild.source import WildData

Record = dict[str, Any]

BOOK = {
    "type": "function",
    "function": {
        "name": "bookTable",
        "description": "Book a table.",
        "parameters": {
            "type": "object",
            "properties": {"guests": {"type": "integer"}, "height_m": {"type": "float"}},
            "required": ["guests"],
        },
    },
}
MENU = {
    "type": "function",
    "function": {"name": "readMenu", "description": "Read the menu.", "parameters": {"type": "object"}},
}


def node(name: str, arguments: Record, observation: Any, *depends: int, **more: Any) -> Record:
    return {
        "idx": 0,
        "action": {"name": name, "arguments": arguments},
        "observation": observation,
        "dependency_list": [*depends],
        **more,
    }


def final(text: str, *depends: int) -> Record:
    return node("prepare_to_answer", {"answer_type": "tool" if depends else "chat"}, text, *depends)


def gold() -> list[list[Record]]:
    """A single call; two side by side; a question first; small talk."""
    question = {"tool_name": "bookTable", "missing_required_parameters": ["guests"]}
    return [
        [node("bookTable", {"guests": 2}, {"ok": True}), final("Booked.", 0)],
        [node("readMenu", {}, "soup"), node("bookTable", {"guests": 3}, 7), final("Soup, and a table.", 0, 1)],
        [
            node("ask_user_for_required_parameters", question, "For how many?", user_input="Five."),
            node("bookTable", {"guests": 5}, [5], 0),
            final("Done.", 1),
        ],
        [final("You are welcome.")],
    ]


def record(id: str = "wild_tool_bench_0") -> Record:
    """A session in English, with the Chinese gold that the progress rate needs."""
    return {
        "id": id,
        "english_env_info": "2024-05-01 09:12:44 Wednesday",
        "english_tools": copy.deepcopy([BOOK, MENU]),
        "english_tasks": [
            "A table for two.",
            "What is there to eat? And a table for three.",
            "Another table.",
            "Thanks!",
        ],
        "english_answer_list": gold(),
        "english_task_types": ["Single-Tool", "Parallel Multi-Tool", "Clarify", "Chat"],
        "english_turn_subtypes": ["Partial Information", "Coreferential Reference", "Long-Range Dependency"],
        "answer_list": gold(),
    }


def chinese(id: str = "wild_tool_bench_1") -> Record:
    twins = {
        "env_info": "2024-05-01 09:12:44 星期三",
        "tools": copy.deepcopy([BOOK, MENU]),
        "tasks": ["两位。", "有什么吃的？再订三位。", "再来一桌。", "谢谢！"],
        "task_types": ["单工具", "并行多工具", "反问", "闲聊"],
        "turn_subtypes": ["省略成分", "指代理解", "长期记忆"],
    }
    return {**record(id), **twins}


def earlier(id: str = "wild_tool_bench_0") -> Record:
    return {
        "id": id,
        "env_info": "当前时间：2024-05-01 09:12:44 星期三",
        "english_tools": copy.deepcopy([BOOK, MENU]),
        "english_task": [
            "User: A table for two.",
            "What is there to eat? And a table for three.",
            "Another table.",
            "Thanks!",
        ],
        "english_answer_list": gold(),
        "answer_list": gold(),
        "type": ["单", "多", "反", "拒"],
        "turn_type": ["假", "真", "真", "假"],
        "turn_subtypes": ["省略成分", "长期记忆"],
    }


def write(folder: Path, *records: Any, name: str = "Wild-Tool-Bench.jsonl") -> Path:
    file = folder / name
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in records)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_a_session() -> None:
    session = build_session(record())
    assert (session.id, session.tasks[3].env_info, len(session.tasks)) == (
        "wild_tool_bench_0",
        "2024-05-01 09:12:44 Wednesday",
        4,
    )
    assert [task.subtype for task in session.tasks][:2] == ["First Turn", "Partial Information"]
    assert [task.structure for task in session.tasks] == [None, "combine", None, None]
    question = session.tasks[2].answer_list[0]
    assert question.is_ask and not question.is_tool and question.user_input == "Five."
    assert session.tasks[1].answer_list[2].dependencies == (0, 1)


def test_progress_counts_the_chinese_gold() -> None:
    data = record()
    data["answer_list"][1].append(final("More.", 2))
    assert [task.gold_nodes for task in build_session(data).tasks] == [2, 4, 3, 1]
    del data["answer_list"]
    assert [task.gold_nodes for task in build_session(data).tasks] == [2, 3, 3, 1]


def test_chinese_labels_become_the_english_ones() -> None:
    session, english = build_session(chinese(), "zh"), build_session(chinese())
    assert session.tasks[0].text == "两位。"
    assert [(task.type, task.subtype) for task in session.tasks] == [
        (task.type, task.subtype) for task in english.tasks
    ]


def test_earlier_release() -> None:
    session = build_session(earlier())
    later = build_session(record())
    assert [task.env_info for task in session.tasks] == [task.env_info for task in later.tasks]
    assert [task.text for task in session.tasks] == ["User: A table for two.", *(task.text for task in later.tasks[1:])]
    assert [task.type for task in session.tasks] == [task.type for task in later.tasks]
    assert [task.answer_list for task in session.tasks] == [task.answer_list for task in later.tasks]
    assert [task.subtype for task in session.tasks] == [
        "First Turn",
        "Partial Information",
        "Long-Range Dependency",
        "Unknown",
    ]


@pytest.mark.parametrize(
    ("env", "shown"),
    [
        (
            [
                "环境：2024-05-01 09:12:44 星期三",
                "2024-05-02 10:00:00",
                "当前时间：2024-05-03 00:00:00 星期五",
                "北京，2024年",
            ],
            [
                "2024-05-01 09:12:44 Wednesday",
                "2024-05-02 10:00:00 Thursday",
                "2024-05-03 00:00:00 Friday",
                "北京，2024年",
            ],
        ),
        ("北京，2024年", ["北京，2024年"] * 4),
    ],
)
def test_each_task_of_the_earlier_release_may_have_a_date_of_its_own(env: Any, shown: list[str]) -> None:
    assert [task.env_info for task in build_session({**earlier(), "env_info": env}).tasks] == shown


COREFERENTIAL, PARTIAL, LONG_RANGE = "Coreferential Reference", "Partial Information", "Long-Range Dependency"
FOUR = ["指代理解", "省略成分", "长期记忆", "指代理解"]


@pytest.mark.parametrize(
    ("given", "multi", "subtypes"),
    [
        # given for every task, and read of those alone that are true multi-turn
        (FOUR, [False, False, True, False], [None, None, LONG_RANGE, None]),
        (
            ["指代理解", "省略成分", "长期记忆", "指代理解"],
            ["假", "真", "真", "真"],
            [None, PARTIAL, LONG_RANGE, COREFERENTIAL],
        ),
        (["省略成分", "长期记忆", "指代理解"], [False, True, True, True], [None, PARTIAL, LONG_RANGE, COREFERENTIAL]),
        (["长期记忆"], [False, False, True, False], [None, None, LONG_RANGE, None]),
        (["省略成分", "长期记忆"], [True, False, False, True], [PARTIAL, None, None, LONG_RANGE]),
        (["省略成分"] * 4, [True, False, False, False], [PARTIAL, None, None, None]),
        (["省略成分"] * 3, ..., [None] * 4),
        (["省略成分"] * 3, [], [None] * 4),
    ],
)
def test_subtypes_of_the_earlier_release(given: list[str], multi: Any, subtypes: list[str | None]) -> None:
    data = {**earlier(), "turn_subtypes": given, "turn_type": multi}
    if multi is ...:
        del data["turn_type"]
    expected = [one or ("Unknown" if place else "First Turn") for place, one in enumerate(subtypes)]
    session = build_session(data)
    assert [task.subtype for task in session.tasks] == expected
    assert labels(tags(session.tasks[0])) == ("single", "partial" if subtypes[0] else "first")


def in_messages(before: int = 0) -> Record:
    """A session of the earlier release with messages, ``before`` of them before the text of the third task."""
    data = earlier()
    data["english_messages"] = []
    for place, text in enumerate(data["english_task"]):
        small_talk = [{"role": "user", "content": "User: Hm."}, {"role": "assistant", "content": "AI Agent: Well?"}]
        data["english_messages"] += [
            *(small_talk[:before] if place == 2 else []),
            {"role": "user", "content": f"User: {text.removeprefix('User: ')}"},
            {"role": "assistant", "content": "AI Agent: Well."},
            "=====",
        ]
    return {**data, "english_task": [one.removeprefix("User: ") for one in data["english_task"]], "task_ids": [0] * 4}


def test_tasks_of_the_earlier_release_are_sent_as_its_messages_have_them() -> None:
    expected = [f"User: {task.text}" for task in build_session(record()).tasks]
    data = in_messages()
    assert [task.text for task in build_session(data).tasks] == expected
    del data["english_task"]
    assert [task.text for task in build_session(data).tasks] == expected


def test_messages_before_the_text_of_a_task_are_its_own() -> None:
    data = {**in_messages(before=2), "task_ids": [0, 0, 2, 0]}
    session = build_session(data)
    assert session.tasks[2].text == "User: Another table."
    assert [message["content"] for message in session.tasks[2].before] == ["User: Hm.", "AI Agent: Well?"]
    # a place that does not hold the text: the first message that does
    assert build_session({**data, "task_ids": [0, 0, 1, 9]}).tasks == session.tasks


# -- index


def test_index_has_one_row_for_each_task(tmp_path: Path) -> None:
    write(tmp_path, record(), chinese())
    found = index(tmp_path)
    assert [row.id for row in found.rows][:5] == [
        *(f"wild_tool_bench_0-t{number}" for number in range(1, 5)),
        "wild_tool_bench_1-t1",
    ]
    assert found.rows[1].tags == ("multi", "parallel", "partial", "second", "structure-combine", "wild_tool_bench_0")
    assert found.rows[0].tags[:2] == ("single", "first")
    session, task = resolve(load(found, found.rows[6], "wild"))
    assert (session.id, task.position, task.type) == ("wild_tool_bench_1", 2, "Clarify")
    assert [row.id for row in index(tmp_path, "zh").rows] == [f"wild_tool_bench_1-t{number}" for number in range(1, 5)]


@pytest.mark.parametrize("name", ["Wild-Tool-Bench.jsonl", "WildToolBench.jsonl", "data/WildToolBench.jsonl"])
def test_both_names_are_found(tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    write(tmp_path, earlier(), name=name)
    assert len(index(tmp_path).rows) == 4


def test_ids_are_taken_apart() -> None:
    assert split_id(sample_id("a-t1-t", 3)) == ("a-t1-t", 3)


def test_a_file_that_changed_since(tmp_path: Path) -> None:
    """Samples stay as they were read."""
    file = write(tmp_path, record())
    found = index(tmp_path)
    before = load(found, found.rows[0], "wild")
    file.write_text("x" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert load(found, found.rows[0], "wild") == before


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="does not exist"):
        index(tmp_path)


# -- bad data

Change = Callable[[Record], Any]


def put(path: str, value: Any) -> Change:
    """Set a field; ``...`` removes it."""

    def change(data: Any) -> None:
        *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for part in way:
            data = data[part]
        if value is ...:
            del data[last]
        else:
            data[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        (put("english_tasks", ...), "english_tasks", "missing or null"),
        (put("english_tools", ...), "english_tools", "missing or null"),
        (put("english_env_info", 5), "english_env_info", "must be a string, not a number"),
        (put("english_answer_list", ...), "english_answer_list", "must be a list of 4 lists"),
        (put("english_tasks", ["one"] * 5), "english_tasks", "must have 4 entries, one for each task; it has 5"),
        (put("english_answer_list", gold()[:3]), "english_answer_list", "it has 3"),
        (put("answer_list", [*gold(), []]), "answer_list", "it has 5"),
        (put("english_tasks.2", None), "english_tasks[2]", "must be a string"),
        (put("english_task_types.1", "Web Search"), "english_task_types[1]", "'Web Search'; accepted are Single-Tool"),
        (
            put("english_turn_subtypes", ["Partial Information"]),
            "english_turn_subtypes",
            "each task after the first; it has 1",
        ),
        (put("english_turn_subtypes.0", "?"), "english_turn_subtypes[0]", "accepted are Coreferential"),
        (put("english_tools", "none"), "english_tools", "a string ('none')"),
        (put("english_tools.1", {"title": "flat"}), "english_tools[1]", "a function that has a name"),
        (put("english_tools.1.function.parameters", []), "english_tools[1].function.parameters", "must be an object"),
        (
            put("english_tools.0.function.parameters.required", "guests"),
            "english_tools[0].function.parameters.required",
            "a list",
        ),
        (put("english_answer_list.0", []), "english_answer_list[0]", "a list of actions"),
        (put("english_answer_list.0.0.action", "bookTable"), "english_answer_list[0][0].action", "an object"),
        (put("english_answer_list.0.0.action.name", ""), "english_answer_list[0][0].action.name", "a string"),
        (
            put("english_answer_list.0.0.action.arguments", "[]"),
            "english_answer_list[0][0].action.arguments",
            "an object",
        ),
        (put("english_answer_list.0.0.observation", ...), "english_answer_list[0][0].observation", "is missing"),
        (
            put("english_answer_list.0.0.dependency_list", 0),
            "english_answer_list[0][0].dependency_list",
            "a list of positions",
        ),
        (
            put("english_answer_list.0.1.dependency_list", [2]),
            "english_answer_list[0][1].dependency_list",
            "names 2; accepted",
        ),
        (
            put("english_answer_list.0.1.dependency_list", [True]),
            "english_answer_list[0][1].dependency_list",
            "names True",
        ),
        (put("english_answer_list.0.0.dependency_list", [1]), "english_answer_list[0]", "wait for each other: 0, 1"),
        (put("english_answer_list.1.0.dependency_list", [0]), "english_answer_list[1]", "wait for each other: 0, 2"),
        (put("english_answer_list.2.0.user_input", ...), "english_answer_list[2][0].user_input", "the user's reply"),
        (put("id", ""), "id", "a string that is not empty"),
    ],
)
def test_bad_sessions_are_refused(tmp_path: Path, change: Change, field: str, rule: str) -> None:
    data = record("bad")
    change(data)
    file = write(tmp_path, record("good"), data, record("also good"))
    with pytest.raises(RecordProblem) as caught:
        load_sessions(file)
    problem = caught.value
    assert (problem.file, problem.line, problem.session, problem.field) == (file, 2, data["id"], field)
    assert rule in problem.rule
    assert all(str(part) in str(problem) for part in (file, "line 2", data["id"], field, problem.rule))
    assert [one.id for one in read_sessions(file) if isinstance(one, Session)] == ["good", "also good"]
    assert [str(one) for one in problems(file)] == [str(problem)]


@pytest.mark.parametrize("line", ['{"id": ', "[1]", '"text"', "null", "5", "[" * 100_000])
def test_lines_that_are_no_session(tmp_path: Path, line: str) -> None:
    file = write(tmp_path, record(), line)
    assert [problem.line for problem in problems(file)] == [2]
    with pytest.raises(RecordProblem, match="line 2"):
        index(tmp_path)
    assert len(index(tmp_path, skip_invalid=True).rows) == 4


def test_repeated_ids(tmp_path: Path) -> None:
    file = write(tmp_path, record(), "", record())
    with pytest.raises(RecordProblem, match=r"line 3.*the same as in line 1"):
        load_sessions(file)
    assert len(index(tmp_path, skip_invalid=True).rows) == 4


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (put("type.1", "五"), "type[1]"),
        (put("type", ["单"] * 5), "english_task_types"),
        (put("type", []), "english_task_types"),
        (put("env_info", []), "env_info"),
        (put("env_info", ["2024-05-01 09:12:44"] * 3), "env_info"),
        (put("task_ids", 0), "task_ids"),
        (lambda one: one.update(turn_type=[True] * 4, turn_subtypes=["?"] * 4), "english_turn_subtypes[0]"),
        (put("turn_type", "真"), "turn_type"),
        (put("english_task", ["one"]), "english_tasks"),
        (put("english_answer_list", ...), "english_answer_list"),
        (put("english_answer_list.1.0", 5), "english_answer_list[1][0].action"),
    ],
)
def test_bad_sessions_of_the_earlier_release(tmp_path: Path, change: Change, field: str) -> None:
    data = earlier("bad")
    change(data)
    file = write(tmp_path, earlier("good"), data)
    assert [(problem.line, problem.session, problem.field) for problem in problems(file)] == [(2, "bad", field)]


def tool(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required or []}
    return {"type": "function", "function": {"name": "f", "description": "Does.", "parameters": parameters, **more}}


MINI = Path(bench_wild.__file__).parent / "mini"
TEXT = {"type": "string", "description": "a text"}


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ([tool({"a": TEXT}, ["a"])], []),
        ([tool({}), tool({})], ["2 tools are called 'f'; a call means the last"]),
        ([tool({}, description="")], ["f has no description"]),
        ([tool({}, parameters=None)], ["f has no parameters"]),
        ([tool({"a": TEXT}, ["a", "b"])], ["f requires 'b', which it does not declare"]),
        (
            [tool({"a": {"type": "interger", "description": "d"}})],
            ["f.a has the unknown type 'interger', which allows every value"],
        ),
        ([tool({"a": {"description": "d"}})], ["f.a has no type, which the evaluator takes for string"]),
        ([tool({"a": {"type": "string"}})], ["f.a has no description"]),
        ([tool({"a": "string"})], ['f.a is not a schema but "string"']),
        ([tool({"a": {"anyOf": [{"type": "null"}], "description": "d"}})], []),
        ([tool({"a": {"type": "array", "description": "d"}})], ["f.a is an array without items"]),
        ([tool({"a": {"type": "array", "description": "d", "items": {"type": "string"}}})], []),
        (
            [tool({"a": {"type": "array", "description": "d", "items": {}}})],
            ["f.a[] has no type, which the evaluator takes for string"],
        ),
        ([tool({"a": True})], ["f.a is true, which is a schema, but the published evaluator stops on it"]),
        ([tool({"a": None})], ["f.a is not a schema but null"]),
        (
            [tool({"a": {"type": ["string", "null"], "description": "d"}})],
            ["f.a has the types string, null; the published evaluator stops on a list of types"],
        ),
        (
            [tool({"a": {"$ref": "#/$defs/A", "description": "d"}})],
            ["f.a refers to '#/$defs/A', which the evaluator takes for string, and which leads to nothing"],
        ),
        (
            [tool({"a": {"type": "array", "description": "d", "items": True}})],
            ["f.a[] is true, which is a schema, but the published evaluator stops on it"],
        ),
        (
            [tool({"a": {"type": "array", "description": "d", "items": [{"type": "string"}]}})],
            ["f.a is a tuple, whose items the evaluator takes for strings"],
        ),
        (
            [tool({"a": {"type": "array", "description": "d", "prefixItems": [{"type": "string"}], "items": False}})],
            [
                "f.a has prefixItems, which the evaluator does not read",
                "f.a[] is false, which is a schema, but the published evaluator stops on it",
            ],
        ),
        (
            [tool({"a": {"type": "object", "description": "d", "additionalProperties": {"type": "string"}}})],
            ["f.a has a schema for further members, which the evaluator refuses"],
        ),
        ([tool({"a": {"type": "object", "description": "d", "additionalProperties": True}})], []),
        (
            [tool({"a": {"type": "object", "description": "d"}})],
            ["f.a is an object without properties, so that the evaluator accepts only an empty one"],
        ),
        (
            [tool({"a": {"type": "object", "description": "d", "properties": {"b": {}}, "required": ["c"]}})],
            [
                "f.a requires 'c', which it does not declare",
                "f.a.b has no type, which the evaluator takes for string",
                "f.a.b has no description",
            ],
        ),
    ],
)
def test_what_a_list_lacks(tools: list[dict[str, Any]], found: list[str]) -> None:
    assert lacks(tools) == found


def test_a_schema_may_be_nested_deep() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": TEXT}}
    for _ in range(2_000):
        schema = {"type": "object", "description": "d", "properties": {"a": schema}}
    assert lacks([tool({}, parameters=schema)]) == ["f has parameters that are nested too deep to be looked at"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[", "line 2: not valid JSON"),
        ("{}", "line 2: must be a list of tools"),
        ('[{"function": {}}]', "line 2: must be a list of tools"),
    ],
)
def test_a_line_that_is_no_list(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "tools_en.jsonl").write_text(f"{json.dumps([tool({})])}\n{line}\n", encoding="utf-8")
    with pytest.raises(DataProblem, match=message):
        list(read_tool_lists(tmp_path / "tools_en.jsonl"))


def test_the_check_command_reads_lists_too(tmp_path: Path) -> None:
    (tmp_path / "tools_zh.jsonl").write_text(f"{json.dumps([tool({}), tool({})])}\n", encoding="utf-8")
    assert WildData().check(tmp_path) == (
        [],
        ["tools_zh.jsonl, line 1: 2 tools are called 'f'; a call means the last"],
    )


def session(place: str) -> bytes:
    """A session whose first gold call gives an argument that a Boolean schema allows."""
    record = json.loads((MINI / "Wild-Tool-Bench.jsonl").read_bytes().partition(b"\n")[0])
    area = {"property": True, "items": {"type": "array", "description": "d", "items": True}}[place]
    for twin in ("", "english_"):
        nodes = [node for nodes in record.get(f"{twin}answer_list", ()) for node in nodes]
        if gold := next((node["action"] for node in nodes if node["action"]["name"] not in PSEUDO), None):
            tools = [one["function"] for one in record[f"{twin}tools"]]
            next(one for one in tools if one["name"] == gold["name"])["parameters"]["properties"]["area"] = area
            gold["arguments"]["area"] = [1, "a"]
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize("place", ["property", "items"])
def test_sessions_with_boolean_schemas_are_checked_and_reached(place: str, tmp_path: Path) -> None:
    (tmp_path / "Wild-Tool-Bench.jsonl").write_bytes(session(place))
    problems, strange = WildData().check(tmp_path)
    assert problems == []
    assert any("which is a schema, but the published evaluator stops on it" in text for text in strange)


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_lines_end_at_line_feeds_alone(tmp_path: Path, start: str) -> None:
    listed = [[tool({"a": {"type": "string", "description": "one\u2028two\x85three\u2029"}})], []]
    lines = "".join(json.dumps(tools, ensure_ascii=False) + "\n" for tools in listed)
    (tmp_path / "tools.jsonl").write_text(start + lines, encoding="utf-8")
    assert list(read_tool_lists(tmp_path / "tools.jsonl")) == listed


def test_results_are_kept_by_identity_for_so_many_and_for_each_further_argument():
    made = []

    @recently(2)
    def name(thing, *rest):
        made.append((thing["is"], *rest))
        return object()

    one, equal, other = {"is": 1}, {"is": 1}, {"is": 2}
    first = name(one)
    assert name(one) is first
    assert name(equal) is not first  # equal, and another
    assert name(one) is first
    name(other)  # the third: the first is gone
    assert name(one) is not first
    assert name(one, "en") is not name(one, "zh")
    assert made == [(1,), (1,), (2,), (1,), (1, "en"), (1, "zh")]

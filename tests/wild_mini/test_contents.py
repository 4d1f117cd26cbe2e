"""What the bundled data set holds: enough of every kind, in the official form, with gold that can be reached."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_wild.arguments import check, find_tool
from bench_wild.data import LANGUAGES, Session, WildTask, index, load_sessions, problems
from bench_wild.fixes import PARITY, STRICT
from bench_wild.graph import START, Graph
from bench_wild.oracle import unreachable
from bench_wild.prompts import convert_tools, opening
from tests.every import every

MINI = Path(__file__).parents[2] / "bench_wild" / "mini"
FILE = MINI / "Wild-Tool-Bench.jsonl"
LINES = FILE.read_text(encoding="utf-8").splitlines()
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
SESSIONS = {language: load_sessions(FILE, language) for language in LANGUAGES}
TASKS = [task for session in SESSIONS["en"] for task in session.tasks]
NODES = [node for task in TASKS for node in task.answer_list]

every_record = every("record", RECORDS, ids=lambda record: record["id"])
every_session = every(
    "session", [one for found in SESSIONS.values() for one in found], ids=lambda one: f"{one.id}-{one.language}"
)


# -- enough of everything


def _by(key: Callable[[WildTask], Any]) -> Counter[Any]:
    return Counter(key(task) for task in TASKS)


def _coarse(task: WildTask) -> str:
    return "Multi-Tool" if "Multi-Tool" in task.type else task.type


def _walk(value: Any) -> Iterator[Any]:
    yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _walk(member)


def _names(task: WildTask) -> list[str]:
    return [node.name for node in task.answer_list if node.is_tool]


def _questions(task: WildTask) -> int:
    return sum(node.is_ask for node in task.answer_list)


def _repeats(task: WildTask) -> bool:
    return len(set(_names(task))) < len(_names(task))


def _has_apart(names: list[str]) -> bool:
    """Calls of one tool with another between them, all side by side: A B A."""
    return len(names) > 2 and names[1] != names[0] and names[0] in names[2:]


SCHEMAS = [
    part
    for session in SESSIONS["en"]
    for tool in session.tools
    for part in _walk(tool["function"]["parameters"]["properties"])
]
ARGUMENTS = [part for node in NODES if node.is_tool for part in _walk(dict(node.arguments))]
TOOL_NODES = [
    (session, node) for session in SESSIONS["en"] for task in session.tasks for node in task.answer_list if node.is_tool
]


def _parameters(session: Session, name: str) -> dict[str, Any]:
    tool = find_tool(session.tools, name)
    assert tool is not None
    parameters: dict[str, Any] = tool["function"]["parameters"]
    return parameters


def _optional(given: bool) -> int:
    """Calls where an optional parameter is given, or one is left out."""
    count = 0
    for session, node in TOOL_NODES:
        parameters = _parameters(session, node.name)
        optional = set(parameters["properties"]) - set(parameters["required"])
        count += bool(optional & set(node.arguments)) if given else bool(optional - set(node.arguments))
    return count


def _enum_values() -> int:
    return sum(
        "enum" in _parameters(session, node.name)["properties"][name]
        for session, node in TOOL_NODES
        for name in node.arguments
    )


MINIMA: list[tuple[str, int, int]] = [
    ("sessions", len(RECORDS), 16),
    ("tasks", len(TASKS), 64),
    *[
        (kind, _by(lambda task: task.type)[kind], least)
        for kind, least in [
            ("Single-Tool", 14),
            ("Parallel Multi-Tool", 10),
            ("Sequential Multi-Tool", 4),
            ("Mixed Multi-Tool", 6),
            ("Clarify", 13),
            ("Chat", 13),
        ]
    ],
    *[
        (kind, _by(lambda task: task.subtype)[kind], least)
        for kind, least in [
            ("First Turn", 16),
            ("Coreferential Reference", 15),
            ("Partial Information", 12),
            ("Long-Range Dependency", 12),
        ]
    ],
    *[
        (str(kind), _by(lambda task: task.structure)[kind], least)
        for kind, least in [
            ("combine", 10),
            ("serial", 5),
            ("cs", 6),
            (None, 40),
        ]
    ],
    *[
        (f"{kind} as task {place + 1}", _by(lambda task: (_coarse(task), task.position))[kind, place], 2)
        for kind in ("Single-Tool", "Multi-Tool", "Clarify", "Chat")
        for place in range(4)
    ],
    ("two questions", sum(_questions(task) >= 2 for task in TASKS), 2),
    ("a question and two calls", sum(_questions(task) >= 1 and len(_names(task)) >= 2 for task in TASKS), 1),
    ("one tool several times side by side", sum(task.structure == "combine" and _repeats(task) for task in TASKS), 5),
    (
        "the same tool with another between",
        sum(task.structure == "combine" and _has_apart(_names(task)) for task in TASKS),
        1,
    ),
    ("seven calls side by side", sum(task.structure == "combine" and len(_names(task)) >= 7 for task in TASKS), 1),
    ("six calls of a mixed graph", sum(task.structure == "cs" and len(_names(task)) >= 6 for task in TASKS), 1),
    ("chains of three", sum(task.type == "Sequential Multi-Tool" and len(_names(task)) >= 3 for task in TASKS), 3),
    ("calls without arguments", sum(not node.arguments for node in NODES if node.is_tool), 4),
    ("optional arguments given", _optional(given=True), 40),
    ("optional arguments left out", _optional(given=False), 12),
    ("enum values", _enum_values(), 30),
    ("nested objects", sum(isinstance(value, dict) for _, node in TOOL_NODES for value in node.arguments.values()), 8),
    (
        "lists of objects",
        sum(isinstance(part, list) and bool(part) and isinstance(part[0], dict) for part in ARGUMENTS),
        5,
    ),
    (
        "lists of plain values",
        sum(isinstance(part, list) and bool(part) and not isinstance(part[0], dict) for part in ARGUMENTS),
        6,
    ),
    ("floating numbers", sum(type(part) is float for part in ARGUMENTS), 10),
    ("whole floats, which are not integers", sum(type(part) is float and part.is_integer() for part in ARGUMENTS), 1),
    ("integers", sum(type(part) is int for part in ARGUMENTS), 25),
    ("true or false", sum(type(part) is bool for part in ARGUMENTS), 7),
    ("texts of ten words or more", sum(isinstance(part, str) and len(part.split()) >= 10 for part in ARGUMENTS), 3),
    ("texts of several words", sum(isinstance(part, str) and len(part.split()) >= 3 for part in ARGUMENTS), 8),
    ("texts below ten characters", sum(isinstance(part, str) and len(part) < 10 for part in ARGUMENTS), 40),
    ("texts as observations", sum(isinstance(node.observation, str) for node in NODES if node.is_tool), 5),
    ("lists as observations", sum(isinstance(node.observation, list) for node in NODES if node.is_tool), 8),
    (
        "plain numbers and truths as observations",
        sum(isinstance(node.observation, int | float) for node in NODES if node.is_tool),
        2,
    ),
    (
        "errors as observations",
        sum(isinstance(node.observation, dict) and "error" in node.observation for node in NODES),
        1,
    ),
    ("parameters of type float", sum(isinstance(part, dict) and part.get("type") == "float" for part in SCHEMAS), 4),
    ("parameters of type number", sum(isinstance(part, dict) and part.get("type") == "number" for part in SCHEMAS), 6),
    ("parameters with a default", sum(isinstance(part, dict) and "default" in part for part in SCHEMAS), 8),
    ("parameters with anyOf", sum(isinstance(part, dict) and "anyOf" in part for part in SCHEMAS), 1),
    ("parameters without a type", sum(isinstance(part, dict) and set(part) == {"description"} for part in SCHEMAS), 1),
    (
        "objects with free members",
        sum(isinstance(part, dict) and part.get("additionalProperties") is True for part in SCHEMAS),
        1,
    ),
]


@pytest.mark.parametrize(("what", "count", "least"), MINIMA, ids=[what for what, _, _ in MINIMA])
def test_enough(what: str, count: int, least: int) -> None:
    assert count >= least


def test_no_tool_belongs_to_two_sessions() -> None:
    owners = Counter(
        name for session in SESSIONS["en"] for name in {tool["function"]["name"] for tool in session.tools}
    )
    assert [name for name, count in owners.items() if count > 1] == []
    assert len(owners) >= 80


# -- the official form


def test_ids_count_the_lines() -> None:
    """The published scorer takes the number in an id for a line number."""
    assert [record["id"] for record in RECORDS] == [f"wild_tool_bench_{number}" for number in range(len(RECORDS))]
    assert [json.dumps(record, ensure_ascii=False) for record in RECORDS] == LINES


@every_record
@pytest.mark.parametrize("twin", ["", "english_"])
def test_form_of_a_record(record: dict[str, Any], twin: str) -> None:
    fields = ("env_info", "tools", "tasks", "answer_list", "task_types", "turn_subtypes")
    assert set(record) == {"id", *fields, *(f"english_{field}" for field in fields)}
    days = r"[A-Z][a-z]+day" if twin else "星期[一二三四五六日]"
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d {days}", record[f"{twin}env_info"])
    assert [len(record[f"{twin}{field}"]) for field in ("tasks", "answer_list", "task_types", "turn_subtypes")] == [
        4,
        4,
        4,
        3,
    ]
    for tool in record[f"{twin}tools"]:
        assert set(tool) == {"type", "function"} and tool["type"] == "function"
        assert set(tool["function"]) == {"name", "description", "parameters"}
        assert tool["function"]["parameters"]["type"] == "object"
        assert set(tool["function"]["parameters"]["required"]) <= set(tool["function"]["parameters"]["properties"])
    for nodes in record[f"{twin}answer_list"]:
        for place, node in enumerate(nodes):
            asks = node["action"]["name"] == "ask_user_for_required_parameters"
            assert set(node) == {"idx", "action", "observation", "dependency_list", *(["user_input"] if asks else [])}
            assert node["idx"] == place and set(node["action"]) == {"name", "arguments"}
            assert all(dependency < place for dependency in node["dependency_list"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_loader_finds_nothing_wrong(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert problems(FILE, language) == []
    assert [row.id for row in index(MINI, language).rows][:5] == [
        *(f"wild_tool_bench_0-t{number}" for number in (1, 2, 3, 4)),
        "wild_tool_bench_1-t1",
    ]


# -- types say what the graphs are


@every_session
def test_the_graph_is_of_the_type_that_it_is_said_to_be(session: Session) -> None:
    wanted = {"Parallel Multi-Tool": "combine", "Sequential Multi-Tool": "serial", "Mixed Multi-Tool": "cs"}
    for task in session.tasks:
        calls, questions, closing = len(_names(task)), _questions(task), task.answer_list[-1]
        assert closing.name == "prepare_to_answer" and isinstance(closing.observation, str) and closing.observation
        assert closing.arguments == {"answer_type": "chat" if task.type == "Chat" else "tool"}
        assert sum(node.is_prepare for node in task.answer_list) == 1
        assert (questions > 0) == (task.type == "Clarify")
        if task.type in wanted:
            assert task.structure == wanted[task.type]
        elif task.type == "Single-Tool":
            assert calls == 1
        else:
            assert (calls > 0) == (task.type == "Clarify")


@every_session
def test_questions_ask_for_what_a_tool_needs(session: Session) -> None:
    for task in session.tasks:
        for node in task.answer_list:
            if node.is_ask:
                tool = find_tool(session.tools, str(node.arguments["tool_name"]))
                assert tool is not None and node.arguments["missing_required_parameters"]
                assert set(node.arguments["missing_required_parameters"]) <= set(
                    tool["function"]["parameters"]["required"]
                )
                assert node.user_input and node.observation
                assert any(later.name == node.arguments["tool_name"] for later in task.answer_list[node.position :])


# -- the gold can be reached


@every_session
def test_the_published_evaluator_accepts_the_gold(session: Session) -> None:
    assert unreachable(session) == []


@every_session
def test_the_shortest_path_is_followed_by_names_alone(session: Session) -> None:
    """The candidate that is found by a message's names is the path's own group, and pseudo actions stand alone."""
    for task in session.tasks:
        graph, state, path = Graph(task.answer_list), START, Graph(task.answer_list).optimal()
        assert len(path) == graph.min_length
        for group in path:
            found = graph.first(state, [task.answer_list[place].name for place in group])
            assert found is not None and found[0] == group
            assert len(group) == 1 or all(task.answer_list[place].is_tool for place in group)
            state = found[1]
        assert len(state.done) == len(graph)
        assert opening(session, task)[-1] == {"role": "user", "content": task.text}


@every_session
@pytest.mark.parametrize("converted", [True, False], ids=["as offered", "as stored"])
@pytest.mark.parametrize("fixes", [PARITY, STRICT], ids=["parity", "strict"])
def test_gold_arguments_keep_their_schema(session: Session, converted: bool, fixes: frozenset[Any]) -> None:
    tools = convert_tools(session.tools) if converted else session.tools
    for task in session.tasks:
        for node in task.answer_list:
            if node.is_tool:
                tool = find_tool(tools, node.name)
                assert tool is not None
                assert (
                    check(tool, json.dumps(dict(node.arguments), ensure_ascii=False), dict(node.arguments), fixes)
                    == "correct"
                )


@every_session
def test_numbers_of_things_were_said_before_they_are_used(session: Session) -> None:
    """No argument holds an id, a mail address or a name with a digit that neither the user nor a tool has given."""
    heard = session.env_info
    for task in session.tasks:
        heard += f" {task.text}"
        for node in task.answer_list:
            if node.is_tool:
                used = {
                    word
                    for part in _walk(dict(node.arguments))
                    if isinstance(part, str)
                    for word in re.findall(r"[A-Za-z]+[-]?\d+(?:-\w+)*|\S+@[\w.]+", part, re.ASCII)
                }
                assert {word for word in used if word not in heard} == set()
            heard += f" {json.dumps(node.observation, ensure_ascii=False)} {node.user_input or ''}"


@every_session
def test_a_call_uses_only_what_comes_before_it(session: Session) -> None:
    """An id that a sibling of the same task returns makes the call depend on it."""
    for task in session.tasks:
        before = _ancestors(task)
        for node in task.answer_list:
            if node.is_tool:
                text = json.dumps(dict(node.arguments), ensure_ascii=False)
                makers = {
                    other.position
                    for other in task.answer_list[: node.position]
                    for word in re.findall(r"[A-Z]+-?\d+", json.dumps(other.observation))
                    if word in text
                    and word not in json.dumps(dict(other.arguments))
                    and word not in _heard_earlier(session, task)
                }
                assert makers <= before[node.position]


def _ancestors(task: WildTask) -> list[set[int]]:
    found: list[set[int]] = []
    for node in task.answer_list:
        found.append({up for dependency in node.dependencies for up in {dependency, *found[dependency]}})
    return found


def _heard_earlier(session: Session, task: WildTask) -> str:
    return " ".join(
        [one.text for one in session.tasks[: task.position + 1]]
        + [json.dumps(node.observation) for one in session.tasks[: task.position] for node in one.answer_list]
        + [node.user_input or "" for one in session.tasks[: task.position + 1] for node in one.answer_list]
    )

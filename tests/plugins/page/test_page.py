"""What the page is made of: transcripts, gold, questions, figures, files."""

from __future__ import annotations

import json
import time

import pytest
from agentgauge_reports.conversation import conversation, side_by_side
from agentgauge_reports.page.figures import leaderboards, percentiles
from agentgauge_reports.page.page import write_page
from agentgauge_reports.page.transcript import PageFiles, transcript, tree

from agentgauge.core.registry import Registry
from agentgauge.core.types import Event, Record, Score, Transcript
from tests.plugin.toy import TOY
from tests.reports.runs import PNG, TASKS, chunks, combined_run, page_data, record, write_run

INSTALLED = Registry.installed()


def call(name, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def said(*calls, text=None):
    return {"role": "assistant", "tool_calls": list(calls)} if calls else {"role": "assistant", "content": text}


# -- gold beside what came

ADD, MUL = {"name": "Add", "arguments": {"a": 1}}, {"name": "Mul", "arguments": {"b": 2}}


@pytest.mark.parametrize(
    ("output", "rows"),
    [
        (None, []),
        ({"responses": ["x"]}, []),
        (
            {"gold": [said(call("Add", a=1)), said(text="3")], "prediction": [said(call("Add", a=2))]},
            [([ADD], [{"name": "Add", "arguments": {"a": 2}}]), ([{"text": "3"}], [])],
        ),
        (
            {
                "gold": [[said(call("Add", a=1)), said(call("Mul", b=2)), said(text="2")]],
                "prediction": [[said(call("Mul", b=2)), said(text="2")]],
            },
            [([ADD], []), ([MUL], [MUL]), ([{"text": "2"}], [{"text": "2"}])],
        ),
        (
            {
                "inference_log": {
                    "step_10": {"inference_output": {"content": "hello", "tool_calls": None}, "inference_answer": {}},
                    "step_2": {
                        "inference_output": {"tool_calls": [{"function": {"name": "Add", "arguments": '{"a": 1}'}}]},
                        "inference_answer": {
                            "one": {"action": [{"name": "Mul", "arguments": '{"b": 2}'}]},
                            "two": {"action": []},
                        },
                    },
                }
            },
            [([MUL], [ADD]), ([], [{"text": "hello"}])],
        ),
    ],
    ids=["nothing", "no gold in it", "step by step", "end to end, a call left out", "a log of steps"],
)
def test_what_came_stands_beside_what_was_expected(output, rows):
    assert [(row["expected"], row["got"]) for row in side_by_side(output)] == rows


def test_what_was_expected_in_words_is_a_text_with_the_golds_own():
    pseudo = {"name": "prepare_to_answer", "arguments": '{"answer_type": "chat"}'}
    asking = {
        "name": "ask_user_for_required_parameters",
        "arguments": '{"tool_name": "heat", "missing_required_parameters": ["until"]}',
    }
    calls = [{"name": "heat", "arguments": '{"celsius": 18.0}'}]
    answers = [
        {"action": [pseudo], "observation": "It is warm."},
        {"action": [asking], "observation": "Until when?"},
        {"action": [asking]},
        {"action": calls},
    ]
    log = {
        f"step_{number}": {"inference_output": {"content": "hello"}, "inference_answer": {"one": each}}
        for number, each in enumerate(answers)
    }
    expected = [row["expected"] for row in side_by_side({"inference_log": log}, INSTALLED["wild"].shown.in_words)]
    question = "a question to the user for until of heat"
    assert expected == [
        [{"text": "the final answer, such as: It is warm."}],
        [{"text": f"{question}, such as: Until when?"}],
        [{"text": question}],
        [{"name": "heat", "arguments": {"celsius": 18.0}}],
    ]


@pytest.mark.parametrize(
    ("status", "explanation", "verdict"),
    [
        ("passed", "", "every reply has the expected calls"),
        ("passed", "2 of 3", "2 of 3"),
        ("wrong", "no", "no"),
        ("wrong", "", ""),
    ],
)
def test_a_passed_case_says_why(tmp_path, status, explanation, verdict):
    one = Record("wild", "s", 1, "c", status, Transcript({}), Score(status == "passed", explanation=explanation))
    said, _ = transcript(one, INSTALLED["wild"], PageFiles(tmp_path, {}, TASKS, None, {}), "parity")
    assert said["verdict"].startswith(verdict) and bool(said["verdict"]) == bool(verdict)


def test_a_task_without_such_a_sentence_explains_its_passed_cases_one_by_one():
    silent = {task.name for task in INSTALLED if not (task.shown.passes or task.data.in_run_folder)}
    contests = {f"mmau.contest_{part}" for part in ("standard", "planner", "solver", "retry")}
    notebooks = {f"mmau.ds_{part}" for part in ("e2e", "codegen", "oracle", "retry")}
    assert silent == {"gta_workflow", *contests, *notebooks}


# -- transcripts


def test_a_transcript_says_everything_once(tmp_path):
    call_of = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "Add", "arguments": "{}"}}],
    }
    events = [
        Event(
            "model",
            "m",
            0,
            0.1,
            {
                "messages": [{"role": "user", "content": "add"}],
                "reply": "",
                "tool_calls": [{"name": "Add", "arguments": "{}"}],
            },
        ),
        Event("tool", "Add", 0, 0.2, {"arguments": {}, "result": [{"type": "text", "content": "42"}]}),
        Event(
            "model",
            "m",
            0,
            0.3,
            {
                "messages": [call_of, {"role": "tool", "content": "42"}, {"role": "user", "content": "go on"}],
                "reply": "done",
            },
        ),
        Event("model", "m", 0, 0.4, {"messages": [{"role": "assistant", "content": "given"}], "reply": "end"}),
    ]
    run = write_run(tmp_path / "run", [record(0, events=events)])
    write_page(run, run / "report.html", tasks=TASKS)
    ((case,),) = chunks(run / "report.html")
    shown = [step.get("content") or step.get("reply") or step.get("name") for step in case["said"]["steps"]]
    assert shown == ["add", "m", "Add", "go on", "done", "given", "end"]
    assert case["seconds"] == [0.1, 0.2, 0.3, 0.4]


def test_an_artifact_keeps_its_words_and_loses_everything_that_could_act():
    table = "<table onclick='x()'><tr><td style='a:b'>one<br><b>two</b></td></tr></table>"
    page = f"{table}<script>three</script><img src=x onerror=y><a href=z>four</a>"
    assert tree(page) == ["div", [["table", [["tr", [["td", ["one", ["br", []], ["b", ["two"]]]]]]]], "three", "four"]]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("{RUN}/files/toy.say/s0-a1/0001.png", "run:files/toy.say/s0-a1/0001.png"),
        ("{RUN}/../secret.png", None),
        ("{RUN}/files/link.png", None),
        ("{RUN}/files/page.html", None),
        ("{RUN}/files/none.png", None),
        ("{ROOT}/../secret.png", None),
    ],
)
def test_only_pictures_inside_the_run_are_shown(tmp_path, path, shown):
    (tmp_path / "secret.png").write_bytes(PNG)
    place = tmp_path / "run" / "files" / "toy.say" / "s0-a1"
    place.mkdir(parents=True)
    (place / "0001.png").write_bytes(PNG)
    (tmp_path / "run" / "files" / "page.html").write_text("x")
    (tmp_path / "run" / "files" / "link.png").symlink_to(tmp_path / "secret.png")
    event = Event("tool", "Draw", 0, 0, {"arguments": {}, "result": [{"type": "image", "content": path}]})
    run = write_run(tmp_path / "run", [record(0, events=[event])])
    write_page(run, run / "report.html", tasks=TASKS)
    ((case,),) = chunks(run / "report.html")
    assert case["said"]["files"] == ({path: shown} if shown else {})


# -- figures


def test_percentiles_are_of_the_nearest_rank():
    assert percentiles([3.0]) == [1, 3.0, 3.0, 3.0, 3.0]
    assert percentiles([float(number) for number in range(200, 0, -1)]) == [200, 100.0, 180.0, 198.0, 200.0]


def test_faults_tools_and_outcomes_are_counted(tmp_path):
    tools = [
        Event("tool", name, 0, 1.0, {"arguments": {}}, error) for name, error in (("A", None), ("A", "no"), ("B", None))
    ]
    run = write_run(
        tmp_path / "run",
        [record(0, events=tools), record(1, passed=False), record(2, passed=False)],
        missing=[("toy.say", "s9")],
    )
    data = page_data(write_page(run, run / "report.html", tasks=TASKS))
    assert data["tools"] == [["A", 2, 1], ["B", 1, 0]]
    assert [(data["kinds"][kind][0], *rest) for kind, *rest in data["faults"]] == [("wrong_answer", {"Toy": 2}, 1, {})]
    assert data["cases"]["status"] == [0, 1, 1, 3] and data["cases"]["calls"] == [3, 0, 0, 0]
    assert {key: data["tasks"][0][key] for key in ("planned", "passed", "wrong", "missing")} == {
        "planned": 4,
        "passed": 1,
        "wrong": 2,
        "missing": 1,
    }


# -- what a list shows of a case


@pytest.mark.parametrize(
    ("content", "text"), [(["x", {"type": "text", "text": "y"}], "y"), ({"a": 1}, "{'a': 1}"), (7, "7")]
)
def test_a_question_of_a_strange_shape_is_text(tmp_path, content, text):
    asked = Event("model", "m", 0, 0, {"messages": [{"role": "user", "content": content}], "reply": "a"})
    run = write_run(tmp_path / "run", [record(0, events=[asked])])
    data = page_data(write_page(run, run / "report.html", tasks=TASKS))
    assert data["texts"][data["cases"]["question"][0]] == text


@pytest.mark.parametrize(("finished", "resumed"), [(5, False), (0.5, True)])
def test_a_case_from_before_the_start_says_that_the_run_was_resumed(tmp_path, finished, resumed):
    run = write_run(tmp_path / "run", [record(2), record(finished)])  # the run started at 1
    page = write_page(run, run / "report.html", tasks=TASKS).read_text(encoding="utf-8")
    assert f'"resumed":{str(resumed).lower()}' in page


# -- published rows


def all_boards(value=None, only="", **counts):
    tasks = {task.name: task for task in TASKS if only in task.name}
    part = {"planned": 0, "passed": 0, "wrong": 0, "broken": 0, "missing": 0, "similarity": "", "comparable": True}
    part |= counts
    metric = {"value": value, "low": None, "high": None, "n": 0}
    about = {
        "model": "m",
        "dialect": "native",
        "scoring": "parity",
        "tools": {},
        "data": {name: {"official": True, "samples": 0, "left_out": []} for name in tasks},
        "options": {
            o.name: o.accepted[0] if o.accepted else o.default for task in tasks.values() for o in task.options
        },
    }
    done = {name: {**part, "metrics": dict.fromkeys(task.shown.published, metric)} for name, task in tasks.items()}
    summary = {"run": about, "tasks": done, "capabilities": {}}
    return {board["benchmark"]: board for board in leaderboards(summary, TASKS)}


def shown(board):
    """Title of the table → model → column → text."""
    return {
        one["title"]: {row["model"]: dict(zip(one["columns"], row["cells"], strict=True)) for row in one["rows"]}
        for one in board["editions"]
    }


def told(figure):
    return "–" if figure is None else f"{figure:.2f}"


def test_scores_of_several_tasks_have_their_intervals(tmp_path):
    summary = json.loads((combined_run(tmp_path / "run") / "summary.json").read_text())
    (board,) = leaderboards(summary, TASKS)
    assert board["made"] == [
        ["domains", "math", "40.00 (30.0–50.0)"],
        ["capabilities", "reasoning", "41.00"],
        ["capabilities", "planning", "incomplete, without x"],
    ]


def test_where_most_cases_are_broken_our_row_has_dashes():
    for broken, text in ((1, "50.00"), (2, "–")):
        board = all_boards(50.0, "wild", planned=3, wrong=3 - broken, broken=broken)["WildToolBench"]
        main = board["editions"][0]
        assert main["ours"][main["headline"]]["value"] == text


@pytest.mark.parametrize(
    ("title", "headline"), [("GTA-Atomic", "Ans"), ("GTA-Workflow", "Root SR"), ("WildToolBench", "Task")]
)
def test_rows_are_sorted_by_the_figure_that_says_how_good_a_model_is(title, headline):
    main = all_boards()[title]["editions"][0]
    assert main["columns"][main["headline"]] == headline


# -- the folder beside the page


def test_a_page_takes_away_the_transcripts_of_the_one_before(tmp_path):
    run = write_run(tmp_path / "run", [record(0)])
    beside = tmp_path / "run" / "report-data"
    beside.mkdir()
    for name in ("7.js", "file-0.png", "mine.js"):
        (beside / name).write_text("old")
    write_page(run, run / "report.html", tasks=TASKS)
    assert sorted(file.name for file in beside.iterdir()) == ["0.js", "mine.js"]


def test_what_a_broken_case_lacks_is_no_error():
    class NoFiles:
        def links(self, task, texts):
            return {}

    told, seconds = transcript(
        Record("toy.say", "s", 1, "c", "broken", error="gone", cause="endpoint"), TOY, NoFiles(), "parity"
    )
    assert told["error"] == "gone" and told["steps"] == [] and seconds == []


# -- files that texts of a case name


@pytest.fixture
def files(tmp_path):
    (tmp_path / "files").mkdir()
    for name in ("a.png", "b.csv"):
        (tmp_path / "files" / name).write_bytes(b"1")
    return PageFiles(tmp_path, {"settings": {"data": "mini"}}, TASKS, tmp_path / "report-data")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see {RUN}/files/a.png.", ["a.png"]),
        ('["{RUN}/files/a.png", {"b": "{RUN}/files/b.csv"}]', ["a.png", "b.csv"]),
        ("{RUN}/files/a.png{RUN}/files/b.csv", ["a.png", "b.csv"]),
        ("{RUN}/{RUN}/files/a.png", ["a.png"]),
        ("{RUN}/files/c.png {OTHER}/files/a.png", []),
    ],
)
def test_paths_are_found_in_a_text(files, text, found):
    assert list(files.links("t", [f"Files: {text}"])) == [f"{{RUN}}/files/{name}" for name in found]


@pytest.mark.parametrize("text", ["{RUN}/" * 150_000, "{RUN}/a" + ".a" * 400_000, "{RUN}/" + "a/" * 400_000])
def test_a_long_text_is_searched_in_a_moment(files, text):
    start = time.monotonic()
    assert files.links("t", [text]) == {}
    assert time.monotonic() - start < 5


# -- what a request repeats of earlier replies is told once

THOUGHT = "Thought: That is easy.\nFinal Answer: 42"


class NoFiles:
    def links(self, task, texts):
        return {}


def requests(reply, again, role="", calls=()):
    """Two requests; the second one begins with an assistant's message."""
    asked = [{"role": "user", "content": "6 * 7?"}]
    then = [again | {"role": "assistant"}, {"role": "user", "content": "Sure?"}]
    return [
        Event("model", "m", 0, 0.1, {"messages": asked, "reply": reply, "tool_calls": list(calls), "role": role}),
        Event("model", "m", 0, 0.1, {"messages": then, "reply": "Yes.", "tool_calls": []}),
    ]


def called(arguments):
    return {"name": "Add", "arguments": arguments}


@pytest.mark.parametrize(
    ("events", "given"),
    [
        (requests("42", {"content": "42\n"}), 0),
        (requests(THOUGHT, {"content": "Final Answer:42"}), 0),
        (requests(THOUGHT, {"content": "Final Answer:43"}), 1),
        (requests("It is 42", {"content": "42"}), 1),
        (requests(THOUGHT, {"content": ""}), 1),
        (requests("42", {"content": "42"}, role="--judge"), 1),
        (
            requests(
                "", {"content": None, "tool_calls": [{"function": called('{"a":1}')}]}, calls=[called('{"a": 1}')]
            ),
            0,
        ),
        (
            requests(
                "", {"content": None, "tool_calls": [{"function": called('{"a":2}')}]}, calls=[called('{"a": 1}')]
            ),
            1,
        ),
    ],
    ids=["the same", "its end", "another end", "gold", "nothing", "of another model", "the same call", "another call"],
)
def test_what_is_repeated_is_left_out_and_what_is_given_is_kept(events, given):
    said = conversation(events)
    assert [message.role for message in said] == ["user", *["assistant"] * (1 + given), "user", "assistant"]
    record = Record("toy.say", "s", 1, "c", "passed", Transcript(None, tuple(events)))
    steps = transcript(record, TOY, NoFiles(), "parity")[0]["steps"]
    assert [step.get("role", "model") for step in steps if step["is"] == "message"] == (
        ["user", *["assistant"] * given, "user"]
    )


# -- size


def test_a_page_of_a_thousand_cases_is_small(tmp_path):
    talk = "The quick brown fox jumps over the lazy dog, and then thinks about it for a while. " * 12
    events = [
        event
        for number in range(4)
        for event in (
            Event(
                "model",
                "m",
                0,
                0.1,
                {"messages": [{"role": "user", "content": f"{number} {talk}"}], "reply": f"{talk} {number}"},
            ),
            Event(
                "tool",
                f"Tool{number}",
                0,
                0.1,
                {"arguments": {"query": talk[:200]}, "result": [{"type": "text", "content": talk}]},
            ),
        )
    ]

    def asked(number):
        """A question of its own, as long as the list shows it."""
        yield Event("model", "m", 0, 0.1, {"messages": [{"role": "user", "content": f"{number} {talk}"}], "reply": ""})
        yield from events

    cases = (record(number, events=list(asked(number)), passed=number % 3 == 0) for number in range(1000))
    run = write_run(tmp_path / "run", cases)
    page = write_page(run, run / "report.html", tasks=TASKS)
    assert page.stat().st_size < 700_000
    assert len(page_data(page)["texts"]) > 1000
    assert sum(map(len, chunks(page))) == 1000

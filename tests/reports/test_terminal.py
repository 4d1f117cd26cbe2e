"""What is printed at the end of a run: aligned, at most 80 columns, nothing but text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import agentgauge_reports.terminal as terminal_module
import pytest
from agentgauge_reports.figures import combined_value
from agentgauge_reports.leaderboard import is_comparable, leaderboard
from agentgauge_reports.load import load_run
from agentgauge_reports.notices import alarm
from agentgauge_reports.terminal import by_keyword, combined, end_screen, explanations, meaning, next_steps
from agentgauge_reports.text import dollars, fill

from agentgauge.core.estimate import MetricFormula
from agentgauge.core.published import Published
from agentgauge.core.registry import Registry
from agentgauge.run.live import TimeLeft
from tests.plugin.project import Project
from tests.plugin.toy import TOY, toy
from tests.reports.runs import TASKS, made

REMARK = "a remark that goes on and on, so that it has to be broken into several lines of the terminal"
TOYS = Registry(
    [
        TOY,
        toy(
            name="toy.wide",
            shown={
                "columns": ("Acc", *(f"Column {number}" for number in range(9)), "Calls"),
                "published": ("Acc",),
                "counts": frozenset({"Calls"}),
                "notes": lambda metrics: [REMARK],
            },
        ),
        toy(name="other.say", shown={"benchmark": "Other"}),
    ]
)


def metric(value, low=None, high=None, n=6, **more):
    return {"value": value, "low": low, "high": high, "n": n, **more}


def part(metrics, **more):
    counts = {"planned": 6, "passed": 3, "wrong": 2, "broken": 1, "missing": 0}
    return {**counts, "similarity": "", "comparable": True, "causes": {}, "metrics": metrics, **more}


def summary(**tasks):
    parts = {name.replace("_", "."): one for name, one in tasks.items()}
    data = {name: {"official": False, "samples": 6, "left_out": []} for name in parts}
    run = {"model": "m", "dialect": "react", "scoring": "parity", "tools": {}, "options": {}, "data": data}
    return {"run": run, "tasks": parts, "capabilities": {}, "usage": {}}


WIDE = {
    "Acc": metric(50.0, 20.0, 80.0),
    **{f"Column {number}": metric(100.0, 85.25, 100.0) for number in range(9)},
    "Calls": metric(7.0),
}


def test_a_table_has_values_intervals_and_samples_below_each_name():
    lines = list(end_screen(summary(toy_say=part({"Acc": metric(50.0, 20.04, 80.0)}, causes={"http 500": 1})), TOYS))
    assert lines == [
        "toy.say: 6 planned · 3 passed · 2 wrong · 1 broken · 0 missing",
        "                 Acc",
        "    value      50.00",
        "    95 %   20.0–80.0",
        "    n              6",
        "    broken: 1 × http 500",
        "",
        "not comparable with published rows: bundled samples instead of the official",
        "  data; dialect react instead of native. More: -v, leaderboard.md",
    ]


def test_figures_without_broken_cases_have_a_line_of_their_own():
    lines = list(end_screen(summary(toy_say=part({"Acc": metric(50.0, value_clean=60.0)})), TOYS))
    assert [line.split() for line in lines[1:5]] == [
        ["Acc"],
        ["value", "50.00"],
        ["without", "broken", "60.00"],
        ["n", "6"],
    ]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_wide_tables_fold_and_long_sentences_wrap(width):
    lines = list(
        end_screen(
            summary(toy_say=part({"Acc": metric(None, n=0)}), toy_wide=part(WIDE, causes={"a cause " * 20: 1})),
            TOYS,
            width,
            full=True,
        )
    )
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert all(f"Column {number}" in text for number in range(9)) and "counted: Calls 7" in text
    assert "without a value: Acc" in text
    names = [line for line in lines if "Column" in line]
    assert len(names) == (1 if width == 200 else 9)  # a line for each figure, where they do not fit side by side
    below = lines[lines.index(names[0]) + 1]
    assert len(below) == len(names[0])  # the columns end below their names


def test_of_many_figures_only_the_headline_has_an_interval_without_v(monkeypatch):
    monkeypatch.setattr(terminal_module, "MANY", 10)
    lines = list(end_screen(summary(toy_wide=part(WIDE)), TOYS))
    assert lines[:5] == [
        "toy.wide: 6 planned · 3 passed · 2 wrong · 1 broken · 0 missing",
        "         value       95 %  n",
        "    Acc  50.00  20.0–80.0  6",
        "    Column 0 100.00 · Column 1 100.00 · Column 2 100.00 · Column 3 100.00 ·",
        "    Column 4 100.00 · Column 5 100.00 · Column 6 100.00 · Column 7 100.00 ·",
    ]


def test_several_tasks_have_an_overview_at_the_end_with_the_first_published_figure():
    of = summary(toy_say=part({"Acc": metric(None, n=0)}), toy_wide=part(WIDE))
    lines = list(end_screen(of, TOYS, full=True))
    assert [line.split() for line in lines[-5:-2]] == [
        ["task", "cases", "passed", "broken", "value", "95", "%", "n"],
        ["toy.say", "6", "3", "1", "Acc", "–", "0"],
        ["toy.wide", "6", "3", "1", "Acc", "50.00", "20.0–80.0", "6"],
    ]
    assert lines[-2:] == ["no value for toy.say: by the published rule none of its replies counts", ""]


def test_missing_cases_are_not_counted_as_broken():
    lines = list(end_screen(summary(toy_say=part({}, passed=2, missing=1), toy_wide=part(WIDE)), TOYS, full=True))
    assert [line.split() for line in lines[-4:-1]] == [
        ["task", "cases", "passed", "broken", "missing", "value", "95", "%", "n"],
        ["toy.say", "6", "2", "1", "1"],
        ["toy.wide", "6", "3", "1", "0", "Acc", "50.00", "20.0–80.0", "6"],
    ]


def several(**more):
    """Of two benchmarks, four tasks."""
    found = summary(toy_say=part({"Acc": metric(40.0, 20.0, 60.0)}), toy_wide=part(WIDE), other_say=part(WIDE))
    return found | more


def test_several_benchmarks_have_a_line_each_on_one_screen(monkeypatch):
    monkeypatch.setattr(terminal_module, "FEW", 2)
    lines = list(end_screen(several(), TOYS, pages=["report.html"]))
    assert [line.split() for line in lines[:3]] == [
        ["benchmark", "tasks", "cases", "passed", "broken", "value", "95", "%", "n"],
        ["Toy", "2", "12", "6", "2", "Acc", "40.00", "20.0–60.0", "6"],
        ["Other", "1", "6", "3", "1", "Acc", "50.00", "20.0–80.0", "6"],
    ]
    assert lines[3:] == [
        "",
        "not comparable with published rows for 2 reasons. Every figure and reason: -v,",
        "  report.html, leaderboard.md",
    ]
    made = {"Toy": {"all": {"Sum": {"value": 12.0, "low": 1.0, "high": 20.0, "missing": []}}}}
    assert "Sum  12.00   1.0–20.0" in list(end_screen(several(capabilities=made), TOYS))[1]
    made["Toy"]["all"]["Sum"] |= {"value": None, "low": None, "high": None, "missing": ["x"]}
    assert "say Acc  40.00" in list(end_screen(several(capabilities=made), TOYS))[1]
    made["Toy"]["all"]["Sum"]["without_figure"] = ["x"]
    assert list(end_screen(several(capabilities=made), TOYS))[1].split()[-2:] == ["Sum", "incomplete"]
    made["Toy"]["all"]["Sum"] |= {"without_figure": ["x"]}
    assert (
        list(end_screen(several(capabilities=made), TOYS))[3]
        == "Toy is incomplete: no reply of x has an answer that counts"
    )
    without = several(capabilities=made)
    made["Toy"]["all"]["Sum"] |= {"missing": ["say"], "without_figure": ["say"]}
    for name in ("toy.say", "other.say"):
        without["tasks"][name] = part({"Acc": metric(None, n=0)})
    reasons = "\n".join(end_screen(without, TOYS)).partition("Toy is incomplete: no reply of say")[2].splitlines()[:2]
    assert reasons[1] == "no value for other.say: by the published rule none of its replies counts"
    whole = "\n".join(end_screen(several(), TOYS, full=True))
    assert "Column 8" in whole and "bundled samples instead" in whole and "other.say  " in whole


def test_a_second_headline_has_a_line_below_the_first(monkeypatch):
    monkeypatch.setattr(terminal_module, "FEW", 2)
    columns = ("Acc", "Column 3")
    shown = {"benchmark": "Other", "columns": columns, "second_headline": "Column 3"}
    other = toy(
        name="other.say", metrics=lambda scoring: MetricFormula(lambda sums: dict.fromkeys(columns)), shown=shown
    )
    first, second = list(end_screen(several(), Registry([*TOYS, other])))[2:4]
    assert first.split()[:5] == ["Other", "1", "6", "3", "1"]
    assert second.split() == ["Column", "3", "100.00", "85.2–100.0", "6"]
    assert second.index("Column 3") + len("Column 3") == first.index("Acc") + len("Acc")


def test_costs_have_a_line_for_each_benchmark_and_with_v_for_each_task():
    spent = several()
    for name, usd in (("toy.say", 0.25), ("toy.wide", 0.5), ("other.say", 0.0)):
        spent["tasks"][name]["usage"] = {"usd": usd}
    spent["tasks"]["other.say"]["passed"] = 0
    spent["usage"] = {"usd": 0.75, "usd_per_passed": 0.125, "prompt_tokens": 200, "cached_tokens": 50}
    last = "cost: $0.7500, $0.1250 per passed case; 25% of the prompt tokens came from the"
    short, full = list(end_screen(spent, TOYS)), list(end_screen(spent, TOYS, full=True))
    assert last in short and last in full
    assert ["Toy", "$0.7500", "$0.1250"] in [line.split() for line in short]
    shown = [line.split() for line in full]
    assert ["toy.say", "$0.2500", "$0.0833"] in shown and ["other.say", "$0.0000", "–"] in shown


@pytest.mark.parametrize(
    ("usd", "shown"),
    [(12.5, "$12.5000"), (0.0012, "$0.0012"), (0.00099, "$0.00099"), (0.0000364, "$0.000036"), (0.0, "$0.0000")],
)
def test_small_amounts_of_dollars_are_not_shown_as_zero(usd, shown):
    assert dollars(usd) == shown


@pytest.mark.parametrize(("model", "told"), [("baseline", "a floor"), ("oracle", "the gold"), ("gpt-4o", "")])
def test_runs_of_embedded_models_say_what_they_are_worth_and_what_to_do_next(model, told):
    found = summary(toy_say=part({}))
    found["run"]["model"] = model
    said = meaning(found, TOYS)
    assert told in said and ("bundled samples" in said) is bool(told)
    found["run"]["agent"] = "0123456789abcdef"  # which makes something else of what the model says
    assert meaning(found, TOYS) == ("bundled samples, not the official data." if told else "")


VIEW = "agentgauge view  # each case and its conversation"
AGAIN = "pytest --resume=runs/a  # the broken cases again"
ANOTHER = "pytest bench_gta -k 'not step' --model=gpt-4o  # another model; docs/models.md lists them"
FETCH = "agentgauge fetch gta-atomic  # official data"


@pytest.mark.parametrize(
    ("model", "official", "ends", "folder", "steps"),
    [
        ("baseline", False, {"broken": 0}, "runs/a", [VIEW, ANOTHER, FETCH]),
        ("baseline", True, {"broken": 0, "wrong": 0}, "runs/a", [ANOTHER]),
        ("gpt-4o", True, {"broken": 0, "wrong": 0}, "runs/a", []),
        ("gpt-4o", True, {}, "runs/a", [AGAIN, VIEW]),
        ("gpt-4o", True, {"broken": 0}, "/my runs/a", [VIEW.replace("view", "view '/my runs'")]),
        ("gpt-4o", True, {"missing": 1, "wrong": 0}, "runs/a", [VIEW]),  # a run that was stopped says how it goes on
    ],
)
def test_the_next_commands_fit_the_selection_and_the_state(model, official, ends, folder, steps):
    found = summary(gta_atomic_e2e=part({}, **ends))
    found["tasks"] = {"gta_atomic.e2e": found["tasks"].pop("gta.atomic.e2e")}
    found["run"] |= {"model": model, "data": {"gta_atomic.e2e": {"official": official, "samples": 6, "left_out": []}}}
    shown = list(next_steps(found, TASKS, Path(folder), selection=["bench_gta", "-k", "not step"]))
    assert shown == [f"{'      ' if place else 'next: '}{step}" for place, step in enumerate(steps)]


def test_where_most_cases_are_broken_there_are_no_figures_and_an_alarm():
    found = summary(toy_say=part({"Acc": metric(33.0)}, passed=1, wrong=1, broken=4), toy_wide=part(WIDE))
    lines = list(end_screen(found, TOYS, full=True))
    assert lines[:2] == ["toy.say: 6 planned · 1 passed · 1 wrong · 4 broken · 0 missing", ""]
    assert lines[-3].split() == ["toy.say", "6", "1", "4"]
    assert "    4 of 6 cases are broken (toy.say)" in lines
    assert "toy.say: 4 of 6 cases are broken. Fix the cause, then run these cases again." in alarm(found)
    found["tasks"]["toy.say"]["causes"] = {"http 401": 3, "timeout": 1}
    assert "Fix the cause (3 × http 401, 1 × timeout), then" in alarm(found)
    assert alarm(summary(toy_say=part({"Acc": metric(50.0)}))) == ""


def official(found):
    found["run"] |= {"dialect": "native", "data": {name: {**OFFICIAL} for name in found["tasks"]}}
    return found


OFFICIAL = {"official": True, "samples": 6, "left_out": []}


@pytest.mark.parametrize(
    ("found", "is_one"),
    [
        (official(summary(toy_say=part({"Acc": metric(50.0)}))), True),
        (official(summary(toy_say=part({"Acc": metric(50.0)}, passed=1, wrong=1, broken=4))), False),
        (official(summary(toy_say=part({"Acc": metric(50.0)}, missing=1))), False),
        (summary(toy_say=part({"Acc": metric(50.0)})), False),
    ],
    ids=["whole", "mostly broken", "a part", "bundled"],
)
def test_a_row_that_may_be_compared_stands_among_the_published_ones_else_apart(found, is_one):
    assert is_comparable(found, TOY) is is_one
    row = {"edition": "2025", "model": "best", "Acc": 90.0}
    page = leaderboard(found, Registry([toy(published=Published(dialects=("native",), rows=[row]))]))
    before, _, after = page.partition("### This run (not comparable with the published rows)")
    assert ("**m (this run)**" in before, "**m (this run)**" in after) == (is_one, not is_one)
    row = next(line for line in page.splitlines() if "(this run)" in line)
    assert ("50.00" in row) is (found["tasks"]["toy.say"]["broken"] < 4)


def test_a_score_over_several_tasks_tells_those_that_ran_from_those_that_did_not():
    score = {"value": None, "missing": ["a", "b"]}
    assert combined_value(score) == "incomplete, without a, b"
    assert combined_value({**score, "without_figure": ["b"]}) == (
        "incomplete, without a; b ran without an answer that counts"
    )


def test_a_reason_that_holds_for_some_tasks_names_them():
    of = summary(toy_say=part({"Acc": metric(1.0)}, missing=1), toy_wide=part(WIDE))
    told = list(end_screen(of, TOYS, full=True))
    assert "    not every sample was run (toy.say)" in told
    assert "    bundled samples instead of the official data" in told


def test_combined_figures_wrap_below_themselves():
    scores = {
        "planning": {"value": 41.25, "missing": []},
        "reasoning": {"value": None, "missing": (names := [f"task_{number}" for number in range(9)])},
    }
    scores["reasoning"]["without_figure"] = names
    lines = list(combined({"run": {}, "tasks": {}, "capabilities": {"Apple MMAU": {"capabilities": scores}}}, TOYS))
    assert lines[:2] == ["Apple MMAU, capabilities", "    planning                           41.25"]
    assert max(map(len, lines)) <= 80 and lines[3].startswith(" " * 39)


def test_of_cut_replies_the_other_reasons_are_counted(tmp_path):
    labels = {"s0": ["reply_cut"], "s1": ["reply_cut", "wrong_tool"], "s2": ["reply_cut", "odd"], "s3": ["wrong_tool"]}
    run = load_run(made(tmp_path / "run", dict.fromkeys(labels, "w"), labels=labels), tasks=TASKS)
    told = "    why not passed: Reply was cut 3 (of these Wrong tool 1, Other 1), Wrong tool 1"
    assert told in list(by_keyword(run, 100))


def test_keywords_have_shares_with_wilsons_interval_and_reasons_are_counted(tmp_path):
    ends = {f"s{number}": "p" if number < 3 else "w" for number in range(12)} | {"broken": "b"}
    tags = {
        f"s{number}": ["all", "low" if number < 6 else "high", *(["rare"] if number < 2 else [])]
        for number in range(12)
    }
    lines = list(
        by_keyword(load_run(made(tmp_path / "run", ends, tags=tags, labels={"s9": ["wrong_tool"]}), tasks=TASKS))
    )
    assert lines == [
        "t",
        "    why not passed: Wrong tool 1, Other 8, Model endpoint 1",
        "    keyword  samples  passed %       95 %",
        "    low            6      50.0  18.8–81.2",
        "    high           6       0.0   0.0–39.0",
        "",
    ]


def test_samples_of_a_session_count_less_and_its_name_is_no_keyword(tmp_path):
    ends = {f"s{number}": "p" if number < 4 else "w" for number in range(16)}
    groups = {name: f"session{int(name[1:]) // 4}" for name in ends}
    tags = {name: [groups[name], "early" if int(name[1:]) < 8 else "late"] for name in ends}
    alone = list(
        by_keyword(
            load_run(made(tmp_path / "alone", ends, tags={name: [tag[1]] for name, tag in tags.items()}), tasks=TASKS)
        )
    )
    together = list(by_keyword(load_run(made(tmp_path / "together", ends, tags=tags, groups=groups), tasks=TASKS)))
    assert not any("session" in line for line in together)
    assert (
        [line.split()[:3] for line in alone[3:4]]
        == [line.split()[:3] for line in together[3:4]]
        == [["early", "8", "50.0"]]
    )
    assert alone[3].split()[3] == "21.5–78.5" and together[3].split()[3] == "9.5–90.5"


def test_explanations_do_not_steer_the_terminal():
    said = "it said \x1b[2J\x1b]0;title\x07 and\r\nmore"
    assert list(explanations("broken", [("node", said)], full=True))[1:] == [
        "    it said ␛[2J␛]0;title␇ and␍",
        "    more",
    ]


def test_only_the_first_few_explanations_are_shown_without_v():
    texts = [(f"node{number}", "first\nsecond") for number in range(7)]
    assert list(explanations("wrong", texts, full=False))[-1] == "    ... and 4 more wrong; -v shows them all"
    assert list(explanations("wrong", texts, full=True))[:3] == ["wrong  node0", "    first", "    second"]
    told = [("node", "first\n  expected: 1234567890\nthird\nfourth")]
    shown = ["wrong  node", "    first", "      expected: 1234…", "    third"]
    assert list(explanations("wrong", told, 21, full=False)) == shown
    cut = "4 of 4 replies were cut\nstep 1 of 4: no call\n  expected: OCR()\n  got:      a text\nstep 2 of 4: no call"
    assert list(explanations("wrong", [("node", cut)], full=False))[-1] == "      got:      a text"


def test_words_longer_than_the_line_stay_whole():
    assert fill("  ", "a " + "x" * 30 + " b-c", 10) == ["  a", "  " + "x" * 30, "  b-c"]


def test_time_left_is_learnt_task_by_task():
    left = TimeLeft({"quick": 100, "slow": 10})
    assert left.estimate(1.0) is None
    for second in range(1, 11):  # one case a second, each of one second: a concurrency of one
        left.add("quick", 1.0, float(second))
    assert left.estimate(10.0) == pytest.approx(100.0)  # the slow ones are not known yet
    left.add("slow", 10.0, 20.0)  # took the whole time from 10 to 20
    assert left.estimate(20.0) == pytest.approx(90 * 1.0 + 9 * 10.0)


def test_cases_that_an_earlier_run_has_finished_say_nothing_of_the_time_left():
    left = TimeLeft({"t": 1010})
    for _ in range(1000):
        left.add("t", None, 0.0)
    assert left.estimate(0.1) is None
    for number in range(6):
        left.add("t", 4.0, float(number))  # four at once
    assert left.estimate(5.0) == pytest.approx(4.0)
    for number in range(6, 10):
        left.add("t", 4.0, float(number))
    assert left.estimate(9.0) == 0.0


def test_a_run_prints_no_escape_codes_when_piped_and_leaves_a_valid_junit_file(tmp_path):
    """Also of texts that XML does not allow."""
    from tests.model.fault_server import FaultServer, answer

    project = Project.make(tmp_path / "project")
    with FaultServer(
        choose=lambda seen: answer(
            "\x1b[31m<b>&\x00 no"
            if "word3" in str(seen.body)
            else str(seen.body["messages"][-1]["content"]).split()[-1]
        )
    ) as server:
        result = project.run("--model", "m", "--model-url", server.url, "--junitxml", "junit.xml", "--run-dir", "run")
    assert result.status == 0 and "\x1b" not in result.output and "\r" not in result.output
    figures = result.output.split("= agentgauge =")[1].partition("\nresults: ")[0]  # commands are not wrapped
    assert max(map(len, figures.splitlines()[1:])) <= 80
    [suite] = ElementTree.parse(project.path / "junit.xml").getroot()
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    assert sum(case.find("failure") is not None for case in suite.iter("testcase")) == 1


def over_attempts():
    tries = {k: metric(value, value - 10, value + 10, n=4) for k, value in (("1", 50.0), ("2", 75.0))}
    return {"pass": {"pass@k": tries, "pass^k": {"1": metric(50.0, 40.0, 60.0, n=4), "2": metric(None, n=0)}}}


def test_attempts_have_a_line_each_with_intervals():
    text = "\n".join(end_screen(summary(toy_say=part({"Acc": metric(50.0)}, **over_attempts())), TOYS))
    assert (
        "    attempts  pass@k       95 %  pass^k       95 %  n\n"
        "           1   50.00  40.0–60.0   50.00  40.0–60.0  4\n"
        "           2   75.00  65.0–85.0       –             4\n"
    ) in text
    assert "attempts" not in "\n".join(end_screen(summary(toy_say=part({"Acc": metric(50.0)})), TOYS))


def test_the_short_form_has_the_most_attempts(monkeypatch):
    monkeypatch.setattr(terminal_module, "FEW", 1)
    told = summary(toy_say=part({"Acc": metric(50.0)}, **over_attempts()), toy_wide=part(WIDE))
    lines = list(end_screen(told, TOYS))
    assert "toy.say   2   75.00  65.0–85.0       –        4" in lines
    assert sum("pass@k" in line for line in lines) == 1

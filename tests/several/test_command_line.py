"""What the launcher reads of pytest's command line, and the names and paths that each run gets."""

from __future__ import annotations

import io

import pytest

from agentgauge.run.several.command_line import own_paths, read_command_line, with_options
from agentgauge.run.several.parent import named
from agentgauge.run.several.screen import Screen

SHORT = ("--model", "--run-dir", "--budget")


@pytest.mark.parametrize(
    ("line", "models", "rest"),
    [
        ("bench --model=a --model b -k x", ("a", "b"), "bench -k x"),
        ("--agentgauge-model=a --model=b", ("a", "b"), ""),
        ("-n 2 -m a --model=m -x tests/t.py::t[1]", ("m",), "-n 2 -m a -x tests/t.py::t[1]"),
        ("-k --models --model=a", ("a",), "-k --models"),
        ("--limit=3 --in-flight=4 --agentgauge-in-flight=5", (), "--limit=3 --in-flight=4"),
    ],
)
def test_the_models_are_taken_out_and_all_else_stays_in_its_order(line, models, rest):
    found = read_command_line(line.split(), SHORT)
    assert (found.models, " ".join(found.words)) == (models, rest)


def test_a_short_name_that_another_plugin_has_is_left_to_it():
    found = read_command_line(["--model=theirs", "--agentgauge-model=ours"], ())
    assert (found.models, found.words) == (("ours",), ("--model=theirs",))


@pytest.mark.parametrize(("line", "rest"), [("-x --model-url=u -- t.py", "-x -- t.py"), ("--model-url u", "")])
def test_the_address_stays_among_the_options(line, rest):
    found = read_command_line(line.split(), (*SHORT, "--model-url"))
    assert (found.model_url, " ".join(found.words)) == ("u", f"--agentgauge-model-url=u {rest}".strip())
    assert with_options(found.words, ["--lf"])[-2:] == (("--", "t.py") if rest else (found.words[0], "--lf"))


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("--basetemp=out -x", "-x --basetemp=out/m"),
        ("--basetemp out", "--basetemp=out/m"),
        ("-x --basetemp=out -- tests", "-x --basetemp=out/m -- tests"),
        ("--alluredir=out", "--alluredir=out"),
        ("--junitxml=junit.xml", "--junitxml=m/junit.xml"),
        ("--junit-xml=a/junit.xml --html=a/b.html", "--junit-xml=a/m/junit.xml --html=a/m/b.html"),
        ("-k a", "-k a"),
    ],
)
def test_a_run_writes_to_paths_of_its_own(line, own):
    assert " ".join(own_paths(line.split(), "m")) == own


@pytest.mark.parametrize(
    ("models", "folders"),
    [
        (["gpt-4o", "a/b"], ["gpt-4o", "b"]),
        (["x/m", "y/m", "m-2"], ["m", "m-2", "m-2-2"]),
        (["scripted:/a/s.json", "a b:c"], ["s", "a-b-c"]),
        (["..", "/", "logs"], ["model", "model-2", "logs-2"]),
    ],
)
def test_names_of_folders_are_safe_and_differ(models, folders):
    assert named(models) == folders


def test_lines_are_plain_where_there_is_no_terminal():
    out = io.StringIO()
    screen = Screen(out)
    screen.draw(["a: 1/2", "b: 1/2"])
    screen.write_line("a: ended")
    assert out.getvalue() == "a: 1/2\nb: 1/2\na: ended\n"


def test_lines_are_drawn_over_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "10")
    out = Terminal()
    screen = Screen(out)
    screen.draw(["a: 1 · 22 · 3", "b: " + "1" * 20])
    screen.write_line("a: ended after 1.0 s")
    screen.draw(["b: 2/2"])
    assert out.getvalue() == "a: 1 · 22\nb: 111111\n\x1b[2F\x1b[Ja: ended after 1.0 s\nb: 2/2\n"

"""Commands of ``agentgauge`` that other packages announce, as our benchmarks do."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from agentgauge.cli.main import commands_of_packages, main
from agentgauge.core.registry import Registry
from tests.made_up import install

PICNIC = '''
def main(argv):
    """Plan a picnic, 100 % of it.

    Returns the exit status.
    """
    print("to eat:", *argv)
    return 3


def friends(argv, invite=len):
    print(invite(argv), "invited")


def pytest_agentgauge_commands():
    return {"picnic": main, "report": main, "friends": friends}
'''

LOST = {
    "lost": "def pytest_agentgauge_commands():\n    import nothing_of_ours\n",
    "list": "def pytest_agentgauge_commands():\n    return ['main']\n",
    "text": "def pytest_agentgauge_commands():\n    return {'eat': 'main'}\n",
    "broken": "1 / 0",
}
"""Modules that announce no commands."""


@pytest.fixture(autouse=True)
def picnic(request, tmp_path, monkeypatch):
    lost = {f"picnic_{name}": text for name, text in getattr(request, "param", {}).items()}
    monkeypatch.syspath_prepend(install(tmp_path, {"picnic": PICNIC, **lost}, "picnic", *lost))


def test_a_command_of_another_package_is_run(capsys):
    assert main(["picnic", "--bread", "jam"]) == 3
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("to eat: --bread jam\n", "")


def test_a_command_that_asks_for_no_tasks_gets_none(capsys):
    assert main(["friends", "Ann", "Ben"]) == 0
    assert capsys.readouterr().out == "2 invited\n"


@pytest.mark.parametrize(
    "words", [["--help"], *([name, "--help"] for name in ("launch", "fetch", "serve-tools", "pack"))]
)
def test_what_needs_no_task_loads_none(words, monkeypatch, capsys):
    def fails():
        raise AssertionError

    monkeypatch.setattr(Registry, "installed", fails)
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: agentgauge")


def test_score_knows_the_tasks_without_pytest() -> None:
    code = "import sys; sys.modules['pytest'] = None; from agentgauge.cli.main import main; main(['score', '--help'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gta_atomic.e2e" in done.stdout and "wild" in done.stdout


@pytest.mark.parametrize("form", [["--tasks={}"], ["--tasks", "{}"]])
def test_files_before_a_command_announce_tasks_to_it(form, tmp_path, capsys):
    (tmp_path / "of_ours.py").write_text("from tests.plugin.toy import TOY, toy\n\nTASKS = [toy(name='toy.two')]\n")
    words = [word.format(tmp_path / "of_ours.py") for word in form]
    assert main([*words, "data", "check", "toy.none"]) == 4
    assert (
        "there is no task 'toy.none'" in (told := capsys.readouterr().err) and "tests.tools, toy.say, toy.two" in told
    )
    assert main([*words, "picnic"]) == 3, "a command that knows no tasks"
    assert main([f"--tasks={tmp_path / 'absent.py'}", "picnic"]) == 4
    assert "is not a Python file" in capsys.readouterr().err
    assert main(["data", "check", "toy.say"]) == 4, "another command does not know them"


@pytest.mark.parametrize("picnic", [LOST], indirect=True, ids=["with broken ones"])
def test_the_help_lists_it_and_says_which_cannot_be_had(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    printed = capsys.readouterr()
    shown = " ".join(printed.out.split())
    assert "picnic plan a picnic, 100 % of it" in shown
    assert "generate make new WildToolBench dialogues" in shown
    hook = "agentgauge: pytest_agentgauge_commands of the plugin"
    assert printed.err.splitlines() == [
        f"{hook} picnic_lost = picnic_lost fails (ModuleNotFoundError: No module named 'nothing_of_ours'); correct its"
        " package, or uninstall it",
        f"{hook} picnic_list = picnic_list returns ['main']; accepted is a dict; correct its package",
        f"{hook} picnic_text = picnic_text names 'main'; accepted is a function (argv) or (argv, tasks)",
        "agentgauge: the plugin picnic_broken = picnic_broken cannot be imported (ZeroDivisionError: division by zero);"
        " correct its package, or uninstall it",
    ]


def test_a_name_of_ours_stays_ours():
    found, _ = commands_of_packages()
    assert {"picnic", "pack", "generate"} <= found.keys() and "report" not in found


def test_a_mistyped_command_is_told_what_was_meant(capsys):
    with pytest.raises(SystemExit) as end:
        main(["scoer"])
    assert end.value.code == 2
    assert "there is no command 'scoer' (did you mean score?); --help lists them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--verison"], "agentgauge: error: there is no option --verison (did you mean --version?)"),
        ([], "agentgauge: error: a command is missing; --help lists them"),
        pytest.param(
            ["view", "--prot=3"],
            "agentgauge view: error: there is no option --prot (did you mean --port?)",
            marks=pytest.mark.uses("view"),
        ),
        (
            ["data", "check", "wild", "--dta", "x"],
            "agentgauge data check: error: there is no option --dta (did you mean",
        ),
        pytest.param(
            ["view", "runs", "more"],
            "agentgauge view: error: unexpected argument 'more'; --help shows what is accepted",
            marks=pytest.mark.uses("view"),
        ),
    ],
)
def test_a_mistyped_option_of_a_command_is_told_what_was_meant(capsys, words, says):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"agentgauge {version('agentgauge')}\n"

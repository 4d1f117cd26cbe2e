"""Registries: what they hold, their tasks' options, and what packages, modules and files announce."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from agentgauge.core import announcement
from agentgauge.core.announcement import import_file
from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry, tasks_of
from agentgauge.core.task import Task
from agentgauge.core.task_options import Chosen, TaskOption, role_option
from bench_wild.options import WildOptions
from bench_wild.task import wild
from tests.plugin.toy import TOY, toy

# -- Tasks by name.


def test_tasks_are_found_by_name_in_the_order_of_adding() -> None:
    one, two = toy(name="toy.one"), toy(name="toy.two")
    tasks = Registry([two, one])
    assert [*tasks] == [two, one] and tasks.names == ("toy.two", "toy.one")
    assert tasks["toy.one"] is tasks.get("toy.one") is one
    assert "toy.one" in tasks and "toy.on" not in tasks and tasks.get("toy.on") is None
    tasks.add(again := toy(name="toy.two"))
    assert [*tasks] == [again, one]


@pytest.mark.parametrize(
    ("known", "ends"),
    [
        ([], ("'toy.sya'; agentgauge --tasks FILE COMMAND", "known are none (is AgentGauge installed?)")),
        ([TOY], ("'toy.sya' (did you mean toy.say?); agentgauge --tasks FILE COMMAND", "known are toy.say")),
    ],
)
def test_an_unknown_name_is_told_with_those_that_are_known(known: list[Task], ends: tuple[str, str]) -> None:
    with pytest.raises(UsageProblem) as told:
        Registry(known)["toy.sya"]
    assert str(told.value).startswith(f"there is no task {ends[0]}") and str(told.value).endswith(ends[1])


def test_a_task_that_is_not_complete_is_refused_alone() -> None:
    tasks = Registry([TOY])
    with pytest.raises(UsageProblem, match=r"the task toy\.other has metrics"):
        tasks.add(toy(name="toy.other", metrics=lambda scoring: None))
    assert tasks.names == ("toy.say",)


# -- Options.


MOOD = TaskOption("--toy-mood", "good or bad (default: good)", ("good", "bad"))
LOUD = TaskOption("--toy-loud", "say it loudly")
USER = role_option("user")


def moody(chosen: Chosen | None = None, name: str = "toy.mood") -> Task:
    """Its title says how it is configured."""
    return toy(
        name=name,
        options=(MOOD, LOUD),
        configured=lambda chosen: moody(chosen, name),
        shown={"title": "as it is" if chosen is None else f"{chosen['--toy-mood']} {chosen['--toy-loud']}"},
    )


def test_an_option_means_one_thing() -> None:
    """Two tasks may share it; another's, or one that every run has, is refused when options are asked for."""
    tasks = Registry([moody(), moody(name="toy.two"), toy(name="toy.user", options=(USER,)), TOY])
    assert tasks.options() == {"--toy-mood": MOOD, "--toy-loud": LOUD, "--user-model": USER}
    with pytest.raises(UsageProblem, match=r"the task toy\.mood has an option --toy-loud, which every run has; rename"):
        tasks.options(reserved=("--toy-loud",))
    tasks.add(toy(name="toy.two", options=(TaskOption("--toy-mood", "calm or not", ("calm", "not")),)))
    with pytest.raises(
        UsageProblem, match=r"--toy-mood is an option of the tasks toy\.mood and toy\.two, which differ"
    ):
        tasks.options()


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ({}, {"--toy-mood": "good", "--toy-loud": False, "--user-model": "same"}),
        ({"--toy-mood": None}, {"--toy-mood": "good", "--toy-loud": False, "--user-model": "same"}),
        (
            {"--toy-mood": "bad", "--toy-loud": True, "--user-model": "gpt-4o", "--other": 1},
            {"--toy-mood": "bad", "--toy-loud": True, "--user-model": "gpt-4o"},
        ),
    ],
)
def test_values_that_are_not_given_are_the_defaults(given, chosen) -> None:
    assert Registry([moody(), toy(name="toy.user", options=(USER,))]).chosen(given) == chosen


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"--toy-mood": "calm"}, "--toy-mood 'calm' is unknown; accepted are good, bad"),
        ({"--toy-loud": "very"}, "--toy-loud 'very' is unknown; accepted are true and false"),
    ],
)
def test_a_value_that_is_not_accepted_is_refused(given, sentence) -> None:
    tasks = Registry([moody()])
    for refused in (tasks.chosen, tasks.configured):
        with pytest.raises(UsageProblem) as told:
            refused(given)
        assert str(told.value) == sentence


def test_a_configured_registry_is_another_one() -> None:
    user = toy(name="toy.user", options=(USER,))  # it reads its option from the case
    tasks = Registry([moody(), TOY, user])
    bad = tasks.configured({"--toy-mood": "bad"})
    assert bad.names == tasks.names
    assert bad["toy.mood"].shown.title == "bad False"
    assert bad["toy.say"] is TOY and bad["toy.user"] is user
    assert tasks["toy.mood"].shown.title == "as it is"
    assert tasks.configured({})["toy.mood"].shown.title == "good False"
    assert bad.configured({"--toy-mood": "good"})["toy.mood"].shown.title == "good False"


def test_a_task_keeps_the_values_that_it_was_made_with_where_none_are_given() -> None:
    made = replace(moody(values := {"--toy-mood": "bad", "--toy-loud": True}), chosen=values)
    tasks = Registry([made, TOY])
    assert tasks.chosen({}) == values
    assert tasks.configured({})["toy.mood"] is tasks.configured(values)["toy.mood"] is made
    louder = tasks.configured({"--toy-loud": False})
    assert louder["toy.mood"].shown.title == "bad False"
    assert louder.chosen({}) == {"--toy-mood": "bad", "--toy-loud": False}


def test_tasks_that_were_made_with_different_values_of_one_option_are_refused() -> None:
    made = replace(moody(values := {"--toy-mood": "bad", "--toy-loud": False}), chosen=values)
    tasks = Registry([made, moody(name="toy.two")])
    with pytest.raises(
        UsageProblem, match=r"one value of --toy-mood, and were made toy\.mood with bad, toy\.two with good; name"
    ):
        tasks.configured({})
    assert tasks.configured({"--toy-mood": "bad"})["toy.mood"] is made


def test_a_wild_task_in_chinese_stays_in_chinese() -> None:
    chinese = wild(WildOptions(language="zh"))
    tasks = Registry([*Registry.installed(), chinese])
    assert tasks.configured({})["wild"] is chinese
    assert tasks.chosen({})["--wild-language"] == "zh"
    assert WildOptions.of(chinese.chosen) == WildOptions(language="zh")


# -- What modules and packages announce.


def test_a_module_announces_its_tasks_and_those_it_lists() -> None:
    module = ModuleType("announcing")
    one, two, three = (toy(name=f"toy.{name}") for name in ("one", "two", "three"))
    vars(module).update(ONE=one, same=one, _TWO=two, TASKS=(three, one), kind=Task, text="toy.one")
    assert tasks_of(module) == [one, two, three]
    assert tasks_of(ModuleType("empty")) == []
    for listed in ("toy.one", None, 3):
        vars(other := ModuleType("other")).update(TASKS=listed)
        assert tasks_of(other) == []


def test_an_object_that_cannot_say_what_it_is_announces_nothing() -> None:
    class Lazy:
        @property
        def __class__(self):
            raise RuntimeError("settings are not configured")

    vars(module := ModuleType("lazy")).update(settings=Lazy(), ONE=TOY)
    assert tasks_of(module) == [TOY]


def test_whatever_a_module_lists_is_looked_at() -> None:
    vars(module := ModuleType("wrong")).update(TASKS=[Task])
    with pytest.raises(UsageProblem, match="is not a task; announce"):
        Registry(tasks_of(module))


@pytest.fixture
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Modules by name as the plugins that are installed."""
    monkeypatch.syspath_prepend(tmp_path)

    def announce(modules: dict[str, str]) -> None:
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        found = [EntryPoint(name.removeprefix("installed_"), name, announcement.GROUP) for name in modules]
        monkeypatch.setattr(announcement, "plugins", lambda: found)

    yield announce
    for name in [name for name in sys.modules if name.startswith("installed_")]:
        del sys.modules[name]


HOOK = "from tests.plugin.toy import toy\ndef pytest_agentgauge_tasks():\n    "


def test_plugins_announce_tasks_or_none(points) -> None:
    points(
        {
            "installed_one": f"{HOOK}return (toy(name='toy.one'), toy(name='toy.two'))\n",
            "installed_none": "TASKS = 5\n",
            "installed_two": f"{HOOK}return [toy(name='toy.three')]\n",
        }
    )
    assert Registry.installed().names == ("toy.one", "toy.two", "toy.three")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "1 / 0",
            "the plugin bad = installed_bad cannot be imported (ZeroDivisionError: division by zero); correct its"
            " package, or uninstall it",
        ),
        (
            f"{HOOK}return 1 / 0",
            "pytest_agentgauge_tasks of the plugin bad = installed_bad fails (ZeroDivisionError: division by zero);"
            " correct its package, or uninstall it",
        ),
        (
            f"{HOOK}return toy",
            "pytest_agentgauge_tasks of the plugin bad = installed_bad returns <function toy",
        ),
        (f"{HOOK}return [5]", "5 is not a task; announce"),
        ("from agentgauge.core.errors import UsageProblem\nraise UsageProblem('get it')", "get it"),
    ],
)
def test_a_package_whose_tasks_cannot_be_had_is_named(points, text: str, sentence: str) -> None:
    points({"installed_bad": text})
    for _ in range(2):
        with pytest.raises(UsageProblem) as told:
            Registry.installed()
        assert str(told.value).startswith(sentence)


# -- Files that announce tasks.


def test_a_file_is_imported_by_its_name_on_the_path_else_alone(tmp_path, monkeypatch) -> None:
    (tmp_path / "loose" / "deep").mkdir(parents=True)
    (tmp_path / "loose" / "deep" / "tasks_of_ours.py").write_text("from . import beside_it\n")
    (tmp_path / "loose" / "deep" / "beside_it.py").write_text("")
    (tmp_path / "loose" / "alone-1.py").write_text("from dataclasses import dataclass\n@dataclass\nclass One: ...\n")
    assert import_file(tmp_path / "loose" / "alone-1.py").One()
    with pytest.raises(UsageProblem, match=r"tasks_of_ours.py announces tasks and cannot be imported .*ImportError"):
        import_file(tmp_path / "loose" / "deep" / "tasks_of_ours.py")
    monkeypatch.syspath_prepend(tmp_path)
    module = import_file(tmp_path / "loose" / "deep" / "tasks_of_ours.py")
    assert module.beside_it is sys.modules["loose.deep.beside_it"]
    (tmp_path / "loose" / "fails-1.py").write_text("1 / 0\n")
    with pytest.raises(UsageProblem, match="ZeroDivisionError"):
        import_file(tmp_path / "loose" / "fails-1.py")
    assert "fails-1" not in sys.modules  # so that the next import fails as well
    with pytest.raises(UsageProblem, match="is not a Python file; name one"):
        import_file(tmp_path / "absent.py")

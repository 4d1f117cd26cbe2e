"""The test of a benchmark says what is solved, with which model and which tools: ``solve(sample, model, tools)``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.project import CASES, Project, records

BODY = """
from agentgauge import benchmark_task

@benchmark_task("toy.say")
def test_say(sample, model, solve):
    outcome = solve(sample, {model})
    assert outcome.passed, outcome.explanation
"""

BRIEF = """
import pytest

@pytest.fixture(scope="session")
def model(model):
    return model.with_system("Answer briefly.")
"""


def project_of(path: Path, body: str = "model", samples: int = 4) -> Project:
    project = Project.make(path, samples)
    (path / "test_toy.py").write_text(BODY.format(model=body))
    return project


def messages(run: Path) -> list[list[dict[str, str]]]:
    return [record["transcript"]["events"][0]["detail"]["messages"] for record in records(run)]


def test_the_body_solves_with_the_runs_model(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status == 0, result.output
    assert all("given" not in record for record in records(tmp_path / "run"))


def test_a_wrong_answer_fails_with_the_explanation_alone(tmp_path: Path) -> None:
    result = project_of(tmp_path, samples=1).run("--model=baseline", "--run-dir=run")
    assert result.status == 0
    assert "expected 'word0', got" in result.output
    for line in ("assert outcome.passed", "where", "AssertionError", "Traceback"):
        assert line not in result.output


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_fault_in_the_body_is_an_error_and_no_failure(tmp_path: Path, workers: str) -> None:
    project = project_of(tmp_path, samples=2)
    project.add_to_conftest(
        "from agentgauge import Fault\n"
        "async def broken(case):\n    raise Fault('the lights are out', cause='dark')\n"
        "TOY = toy(run=broken)\n"
    )
    result = project.run("--model=oracle", "--run-dir=run", "-n", workers, "--junitxml=junit.xml")
    assert result.status == 1
    assert "2 broken" in result.output
    assert "failed" not in result.output
    assert "the lights are out" in result.output
    junit = (tmp_path / "junit.xml").read_text()
    assert 'errors="2"' in junit
    assert 'failures="0"' in junit


def body_of(path: Path, *lines: str) -> None:
    """A body that solves, and then does this."""
    text = "".join(f"    {line}\n" for line in ("outcome = solve(sample, model)", *lines))
    (path / "test_toy.py").write_text(BODY.partition("    outcome")[0] + text)


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("model", "line", "text"),
    [
        ("oracle", "assert len(outcome.record.transcript.events) > 5, 'too few'", "AssertionError: too few"),
        ("oracle", "outcome.score", "AttributeError: 'Outcome' object has no attribute 'score'"),
        ("oracle", "solve(sample, 3)", "UsageError: solve got the model 3; give the fixture model"),
        ("baseline", "assert sample == 'other', 'not this one'", "AssertionError: not this one"),
    ],
)
def test_a_test_that_fails_for_a_reason_of_its_own_is_a_failure(
    tmp_path: Path, workers: str, model: str, line: str, text: str
) -> None:
    """Whatever the answer is: the run counts the answer, and pytest the test."""
    project = project_of(tmp_path, samples=2)
    body_of(tmp_path, line)
    result = project.run(f"--model={model}", "--run-dir=run", "-n", workers, "--junitxml=junit.xml")
    assert result.status == 1, result.output
    assert text in result.output
    assert "2 failed" in result.output
    assert "pytest counted" not in result.output
    assert [one["status"] for one in records(tmp_path / "run")] == ["passed" if model == "oracle" else "wrong"] * 2
    assert 'failures="2"' in (tmp_path / "junit.xml").read_text()


def test_a_fixture_that_fails_after_the_test_is_an_error(tmp_path: Path) -> None:
    project = project_of(tmp_path, samples=1)
    project.add_to_conftest(
        "import pytest\n@pytest.fixture(autouse=True)\ndef ends():\n    yield\n    raise ValueError('left open')\n"
    )
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status == 1
    assert "ValueError: left open" in result.output, result.output
    assert "1 passed, " in result.output and "1 error" in result.output, result.output


@pytest.mark.parametrize("line", ["assert outcome.passed", "assert solve(sample).passed", "outcome.check()"])
def test_a_wrong_answer_of_several_lines_is_a_result(tmp_path: Path, line: str) -> None:
    project = project_of(tmp_path, samples=1)
    project.add_to_conftest(
        "from dataclasses import replace\nfrom tests.plugin.toy import score\n"
        "def told(*given):\n    return replace(score(*given), explanation='first %\\n  second\\n\\n{third}')\n"
        "TOY = toy(score=told)\n"
    )
    body_of(tmp_path, line)
    result = project.run("--model=baseline", "--run-dir=run", "-v")
    assert result.status == 0, result.output
    assert "{third}" in result.output and "where" not in result.output


def test_a_body_that_handles_a_fault_passes(tmp_path: Path) -> None:
    """pytest counts the test, and the run its broken case."""
    project = project_of(tmp_path, samples=1)
    project.add_to_conftest(
        "from agentgauge import Fault\n"
        "async def broken(case):\n    raise Fault('the lights are out', cause='dark')\n"
        "TOY = toy(run=broken)\n"
    )
    body = "import pytest\n" + BODY.partition("    outcome")[0] + "    with pytest.raises(pytest.fail.Exception):\n"
    (tmp_path / "test_toy.py").write_text(f"{body}        solve(sample, model)\n")
    result = project.run("--model=oracle", "--run-dir=run", "--junitxml=junit.xml")
    assert result.status == 1
    assert 'errors="0" failures="0"' in (tmp_path / "junit.xml").read_text()
    assert "1 broken" in result.output


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_conftest_gives_another_model_for_its_folder(tmp_path: Path, workers: str) -> None:
    project = project_of(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "conftest.py").write_text(BRIEF)
    (other / "test_other.py").write_text(BODY.format(model="model").replace("toy.say", "toy.brief"))
    project.add_to_conftest('BRIEF = toy(name="toy.brief")\n')
    result = project.run("--model=oracle", "--run-dir=run", "-n", workers)
    assert result.status == 0, result.output
    for record, sent in zip(records(tmp_path / "run"), messages(tmp_path / "run"), strict=True):
        is_brief = record["task"] == "toy.brief"
        assert (sent[0] == {"role": "system", "content": "Answer briefly."}) is is_brief
        assert record.get("given") == ({"system": "Answer briefly."} if is_brief else None)


def test_a_body_gives_another_model(tmp_path: Path) -> None:
    project_of(tmp_path, 'model.with_system("Be brief.")').run("--model=oracle", "--run-dir=run")
    assert [record["given"] for record in records(tmp_path / "run")] == [{"system": "Be brief."}] * 4


def test_a_model_by_its_name_takes_the_place_of_the_runs(tmp_path: Path) -> None:
    result = project_of(tmp_path, 'model.named("oracle")').run("--model=baseline", "--run-dir=run")
    assert "4 passed" in result.output
    assert [record["given"]["model"] for record in records(tmp_path / "run")] == ["oracle"] * 4


def test_an_object_of_the_projects_own_answers(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    project.add_to_conftest(
        "import pytest\nfrom agentgauge.authoring import ChatReply\n"
        "class Parrot:\n"
        "    name = 'parrot'\n"
        "    async def complete(self, request):\n"
        "        return ChatReply(request.messages[-1]['content'].removeprefix('say '))\n"
        "@pytest.fixture(scope='session')\ndef model():\n    return Parrot()\n"
    )
    result = project.run("--model=baseline", "--run-dir=run")
    assert "4 passed" in result.output, result.output
    assert [record["given"] for record in records(tmp_path / "run")] == [{"model": "parrot"}] * 4


def test_objects_that_differ_from_test_to_test_are_refused(tmp_path: Path) -> None:
    """Cases were started ahead with the first, and would be paid twice."""
    result = project_of(tmp_path, "model.with_system(sample)").run("--model=oracle", "--run-dir=run", "--in-flight=1")
    assert "test_toy.py::test_say gave system 's0' before" in result.output
    assert "session-scoped fixture" in result.output


SAY, OTHER, THIRD = (BODY.replace("toy.say", f"toy.{name}") for name in ("say", "other", "third"))


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_body_gives_another_model_whatever_other_folders_give(tmp_path: Path, order: tuple[str, str]) -> None:
    project = project_of(tmp_path, samples=3)
    (tmp_path / "test_toy.py").unlink()
    project.add_to_conftest("OTHER = toy(name='toy.other')\n")
    for name, body in (("a", SAY.format(model="model")), ("b", OTHER.format(model="model.with_system('Be brief.')"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(body)
    result = project.run("--model=oracle", "--run-dir=run", *order)
    assert result.status == 0, result.output
    given = {record["task"]: record.get("given") for record in records(tmp_path / "run")}
    assert given == {"toy.say": None, "toy.other": {"system": "Be brief."}}


def test_the_first_solve_starts_its_function_and_what_is_known_to_get_the_runs_own(tmp_path: Path) -> None:
    """The cases of ``outcome`` and of a class with ``@benchmark``, and no other function's."""
    project = project_of(tmp_path, samples=2)
    (tmp_path / "test_toy.py").unlink()
    project.add_to_conftest("OTHER, THIRD = toy(name='toy.other'), toy(name='toy.third')\n")
    waits = """
    import time
    end = time.monotonic() + 20
    while (found := "".join(each.read_text() for each in Path("run/records").iterdir())).count('"sample"') < 6:
        assert time.monotonic() < end, found
        time.sleep(0.01)
    assert "toy.third" not in found
"""
    (tmp_path / "test_a.py").write_text("from pathlib import Path" + SAY.format(model="model") + waits)
    (tmp_path / "test_b.py").write_text(CASES.replace("toy.say", "toy.other"))
    (tmp_path / "test_c.py").write_text(
        "from agentgauge import Score, benchmark\n"
        "@benchmark('toy.class', data='toy/toy.jsonl')\n"
        "class Toy:\n"
        "    async def run(self, case):\n        return await case.ask(case.sample['say'])\n"
        "    def score(self, sample, answer):\n        return Score(True, {'right': True})\n"
        "    def oracle(self, sample):\n        return 'it'\n"
    )
    (tmp_path / "test_d.py").write_text(THIRD.format(model="model"))
    result = project.run("--model=oracle", "--run-dir=run", "test_a.py", "test_b.py", "test_c.py", "test_d.py")
    assert result.status == 0, result.output
    assert len(records(tmp_path / "run")) == 8


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("solve('s1', model)", "solve got the sample 's1'; a test solves its own, which is 's0'"),
        ("solve(sample, 'gpt-4o')", "solve got the model 'gpt-4o'; give the fixture model"),
        ("solve(sample, model, 3)", "solve got the tools 3; give the fixture tools"),
    ],
)
def test_what_solve_cannot_take_gets_one_sentence(tmp_path: Path, call: str, sentence: str) -> None:
    project = project_of(tmp_path, samples=1)
    (tmp_path / "test_toy.py").write_text(BODY.format(model="model").replace("solve(sample, model)", call))
    assert sentence in project.run("--model=oracle", "--run-dir=run").output


@pytest.mark.uses("own_tests")
def test_a_models_own_test_may_ask_a_model_that_is_told_something(tmp_path: Path) -> None:
    project = Project.make(tmp_path, 1)
    (tmp_path / "test_toy.py").write_text(
        "def test_it(model):\n    assert model.with_system('Be brief.').complete('say hello').text is not None\n"
    )
    result = project.run("--model=baseline", "--run-dir=run")
    assert "1 passed" in result.output, result.output
    assert messages(tmp_path / "run")[0][0] == {"role": "system", "content": "Be brief."}


def test_a_resumed_run_solves_again_what_was_solved_with_another_model(tmp_path: Path) -> None:
    project = project_of(tmp_path, 'model.with_system("Be brief.")')
    project.run("--model=oracle", "--run-dir=run")
    again = project.run("--resume=run")
    assert again.status == 0, again.output
    before = records(tmp_path / "run")
    (tmp_path / "test_toy.py").write_text(BODY.format(model="model"))
    project.run("--resume=run")
    after = records(tmp_path / "run")
    assert [record["given"] for record in before] == [{"system": "Be brief."}] * 4
    assert ["given" in record for record in after] == [False] * 4


def test_a_task_of_a_conftest_takes_the_place_of_an_installed_one(tmp_path: Path) -> None:
    project = project_of(tmp_path, samples=2)
    project.add_to_conftest('MINE = toy(name="wild")\n')
    (tmp_path / "test_toy.py").write_text(BODY.format(model="model").replace("toy.say", "wild"))
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status == 0, result.output
    assert [record["sample"] for record in records(tmp_path / "run")] == ["s0", "s1"]


@pytest.mark.parametrize("paths", [("a", "b"), ()])
def test_two_conftests_with_different_tasks_of_one_name_are_refused(tmp_path: Path, paths: tuple[str, ...]) -> None:
    """Whether pytest loads both before it collects tests, or later."""
    project = project_of(tmp_path, samples=1)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "conftest.py").write_text("from tests.plugin.toy import toy\nT = toy(name='toy.one')\n")
        (tmp_path / name / f"test_{name}.py").write_text(BODY.format(model="model").replace("toy.say", "toy.one"))
    result = project.run("--model=oracle", "--run-dir=run", *paths)
    assert result.status != 0
    sentence = "a/conftest.py and {}/b/conftest.py have different tasks of the name toy.one; rename one, or import it"
    assert sentence.format(tmp_path) in result.output
    assert "Traceback" not in result.output


def test_an_object_with_a_name_and_complete_alone_can_have_every_role(tmp_path: Path) -> None:
    """Of a benchmark whose judge is the tested model, and which keeps what the judge said by its fingerprint."""
    project = project_of(tmp_path, samples=1)
    project.add_to_conftest(
        "import pytest\nfrom agentgauge.authoring import ChatReply\n"
        "class Terse:\n    name = 'terse'\n    async def complete(self, request):\n        return ChatReply('no')\n"
        "@pytest.fixture(scope='session')\ndef model():\n    return Terse()\n"
    )
    (tmp_path / "test_toy.py").write_text(BODY.format(model="model").replace("toy.say", "gta_workflow"))
    result = project.run("--model=baseline", "--run-dir=run", "--judge-model=same", "--limit=1", data="mini")
    assert result.status == 0, result.output
    assert [record["given"] for record in records(tmp_path / "run")] == [{"model": "terse"}]


@pytest.mark.parametrize(("name", "noted"), [("", "conftest.Box"), ("    name = 'box'\n", "box")])
def test_records_note_tools_by_their_name_or_class(tmp_path: Path, name: str, noted: str) -> None:
    project = project_of(tmp_path, samples=1)
    project.add_to_conftest(
        f"import pytest\nclass Box:\n{name}"
        "    async def catalog(self):\n        return {}\n    async def call(self, name, arguments, **more): ...\n"
        "@pytest.fixture(scope='session')\ndef tools():\n    return Box()\n"
        "async def lists(case):\n    assert await case.catalog() == {}\n    return await say(case)\n"
        "TOY = toy(run=lists)\n"
    )
    body = (
        BODY.format(model="model").replace("model, solve", "model, tools, solve").replace(", model)", ", model, tools)")
    )
    (tmp_path / "test_toy.py").write_text(body)
    result = project.run("--model=oracle", "--run-dir=run")
    assert "1 passed" in result.output, result.output
    assert [record["given"] for record in records(tmp_path / "run")] == [{"tools": noted}]


@pytest.mark.parametrize("line", ["pass", "pytest.skip('not today')"])
def test_cases_whose_tests_have_not_solved_them_are_told_as_that(tmp_path: Path, line: str) -> None:
    project = project_of(tmp_path, samples=2)
    (tmp_path / "test_toy.py").write_text("import pytest\n" + BODY.partition("    outcome")[0] + f"    {line}\n")
    result = project.run("--model=oracle", "--run-dir=run")
    assert result.status == 1
    assert "2 cases are missing: their tests ended without solving them" in result.output, result.output

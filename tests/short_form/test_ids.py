"""Every sample that a benchmark has is planned, whatever its id is, or the id is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.project import records

SUMS = """
from pathlib import Path
from agentgauge import Score, benchmark

@benchmark("sums", data="sums.{kind}")
class Sums:
    async def run(self, case):
        case.folder.mkdir(parents=True)
        Path(case.folder, "answer.txt").write_text(case.sample["answer"])
        return await case.ask(case.sample["answer"])

    def score(self, sample, answer):
        return Score(answer.text == sample["answer"])

    def oracle(self, sample):
        return sample["answer"]
"""
ORACLE = ("-q", "sums.py", "--model=oracle")


def write(folder: Path, *ids: str) -> None:
    """A benchmark of one file; each sample has an answer of its own."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "sums.py").write_text(SUMS.format(kind="jsonl"))
    (folder / "sums.jsonl").write_text(
        "".join(json.dumps({"id": id, "answer": f"answer {number}"}) + "\n" for number, id in enumerate(ids))
    )


def outcomes(folder: Path) -> list[tuple[str, int, str]]:
    return sorted((record["sample"], record["attempt"], record["status"]) for record in records(folder))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "-n"])
def test_attempts_of_samples_with_such_ids_are_all_planned(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    ids = ("x", "x#2", "x#2#2", "x#3")
    write(pytester.path, *ids)
    result = pytester.runpytest_subprocess(*ORACLE, "--attempts=3", "--run-dir=run", *workers)
    assert result.ret == 0
    assert outcomes(pytester.path / "run") == sorted((id, number, "passed") for id in ids for number in (1, 2, 3))
    made = sorted(file.read_text() for file in (pytester.path / "run" / "files").rglob("answer.txt"))
    assert made == sorted(f"answer {number}" for number in range(4) for _ in range(3))
    (pytester.path / "run" / "records.jsonl").write_text("")
    assert pytester.runpytest_subprocess(*ORACLE, "--resume=run").ret == 0
    assert len(outcomes(pytester.path / "run")) == 12


def test_a_test_function_gets_the_name_of_its_case(pytester: pytest.Pytester) -> None:
    write(pytester.path, "x", "x#2")
    (pytester.path / "conftest.py").write_text("import sums\n")
    pytester.makepyfile(
        """
        from agentgauge.pytest_plugin import benchmark_task

        @benchmark_task("sums")
        def test_name(sample, outcome):
            print("name", repr(sample))
            outcome.check()
        """
    )
    words = ("-p", "no:cacheprovider", "-s", "--model=oracle", "--attempts=2", "--import-mode=prepend")
    result = pytester.runpytest_subprocess(*words, "test_a_test_function_gets_the_name_of_its_case.py")
    names = [line.partition("name ")[2].rstrip(".") for line in result.outlines if "name '" in line]
    assert result.ret == 0 and names == ["'x'", "'x#2'", "'x#2'", "'x#2#2'"]


HALF = r"the id 'b\ud800c' cannot be written everywhere, because it holds half of a character"


@pytest.mark.parametrize(
    ("ids", "said", "data"),
    [
        (("a", "b\ud800c"), HALF, ()),
        (("a", "b\ud800c"), HALF, ("--data=.",)),
        (("a\0",), r"the id 'a\x00' cannot be written everywhere, because it holds a control character", ()),
        (("a\nb",), r"the id 'a\nb' cannot be written everywhere, because it holds a control character", ()),
        (("a\u2028b",), r"the id 'a\u2028b' cannot be written everywhere, because it holds a control character", ()),
        (("a", ""), "sample 2 has the blank id ''; give it another", ()),
        ((" ",), "sample 1 has the blank id ' '; give it another", ()),
        (("a", "a"), "the id 'a' occurs twice; ids must be unique", ()),
    ],
    ids=["half of a character", "--data", "NUL", "line end", "line separator", "empty", "blank", "twice"],
)
def test_an_id_that_cannot_be_written_is_refused_in_one_sentence(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ids: tuple[str, ...], said: str, data: tuple[str, ...]
) -> None:
    monkeypatch.delenv("CI", raising=False)  # there pytest repeats whole sentences in its summary
    write(pytester.path, *ids)
    result = pytester.runpytest_subprocess(*ORACLE, "--run-dir=run", *data)
    assert result.ret in (2, 4)
    output = result.stdout.str() + result.stderr.str()
    assert output.count(said) == 1
    assert "Traceback" not in output and ".py:" not in output
    assert not (pytester.path / "run" / "records.jsonl").exists()


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_every_kind_of_file_is_checked(pytester: pytest.Pytester, kind: str) -> None:
    write(pytester.path)
    (pytester.path / "sums.py").write_text(SUMS.format(kind=kind))
    text = {"json": '{"a\\nb": {"answer": "3"}}', "csv": 'id,answer\n"a\nb",3\n'}[kind]
    (pytester.path / f"sums.{kind}").write_text(text)
    result = pytester.runpytest_subprocess(*ORACLE)
    assert result.ret == 2
    assert rf"sums.{kind}: the id 'a\nb' cannot be written everywhere" in result.stdout.str()


def test_long_ids_have_folders_of_their_own(pytester: pytest.Pytester) -> None:
    ids = [f"{'é' * 400}{end}" for end in ("1", "2")] + ["../up", "..", "a/b", "a%2Fb", "é"]
    write(pytester.path, *ids)
    assert pytester.runpytest_subprocess(*ORACLE, "--run-dir=run").ret == 0
    made = sorted(file.read_text() for file in (pytester.path / "run" / "files" / "sums").glob("*/answer.txt"))
    assert made == sorted(f"answer {number}" for number in range(len(ids)))
    (pytester.path / "run" / "records.jsonl").write_text("")
    assert pytester.runpytest_subprocess(*ORACLE, "--resume=run").ret == 0
    assert outcomes(pytester.path / "run") == sorted((id, 1, "passed") for id in ids)

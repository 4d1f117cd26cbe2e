"""A mistake in a benchmark's own code: where its author finds the traceback, from their first frame on."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.plugin.project import ROOT, Project, Result, records
from tests.reports.runs import chunks

MINE = """
from agentgauge import benchmark
from helper import wanted

def stock(name: str) -> int:
    \"\"\"How many there are.\"\"\"
    return {"apple": 3}[name]

@benchmark("sums", data="sums.jsonl", metrics={"Accuracy": "mean passed", "Own": lambda sums: FIGURE})
class Sums:
    tools = [stock]

    async def run(self, case):
        if case.sample.id == "run":
            await self.ask_nothing(case)
        return await case.converse(case.sample["question"])

    async def ask_nothing(self, case):
        wanted(case.sample)

    def score(self, sample, answer):
        if sample.id == "score":
            raise RuntimeError("the key is sk-1234567890abcdef")
        return True

    def oracle(self, sample):
        if sample.id == "tool":
            return [{"name": "stock", "arguments": {"name": "pear"}}, "2"]
        return sample["gold" if sample.id == "oracle" else "answer"]
"""
HELPER = 'def wanted(sample):\n    return sample["answr"]\n'
CASES = ("run", "score", "oracle", "tool", "right")

FRAMES = {
    "run": ["mine.py:15: in run", "mine.py:19: in ask_nothing", "helper.py:2: in wanted", "E   KeyError: 'answr'"],
    "score": ["mine.py:23: in score", "E   RuntimeError: the key is [key]"],
    "oracle": ["mine.py:29: in oracle", "E   KeyError: 'gold'"],
    "tool": ["mine.py:7: in stock", "E   KeyError: 'pear'"],
}
"""Case → the lines that a short traceback has, and no frame that leads there."""

SECRET = {"SOME_API_TOKEN": "sk-1234567890abcdef"}


def project(folder: Path, figure: str = "50.0") -> Project:
    (folder / "mine.py").write_text(MINE.replace("FIGURE", figure))
    (folder / "helper.py").write_text(HELPER)
    lines = [json.dumps({"id": name, "question": "1 + 1", "answer": "2"}) for name in CASES]
    (folder / "sums.jsonl").write_text("\n".join(lines))
    return Project(folder)


def broken(result: Result) -> dict[str, list[str]]:
    """Case → the lines that the end of the run shows of it."""
    shown = result.output[result.output.index("\nbroken  ") :].partition("\n====")[0]
    parts = [part.splitlines() for part in shown.split("\nbroken  ")[1:]]
    return {lines[0].partition("[")[2].rstrip("]"): [line[4:] for line in lines[1:]] for lines in parts}


def run(made: Project, *words: str) -> Result:
    return made.run("mine.py", "--model=oracle", *words, data="auto", env=SECRET)


@pytest.fixture(scope="module", params=[(), ("-n", "2")], ids=["one process", "two workers"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Result]:
    made = project(tmp_path_factory.mktemp("mine"))
    return made, run(made, "-v", "--tb=short", "--run-dir=run", *request.param)


def test_the_end_of_a_run_shows_it_from_the_authors_frame_on(done: tuple[Project, Result]) -> None:
    _, result = done
    assert result.status == 1 and result.output.count("PASSED") == 1
    found = broken(result)
    assert found.keys() == FRAMES.keys()
    for case, lines in FRAMES.items():
        own = [line for line in found[case] if not line.startswith((" ", "agentgauge/core/types.py"))]
        assert own[1:] == ["Traceback, from the benchmark's code on:", *lines], result.output
        assert "    " + {"run": 'return sample["answr"]'}.get(case, "") in "\n".join(found[case])
    assert found["run"][0] == "internal error at helper.py:2: KeyError: 'answr'"
    assert found["oracle"][0] == "model oracle: internal error at mine.py:29: KeyError: 'gold'"
    assert found["tool"][0].startswith("the tool stock raised KeyError at mine.py:7: 'pear'; raise ToolError for")


def test_records_and_the_page_hold_it(done: tuple[Project, Result]) -> None:
    made, _ = done
    kept = {one["sample"]: one.get("traceback") for one in records(made.path / "run")}
    assert kept["right"] is None  # records of other cases are as before
    for case, lines in FRAMES.items():
        (link,) = kept[case]
        frames = [f"{frame['path']}:{frame['line']}: in {frame['function']}" for frame in link["frames"]]
        assert [frame for frame in frames if "agentgauge/" not in frame] == lines[:-1]
        assert f"E   {link['error']}" == lines[-1]
    text = (made.path / "run" / "records.jsonl").read_text()
    assert str(made.path) not in text and SECRET["SOME_API_TOKEN"] not in text
    page = json.dumps(chunks(made.path / "run" / "report.html"), ensure_ascii=False)
    assert [line for lines in FRAMES.values() for line in lines if line not in page] == []
    assert kept["run"][0]["frames"][2]["source"] == ["def wanted(sample):", '    return sample["answr"]']


@pytest.mark.parametrize(
    ("style", "lines"),
    [
        ("long", [">           wanted(case.sample)", "E   KeyError: 'answr'", "helper.py:2: in wanted"]),
        (
            "native",
            ["Traceback (most recent call last):", '  File "helper.py", line 2, in wanted', "KeyError: 'answr'"],
        ),
        ("line", ["agentgauge/core/types.py: KeyError: 'answr'"]),
        ("no", []),
    ],
)
def test_tb_is_honoured(style: str, lines: list[str], tmp_path: Path) -> None:
    result = run(project(tmp_path), f"--tb={style}", "-k", "run", "--run-dir=run")
    (head, *found) = broken(result)["run"]
    assert head == "internal error at helper.py:2: KeyError: 'answr'"
    found = [re.sub(r"^(agentgauge/.*\.py):\d+", r"\1", line) for line in found]
    assert [line for line in lines if line not in found] == [] and bool(found) is bool(lines), result.output


def test_a_resumed_run_runs_the_case_again(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert run(made, "-k", "run or right", "--run-dir=run").status == 1
    (tmp_path / "helper.py").write_text(HELPER.replace("answr", "answer"))
    again = made.run("mine.py", "--resume=run", data="auto")
    assert again.status == 0 and "2 planned · 2 passed" in again.output
    assert [one.get("traceback") for one in records(tmp_path / "run")] == [None, None]


def test_a_formula_that_fails_at_the_end_costs_no_answer(tmp_path: Path) -> None:
    figure = '[50.0][int(sums["passed"])]'
    made = project(tmp_path, figure)
    result = run(made, "-k", "right", "--run-dir=run", "--tb=short")
    assert result.status == 1 and "INTERNALERROR" not in result.output
    assert "no summary, because code of the benchmark failed: IndexError at mine.py:9:" in result.output
    assert "\nTraceback, from the benchmark's code on:\nmine.py:9: in <lambda>\n" in result.output
    (tmp_path / "mine.py").write_text(MINE.replace("FIGURE", "50.0"))
    assert made.run("mine.py", "--rescore=run", "--run-dir=again", data="auto").status == 0


PACKAGE = {
    "import": ("task.py", "import json", "import json, nothere", "newb/task.py:3: in <module>"),
    "syntax": ("task.py", "import json", "import json (", "E   SyntaxError: "),
    "announcement": ("task.py", "return MetricFormula(", "return MetricFormla(", "in metrics"),
    "describe": ("data.py", 'return given["id"]', 'return given["idd"]', "in _describe"),
    "load": ("data.py", "Sample(row.id", "Sample(row.idd", "in load"),
    "run": ("task.py", 'case.sample.payload["question"]', 'case.sample.payload["qestion"]', "newb/task.py:23: in run"),
    "score": ("score.py", "def score_reply(", "def score_reply(reply, gold):\n    nothing\n\ndef x(", "in score_reply"),
    "oracle": ("task.py", "return ChatReply(", "return ChatRply(", "in oracle"),
    "metrics": ("task.py", 'sums["right"]', 'sums["rigth"]', "in _accuracy"),
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages that has one of ``agentgauge new``."""
    site = tmp_path_factory.mktemp("site")
    assert main(["new", "newb", "--folder", str(site / "written")]) == 0
    shutil.copytree(site / "written" / "newb", site / "newb")
    (site / "newb-0.1.dist-info").mkdir()
    (site / "newb-0.1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: newb\nVersion: 0.1\n")
    (site / "newb-0.1.dist-info" / "entry_points.txt").write_text("[agentgauge.tasks]\nnewb = newb.task:TASKS\n")
    return site


@pytest.mark.parametrize("mistake", PACKAGE)
def test_wherever_the_mistake_is_in_a_package(mistake: str, package: Path, tmp_path: Path) -> None:
    shutil.copytree(package, tmp_path / "site")
    name, right, wrong, line = PACKAGE[mistake]
    file = tmp_path / "site" / "newb" / name
    file.write_text(file.read_text().replace(right, wrong, 1))
    env = {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}:{ROOT / 'reports'}"}
    words = ("--rootdir=site", "site/newb/test_newb.py", "--model=oracle", "--limit=1", "--tb=short")
    result = Project(tmp_path).run(*words, data="auto", env=env)
    assert result.status != 0 and "INTERNALERROR" not in result.output
    _, heading, trace = result.output.partition("Traceback, from the benchmark's code on:\n")
    shown = trace.partition("E   ")[0]
    assert heading and line in trace and "pytest" not in shown and "importlib" not in shown, result.output

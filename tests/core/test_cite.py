"""``agentgauge cite``, and the project's own citation file."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest

from agentgauge.cli.main import main
from agentgauge.cli.results import cite
from agentgauge.core.registry import Registry
from agentgauge.short_form.task import short_task
from tests.docs.pages import text
from tests.plugin.toy import TOY

PAPERS = {
    "GTA-Atomic": ("wang2024gta", "2407.08713"),
    "GTA-Workflow": ("wang2026gta2", "2604.15715"),
    "WildToolBench": ("yu2026wildtoolbench", "2604.06185"),
    "Apple MMAU": ("yin2024mmau", "2407.18961"),
}


def cited(capsys: pytest.CaptureFixture[str], *names: str) -> list[str]:
    """The keys of the entries."""
    assert main(["cite", *names]) == 0
    return keys(capsys.readouterr().out)


def keys(entries: str) -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", entries, re.MULTILINE)


def test_without_names_all_are_cited_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(cited(capsys)) == sorted(["agentgauge", *(key for key, _ in PAPERS.values())])


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["wild"], ["yu2026wildtoolbench"]),
        (["gta_atomic"], ["wang2024gta"]),
        (["gta_atomic.e2e", "gta_atomic.step", "GTA-Workflow"], ["wang2024gta", "wang2026gta2"]),
        (["apple mmau"], ["yin2024mmau"]),
        (["mmau.tool_single"], ["yin2024mmau"]),
    ],
)
def test_tasks_and_benchmarks_are_named(names: list[str], keys: list[str], capsys) -> None:
    assert cited(capsys, *names) == ["agentgauge", *keys]


@pytest.mark.parametrize("name", PAPERS)
def test_each_benchmark_has_its_paper_in_bibtex_that_closes(name: str) -> None:
    shown = [task.shown for task in Registry.installed()]
    (citation,) = {one.citation for one in shown if one.benchmark == name}
    key, eprint = PAPERS[name]
    assert citation.startswith("@") and key in citation and f"eprint = {{{eprint}}}," in citation
    assert citation.count("{") == citation.count("}") and citation.endswith("\n}")


def test_an_unknown_name_is_told_with_a_like_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "wlid"]) == 4
    assert "there is no task or benchmark 'wlid' (did you mean wild" in capsys.readouterr().err


def test_a_benchmark_of_ones_own_announces_its_citation(tmp_path, capsys) -> None:
    class Sums:
        citation = "@misc{sums,\n}"

        async def run(self, case): ...

        def score(self, sample, answer): ...

    (tmp_path / "sums.jsonl").write_text('{"id": "one"}\n')
    tasks = Registry([short_task(Sums, "sums", data=str(tmp_path / "sums.jsonl")), TOY])
    assert cite(["sums", "toy.say"], tasks) == 0
    told = capsys.readouterr()
    assert keys(told.out) == ["agentgauge", "sums"]
    assert told.err == "agentgauge: Toy announces no citation\n"


def test_the_citation_file_says_what_the_project_says(capsys: pytest.CaptureFixture[str]) -> None:
    told = dict(re.findall(r"^([\w-]+): (.+)$", text("CITATION.cff"), re.MULTILINE))
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert {"cff-version", "message", "title", "type"} <= told.keys()
    assert (told["license"], told["abstract"].rstrip(".").replace(" -", ":")) == (
        project["license"],
        project["description"],
    )
    main(["cite", "wild"])
    entry = capsys.readouterr().out.partition("\n\n")[0]
    assert f"title = {{{{{told['title']}}}}}" in entry and f"version = {{{version('agentgauge')}}}" in entry
    assert re.findall(r"^  - name: (.+)$", text("CITATION.cff"), re.MULTILINE) == ["The AgentGauge developers"]
    assert "author = {{The AgentGauge developers}}" in entry

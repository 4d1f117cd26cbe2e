"""A run as the original's own prediction files: scored again they give the run's own figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.core.types import Json, Sample
from bench_gta.atomic import data
from bench_gta.atomic.files import write_predictions
from bench_gta.atomic.task import E2E, STEP
from tests.plugin.project import run_gta, summary

pytestmark = pytest.mark.slow

Write = Callable[..., Path]
MODES = {"step": STEP, "e2e": E2E}
PART = "[10] or [28] or [31] or [33]"  # samples whose tools load nothing heavy


def report(run: Path, output: Path, capsys: Any) -> str:
    assert main(["report", str(run), "--format", "gta_atomic", "--output", str(output)]) == 0
    return capsys.readouterr().out


def scored(mode: str, predictions: Path, samples: Path, capsys: Any) -> dict[str, float | None]:
    command = ["score", f"gta_atomic.{mode}", "--samples", str(samples), "--predictions", str(predictions), "--json"]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert "remarks" not in result
    return result["columns"]


def figures(run: Path, mode: str) -> dict[str, float | None]:
    """The run's own. What no sample has is None in the summary, and 0 or None in the original's result."""
    return {name: metric["value"] for name, metric in summary(run)["tasks"][f"gta_atomic.{mode}"]["metrics"].items()}


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of the weakest model over a part of the bundled data."""
    folder = tmp_path_factory.mktemp("partial")
    run_gta("-m", "gta_atomic_step or gta_atomic_e2e", "--model=baseline", "-k", PART, "--run-dir=run", cwd=folder)
    return folder / "run"


def test_a_partial_run_comes_with_its_data_and_scores_the_same(partial: Path, tmp_path: Path, capsys: Any) -> None:
    told = report(partial, tmp_path / "out", capsys)
    for mode, task in MODES.items():
        folder = tmp_path / "out" / mode
        samples = folder / "gta_dataset"
        assert f"{folder} holds 4 of 41 samples; the data set that they belong to is {samples}\n" in told
        assert scored(mode, folder / "predictions" / "baseline", samples, capsys) == figures(partial, mode)
        assert len(data.index(samples).rows) == 4
        assert task.data.check(samples) == ([], [])
    assert 0 < figures(partial, "step")["InstAcc"] < 100  # type: ignore[operator]
    assert 0 < figures(partial, "e2e")["AnsAcc+I"] < 100  # type: ignore[operator]
    made = {path.name for path in (tmp_path / "out" / "e2e" / "files").rglob("*.png")}
    assert made and made == {path.name for path in (partial / "files").rglob("*.png")}


def test_broken_cases_are_left_out_with_their_samples(partial: Path, tmp_path: Path, capsys: Any) -> None:
    """The figures are then those without broken cases."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_bytes((partial / "run.json").read_bytes())
    records = [json.loads(line) for line in (partial / "records.jsonl").read_text().splitlines()]
    records[0] |= {"status": "broken", "transcript": None, "score": None}
    (run / "records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    told = report(run, tmp_path / "out", capsys)
    assert f"{records[0]['task']}: 1 broken case is left out" in told
    written = tmp_path / "out" / records[0]["task"].rpartition(".")[2]
    (file,) = written.rglob("gta_bench.json")
    assert list(json.loads(file.read_text())) == [str(place) for place in range(3)]
    assert records[0]["sample"] not in json.loads((written / "gta_dataset" / "dataset.json").read_text())


Results = list[tuple[Sample, Json, Path]]


def results(root: Path, run: Path, chosen: list[str], output: Callable[[Sample], Json]) -> Results:
    index = data.index(root)
    loaded = [data.load(index, row, "gta_atomic.e2e") for row in index.rows if row.id in chosen]
    return [(one, output(one), run / "files" / "gta_atomic.e2e" / f"{one.id}-a1") for one in loaded]


def test_paths_are_written_as_they_were_scored(write: Write, tmp_path: Path) -> None:
    """Under the same names the files lie in the folder that is written."""
    root, run = write(), tmp_path / "run"
    made = run / "files" / "gta_atomic.e2e" / "9-a1" / "image" / "1.png"
    made.parent.mkdir(parents=True)
    made.write_bytes(b"drawn")

    def output(sample: Sample) -> Json:
        return {"prediction": [[f"{root}/image/a.png", str(made)]], "gold": [[]]}

    notes = write_predictions(results(root, run, ["9", "3"], output), tmp_path / "out", "some/model")
    entries = json.loads((tmp_path / "out" / "predictions" / "some_model" / "gta_bench.json").read_text())
    paths = ["{ROOT}/image/a.png", "{RUN}/files/gta_atomic.e2e/9-a1/image/1.png"]
    assert entries == {"0": {"prediction": [paths], "gold": [[]]}, "1": {"prediction": [paths], "gold": [[]]}}
    assert Path(paths[1].replace("{RUN}", str(tmp_path / "out"))).read_bytes() == b"drawn"
    assert f"in {tmp_path / 'out'}, {{RUN}} at the beginning of a path stands for that folder" in notes[0]


def test_a_partial_data_set_holds_the_files_of_its_samples(
    write: Write, samples: dict[str, Any], tmp_path: Path
) -> None:
    samples["3"]["dialogs"][1]["tool_calls"][0]["function"]["arguments"]["image"] = "image/b.png"
    samples["3"]["dialogs"][0]["content"] = "dataset.json"  # a text that is the path of a file there
    samples["5"]["files"][0]["path"] = "image/c.png"
    root = write(samples)
    for name in ("b", "c", "d"):
        (root / "image" / f"{name}.png").write_bytes(name.encode())
    write_predictions(results(root, tmp_path, ["3"], lambda _: {}), tmp_path / "out", "m")
    part = tmp_path / "out" / "gta_dataset"
    names = sorted(str(path.relative_to(part)) for path in part.rglob("*.*"))
    assert names == ["dataset.json", "image/a.png", "image/b.png", "toolmeta.json"]
    assert json.loads((part / "dataset.json").read_text()) == {"3": samples["3"]}

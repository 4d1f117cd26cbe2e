"""What `agentgauge data` says of copies that the user brought."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agentgauge.cli.data import overview
from agentgauge.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("mini", "folder", "samples"),
    [
        ("bench_gta/atomic/mini", "gta_dataset", 41),
        ("bench_gta/workflow/mini", "gta_workflow", 16),
        ("bench_wild/mini", "WildToolBench/data", 64),
    ],
)
def test_a_copy_is_found_under_the_names_of_archives_too_and_its_samples_are_counted(
    tmp_path: Path, mini: str, folder: str, samples: int
) -> None:
    shutil.copytree(ROOT / mini, tmp_path / folder)
    told = "\n".join(overview(tmp_path))
    assert f"  folder    {tmp_path / folder.partition('/')[0]}" in told
    assert f"  samples   {samples}" in told
    assert "your own copy" in told


def test_what_differs_in_a_copy_is_named_and_a_damaged_one_hides_no_other(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "bench_wild/mini", tmp_path / "wild")
    shutil.copytree(ROOT / "bench_gta/atomic/mini", tmp_path / "gta_atomic")
    file = tmp_path / "wild" / "Wild-Tool-Bench.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"id": ', '"note": 1, "id": ', 1), encoding="utf-8")
    assert any("note" in line for line in overview(tmp_path))
    (tmp_path / "gta_atomic" / "dataset.json").write_text('{"0": ', encoding="utf-8")
    told = "\n".join(overview(tmp_path))
    assert "damaged   " in told
    assert "samples   64" in told


def test_a_task_without_a_data_set_is_refused_and_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "tests"]) == 4
    assert "tests has no data set; name one of gta_atomic.e2e, " in capsys.readouterr().err
    for command in (["data", "check"], ["score"]):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert ", wild options:" in told and "tests" not in told

"""The original's prediction files: which files a path stands for, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.core.errors import DataProblem
from bench_gta.atomic.files import prediction_files
from bench_gta.atomic.task import StepByStep

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("present", "given", "expected"),
    [
        (["gta_bench.json", "gta_bench_0.json"], "", ["gta_bench.json"]),
        (["gta_bench_0.json", "gta_bench_1.json", "gta_bench_3.json"], "", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench_0.json", "gta_bench_1.json"], "gta_bench_1.json", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench_0.json", "gta_bench_1.json"], "gta_bench.json", ["gta_bench_0.json", "gta_bench_1.json"]),
        (["gta_bench.json", "gta_bench_0.json"], "gta_bench.json", ["gta_bench.json"]),
        (["other.json"], "other.json", ["other.json"]),
        (["gpt_4.json"], "gpt_4.json", ["gpt_4.json"]),
    ],
)
def test_files_behind_a_path(present: list[str], given: str, expected: list[str], tmp_path: Path) -> None:
    for name in present:
        (tmp_path / name).write_text("{}")
    assert [file.name for file in prediction_files(tmp_path / given)] == expected


@pytest.mark.parametrize("given", ["", "gta_bench.json", "x_4.json"])
def test_no_predictions(given: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="holds no predictions"):
        prediction_files(tmp_path / given)


def entry(dialogs: list[Any]) -> dict[str, Any]:
    turns = [turn for turn in dialogs if turn["role"] == "assistant"]
    return {"gold": turns, "prediction": turns, "origin_prompt": [], "steps": []}


EMPTY: dict[str, Any] = {"gold": [], "prediction": []}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "one JSON object"),
        ("{", "cannot be read as JSON"),
        ("{}", "holds no predictions; give a file with at least one"),
        ({"0": {}}, "entry 0 must be an object with the lists"),
        (
            {"0": EMPTY, "2": EMPTY},
            "the key '2' is not a position: the 2 predictions of a file have the keys '0' to '1'",
        ),
        ({"1": EMPTY, "2": EMPTY, "3": EMPTY}, "the key '3' is not a position"),
        ({"0": EMPTY, "01": EMPTY}, "the key '01' is not a position"),
        ({"0": EMPTY, "-1": EMPTY}, "the key '-1' is not a position"),
        ({"0": EMPTY, "x": EMPTY}, "the key 'x' is not a position"),
        (
            {str(n): {"gold": [{"tool_calls": []}], "prediction": [{"tool_calls": []}]} for n in range(3)},
            "entry 0: its records have an unknown shape",
        ),
    ],
)
def test_what_is_refused(content: Any, told: str, write: Write, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(DataProblem, match=told):
        StepByStep().score_files(write(), file, scoring="parity", similarity="trigram")


def written(folder: Path, samples: dict[str, Any], order: Callable[[list[str]], list[str]], parts: int = 1) -> Path:
    """The gold as a prediction file, whole or split, its keys in that order; returns the first file."""
    files = []
    entries = [entry(sample["dialogs"]) for sample in samples.values()]
    size = len(entries) // parts
    for number in range(parts):
        last = number == parts - 1
        chosen = entries[number * size : None if last else (number + 1) * size]
        part = {str(place): one for place, one in enumerate(chosen)}
        files.append(folder / (f"gta_bench_{number}.json" if parts > 1 else "gta_bench.json"))
        files[-1].write_text(json.dumps({key: part[key] for key in order(list(part))}))
    return files[0]


def many(samples: dict[str, Any]) -> dict[str, Any]:
    """Twenty-four samples of three kinds, so that keys sorted as text are in another order than as numbers."""
    return {f"{key}{number}": samples[key] for number in range(8) for key in ("5", "9", "3")}


ORDERS: dict[str, Callable[[list[str]], list[str]]] = {
    "as written": list,
    "as text": sorted,
    "reversed": lambda keys: keys[::-1],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("parts", [1, 2])
def test_keys_in_any_order(order: str, parts: int, write: Write, samples: dict[str, Any], tmp_path: Path) -> None:
    file = written(tmp_path, many(samples), ORDERS[order], parts)
    result = StepByStep().score_files(write(many(samples)), file, scoring="parity", similarity="trigram")
    columns = {name: result["columns"][name] for name in ("InstAcc", "ToolAcc", "ArgAcc")}
    assert columns == {"InstAcc": 100, "ToolAcc": 100, "ArgAcc": 100}
    # "It is $42." does not satisfy its own white list: "$" is no word character
    assert [sample["passed"] for sample in result["samples"]] == [True, True, False] * 8
    assert result["columns"]["SummAcc"] == 50 and "remarks" not in result


@pytest.mark.parametrize(
    ("predicted", "known", "scored"),
    [(2, 3, ["5", "9"]), (3, 2, ["5", "9"])],
    ids=["fewer predictions", "fewer samples"],
)
def test_files_of_unequal_length(
    predicted: int, known: int, scored: list[str], write: Write, samples: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    """Parity scores up to the shorter, as the original, and says so; strict refuses."""
    ordered = {key: samples[key] for key in ("5", "9", "3")}
    file = written(tmp_path, dict(list(ordered.items())[:predicted]), list)
    root = write(dict(list(ordered.items())[:known]))
    result = StepByStep().score_files(root, file, scoring="parity", similarity="trigram")
    assert [sample["id"] for sample in result["samples"]] == scored
    assert result["columns"]["InstAcc"] == 100
    said = f"{file} holds {predicted} predictions and {root} {known} samples"
    assert result["remarks"] == [f"{said}; the first 2 of each were scored, as the published evaluator does"]
    command = ["score", "gta_atomic.step", "--samples", str(root), "--predictions", str(file)]
    assert main(command) == 0 and f"  {result['remarks'][0]}\n" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0 and json.loads(capsys.readouterr().out)["remarks"] == result["remarks"]
    with pytest.raises(DataProblem, match=f"{said}; strict scoring needs both complete"):
        StepByStep().score_files(root, file, scoring="strict", similarity="trigram")


def test_the_result_names_the_evaluators_keys_and_the_columns(
    write: Write, samples: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "p.json"
    file.write_text(
        json.dumps({str(number): entry(sample["dialogs"]) for number, sample in enumerate(samples.values())})
    )
    result = StepByStep().score_files(write(), file, scoring="parity", similarity="trigram")
    assert list(result) == ["metrics", "columns", "samples"]
    assert list(result["metrics"]) == [
        "inst_align",
        "tool_acc",
        "arg_acc",
        "answer_acc",
        "tool_call",
        "tool_call_error",
    ]
    assert (result["columns"]["ToolAcc"], result["columns"]["ToolCalls"]) == (100, 5)
    # the gold text "It is $42." does not satisfy its own white list: "$" is no word character
    assert [(sample["id"], sample["passed"]) for sample in result["samples"]] == [
        ("3", False),
        ("5", True),
        ("9", True),
    ]
    assert json.dumps(result)

"""The health of samples over several runs."""

from __future__ import annotations

import json

import pytest
from agentgauge_reports.items import SampleHealth, item_health, items
from agentgauge_reports.load import load_run

from agentgauge.core.errors import UsageProblem
from tests.reports.runs import TASKS, made


def health(tmp_path, *runs, models=()):
    """Items by sample. ``runs``: the ends of each; ``models``: their models, ``m`` where none is given."""
    names = [*models, *(["m"] * (len(runs) - len(models)))]
    folders = [
        made(tmp_path / str(place), ends, model=name)
        for place, (ends, name) in enumerate(zip(runs, names, strict=True))
    ]
    return {item.sample: item for item in item_health([load_run(folder, tasks=TASKS) for folder in folders])}


def test_shares_are_means_over_runs_and_broken_or_missing_cases_say_nothing(tmp_path):
    found = health(tmp_path, {"a": "pw", "b": "w", "c": "b"}, {"a": "pp", "b": "w", "c": "-"})
    assert found["a"].solved == pytest.approx(0.75)
    assert (found["b"].solved, found["b"].runs) == (0, 2)
    assert (found["c"].solved, found["c"].runs) == (None, 0)


@pytest.mark.parametrize(
    ("attempts", "rate"),
    [("pp", 0.0), ("pw", 1.0), ("pww", 2 / 3), ("ppww", 4 / 6), ("pb", None), ("p", None), ("wpb", 1.0)],
)
def test_the_flip_rate_is_the_share_of_pairs_of_attempts_that_differ(tmp_path, attempts, rate):
    assert health(tmp_path, {"a": attempts})["a"].flip_rate == (None if rate is None else pytest.approx(rate))


def test_attempts_of_different_runs_are_no_pairs(tmp_path):
    assert health(tmp_path, {"a": "pp"}, {"a": "ww"})["a"].flip_rate == 0


def test_the_oracle_tells_of_the_gold_and_of_nothing_else(tmp_path):
    found = health(tmp_path, {"a": "p", "b": "w", "c": "b"}, {"a": "w", "b": "w", "c": "w"}, models=("oracle",))
    assert (found["a"].gold, found["a"].solved) == (True, 0)
    assert (found["b"].gold, found["c"].gold) == (False, None)


def test_discrimination_is_the_correlation_with_the_rest_of_the_task(tmp_path):
    from scipy.stats import pointbiserialr

    runs = [
        {"a": "p", "b": "p", "c": "p", "d": "w"},
        {"a": "p", "b": "p", "c": "w", "d": "w"},
        {"a": "w", "b": "w", "c": "w", "d": "p"},
        {"a": "w", "b": "p", "c": "w", "d": "p"},
    ]
    found = health(tmp_path, *runs)
    for sample in "abcd":
        own = [run[sample] == "p" for run in runs]
        rest = [sum(run[other] == "p" for other in "abcd" if other != sample) / 3 for run in runs]
        assert found[sample].discrimination == pytest.approx(pointbiserialr(own, rest).statistic)
    assert found["b"].discrimination > 0 > found["d"].discrimination


@pytest.mark.parametrize(
    "runs",
    [
        [{"a": "p", "b": "w"}, {"a": "w", "b": "p"}],
        [{"a": "p", "b": "p"}, {"a": "p", "b": "w"}, {"a": "p", "b": "w"}],
        [{"a": "p"}, {"a": "w"}, {"a": "w"}],
    ],
    ids=["too few runs", "always solved", "no other sample"],
)
def test_without_spread_or_runs_there_is_no_discrimination(tmp_path, runs):
    assert health(tmp_path, *runs)["a"].discrimination is None


def test_the_text_names_the_samples_and_json_has_them_all(tmp_path):
    runs = [made(tmp_path / name, ends, model=model) for name, model, ends in (
        ("one", "m", {"a": "pp", "b": "ww", "c": "pw"}),
        ("two", "n", {"a": "pp", "b": "ww", "c": "ww"}),
        ("gold", "oracle", {"a": "pp", "b": "wp", "c": "pp"}),
    )]  # fmt: skip
    text = items(runs, tasks=TASKS)
    for line in (
        "3 samples over 2 runs of models",
        "    solved by no model: 1 of 3\n        b",
        "    solved by every model: 1 of 3\n        a",
        "    flip: 1 of 3\n        c (0.50)",
        "    gold that the oracle does not reach: 1 of 3\n        b",
    ):
        assert line in text
    told = json.loads(items(runs, tasks=TASKS, as_json=True))
    assert [run["model"] for run in told["runs"]] == ["m", "n", "oracle"]
    assert [SampleHealth(**item).sample for item in told["items"]] == ["a", "b", "c"]


def test_long_lists_are_cut_in_lines_of_80(tmp_path):
    run = made(tmp_path / "run", {f"sample-number-{number}": "w" for number in range(30)})
    text = items([run], tasks=TASKS)
    assert "and 10 more" in text and "sample-number-20" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_what_cannot_be_told_is_refused_in_a_sentence(tmp_path):
    run = made(tmp_path / "run", {"a": "p"})
    other = made(tmp_path / "other", {"a": "p"})
    changed = json.loads((other / "summary.json").read_text())
    changed["run"]["data"]["t"]["fingerprint"] = "g"
    (other / "summary.json").write_text(json.dumps(changed))
    with pytest.raises(UsageProblem, match="different data of t"):
        items([run, other], tasks=TASKS)

"""Records of packs whose fields are not what we would write: scores as texts, and whatever else JSON can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import Config
from agentgauge.core.errors import UsageProblem
from bench_gta.pack.format import Pack, PackTask
from bench_gta.pack.results import ScoringSettings, StoredResults, summary, summary_block
from bench_gta.pack.score import base_url, config_for

TREE = [{"id": "1", "requirements": "a"}, {"id": "2", "requirements": "b"}]
SETTINGS = ScoringSettings("fake")


def a_pack(folder: Path) -> Pack:
    return Pack((PackTask(1, 1, ["q"], [], (), TREE),), folder, sha1="0" * 40)


@pytest.mark.parametrize(
    ("score", "mean"),
    [
        (7.5, 7.5),
        ("7.5", 7.5),
        (" 7 ", 7.0),
        ("-2", -2.0),
        (True, 1.0),
        ("good", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("9" * 5000, None),
        (None, None),
        ([], None),
        ({"score": 3}, None),
    ],
)
def test_a_score_may_be_a_text(score: Any, mean: float | None, tmp_path: Path) -> None:
    record = {"status": "ok", "score": score}
    found = summary_block([1], {"1": record})
    assert found["summary"] == {"n_total": 1, "n_done": 1, "n_ok": 1, "n_error": 0, "mean_ok_score": mean}
    assert found["per_task"] == [{"task_id": 1, "status": "ok", "score": score}]
    assert summary(a_pack(tmp_path), SETTINGS, StoredResults({"1": record}))["figures"]["Root Score"] == (mean or 0.0)


@pytest.mark.parametrize("status", ["", None])
def test_a_record_without_a_status_is_unknown(status: Any) -> None:
    assert summary_block([1], {"1": {"status": status}})["per_task"][0]["status"] == "unknown"


@pytest.mark.parametrize(
    ("address", "base"),
    [
        (None, None),
        ("", None),
        ("/chat/completions", ""),
        ("/chat/completions/", ""),
        ("  ", ""),
        ("/", ""),
        ("/v1/chat/completions", "/v1"),
        ("http://b//chat/completions", "http://b/"),
        ("http://b/chat/completions/v1", "http://b/chat/completions/v1"),
    ],
)
def test_addresses(address: str | None, base: str | None) -> None:
    assert base_url(address) == base


@pytest.mark.parametrize("address", ["/chat/completions", "  "])
def test_an_address_of_which_nothing_is_left_is_refused(address: str) -> None:
    with pytest.raises(UsageProblem, match=r"--judge-url '.*' names no host; give an address such as"):
        config_for("mine", 1, address, Config())

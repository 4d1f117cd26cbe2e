"""Small parts of fetching."""

from __future__ import annotations

import io
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.task_registry import known_tasks
from agentgauge.data.fetch.dataset import known_data_sets
from agentgauge.data.fetch.lock import (
    FIRST_USE,
    PUBLISHED,
    Entry,
    LockedFile,
    compare,
    lock_path,
    read_lock,
    write_lock,
)
from agentgauge.data.fetch.net import RetrySettings
from agentgauge.data.fetch.progress import Progress, size
from agentgauge.data.fetch.source import mirrored


@pytest.mark.parametrize(
    ("url", "mirror", "found"),
    [
        ("https://github.com/a/b", None, "https://github.com/a/b"),
        ("https://github.com/a/b", "http://m:8080", "http://m:8080/a/b"),
        ("https://github.com/a/b?c=1", "https://m/github/", "https://m/github/a/b?c=1"),
    ],
)
def test_a_mirror_stands_for_scheme_and_host(url: str, mirror: str | None, found: str) -> None:
    assert mirrored(url, mirror) == found


def test_a_date_that_comes_is_waited_for() -> None:
    assert 50 < RetrySettings().wait(1, formatdate(time.time() + 60, usegmt=True)) <= 60


def test_waits_are_doubled_up_to_the_longest() -> None:
    patience = RetrySettings(first=1, most=5)
    assert [patience.wait(failures, None) for failures in (1, 2, 3, 4, 9)] == [1, 2, 4, 5, 5]
    for asked in ("0", "-1", "0.001", "Wed, 21 Oct 2015 07:28:00 GMT", "2"):  # a server only lengthens a wait
        assert patience.wait(3, asked) == 4
    with pytest.raises(UsageProblem, match="asks to wait 6 s"):
        patience.wait(1, "6")


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (6_000_000_000, "6.0 GB"), (7e12, "7000.0 GB")]
)
def test_sizes_are_told_as_publishers_do(count: float, text: str) -> None:
    assert size(count) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        progress = Progress("wild", 1000, stream)
        progress.found(500)
        progress.add(100)
        progress.close()
        assert ("wild" in stream.getvalue()) is shown
    monkeypatch.setattr("agentgauge.data.fetch.progress._EVERY", 0.0)
    stream = io.StringIO()
    progress = Progress("wild", 1000, stream)
    progress.found(500)
    progress.add(100)
    assert stream.getvalue() == "wild: 600 B of 1.0 kB (60%)\n"


def test_the_lock_file_keeps_what_it_knows_and_is_sorted(tmp_path: Path) -> None:
    lock = lock_path(tmp_path / "agentgauge-data")
    assert lock == tmp_path / "agentgauge-data.lock"
    one, two = LockedFile("https://x/1", 1, "a" * 64, PUBLISHED), LockedFile("https://x/2", 2, "b" * 64, FIRST_USE)
    write_lock(lock, "wild", "s", Entry("1", {"one": one}))
    write_lock(lock, "mmau", "s", Entry("1", {"one": one}))
    write_lock(lock, "wild", "s", Entry("2", {"two": two}))
    assert read_lock(lock) == {
        "mmau": {"s": Entry("1", {"one": one})},
        "wild": {"s": Entry("2", {"one": one, "two": two})},
    }
    assert list(read_lock(lock)) == ["mmau", "wild"]
    compare(lock, "wild", "two", two, 2, "b" * 64)
    compare(lock, "wild", "two", two, None, None)
    compare(lock, "wild", "three", None, 2, "b" * 64)
    with pytest.raises(DataProblem, match="size 3 instead of 2"):
        compare(lock, "wild", "two", two, 3, None)


def test_every_data_set_serves_tasks_and_every_task_with_official_data_has_one() -> None:
    served = [name for one in known_data_sets().values() for name in one.tasks]
    assert sorted(served) == sorted(
        name for name in known_tasks() if name.partition(".")[0] in ("gta_atomic", "gta_workflow", "wild", "mmau")
    )
    assert all(one.tasks and one.sources and one.homepage.startswith("https://") for one in known_data_sets().values())

"""What goes wrong on the way: each ends as it should, with its exit status and one sentence."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fetch import official
from tests.fetch.conftest import Place
from tests.fetch.shared import BLOB, FEW, NAME, REPO, WHOLE_BUT_FEW, fetch, nothing_is_seen, one_sentence
from tests.fetch.site import Answer, Site, always, cut, stall, status

# -- breaks


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Tries follow each other at once. The seconds that they would have waited."""
    waited = list[float]()
    monkeypatch.setattr("time.sleep", waited.append)
    return waited


def test_a_break_at_half_is_gone_on_with_without_the_first_half(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault(BLOB, cut(len(atomic) // 2))
    status, _, err = fetch(site, place)
    assert (status, err) == (0, "")
    assert site.served[NAME] == len(atomic)


def test_so_it_is_with_every_source(site: Site, place: Place) -> None:
    files = official.mmau_files()
    parts = official.archive(official.workflow(), top="gta_dataset_v2/")
    content = {
        "gta_dataset_v2.zip.part-ab": parts[300_000:],
        "Wild-Tool-Bench.jsonl": official.wild(),
        "code_contests_solve_20240712.jsonl": files["code_contests_solve_20240712.jsonl"],
    }
    site.release(
        REPO, "v0.2.0", {"gta_dataset_v2.zip.part-aa": parts[:300_000], "gta_dataset_v2.zip.part-ab": parts[300_000:]}
    )
    site.raw("yupeijei1997/WildToolBench", "wild-tool-bench/data/Wild-Tool-Bench.jsonl", official.wild())
    site.hub("apple/mmau", files)
    for name, one in content.items():
        site.fault(name, cut(len(one) // 2))
    status_, _, err = place.run("fetch", "gta-workflow", "wild", "mmau", "--mirror", site.url)
    assert (status_, err) == (0, "")
    assert {name: site.served[name] for name in content} == {name: len(one) for name, one in content.items()}


@pytest.mark.parametrize("digests", [True, False])
def test_a_killed_process_is_gone_on_with_by_the_next(site: Site, place: Place, atomic: bytes, digests: bool) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic}, digests=digests)
    half, go_on = len(atomic) // 2, threading.Event()
    site.fault(BLOB, stall(half, go_on))
    process = place.start("fetch", "gta-atomic", "--mirror", site.url)
    part = place.base / ".fetch/gta-atomic/files" / f"{NAME}.part"
    _wait(process, lambda: part.exists() and part.stat().st_size == half)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    go_on.set()
    assert nothing_is_seen(place)
    assert fetch(site, place)[0] == 0
    assert site.served[NAME] == len(atomic)
    assert not part.exists()


@pytest.mark.usefixtures("no_waiting")
def test_a_file_that_changed_after_the_break_comes_anew(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic}, api=False)
    site.fault(BLOB, cut(1000), always(status(503, Retry_After="0")))
    assert fetch(site, place)[0] == 4
    site.faults.clear()
    other = official.archive(official.atomic(), top="other/")
    site.release(REPO, "v0.1.0", {NAME: other}, api=False)
    assert fetch(site, place)[0] == 0
    assert site.served[NAME] == 1000 + len(other)


def test_a_server_without_ranges_is_asked_for_the_whole(site: Site, place: Place, atomic: bytes) -> None:
    site.ranges = False
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault(BLOB, cut(1000), cut(2000))
    assert fetch(site, place)[0] == 0
    assert site.served[NAME] == 3000 + len(atomic)


def test_a_file_without_a_tag_and_checksum_is_never_put_together_from_two_answers(site: Site, place: Place) -> None:
    path = "/yupeijei1997/WildToolBench/HEAD/data/Wild-Tool-Bench.jsonl"
    content = official.wild(FEW)
    site.put(path, content, etag=False)
    site.fault(path, cut(100))
    status, _, err = place.run("fetch", "wild", "--mirror", site.url)
    assert (status, err) == (WHOLE_BUT_FEW, "")
    assert site.served["Wild-Tool-Bench.jsonl"] >= 100 + len(content)


def test_what_is_packed_for_the_way_is_not_gone_on_with_in_the_middle(site: Site, place: Place) -> None:
    """A range of a compressed answer is no range of the file; a mixture would be recorded as the file at its first
    use."""
    path, content = "/yupeijei1997/WildToolBench/HEAD/data/Wild-Tool-Bench.jsonl", official.wild(FEW)
    coded = gzip.compress(content)
    site.put(path, coded)
    site.headers["Content-Encoding"] = "gzip"
    site.fault(path, cut(len(coded) // 2))
    assert place.run("fetch", "wild", "--mirror", site.url)[0] == WHOLE_BUT_FEW
    assert (place.base / "wild/data/Wild-Tool-Bench.jsonl").read_bytes() == content
    assert not any("range" in headers for _, _, headers in site.asked)


@pytest.mark.usefixtures("no_waiting")
def test_an_answer_that_cannot_be_decoded_is_told(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    garbage = status(200, Content_Encoding="gzip")
    site.fault("/releases/tags/v0.1.0", always(garbage))
    site.fault(BLOB, always(garbage))
    outcome, _, err = fetch(site, place)
    assert outcome == 4
    assert "cannot be reached" in one_sentence(err)


@pytest.mark.usefixtures("no_waiting")
def test_a_part_that_nobody_asked_for_is_not_taken_for_the_whole(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault(BLOB, always(status(206, Content_Range=f"bytes 0-1/{len(atomic)}")))
    outcome, _, err = fetch(site, place)
    assert outcome == 4
    assert one_sentence(err)
    assert site.count(BLOB) <= 6


def _wait(process: subprocess.Popen[str], there: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


# -- refusals of servers


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (status(404), "does not exist (HTTP 404)"),
        (status(403), "is refused (HTTP 403)"),
        (always(status(429, Retry_After="0")), "limits the rate and still refuses (HTTP 429)"),
        (status(429, Retry_After="7200"), "the server asks to wait 7200 s, more than 120 s"),
        (always(status(500, Retry_After="0")), "fails (HTTP 500)"),
        (always(cut(0)), "cannot be reached"),
    ],
    ids=["404", "403", "429 for ever", "429 for hours", "500 for ever", "closed at once"],
)
@pytest.mark.usefixtures("no_waiting")
def test_a_refusal_is_told(site: Site, place: Place, atomic: bytes, answer: Answer, sentence: str) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault(BLOB, answer)
    status, _, err = fetch(site, place)
    assert status == 4
    assert sentence in one_sentence(err)
    assert site.count(BLOB) <= 6
    assert nothing_is_seen(place)


def test_after_429_what_the_server_asks_for_is_waited(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault(BLOB, status(429, Retry_After="1"), status(503, Retry_After="0"))
    begun = time.monotonic()
    assert fetch(site, place)[0] == 0
    assert time.monotonic() - begun >= 1
    assert site.count(BLOB) == 3


def test_an_api_that_refuses_is_done_without(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault("/releases/tags/v0.1.0", always(status(403, x_ratelimit_remaining="0")))
    status_, out, err = fetch(site, place)
    assert (status_, err) == (0, "")
    assert "note: sizes and checksums are not known beforehand; asking for gta_dataset.zip" in out
    assert "1 recorded at first use" in out


def test_sources_that_are_limited_for_a_while_are_asked_again_when_they_say(
    site: Site, place: Place, no_waiting: list[float]
) -> None:
    site.hub("apple/mmau", official.mmau_files())
    site.fault("/revision/main", status(429, Retry_After="110"))
    site.raw("yupeijei1997/WildToolBench", "data/Wild-Tool-Bench.jsonl", official.wild(FEW))
    site.fault("/HEAD/data/Wild-Tool-Bench.jsonl", status(503, Retry_After="100"))
    status_, _, err = place.run("fetch", "mmau", "wild", "--only", "mmau.dag_planning", "--mirror", site.url)
    assert (status_, err.count("\n")) == (4, 1), "the second can only be used as a whole"
    assert place.run("fetch", "wild", "--mirror", site.url)[0] == WHOLE_BUT_FEW
    assert no_waiting == [110.0, 100.0]


@pytest.mark.parametrize("code", [401, 404])
def test_a_hub_without_the_repository_is_told(site: Site, place: Place, code: int) -> None:
    site.fault("/revision/main", always(status(code)))
    status_, _, err = place.run("fetch", "mmau", "--mirror", site.url)
    assert status_ == 4
    assert f"HTTP {code}" in one_sentence(err)


@pytest.mark.usefixtures("no_waiting")
def test_a_server_that_is_not_there_is_told(place: Place) -> None:
    status_, _, err = place.run("fetch", "wild", "--mirror", "http://127.0.0.1:9")
    assert status_ == 4
    assert "cannot be reached" in one_sentence(err)


def test_one_data_set_that_fails_does_not_keep_the_next(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    status_, out, err = place.run("fetch", "wild", "gta-atomic", "--mirror", site.url)
    assert status_ == 4
    assert "HTTP 404" in one_sentence(err)
    assert "229 queries" in out


# -- space


@pytest.fixture
def small_disk(tmp_path: Path) -> str:
    """What a shell does first for a disk of 66 MB at the data folder; skipped where this machine does not let us
    mount."""
    (tmp_path / "data").mkdir()
    mount = f"mount -t tmpfs -o size=66m none {tmp_path / 'data'}"
    tried = subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no mounts in a namespace here")
    return mount


def _in_namespace(place: Place, first: str, *words: str) -> tuple[int, str]:
    import shlex
    import sys

    command = shlex.join([sys.executable, "-m", "agentgauge.cli.main", *words, "--dir", str(place.base)])
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{first} && {command}; status=$?; ls -A {place.base} >&2; exit $status"],
        capture_output=True,
        text=True,
        timeout=60,
        env=place.env,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_disk_that_has_not_the_room_is_told_before(site: Site, place: Place, small_disk: str) -> None:
    site.release(REPO, "v0.1.0", {NAME: os.urandom(3 << 20)})
    status_, err = _in_namespace(place, small_disk, "fetch", "gta-atomic", "--mirror", site.url)
    assert status_ == 4
    assert "this needs " in err
    assert "are free; free some, or give another --dir" in err
    assert site.served[NAME] == 0


def test_a_disk_that_fills_up_on_the_way_is_told(site: Site, place: Place, small_disk: str) -> None:
    """The size is not known beforehand, so that only the writing can tell."""
    site.release(REPO, "v0.1.0", {NAME: bytes(70 << 20)}, api=False, digests=False)
    status_, err = _in_namespace(place, small_disk, "fetch", "gta-atomic", "--mirror", site.url)
    assert status_ == 4
    assert "no space is left in" in err
    assert "Traceback" not in err


def test_a_folder_that_cannot_be_made_is_told(site: Site, place: Place) -> None:
    place.base.write_text("a file")
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "is a file; give a folder with --dir" in one_sentence(err)


def test_a_lock_file_that_cannot_be_written_is_told_before_the_download(
    site: Site, place: Place, atomic: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as /data.lock, for a volume at /data in a container."""
    site.release(REPO, "v0.1.0", {NAME: atomic})
    access = os.access
    monkeypatch.setattr("os.access", lambda path, mode: path != place.base.parent and access(path, mode))
    outcome, _, err = fetch(site, place)
    assert outcome == 4
    assert (
        "data.lock cannot be written (permission denied); give a --dir below a folder that can be written"
        in one_sentence(err)
    )
    assert site.served[NAME] == 0
    monkeypatch.undo()
    no_place(monkeypatch)
    outcome, _, err = fetch(site, place)
    assert outcome == 4
    assert "data.lock cannot be written (Read-only file system)" in one_sentence(err)
    assert nothing_is_seen(place)


def test_data_in_a_place_that_cannot_be_written_is_verified_all_the_same(
    site: Site, place: Place, atomic: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    assert fetch(site, place)[0] == 0
    no_place(monkeypatch)
    outcome, out, err = fetch(site, place)
    assert (outcome, err) == (0, "")
    assert "229 queries" in out
    assert "cannot be written (Read-only file system), so the result of the verification is not stored" in out


def no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, _content: bytes) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("agentgauge.data.fetch.lock.write_whole", refuse)


def test_two_fetches_of_one_data_set_do_not_meet(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    go_on = threading.Event()
    site.fault(BLOB, stall(1000, go_on))
    first = place.start("fetch", "gta-atomic", "--mirror", site.url)
    part = place.base / ".fetch/gta-atomic/files" / f"{NAME}.part"
    _wait(first, part.exists)
    status_, _, err = fetch(site, place)
    go_on.set()
    assert status_ == 4
    assert "another process is fetching gta-atomic" in one_sentence(err)
    first.communicate(timeout=20)
    assert first.returncode == 0


def test_an_interrupt_ends_quietly_and_what_came_stays(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    go_on = threading.Event()
    site.fault(BLOB, stall(1000, go_on))
    process = place.start("fetch", "gta-atomic", "--mirror", site.url)
    part = place.base / ".fetch/gta-atomic/files" / f"{NAME}.part"
    _wait(process, lambda: part.exists() and part.stat().st_size == 1000)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    go_on.set()
    assert process.returncode == 130
    assert err == "agentgauge: stopped; the same command continues from here\n"
    assert part.stat().st_size == 1000

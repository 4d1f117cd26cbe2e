"""Fetches as a user gives the commands, from servers that imitate GitHub and the hub: all that goes right, and each
kind of failure with its exit status and one sentence."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.data import overview
from agentgauge.cli.main import main
from agentgauge.core.errors import UsageProblem
from agentgauge.core.registry import Registry
from agentgauge.data.fetch import sources
from agentgauge.data.fetch.dataset import known_data_sets
from agentgauge.data.fetch.sources import Hub, RemoteFile
from tests.fetch import official
from tests.fetch.conftest import BLOB, FEW, NAME, REPO, WHOLE_BUT_FEW, Place, fetch, nothing_is_seen, one_sentence
from tests.fetch.site import COMMIT, Answer, Site, always, cut, instead, stall, status

WILD, MMAU = "yupeijei1997/WildToolBench", "apple/mmau"
ROOT = Path(__file__).resolve().parents[2]


def offer_everything(site: Site, sessions: int = 256) -> None:
    site.release(REPO, "v0.1.0", {NAME: official.archive(official.atomic(), top="gta_dataset/")}, digests=False)
    whole = official.archive(official.workflow(), top="gta_dataset_v2/")
    third = len(whole) // 3
    parts = {f"gta_dataset_v2.zip.{n + 1:03}": whole[n * third : None if n == 2 else (n + 1) * third] for n in range(3)}
    site.release(REPO, "v0.2.0", parts)
    site.raw(WILD, "wild-tool-bench/data/Wild-Tool-Bench.jsonl", official.wild(sessions))
    site.hub(MMAU, official.mmau_files())


# -- whole data sets


def test_all_four_data_sets_come_verified_and_a_second_fetch_asks_nobody(site: Site, place: Place) -> None:
    offer_everything(site)
    command = ("fetch", "gta-atomic", "gta-workflow", "wild", "mmau", "--mirror", site.url)
    status, out, err = place.run(*command)
    assert (status, err) == (0, "")
    for text in (
        "229 queries",
        "132 tasks",
        "256 sessions with 1024 tasks",
        "code_contests_regular_20240712.jsonl: 261 records",
        "arXiv:2407.08713",
        "CC-BY-SA-4.0",
        "Apache-2.0",
        "1 recorded at first use",
        "3 as published",
    ):
        assert text in out
    assert {path.name for path in place.base.iterdir()} == {
        "gta_atomic", "gta_workflow", "mmau", "wild", "checksums.json"
    }  # fmt: skip
    assert (place.base / "mmau/code_kaggle_source/input").is_dir()
    assert (place.base / "wild/data/Wild-Tool-Bench.jsonl").read_bytes() == official.wild()
    assert (place.base / "wild/data/Wild-Tool-Bench.jsonl").stat().st_mode & 0o044 == 0o044, "others can read it"
    first = json.loads((place.base / "checksums.json").read_text())
    assert sorted(url.rpartition("/")[2] for url in first) == ["Wild-Tool-Bench.jsonl", NAME], "the unpublished ones"
    assert all(url.startswith(("https://github.com/", "https://raw.githubusercontent.com/")) for url in first)
    status, out, err = place.run("data")
    assert (status, err) == (0, "")
    for text in (
        "serves    gta_atomic.*",
        "serves    mmau.*",
        f"version   {COMMIT}",
        "samples   1024",
        "bundled samples only: no task",
    ):
        assert text in out
    asked = len(site.asked)
    status, out, _ = place.run(*command)
    assert (status, out.count("already here")) == (0, 4)
    assert len(site.asked) == asked


@pytest.mark.parametrize("folder", ["", "gta_dataset/"])
def test_data_from_the_hub_is_taken_as_it_lies_there(site: Site, place: Place, folder: str) -> None:
    files = {f"{folder}{name}": content for name, content in official.atomic().items()}
    site.hub("Jize1/GTA", {**files, "README.md": b"not wanted"}, large=1000)
    status, out, err = place.run("fetch", "gta-atomic", "--from", "hub", "--mirror", site.url)
    assert (status, err) == (0, "")
    assert "229 queries" in out
    assert "as published" in out
    assert "first use" not in out
    assert {path.name for path in (place.base / "gta_atomic").iterdir()} == {
        "dataset.json", "toolmeta.json", "image", "agentgauge-source.json"
    }  # fmt: skip


def test_the_token_goes_to_the_hub_and_nowhere_else(site: Site, place: Place) -> None:
    site.hub("someone/copy", {"data/Wild-Tool-Bench.jsonl": official.wild(FEW)}, large=1, commit="b" * 40)
    status, _, err = place.run(
        "fetch", "wild", "--from", f"hub:someone/copy@{'b' * 40}", HF_ENDPOINT=site.url, HF_TOKEN="hf_secret"
    )
    assert (status, err) == (WHOLE_BUT_FEW, "")
    signed = {path for _, path, headers in site.asked if headers.get("authorization") == "Bearer hf_secret"}
    assert any("/api/datasets/" in path for path in signed)
    assert not any(path.startswith("/blob") for path in signed), "the token must not go to another host"
    site.asked.clear()
    site.hub(MMAU, official.mmau_files())
    place.env["HF_TOKEN"] = "hf_secret"
    assert place.run("fetch", "mmau", "--only", "math_*", "--mirror", site.url)[0] == 0
    assert site.asked
    assert not any("authorization" in headers for _, _, headers in site.asked), "a mirror is not the hub"


def test_a_password_in_the_address_of_a_mirror_is_shown_and_kept_nowhere(site: Site, place: Place) -> None:
    offer_everything(site, FEW)
    site.fault("math_standard_20240712.jsonl", status(404))
    mirror = site.url.replace("//", "//anna:letmein@")
    outcome, out, err = place.run("fetch", "gta-atomic", "mmau", "--mirror", mirror)
    assert outcome == 4
    assert site.url in out
    assert f"{site.url}/datasets/apple/mmau/resolve" in one_sentence(err)
    assert "letmein" not in out + err
    given = {path.startswith("/blob"): headers.get("authorization", "")[:6] for _, path, headers in site.asked}
    assert given == {False: "Basic ", True: ""}, "to the mirror, and not to where it sends us"
    site.faults.clear()
    assert place.run("fetch", "mmau", "--mirror", mirror)[0] == 0
    kept = list(place.base.rglob("*.json"))
    assert kept and not any(b"letmein" in path.read_bytes() for path in kept)


@pytest.mark.parametrize(
    ("only", "there", "not_there", "tasks"),
    [
        (
            ["mmau.dag_reasoning"],
            "tool_use_plan_with_reasoning_all_20240712.jsonl",
            "math_standard_20240712.jsonl",
            "dag_reasoning",
        ),
        (
            ["mmau.ds_oracle"],
            "code_kaggle_source",
            "math_standard_20240712.jsonl",
            "ds_codegen mmau.ds_e2e mmau.ds_oracle",
        ),
    ],
)
def test_a_part_of_mmau_is_fetched_and_completed_later(
    site: Site, place: Place, only: list[str], there: str, not_there: str, tasks: str
) -> None:
    site.hub(MMAU, official.mmau_files())
    status, out, err = place.run("fetch", "mmau", "--mirror", site.url, "--only", *only)
    assert (status, err) == (0, "")
    assert f"for mmau.{tasks.replace(' ', ', ')}" in out, "only what can be run is ready"
    assert (place.base / "mmau" / there).exists()
    assert not (place.base / "mmau" / not_there).exists()
    assert "in part" in place.run("data")[1]
    served = dict(site.served)
    status, _, err = place.run("fetch", "mmau", "--mirror", site.url)
    assert (status, err) == (0, "")
    assert (place.base / "mmau" / not_there).exists()
    assert all(site.served[name] == count for name, count in served.items()), "a file came twice"
    assert "in part" not in place.run("data")[1]
    asked = len(site.asked)
    assert place.run("fetch", "mmau", "--mirror", site.url, "--only", *only)[0] == 0
    status, _, err = place.run("fetch", "mmau", "--mirror", site.url, "--only", "maths")
    assert status == 4
    assert "--only 'maths' matches no file of Apple MMAU" in err
    assert len(site.asked) == asked, "all is here"


def test_offline_the_cache_of_the_hub_is_taken_and_github_is_refused(site: Site, place: Place) -> None:
    folder = place.base.parent / "home/hf/hub/datasets--apple--mmau"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text(COMMIT)
    for name, content in official.mmau_files().items():
        (snapshot / name).write_bytes(content)
    status, out, err = place.run("fetch", "mmau", "wild", HF_HUB_OFFLINE="1", HF_ENDPOINT=site.url)
    assert status == 4
    assert "HF_HUB_OFFLINE is set, so nothing is downloaded from https://github.com/" in one_sentence(err)
    assert "recorded at first use" in out
    assert (place.base / "mmau/code_kaggle_source/input").is_dir()
    status, _, err = place.run("fetch", "gta-atomic", "--from", "hub", HF_HUB_OFFLINE="1")
    assert status == 4
    assert "no copy of Jize1/GTA" in one_sentence(err)
    assert site.asked == []


@pytest.mark.parametrize("name", ["wild", "mmau"])
def test_the_proxy_of_the_environment_is_used(site: Site, place: Place, name: str) -> None:
    """The server is the proxy of an address that no name server knows."""
    site.raw(WILD, "data/Wild-Tool-Bench.jsonl", official.wild(FEW))
    site.hub(MMAU, {"math_standard_20240712.jsonl": b"{}"})
    process = place.start("fetch", name, "--mirror", "http://data.invalid", HTTP_PROXY=site.url)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (WHOLE_BUT_FEW, "")
    assert {headers["host"] for _, _, headers in site.asked} == {"data.invalid"}


def test_a_folder_of_the_users_own_is_left_alone(site: Site, place: Place) -> None:
    own = place.base / "wild"
    own.mkdir(parents=True)
    (own / "Wild-Tool-Bench.jsonl").write_bytes(official.wild(FEW))
    status, out, _ = place.run("fetch", "wild", "--mirror", site.url)
    assert status == WHOLE_BUT_FEW
    assert "not fetched by this command; it is left as it is" in out
    (own / "Wild-Tool-Bench.jsonl").unlink()
    status, _, err = place.run("fetch", "wild", "--mirror", site.url)
    assert status == 4
    assert "was not fetched by this command" in one_sentence(err)
    assert site.asked == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["gta-atomc"],
            "there is no data set 'gta-atomc' (did you mean gta-atomic?);"
            " known are gta-atomic, gta-workflow, mmau, wild, and the weights that `agentgauge fetch tools` lists",
        ),
        (["wild", "--only", "x"], "WildToolBench can only be used as a whole; fetch it without --only"),
        (
            ["wild", "--from", "hub"],
            "WildToolBench is not published on hub, but on github; name a copy with --from hub:OWNER/NAME",
        ),
        (["wild", "--from", "ftp"], "--from 'ftp' is unknown; give github, hub, or hub:OWNER/NAME[@REVISION]"),
        (["wild", "--from", "hub:x"], "--from 'hub:x' cannot be read; give github, hub, or hub:OWNER/NAME[@REVISION]"),
        (
            ["wild", "--mirror", "mirror.org"],
            "--mirror 'mirror.org' is not a URL of a server; give one such as https://mirror.example.org",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(place: Place, words: list[str], sentence: str) -> None:
    status, _, err = place.run("fetch", *words)
    assert (status, err) == (4, f"agentgauge: {sentence}\n")


def test_every_data_set_serves_tasks_and_every_task_with_official_data_has_one() -> None:
    tasks = Registry.installed()
    served = [name for one in known_data_sets().values() for name in one.tasks_among(tasks)]
    assert sorted(served) == sorted(
        name for name in tasks.names if name.partition(".")[0] in ("gta_atomic", "gta_workflow", "wild", "mmau")
    )


# -- breaks and refusals


@pytest.mark.usefixtures("no_waiting")
def test_breaks_and_busy_servers_are_asked_again(site: Site, place: Place) -> None:
    offer_everything(site, FEW)
    site.fault(BLOB, cut(1000), status(503), cut(0))
    site.fault("/HEAD/wild-tool-bench/data/Wild-Tool-Bench.jsonl", status(503, Retry_After="0"), cut(1000))
    site.fault("/math_standard_20240712.jsonl", cut(1000), cut(0))
    outcome, _, err = place.run("fetch", "gta-atomic", "wild", "mmau", "--mirror", site.url)
    assert (outcome, err) == (WHOLE_BUT_FEW, "")
    assert (place.base / "wild/data/Wild-Tool-Bench.jsonl").read_bytes() == official.wild(FEW)


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_leaves_nothing_that_looks_whole_and_keeps_whole_files(
    site: Site, place: Place, signum: signal.Signals
) -> None:
    whole = official.archive(official.workflow())
    parts = {"a.zip.001": whole[:-2000], "a.zip.002": whole[-2000:]}
    site.release(REPO, "v0.2.0", parts)
    go_on = threading.Event()
    site.fault("a.zip.002", stall(1000, go_on))
    process = place.start("fetch", "gta-workflow", "--mirror", site.url)
    _wait(process, lambda: site.served["a.zip.002"] == 1000)
    other, _, busy = place.run("fetch", "gta-workflow", "--mirror", site.url)
    process.send_signal(signum)
    _, err = process.communicate(timeout=10)
    go_on.set()
    assert other == 4
    assert "another process is fetching gta-workflow" in one_sentence(busy)
    if signum == signal.SIGINT:
        assert process.returncode == 130
        assert err == "agentgauge: stopped; the same command begins the last file again\n"
    assert not (place.base / "gta_workflow").exists()
    assert place.run("fetch", "gta-workflow", "--mirror", site.url)[0] == 0
    assert site.served == {"a.zip.001": len(whole) - 2000, "a.zip.002": 1000 + 2000}
    assert not (place.base / ".fetch").exists()


def _wait(process: subprocess.Popen[str], there: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (status(404), "does not exist (HTTP 404)"),
        (status(403), "is refused (HTTP 403)"),
        (always(status(429)), "limits the rate and still refuses (HTTP 429)"),
        (always(status(500)), "fails (HTTP 500)"),
        (always(cut(0)), "cannot be reached"),
        (always(status(200, Content_Encoding="gzip")), "cannot be reached"),
    ],
    ids=["404", "403", "429 for ever", "500 for ever", "closed at once", "not decodable"],
)
@pytest.mark.parametrize("origin", ["github", "hub"])
@pytest.mark.usefixtures("no_waiting")
def test_a_refusal_is_told(site: Site, place: Place, atomic: bytes, origin: str, answer: Answer, sentence: str) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.hub("Jize1/GTA", official.atomic())
    end = BLOB if origin == "github" else "/dataset.json"
    site.fault(end, answer)
    status, _, err = fetch(site, place, "--from", origin)
    assert status == 4
    assert sentence in one_sentence(err)
    assert site.count(end) <= 8
    assert nothing_is_seen(place)


def test_an_api_that_refuses_is_done_without(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault("/releases/tags/v0.1.0", always(status(403, x_ratelimit_remaining="0")))
    status_, out, err = fetch(site, place)
    assert (status_, err) == (0, "")
    assert "note: sizes and checksums are not known beforehand; asking for gta_dataset.zip" in out
    assert "1 recorded at first use" in out


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (status(401), "is refused (HTTP 401)"),
        (status(404), "does not exist (HTTP 404)"),
        (status(200), "does not answer as the hub does; check HF_ENDPOINT or --mirror"),
    ],
)
def test_a_hub_without_the_repository_is_told(site: Site, place: Place, answer: Answer, sentence: str) -> None:
    site.fault("/revision/main", always(answer))
    status_, _, err = place.run("fetch", "mmau", "--mirror", site.url)
    assert status_ == 4
    assert sentence in one_sentence(err)


@pytest.mark.usefixtures("no_waiting")
def test_servers_that_are_not_there_are_told_and_keep_no_other_data_set(
    site: Site, place: Place, atomic: bytes
) -> None:
    status_, _, err = place.run("fetch", "wild", "mmau", "--mirror", "http://127.0.0.1:9")
    assert status_ == 4
    assert err.count("cannot be reached") == err.count("\n") == 2
    site.release(REPO, "v0.1.0", {NAME: atomic})
    status_, out, err = place.run("fetch", "wild", "gta-atomic", "--mirror", site.url)
    assert status_ == 4
    assert "HTTP 404" in one_sentence(err)
    assert "229 queries" in out


# -- the disk


@pytest.mark.parametrize("known", [True, False])
def test_a_disk_without_room_is_told(site: Site, place: Place, known: bool) -> None:
    """A disk of 66 MB. The size is known before the download, or only the writing can tell."""
    place.base.mkdir()
    mount = f"mount -t tmpfs -o size=66m none {place.base}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("no mounts in a namespace here")
    site.release(REPO, "v0.1.0", {NAME: bytes(70 << 20)}, api=known, digests=known)
    command = f"python -m agentgauge.cli.main fetch gta-atomic --mirror {site.url} --dir {place.base}"
    path = f"{Path(sys.executable).parent}:{place.env['PATH']}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"{mount} && exec {command}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**place.env, "PATH": path},
        check=False,
    )
    assert done.returncode == 4
    assert ("are free; free some, or give another --dir" if known else "no space is left in") in one_sentence(
        done.stderr
    )
    assert (site.served[NAME] == 0) is known


def test_a_place_that_cannot_be_written_is_told_and_data_in_it_verified(
    site: Site, place: Place, atomic: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.base.write_text("a file")
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "is a file; give a folder with --dir" in one_sentence(err)
    place.base.unlink()
    site.release(REPO, "v0.1.0", {NAME: atomic})

    def refuse(path: Path, _content: bytes) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    with monkeypatch.context() as patched:
        patched.setattr("agentgauge.data.fetch.dataset.write_whole", refuse)
        status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "cannot be written or read: Read-only file system" in one_sentence(err)
    assert nothing_is_seen(place)
    assert fetch(site, place)[0] == 0
    monkeypatch.setattr("agentgauge.data.fetch.dataset.write_whole", refuse)
    outcome, out, err = fetch(site, place)
    assert (outcome, err) == (0, "")
    assert "cannot be written (Read-only file system), so the result of the verification is not stored" in out


# -- content


def test_a_file_that_is_not_the_published_one_is_removed(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    site.fault(BLOB, instead(atomic[:-1] + b"?"))
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "is not the published file: SHA-256" in one_sentence(err)
    assert nothing_is_seen(place)
    assert fetch(site, place)[0] == 0


def test_a_small_file_of_the_hub_is_held_to_its_git_checksum(site: Site, place: Place) -> None:
    files = official.atomic()
    site.hub("Jize1/GTA", files, large=10**9)
    site.fault("/dataset.json", instead(files["dataset.json"].replace(b"OCR", b"0CR")))
    status_, _, err = fetch(site, place, "--from", "hub")
    assert status_ == 4
    assert "git checksum" in one_sentence(err)


def test_another_file_than_at_the_first_fetch_is_refused_until_the_user_allows_it(
    site: Site, place: Place, atomic: bytes
) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic}, digests=False)
    assert fetch(site, place)[0] == 0
    record = place.base / "checksums.json"
    before = record.read_bytes()
    shutil.rmtree(place.base / "gta_atomic")
    site.release(REPO, "v0.1.0", {NAME: official.archive({**official.atomic(), "more.txt": b"x"})}, digests=False)
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "is not the file of the first fetch: SHA-256" in one_sentence(err)
    assert f"remove its line from {record} and fetch again" in err
    assert nothing_is_seen(place)
    assert record.read_bytes() == before
    for content in ("{", "[]", '{"a": 1}'):
        record.write_text(content)
        assert fetch(site, place)[0] == 4
    record.unlink()
    assert fetch(site, place)[0] == 0


_BAD_ARCHIVES: dict[str, tuple[dict[str, bytes], str]] = {
    "escapes": ({"../../../../../evil.txt": b"x"}, "'../../../../../evil.txt', which is not a plain relative path"),
    "bomb": ({"zeros": bytes(100 << 20)}, "as a bomb does"),
}


@pytest.mark.parametrize(("more", "sentence"), _BAD_ARCHIVES.values(), ids=_BAD_ARCHIVES)
def test_an_archive_that_is_refused_is_told_and_nothing_is_written(
    site: Site, place: Place, tmp_path: Path, more: dict[str, bytes], sentence: str
) -> None:
    site.release(REPO, "v0.1.0", {NAME: official.archive({**official.atomic(), **more})})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert sentence in one_sentence(err)
    assert nothing_is_seen(place)
    assert not list(tmp_path.rglob("evil.txt"))


def test_a_truncated_archive_is_told_and_not_kept(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic[: len(atomic) // 2]})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "gta_dataset.zip is damaged or cut off" in one_sentence(err)
    assert nothing_is_seen(place)
    site.release(REPO, "v0.1.0", {NAME: atomic})
    assert fetch(site, place)[0] == 0


def test_something_else_than_the_data_set_is_told(site: Site, place: Place) -> None:
    site.release(REPO, "v0.1.0", {NAME: official.archive({"readme.txt": b"x"})})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "is not GTA-Atomic: it holds none of dataset.json; it holds readme.txt" in one_sentence(err)


def test_a_picture_that_is_missing_is_a_problem_of_the_data(site: Site, place: Place) -> None:
    files = dict(official.atomic())
    missing = next(name for name in files if name.startswith("image/"))
    del files[missing]
    site.release(REPO, "v0.1.0", {NAME: official.archive(files)})
    status_, out, err = fetch(site, place)
    assert (status_, err) == (1, "")
    assert "1 problem" in out and missing in out


def test_data_that_is_wrong_tells_how_to_get_it_anew_and_that_is_so(site: Site, place: Place) -> None:
    site.raw(WILD, "data/Wild-Tool-Bench.jsonl", official.wild(20))
    status_, out, _ = place.run("fetch", "wild", "--mirror", site.url)
    assert status_ == 1
    assert "20 sound sessions with 80 tasks, and 256 with 1024 are published" in out
    assert f"to download it again, remove {place.base / 'wild'} and run the command again" in out
    assert "1 problem" in place.run("data")[1]


@pytest.mark.parametrize("name", ["../../../../evil.jsonl", "/tmp/agentgauge-evil.jsonl", "a\\..\\x.jsonl"])
def test_a_listing_with_a_name_that_escapes_is_refused_and_nothing_is_asked_for(
    site: Site, place: Place, tmp_path: Path, name: str
) -> None:
    site.hub(MMAU, {"math_standard_20240712.jsonl": b"{}", name: b"{}"})
    site.release(REPO, "v0.1.0", {NAME: b"x", f"{NAME}/{name}": b"x"})
    for data_set in ("mmau", "gta-atomic"):
        status_, _, err = place.run("fetch", data_set, "--mirror", site.url)
        assert status_ == 4
        assert "which is not a plain relative path" in one_sentence(err)
    assert not any("/resolve/" in path or "/download/" in path for _, path, _ in site.asked)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_names_of_a_server_do_not_steer_the_terminal(site: Site, place: Place) -> None:
    site.release(REPO, "v0.1.0", {"\x1b[2Jwiped\r.txt": b"x"})
    outcome, out, err = fetch(site, place)
    assert outcome == 4
    assert "but \u241b[2Jwiped\u240d.txt" in out
    assert "HTTP 404" in one_sentence(err)


# -- what `agentgauge data` says of copies that the user brought


def test_copies_are_found_and_a_damaged_one_hides_no_other(tmp_path: Path) -> None:
    for mini, folder in (
        ("bench_gta/atomic/mini", "gta_dataset"),
        ("bench_gta/workflow/mini", "gta_workflow"),
        ("bench_wild/mini", "WildToolBench/data"),
    ):
        shutil.copytree(ROOT / mini, tmp_path / folder)
    file = tmp_path / "WildToolBench/data/Wild-Tool-Bench.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"id": ', '"note": 1, "id": ', 1), encoding="utf-8")
    told = "\n".join(overview(tmp_path, Registry.installed()))
    for name, samples in (("gta_dataset", 41), ("gta_workflow", 16), ("WildToolBench", 64)):
        assert f"  folder    {tmp_path / name}" in told
        assert f"  samples   {samples}" in told
    assert told.count("your own copy") == 3
    assert "'note'" in told, "what differs is named"
    (tmp_path / "gta_dataset" / "dataset.json").write_text('{"0": ', encoding="utf-8")
    told = "\n".join(overview(tmp_path, Registry.installed()))
    assert "damaged   " in told
    assert "samples   64" in told


@pytest.mark.uses("own_tests")
def test_a_task_without_a_data_set_is_refused_and_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "tests"]) == 4
    assert "tests has no data set; name one of gta_atomic.e2e, " in capsys.readouterr().err
    for command in (["data", "check"], ["score"]):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        told = " ".join(capsys.readouterr().out.split())
        assert ", wild options:" in told and "tests" not in told


def test_a_copy_from_the_cache_of_the_hub_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: Any) -> None:
    def full(source: Path, target: Path) -> None:
        Path(target).write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "cached").write_text("whole")
    file = RemoteFile("a.json", "url", "address", 5, local=tmp_path / "cached")
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space"):
        Hub("a/b", ("*",)).download(file, tmp_path / "folder", "main", None)
    assert not (tmp_path / "folder" / "a.json").exists()


@pytest.mark.parametrize("error", [RuntimeError("CAS Client Error: 403"), ImportError("'socksio' is not installed")])
def test_what_the_library_of_the_hub_raises_becomes_a_sentence(error: Exception) -> None:
    sentence = r"https://h/a cannot be reached \(.*(403|socksio).*\); check the network"
    with pytest.raises(UsageProblem, match=sentence), sources._hub_problems("https://h/a"):
        raise error

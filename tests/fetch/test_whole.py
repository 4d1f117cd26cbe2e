"""Whole fetches of all four data sets, as a user gives the commands, from servers that imitate the sources."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agentgauge.core.redaction import without_logins
from tests.fetch import official
from tests.fetch.conftest import Place
from tests.fetch.shared import FEW, WHOLE_BUT_FEW
from tests.fetch.site import COMMIT, Site, status

ATOMIC, WILD, MMAU = "open-compass/GTA", "yupeijei1997/WildToolBench", "apple/mmau"


def offer_everything(site: Site, sessions: int = 256) -> None:
    site.release(
        ATOMIC, "v0.1.0", {"gta_dataset.zip": official.archive(official.atomic(), top="gta_dataset/")}, digests=False
    )
    whole = official.archive(official.workflow(), top="gta_dataset_v2/")
    third = len(whole) // 3
    parts = {f"gta_dataset_v2.zip.{n + 1:03}": whole[n * third : None if n == 2 else (n + 1) * third] for n in range(3)}
    site.release(ATOMIC, "v0.2.0", parts)
    site.raw(WILD, "wild-tool-bench/data/Wild-Tool-Bench.jsonl", official.wild(sessions))
    site.hub(MMAU, official.mmau_files())


def test_all_four_data_sets_come_verified_and_are_shown(site: Site, place: Place) -> None:
    offer_everything(site)
    status, out, err = place.run("fetch", "gta-atomic", "gta-workflow", "wild", "mmau", "--mirror", site.url)
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
    assert sorted(path.name for path in place.base.iterdir()) == ["gta_atomic", "gta_workflow", "mmau", "wild"]
    assert (place.base / "mmau/code_kaggle_source/input").is_dir()
    assert (place.base / "wild/data/Wild-Tool-Bench.jsonl").read_bytes() == official.wild()
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


def test_a_second_fetch_says_that_it_is_here_and_asks_nobody(site: Site, place: Place) -> None:
    offer_everything(site)
    assert place.run("fetch", "gta-atomic", "--mirror", site.url)[0] == 0
    asked = len(site.asked)
    status, out, _ = place.run("fetch", "gta-atomic", "--mirror", site.url)
    assert status == 0
    assert "already here" in out
    assert "229 queries" in out
    assert len(site.asked) == asked


def test_the_lock_file_is_the_same_whatever_the_mirror_and_names_no_mirror(site: Site, place: Place) -> None:
    offer_everything(site, FEW)
    assert place.run("fetch", "gta-workflow", "wild", "--mirror", site.url)[0] == WHOLE_BUT_FEW
    lock = place.base.with_name("data.lock")
    first = lock.read_text()
    assert "127.0.0.1" not in first
    data = json.loads(first)["data_sets"]
    assert {one["checksum"] for source in data["gta-workflow"].values() for one in source["files"].values()} == {
        "published"
    }
    assert {one["checksum"] for source in data["wild"].values() for one in source["files"].values()} == {
        "recorded at first use"
    }
    other = replace(place, base=place.base.with_name("other"))
    with Site() as another:
        offer_everything(another, FEW)
        assert other.run("fetch", "wild", "gta-workflow", "--mirror", f"{another.url}/")[0] == WHOLE_BUT_FEW
    assert other.base.with_name("other.lock").read_text() == first


@pytest.mark.parametrize("folder", ["", "gta_dataset/"])
def test_data_from_the_hub_is_taken_as_it_lies_there(site: Site, place: Place, folder: str) -> None:
    files = {f"{folder}{name}": content for name, content in official.atomic().items()}
    site.hub("Jize1/GTA", {**files, "README.md": b"not wanted"}, large=1000)
    status, out, err = place.run("fetch", "gta-atomic", "--from", "hub", HF_ENDPOINT=site.url)
    assert (status, err) == (0, "")
    assert "229 queries" in out
    assert "as published" in out
    assert "first use" not in out
    assert not (place.base / "gta_atomic/README.md").exists()


def test_a_copy_on_the_hub_is_asked_for_by_name_and_revision_and_with_the_token(site: Site, place: Place) -> None:
    site.hub("someone/copy", {"data/Wild-Tool-Bench.jsonl": official.wild(FEW)}, large=1, commit="b" * 40)
    status, _, err = place.run(
        "fetch", "wild", "--from", f"hub:someone/copy@{'b' * 40}", HF_ENDPOINT=site.url, HF_TOKEN="hf_secret"
    )
    assert (status, err) == (WHOLE_BUT_FEW, "")
    signed = [path for _, path, headers in site.asked if headers.get("authorization") == "Bearer hf_secret"]
    assert any("/api/datasets/" in path for path in signed)
    assert not any(path.startswith("/blob") for path in signed), "the token must not go to another host"


def test_a_mirror_is_not_given_the_token(site: Site, place: Place) -> None:
    site.hub(MMAU, official.mmau_files())
    place.env["HF_TOKEN"] = "hf_secret"
    assert place.run("fetch", "mmau", "--only", "math_*", "--mirror", site.url)[0] == 0
    assert site.asked
    assert not any("authorization" in headers for _, _, headers in site.asked)


def test_a_password_in_the_address_of_a_mirror_is_shown_and_kept_nowhere(site: Site, place: Place) -> None:
    site.hub(MMAU, official.mmau_files())
    site.fault("math_standard_20240712.jsonl", status(404))
    mirror = site.url.replace("//", "//anna:letmein@")
    outcome, out, err = place.run("fetch", "mmau", "--only", "math_*", "--mirror", mirror)
    assert outcome == 4
    assert site.url in out
    assert f"{site.url}/datasets/apple/mmau/resolve" in err
    assert "letmein" not in out + err
    given = {path.startswith("/blob"): headers.get("authorization", "")[:6] for _, path, headers in site.asked}
    assert given == {False: "Basic ", True: ""}, "to the mirror, and not to where it sends us"
    site.faults.clear()
    assert place.run("fetch", "mmau", "--only", "math_*", "--mirror", mirror)[0] == 0
    kept = [place.base.with_name("data.lock"), *place.base.rglob("*.json")]
    assert not any(b"letmein" in path.read_bytes() for path in kept)


def test_of_ipv6_and_of_all_else_only_the_password_is_left_out() -> None:
    assert without_logins("https://a:b@[::1]:80/x@y?z@") == "https://[::1]:80/x@y?z@"
    assert without_logins("https://host/x@y") == "https://host/x@y"


@pytest.mark.parametrize(
    ("only", "there", "not_there", "tasks"),
    [
        (
            ["mmau.dag_reasoning"],
            "tool_use_plan_with_reasoning_all_20240712.jsonl",
            "math_standard_20240712.jsonl",
            "dag_reasoning",
        ),
        (["math_*"], "math_understand_20240712.jsonl", "code_kaggle_source", "math_comprehend mmau.math_planner"),
        (
            ["mmau.ds_oracle"],
            "code_kaggle_source",
            "math_standard_20240712.jsonl",
            "ds_codegen mmau.ds_e2e mmau.ds_oracle",
        ),
    ],
)
def test_a_part_of_mmau_is_fetched_for_a_task_or_by_names_and_completed_later(
    site: Site, place: Place, only: list[str], there: str, not_there: str, tasks: str
) -> None:
    offer_everything(site)
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


def test_counts_that_are_not_the_published_ones_end_with_status_one(site: Site, place: Place) -> None:
    site.raw(WILD, "data/Wild-Tool-Bench.jsonl", official.wild(20))
    status, out, err = place.run("fetch", "wild", "--mirror", site.url)
    assert (status, err) == (1, "")
    assert "20 sound sessions with 80 tasks, and 256 with 1024 are published" in out
    assert "1 problem" in place.run("data")[1]


def test_offline_the_cache_of_the_hub_is_taken_and_github_is_refused(site: Site, place: Place) -> None:
    folder = place.base.parent / "home/hf/hub/datasets--apple--mmau"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text(COMMIT)
    for name, content in official.mmau_files().items():
        (snapshot / name).write_bytes(content)
    status, out, err = place.run("fetch", "mmau", HF_HUB_OFFLINE="1", HF_ENDPOINT=site.url)
    assert (status, err) == (0, "")
    assert "recorded at first use" in out
    status, _, err = place.run("fetch", "wild", "--mirror", site.url, HF_HUB_OFFLINE="1")
    assert status == 4
    assert "HF_HUB_OFFLINE is set" in err
    status, _, err = place.run("fetch", "gta-atomic", "--from", "hub", HF_HUB_OFFLINE="1")
    assert status == 4
    assert "no copy of Jize1/GTA" in err
    assert site.asked == []


def test_the_proxy_of_the_environment_is_used(site: Site, place: Place) -> None:
    """The server is the proxy of an address that no name server knows."""
    site.raw(WILD, "data/Wild-Tool-Bench.jsonl", official.wild(FEW))
    status, _, err = place.run("fetch", "wild", "--mirror", "http://data.invalid", HTTP_PROXY=site.url)
    assert (status, err) == (WHOLE_BUT_FEW, "")
    assert {headers["host"] for _, _, headers in site.asked} == {"data.invalid"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["gta-atomc"],
            "there is no data set 'gta-atomc' (did you mean gta-atomic?);"
            " known are gta-atomic, gta-workflow, mmau, wild, and the weights that `agentgauge fetch tools` lists",
        ),
        (
            ["nothing"],
            "there is no data set 'nothing'; known are gta-atomic, gta-workflow, mmau, wild, and the weights that"
            " `agentgauge fetch tools` lists",
        ),
        (["wild", "--only", "x"], "WildToolBench can only be used as a whole; fetch it without --only"),
        (
            ["wild", "--from", "hub"],
            "WildToolBench is not published on hub, but on github; name a copy with --from hub:OWNER/NAME",
        ),
        (["mmau", "--from", "github"], "Apple MMAU is not published on github, but on hub"),
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
    assert "was not fetched by this command" in err
    assert site.asked == []

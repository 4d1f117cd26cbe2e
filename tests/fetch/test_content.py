"""Content that is not what it should be: each ends with its exit status and one sentence, and nothing is put in
place."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.fetch import official
from tests.fetch.conftest import Place
from tests.fetch.shared import BLOB, NAME, REPO, fetch, nothing_is_seen, one_sentence
from tests.fetch.site import Site, instead


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
    site.fault("/toolmeta.json", instead(files["toolmeta.json"].replace(b"OCR", b"0CR")))
    status_, _, err = fetch(site, place, "--from", "hub")
    assert status_ == 4
    assert "git checksum" in one_sentence(err)


def test_another_checksum_than_in_the_lock_file_is_refused_with_both(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic}, digests=False)
    assert fetch(site, place)[0] == 0
    before = place.base.with_name("data.lock").read_bytes()
    place.base.rename(place.base.with_name("moved"))
    site.release(REPO, "v0.1.0", {NAME: official.archive({**official.atomic(), "more.txt": b"x"})}, digests=False)
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "differs from its entry in" in one_sentence(err)
    assert " instead of " in err
    assert "(recorded at first use)" in err
    assert "remove the entry of gta_dataset.zip from the lock file" in err
    assert nothing_is_seen(place)
    assert place.base.with_name("data.lock").read_bytes() == before


def test_data_that_is_here_is_held_to_a_lock_file_that_came_later(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic})
    assert fetch(site, place)[0] == 0
    lock = place.base.with_name("data.lock")
    text = lock.read_text()
    digest = text.split('"sha256": "')[1][:64]
    lock.write_text(text.replace(digest, "0" * 64))
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert f"SHA-256 {digest} instead of {'0' * 64}" in one_sentence(err)


_ODD = (
    '{"format": 1, "data_sets": {"x": {"y": {"revision": "", "files": {"z": {"url": "", "size": "1", "sha256": "",'
    ' "checksum": ""}}}}}}'
)


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 2, "data_sets": {}}', '{"format": 1}', _ODD])
def test_a_lock_file_that_cannot_be_read_is_told(site: Site, place: Place, content: str) -> None:
    place.base.with_name("data.lock").write_text(content)
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "the lock file" in one_sentence(err)


def test_a_truncated_archive_is_told_and_not_kept(site: Site, place: Place, atomic: bytes) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic[: len(atomic) // 2]})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "gta_dataset.zip is damaged or cut off" in one_sentence(err)
    assert nothing_is_seen(place)
    site.release(REPO, "v0.1.0", {NAME: atomic})
    assert fetch(site, place)[0] == 0


def test_a_damaged_entry_is_told_by_name(site: Site, place: Place, atomic: bytes) -> None:
    whole = bytearray(official.archive({"dataset.json": b"{}", "image/a.png": os.urandom(5000)}))
    whole[2000] ^= 1
    site.release(REPO, "v0.1.0", {NAME: bytes(whole)})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "gta_dataset.zip, image/a.png is damaged" in one_sentence(err)
    assert nothing_is_seen(place)


def test_a_path_that_escapes_is_refused_and_nothing_is_written(site: Site, place: Place, tmp_path: Path) -> None:
    site.release(REPO, "v0.1.0", {NAME: official.archive({**official.atomic(), "../../../../../evil.txt": b"x"})})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "'../../../../../evil.txt', which is not a plain relative path" in one_sentence(err)
    assert nothing_is_seen(place)
    assert not list(tmp_path.rglob("evil.txt"))


def test_a_bomb_is_refused(site: Site, place: Place) -> None:
    site.release(REPO, "v0.1.0", {NAME: official.archive({**official.atomic(), "zeros": bytes(100 << 20)})})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "as a bomb does" in one_sentence(err)
    assert nothing_is_seen(place)


def test_something_else_than_the_data_set_is_told(site: Site, place: Place) -> None:
    site.release(REPO, "v0.1.0", {NAME: official.archive({"readme.txt": b"x"})})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "is not GTA-Atomic: it holds none of dataset.json; it holds readme.txt" in one_sentence(err)


def test_a_missing_part_is_told(site: Site, place: Place) -> None:
    site.release(REPO, "v0.2.0", {"a.zip.001": b"x", "a.zip.003": b"y"})
    status_, _, err = place.run("fetch", "gta-workflow", "--mirror", site.url)
    assert status_ == 4
    assert "parts of a.zip are missing: there are a.zip.001, a.zip.003" in one_sentence(err)


def test_a_picture_that_is_missing_is_a_problem_of_the_data(site: Site, place: Place) -> None:
    files = dict(official.atomic())
    missing = next(name for name in files if name.startswith("image/"))
    del files[missing]
    site.release(REPO, "v0.1.0", {NAME: official.archive(files)})
    status_, out, err = fetch(site, place)
    assert (status_, err) == (1, "")
    assert missing in out
    assert "missing" in out


@pytest.mark.parametrize(
    "name", ["../../../../evil.jsonl", "/tmp/agentgauge-evil.jsonl", "a/../../x.jsonl", "a\\..\\x.jsonl", "a\x00.jsonl"]
)
def test_a_listing_with_a_name_that_escapes_is_refused_and_nothing_is_asked_for(
    site: Site, place: Place, tmp_path: Path, name: str
) -> None:
    site.hub("apple/mmau", {"math_standard_20240712.jsonl": b"{}", name: b"{}"})
    status_, _, err = place.run("fetch", "mmau", "--mirror", site.url)
    assert status_ == 4
    assert "which is not a plain relative path" in one_sentence(err)
    assert not any("/resolve/" in path for _, path, _ in site.asked)
    assert not list(tmp_path.rglob("*.jsonl"))


def test_names_of_a_server_do_not_steer_the_terminal(site: Site, place: Place) -> None:
    site.release(REPO, "v0.1.0", {"\x1b[2Jwiped\r.txt": b"x"})
    outcome, out, err = fetch(site, place)
    assert outcome == 4
    assert "but \u241b[2Jwiped\u240d.txt" in out
    assert "HTTP 404" in one_sentence(err)


def test_an_asset_with_a_name_that_escapes_is_refused(site: Site, place: Place, atomic: bytes, tmp_path: Path) -> None:
    site.release(REPO, "v0.1.0", {NAME: atomic, f"{NAME}/../../../../evil": b"x"})
    status_, _, err = fetch(site, place)
    assert status_ == 4
    assert "which is not a plain relative path" in one_sentence(err)
    assert not list(tmp_path.rglob("evil"))


def test_data_that_is_wrong_tells_how_to_get_it_anew_and_that_is_so(site: Site, place: Place) -> None:
    site.raw("yupeijei1997/WildToolBench", "data/Wild-Tool-Bench.jsonl", b"<html>please sign in</html>")
    status_, out, _ = place.run("fetch", "wild", "--mirror", site.url)
    assert status_ == 1
    folder, lock = place.base / "wild", place.base.with_name("data.lock")
    assert (
        f"to download it again, remove {folder} and run the command again; if {lock} has an entry"
        " of a wrong file, remove that entry" in out
    )
    site.raw("yupeijei1997/WildToolBench", "data/Wild-Tool-Bench.jsonl", official.wild())
    assert place.run("fetch", "wild", "--mirror", site.url)[0] == 1
    shutil.rmtree(folder)
    lock.unlink()
    assert place.run("fetch", "wild", "--mirror", site.url)[0] == 0


def test_a_file_of_another_source_that_an_ended_process_left_is_not_taken(site: Site, place: Place) -> None:
    """It came whole, and the process ended before it was put in place."""
    site.raw("yupeijei1997/WildToolBench", "data/Wild-Tool-Bench.jsonl", official.wild())
    left = place.base / ".fetch/wild/files/data/Wild-Tool-Bench.jsonl"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"of another source")
    left.with_name(f"{left.name}.part.json").write_text('{"belongs": {"url": "https://huggingface.co/x"}}')
    assert place.run("fetch", "wild", "--mirror", site.url)[0] == 0
    assert (place.base / "wild/data/Wild-Tool-Bench.jsonl").read_bytes() == official.wild()


def test_the_made_archives_are_archives(atomic: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(atomic)
    with zipfile.ZipFile(tmp_path / NAME) as packed:
        assert packed.testzip() is None

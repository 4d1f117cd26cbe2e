"""Files of replies: written and read by several processes at once, damaged, moved, full."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core import redaction
from agentgauge.replies.store import Replies, header, key_of

A, B, C = key_of("a"), key_of("b"), key_of("c")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "new" / "replies.jsonl"


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().split("\n") if line]


def test_the_last_reply_of_a_key_is_found(file: Path) -> None:
    store = Replies(file)
    assert store.find(A) is None and not file.parent.exists()
    store.keep(A, {"text": "old"}, {"turn": 1})
    store.keep(B, {"text": "é\u2028\n\ud800"})
    store.keep(A, {"text": "new"}, {"turn": 2})
    for one in (store, Replies(file)):
        assert [one.find(key) for key in (A, B, C)] == [{"text": "new"}, {"text": "é\u2028\n\ud800"}, None]
    assert lines(file) == [
        {"replies": 2, "settings": {}},
        {"key": A, "about": {"turn": 1}, "outcome": {"text": "old"}},
        {"key": B, "about": {}, "outcome": {"text": "é\u2028\n\ud800"}},
        {"key": A, "about": {"turn": 2}, "outcome": {"text": "new"}},
    ]
    assert store.entries() == [(B, {}), (A, {"turn": 2})]
    store.close()
    assert store.find(A) == {"text": "new"}  # opened again


def test_keys_do_not_depend_on_the_order_of_names() -> None:
    assert key_of({"a": 1, "b": "\ud800"}) == key_of({"b": "\ud800", "a": 1}) != key_of({"a": 1})
    assert len(A) == 32


def test_what_others_have_kept_is_found_without_opening_anew(file: Path) -> None:
    ours, theirs = Replies(file), Replies(file)
    assert ours.find(A) is None
    theirs.keep(A, {"n": 1})
    assert ours.find(A) == {"n": 1}
    theirs.keep(A, {"n": 2})
    ours.keep(B, {"n": 3})
    assert (ours.find(A), theirs.find(B)) == ({"n": 2}, {"n": 3})


WORKER = """
import sys
from pathlib import Path
from agentgauge.replies.store import Replies, key_of
store, me, other = Replies(Path(sys.argv[1])), *sys.argv[2:]
for number in range(100):
    store.keep(key_of([me, number]), {"text": me * 50_000, "n": number})
    found = store.find(key_of([other, number // 2]))
    assert found in (None, {"text": other * 50_000, "n": number // 2}), found
    assert store.find(key_of([me, number]))["n"] == number
assert not store.strange_lines()
"""


@pytest.mark.slow
def test_processes_append_and_read_at_the_same_time(file: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, str(file), *names]) for names in ("ab", "ba")]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    store = Replies(file)
    assert all(store.find(key_of([me, n])) == {"text": me * 50_000, "n": n} for me in "ab" for n in range(100))
    assert not store.strange_lines()


def test_a_torn_last_line_is_dropped_and_spoils_no_later_one(file: Path) -> None:
    store = Replies(file)
    store.keep(A, {"n": 1})
    whole = file.read_bytes()
    store.keep(B, {"n": 2})
    torn = file.read_bytes()[:-5]
    for size in range(len(whole) + 1, len(torn)):
        file.write_bytes(torn[:size])
        reader = Replies(file)
        assert (reader.find(A), reader.find(B), reader.strange_lines()) == ({"n": 1}, None, [])
        Replies(file).keep(C, {"n": 3})
        assert [reader.find(key) for key in (A, C)] == [{"n": 1}, {"n": 3}]
        assert reader.find(B) is None


def test_an_entry_that_was_torn_hides_no_earlier_one_of_its_key(file: Path) -> None:
    store = Replies(file)
    store.keep(A, {"n": 1})
    store.keep(A, {"n": 2})
    file.write_bytes(file.read_bytes()[:-5])
    Replies(file).keep(B, {"n": 3})
    assert Replies(file).find(A) == {"n": 1}


def test_a_file_that_is_removed_is_made_anew(file: Path) -> None:
    store = Replies(file)
    store.keep(A, {"n": 1})
    file.unlink()
    store.keep(B, {"n": 2})
    assert (Replies(file).find(A), Replies(file).find(B)) == (None, {"n": 2})


def test_what_is_no_entry_is_skipped_and_its_number_known(file: Path) -> None:
    store = Replies(file)
    store.keep(A, {"n": 1})
    no_entries = ["", "{}", '{"key": "short"}', "[" * 2000, f'{{"key": "{B}", "about": {{', f'{{"key":"{B}"}}', "\x00"]
    damaged = f'{{"key": "{C}", "about": {{}}, "outcome": '
    with file.open("a") as stream:
        stream.write("\n".join(no_entries) + "\n" + header({}).decode())
        for torn in ("7}", "}", '{"n": 1}'):
            stream.write(f"{damaged}{torn}\n")
            stream.flush()
            assert store.read(C) is None
        for end in ('7, "x": {}}', '{"n": ' + "[" * 200 + "]" * 200 + "}}", '{"n": ' + "9" * 400 + "}}"):
            stream.write(f"{damaged}{end}\n")
            stream.flush()
            assert store.find(C) is None
            with pytest.raises(ValueError, match=r"."):
                store.read(C)
    store.keep(C, {"n": 2})
    assert (store.find(A), store.find(B), store.find(C)) == ({"n": 1}, None, {"n": 2})
    assert store.strange_lines() == [4, 6, 8, 9]
    assert store.entries() == [(A, {}), (C, {})]


def test_a_file_that_is_cut_is_read_anew(file: Path) -> None:
    store = Replies(file)
    store.keep(A, {"n": 1})
    store.keep(B, {"n": 2})
    assert store.find(B)
    file.write_bytes(header({}))
    assert (store.find(A), store.find(B)) == (None, None)


def test_secrets_are_never_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", ())
    redaction.register("sk-0123456789abcdef")
    Replies(file).keep(A, {"sk-0123456789abcdef": ["Bearer sk-0123456789abcdef"]}, {"url": "?k=sk-0123456789abcdef"})
    assert lines(file)[1] == {"key": A, "about": {"url": "?k=[key]"}, "outcome": {"[key]": ["Bearer [key]"]}}


def test_folders_are_kept_as_placeholders(file: Path) -> None:
    Replies(file, {"/here/data": "{ROOT}"}).keep(A, {"see": ["/here/data/a.png", "/here/data2"]})
    assert "/here/data/" not in file.read_text()
    assert Replies(file, {"/there": "{ROOT}"}).find(A) == {"see": ["/there/a.png", "/here/data2"]}


def test_what_cannot_be_written_can_be_read(file: Path) -> None:
    Replies(file).keep(A, {"n": 1})
    file.chmod(0o444)
    file.parent.chmod(0o555)
    store = Replies(file)
    assert store.find(A) == {"n": 1}
    if os.geteuid():
        with pytest.raises(PermissionError):
            store.keep(B, {"n": 2})
        with pytest.raises(PermissionError):
            Replies(file.with_name("other")).keep(B, {"n": 2})
    assert store.find(B) is None
    file.parent.chmod(0o755)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="file"):
            Replies(path).find(A)
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(OSError, match=r"directory|no plain file"):
            Replies(path).keep(A, {})


def test_a_full_disk_leaves_no_part_of_an_entry(file: Path) -> None:
    store = Replies(file)
    store.keep(A, {"n": 1})
    limits, size = resource.getrlimit(resource.RLIMIT_FSIZE), file.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            store.keep(B, {"text": "x" * 1000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.stat().st_size == size
    store.keep(B, {"n": 2})
    assert (store.find(A), store.find(B), store.strange_lines()) == ({"n": 1}, {"n": 2}, [])

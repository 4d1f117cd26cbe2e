"""What a pack must be like, and what is said where it is not (GTA-Workflow spec 6.1)."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgauge.core.errors import DataProblem, UsageProblem
from bench_gta.pack.format import Pack, PackTask, SetIdentity, read_pack, write_json, write_pack, write_text
from tests.gta.pack_data import TASKS, pack, stored, write_outputs, write_tasks

pytestmark = pytest.mark.slow

GOOD: dict[str, Any] = {
    "schema_version": 1,
    "generated_from": {"by": "hand"},
    "tasks": [
        {
            "task_id": 7,
            "sample_idx": 1,
            "origin_prompt": ["the request"],
            "assistant_outputs": [[{"role": "assistant", "content": "final answer"}]],
            "attached_files": ["7/files/report.pdf"],
            "full_tree": [{"id": "1", "requirements": "good"}],
            "meta": {"backend": "my-app", "elapsed_sec": 41.5},
        }
    ],
}


def put(folder: Path, value: Any) -> Path:
    (folder / "pack.json").write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return folder / "pack.json"


def changed(path: str, value: Any) -> Any:
    """The good pack with one field set; ``...`` takes it out."""
    copied: Any = copy.deepcopy(GOOD)
    *way, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    place = copied
    for word in way:
        place = place[word]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return copied


@pytest.mark.parametrize(
    ("attached", "files"),
    [("7/files/a.pdf", ("7/files/a.pdf",)), ("", ()), (" ", ()), (None, ()), (..., ()), (["a", "b"], ("a", "b"))],
)
def test_one_attached_file_may_be_a_text(attached: Any, files: tuple[str, ...], tmp_path: Path) -> None:
    assert read_pack(put(tmp_path, changed("tasks.0.attached_files", attached))).tasks[0].attached_files == files


def test_the_released_tools_pack_is_read(tmp_path: Path) -> None:
    """It names no base folder, which is its own one here, and no data set."""
    read = read_pack(put(tmp_path, GOOD))
    assert read.base == tmp_path.resolve()
    assert read.data is None
    assert read.tasks[0].attached_files == ("7/files/report.pdf",)
    assert read.tasks[0].meta["elapsed_sec"] == 41.5
    assert len(read.sha1) == 40


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ([], "it is a list and must be an object"),
        (changed("schema_version", 2), "schema_version is 2 and must be 1 or less"),
        (changed("schema_version", True), "schema_version is true"),
        (changed("tasks", ...), "it has no tasks"),
        (changed("tasks", {}), "tasks is an object and must be a list"),
        (changed("tasks.0", "x"), 'tasks.0 is "x" and must be an object'),
        (changed("tasks.0.task_id", "7"), 'tasks.0.task_id is "7" and must be an integer'),
        (changed("tasks.0.task_id", True), "tasks.0.task_id is true and must be an integer"),
        (changed("tasks.0.sample_idx", 0), "tasks.0.sample_idx is 0 and must be 1 or more"),
        (changed("tasks.0.assistant_outputs", ...), "it has no tasks.0.assistant_outputs (the turns"),
        (
            changed("tasks.0.attached_files", {"path": "a.txt"}),
            "tasks.0.attached_files is an object and must be a string",
        ),
        (
            changed("tasks.0.attached_files", ["a", None]),
            "tasks.0.attached_files is a list and must be a string or a list of strings",
        ),
        (
            changed("tasks.0.origin_prompt", [1]),
            "tasks.0.origin_prompt is a list and must be a string or a list of strings",
        ),
        (changed("tasks.0.full_tree", ...), "it has no tasks.0.full_tree"),
        (changed("tasks.0.full_tree", "x"), 'tasks.0.full_tree is "x" and must be a list or an object'),
        (changed("tasks.0.meta", []), "tasks.0.meta is a list and must be an object"),
        (changed("base_dir", 3), "base_dir is 3 and must be a string"),
        (changed("base_dir", "nowhere"), "is not there; give the folder that its files lie in with --base-dir"),
        (changed("data", {"name": "x"}), "it has no data.fingerprint"),
        ({**GOOD, "tasks": GOOD["tasks"] * 2}, "task 7 is there twice"),
    ],
)
def test_packs_that_are_refused_name_task_and_field(value: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataProblem) as problem:
        read_pack(put(tmp_path, value))
    assert says in str(problem.value)
    assert str(tmp_path / "pack.json") in str(problem.value)


@pytest.mark.parametrize("base", ["/", "/etc", "..", "inside/../.."])
def test_a_pack_cannot_open_the_rest_of_the_machine(base: str, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "inside").mkdir()
    path = put(tmp_path / "own", {**GOOD, "base_dir": base})
    with pytest.raises(DataProblem, match="not in the pack's own folder"):
        read_pack(path)
    assert read_pack(path, tmp_path).base == tmp_path.resolve()


def test_a_link_as_base_folder_is_outside(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/base").symlink_to("/etc")
    with pytest.raises(DataProblem, match="not in the pack's own folder"):
        read_pack(put(tmp_path / "own", {**GOOD, "base_dir": "base"}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(st.integers(0, 99), unique=True, max_size=4),
    texts=st.lists(st.text(max_size=10), max_size=3),
    output=JSON,
)
def test_what_is_written_is_read_again(ids: list[int], texts: list[str], output: Any, tmp_path: Path) -> None:
    tasks = tuple(
        PackTask(number, place, texts, output, tuple(texts), [{"id": "1"}], {"usd": 1})
        for place, number in enumerate(ids, 1)
    )
    before = Pack(tasks, tmp_path.resolve(), SetIdentity("set", "0123"), {"by": "hand"})
    write_pack(tmp_path / "pack.json", before)
    read = read_pack(tmp_path / "pack.json")
    assert (read.tasks, read.base, read.data) == (before.tasks, before.base, before.data)


def test_a_file_is_replaced_as_a_whole_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("other")
    (tmp_path / "out").symlink_to(tmp_path / "other")
    write_text(tmp_path / "out", "new")
    assert ((tmp_path / "other").read_text(), (tmp_path / "out").read_text()) == ("other", "new")
    assert not (tmp_path / "out").is_symlink()
    with pytest.raises(UsageProblem, match="cannot be written"):
        write_json(tmp_path / "other" / "below.json", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


@pytest.fixture
def checked(tmp_path: Path) -> tuple[Path, Path]:
    """A sound pack of two tasks, and its data."""
    data = write_tasks(tmp_path / "set A")
    results = write_outputs(tmp_path / "out", {7: "It is 12.", 8: "Hello!"}, {"7/files/report.md": "12"})
    assert pack("create", "--result-dir", results, "--data", data) == 0
    return results / "pack.json", data


def test_a_sound_pack_has_no_problems(checked: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert pack("check", checked[0], "--data", checked[1]) == 0
    assert "2 tasks, no problems" in capsys.readouterr().out


def test_an_empty_answer_is_a_note_and_a_pack_without_one_a_problem(
    checked: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, data = checked
    _edit(path, 0, assistant_outputs=[[{"role": "assistant", "content": " \n"}]])
    assert pack("check", path, "--data", data) == 0
    assert "note: task 7: its final answer is empty" in capsys.readouterr().out


def _edit(path: Path, task: int, **fields: Any) -> None:
    value = stored(path)
    value["tasks"][task].update(fields)
    path.write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"attached_files": ["7/files/gone.pdf"]}, "task 7: the file '7/files/gone.pdf' is missing"),
        ({"attached_files": ["/etc/passwd"]}, "task 7: the file '/etc/passwd' is outside the base folder"),
        ({"attached_files": ["../set A/end.json"]}, "is outside the base folder"),
        ({"attached_files": ["7/files/link"]}, "task 7: the file '7/files/link' is a link"),
        ({"assistant_outputs": []}, "task 7: it has no final answer"),
        ({"assistant_outputs": [[{"role": "tool", "content": "x"}]]}, "task 7: it has no final answer"),
        ({"task_id": 99}, "task 99: it is not in the task set 'set A'"),
        ({"full_tree": TASKS["8"]["sub_tasks"]}, "task 7: full_tree differs from the one of the task set 'set A'"),
        ({"full_tree": [{"id": "1", "weight": None}]}, "task 7: full_tree: the weight of node '1'"),
        ({"full_tree": [3]}, "task 7: full_tree: a node"),
        ({"origin_prompt": ["Something else."]}, "task 7: origin_prompt differs from the request"),
        ({"origin_prompt": None}, "task 7: origin_prompt differs from the request"),
    ],
)
def test_problems_are_told_one_by_one(
    fields: dict[str, Any], says: str, checked: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, data = checked
    (path.parent / "7/files/link").symlink_to("/etc/passwd")
    _edit(path, 0, **fields)
    assert pack("check", path, "--data", data) == 1
    said = capsys.readouterr().out
    assert says in said and "task 8" not in said
    # without a key, a dry run says the same
    assert pack("score", "--in-pack", path, "--data", data, "--dry-run") == 1
    assert says in capsys.readouterr().out
    assert not list(path.parent.glob("*scores*"))


def test_a_pack_of_another_task_set_is_refused_by_name(
    checked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = checked
    other = write_tasks(tmp_path / "set B", {**TASKS, "13": TASKS["12"]})
    for words in (["check", path], ["score", "--judge-model", "rules", "--in-pack", path]):
        assert pack(*words, "--data", other) == 4
        said = capsys.readouterr().out
        assert "'set A'" in said and "'set B'" in said and "--data" in said
        assert pack(*words) == 4, "without --data it is compared with the bundled sample"
        assert "'the bundled sample'" in capsys.readouterr().out


def test_a_pack_that_claims_a_task_set_is_still_compared(
    checked: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The fingerprint in a pack is a claim: easier trees under it are not judged."""
    path, data = checked
    _edit(path, 0, full_tree=[{"id": "1", "requirements": "Anything."}])
    assert pack("score", "--in-pack", path, "--data", data, "--judge-model", "rules") == 4
    assert "task 7: full_tree differs" in capsys.readouterr().out


def test_a_pack_that_names_no_task_set_is_taken_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "7/files").mkdir(parents=True)
    (tmp_path / "7/files/report.pdf").write_bytes(b"%PDF")
    path = put(tmp_path, GOOD)
    assert pack("check", path) == 0
    assert "does not name its task set" in capsys.readouterr().out
    assert pack("check", path, "--data", write_tasks(tmp_path / "set A")) == 1
    assert "task 7: full_tree differs" in capsys.readouterr().out

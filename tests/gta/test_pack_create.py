"""Packs made from folders, read, checked and written."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgauge.core.errors import DataProblem, UsageProblem
from bench_gta.pack.create import read_ids
from bench_gta.pack.format import Pack, PackTask, SetIdentity, read_pack, write_json, write_pack
from bench_gta.pack.task_folder import problem_of
from tests.gta.pack_data import TASKS, pack, stored, write_outputs, write_tasks

pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_tasks(tmp_path / "gta_dataset_v2")


def create(results: Path, data: Path, *more: str | Path) -> int:
    return pack("create", "--result-dir", results, "--data", data, *more)


def test_a_pack_of_folders_has_all_fields(data: Path, tmp_path: Path) -> None:
    results = write_outputs(
        tmp_path / "out",
        {8: "Hello!", 7: "It is 12."},
        {
            "7/files/b.txt": "b",
            "7/files/a/report.md": "a",
            "7/notes.txt": "not delivered",
            "7/run.json": '{"elapsed_sec": 41.5, "usd": 0.25}',
        },
    )
    assert create(results, data) == 0
    value = stored(results / "pack.json")
    assert value["schema_version"] == 1
    assert value["base_dir"] == "."
    assert value["data"]["name"] == "gta_dataset_v2"
    assert [task["task_id"] for task in value["tasks"]] == [7, 8]  # the order of the data set
    assert value["tasks"][0] == {
        "task_id": 7,
        "sample_idx": 1,
        "origin_prompt": ["Add up files/sales.csv."],
        "assistant_outputs": [[{"role": "assistant", "content": "It is 12."}]],
        "attached_files": ["7/files/a/report.md", "7/files/b.txt"],
        "full_tree": TASKS["7"]["sub_tasks"],
        "meta": {"elapsed_sec": 41.5, "usd": 0.25},
    }
    assert value["tasks"][1]["sample_idx"] == 2


def test_the_data_set_is_told_by_its_content(data: Path, tmp_path: Path) -> None:
    """Formatting plays no part; a changed tree does."""
    results = write_outputs(tmp_path / "out", {8: "Hello!"})
    fingerprints = []
    for tasks in (
        TASKS,
        TASKS,
        {**TASKS, "8": {**TASKS["8"], "sub_tasks": [{"id": "1", "requirements": "It is polite."}]}},
    ):
        (data / "end.json").write_text(json.dumps(tasks, indent=len(fingerprints)))
        assert create(results, data) == 0
        fingerprints.append(stored(results / "pack.json")["data"]["fingerprint"])
    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


def test_task_ids_choose_and_order(data: Path, tmp_path: Path) -> None:
    results = write_outputs(tmp_path / "out", {7: "", 8: "", 12: ""})
    (tmp_path / "ids.txt").write_text("# the easy ones\n12\n\n 7 # sums\n12\n")
    assert create(results, data, "--task-ids", tmp_path / "ids.txt") == 0
    assert [task["task_id"] for task in stored(results / "pack.json")["tasks"]] == [12, 7]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("7\nseven\n", "line 2: 'seven'"),
        ("-7", "'-7'"),
        ("7 8", "'7 8'"),
        ("٧", "'٧'"),
        ("\n# 7\n", "holds no task id"),
    ],
)
def test_lists_of_ids_that_are_refused(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text(text, encoding="utf-8")
    with pytest.raises(UsageProblem, match=says):
        read_ids(tmp_path / "ids.txt")


def test_links_in_deliverables_are_left_out_and_noted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = write_outputs(tmp_path / "out", {7: "x"}, {"7/files/good.txt": "g"})
    (results / "7/files/passwd").symlink_to("/etc/passwd")
    (results / "7/files/etc").symlink_to("/etc")
    os.mkfifo(results / "7/files/pipe")
    assert create(results, data) == 0
    task = stored(results / "pack.json")["tasks"][0]
    assert task["attached_files"] == ["7/files/good.txt"]
    left_out = [
        "left out: files/etc: is a link",
        "left out: files/passwd: is a link",
        "left out: files/pipe: is not a plain file",
    ]
    assert task["meta"]["notes"] == left_out
    assert "note: task 7: left out: files/passwd: is a link" in capsys.readouterr().out


def _no_answer(results: Path) -> None:
    (results / "7/final.txt").unlink()


def _linked_answer(results: Path) -> None:
    (results / "7/final.txt").unlink()
    (results / "7/final.txt").symlink_to("/etc/passwd")


def _unknown_task(results: Path) -> None:
    (results / "99").mkdir()


def _bad_record(results: Path) -> None:
    (results / "7/run.json").write_text('{"usd": -1}')


def _no_folders(results: Path) -> None:
    shutil.rmtree(results / "7")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_no_answer, "task 7: .*final.txt is missing"),
        (_linked_answer, "task 7: .*final.txt is a link"),
        (_unknown_task, "task 99 is not in the task set 'gta_dataset_v2', which has 7, 8, 12"),
        (_bad_record, "run.json: usd is '-1'"),
        (_no_folders, "holds no folder that is named by a task id"),
    ],
)
def test_results_that_are_refused_are_named(
    spoil: Any, says: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = write_outputs(tmp_path / "out", {7: "x"})
    spoil(results)
    assert create(results, data) == 4
    said = capsys.readouterr().out
    assert re.search(says, said), said
    assert not (results / "pack.json").exists()


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([], "holds no task"),
        ("tasks", "must hold"),
        ({"seven": TASKS["7"]}, "must be its number"),
        ({"7": {"dialogs": []}}, "must begin with the request"),
        ({"7": {"dialogs": [{"content": 1}]}}, "must begin with the request"),
    ],
)
def test_task_sets_that_are_refused(tasks: Any, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_tasks(tmp_path / "data", tasks)
    results = write_outputs(tmp_path / "out", {7: "x"})
    assert create(results, data) == 4
    assert says in capsys.readouterr().out


def test_deliverables_alone_become_what_a_judge_understands(data: Path, tmp_path: Path) -> None:
    results = tmp_path / "out"
    write_outputs(
        results,
        {},
        {
            "7/report.md": "# Sum\n12\n",
            "7/code/sum.py": "print(12)\n",
            "7/table.csv": "a,b\n",
            "7/slides.pptx": "stands for a presentation",
            "7/slides.pdf": "%PDF-1.4",
            "7/tool.exe": "?",
            "7/.git/config": "x",
            "7/.DS_Store": "x",
            "7/__pycache__/a.py": "x",
            "8/nothing.xyz": "?",
        },
    )
    with zipfile.ZipFile(results / "7/all.zip", "w") as archive:
        archive.writestr("inside/page.html", "<p>hello</p>")
    assert create(results, data, "--deliverables", "--out-pack", tmp_path / "packs/mine.json") == 0
    value = stored(tmp_path / "packs/mine.json")
    assert value["base_dir"] == "mine_files"
    seven, eight = value["tasks"]
    files = ["all.zip.txt", "code/sum.py.txt", "report.md", "slides.pdf", "table.csv.txt"]
    assert seven["attached_files"] == [f"7/{name}" for name in files]
    answer = "\n".join(["Produced files (for evaluation):", *(f"- 7/{name}" for name in files)])
    assert seven["assistant_outputs"] == [[{"role": "assistant", "content": answer}]]
    assert seven["meta"]["notes"] == [
        "left out: slides.pptx: the PDF beside it is sent instead",
        "left out: tool.exe: a judge cannot be shown .exe",
    ]
    base = tmp_path / "packs/mine_files/7"
    assert (base / "code/sum.py.txt").read_text() == "print(12)\n"
    listing = (base / "all.zip.txt").read_text()
    assert listing.startswith("all.zip\n") and "inside/page.html" in listing and "12 bytes" in listing
    assert eight["attached_files"] == []
    assert eight["assistant_outputs"][0][0]["content"] == "(no output files found)"
    assert pack("check", tmp_path / "packs/mine.json", "--data", data) == 0


@pytest.mark.parametrize(
    ("results", "out_pack"),
    [
        ("mine_files", "mine.json"),  # the folder itself
        ("mine_files/outputs", "mine.json"),  # above it
        ("outputs", "outputs/7/mine.json"),  # among one task's files
        ("outputs", "outputs/007/x/mine.json"),
    ],
)
def test_copies_never_go_among_the_deliverables(
    results: str, out_pack: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_outputs(tmp_path / results, {}, {"7/report.md": "# Sum\n", "007/x/a.md": "a"})
    assert create(folder, data, "--deliverables", "--out-pack", tmp_path / out_pack) == 4
    assert "among the deliverables" in capsys.readouterr().out
    assert (folder / "7/report.md").read_text() == "# Sum\n" and not (tmp_path / out_pack).exists()


@pytest.mark.parametrize(
    ("own", "words", "says"),
    [
        (
            "mine_files/7/a.md",
            "create --result-dir o --data gta_dataset_v2 --deliverables --out-pack mine.json",
            "mine_files exists and was not made by this command",
        ),
        (
            "mine.json",
            "score --in-pack o/pack.json --data gta_dataset_v2 --judge-model rules --out mine.json",
            "mine.json is not a file of scores",
        ),
    ],
)
@pytest.mark.parametrize("content", ["[]", '{"task_results": {}, "interrupted_usd": 3}'])
def test_files_of_the_users_own_are_left_alone(
    content: str,
    own: str,
    words: str,
    says: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert create(write_outputs(tmp_path / "o", {7: "12"}, {"7/report.md": "# Sum\n", f"../{own}": content}), data) == 0
    assert pack(*words.split()) == 4
    assert says in capsys.readouterr().out
    assert (tmp_path / own).read_text() == content


def test_copies_are_replaced_as_a_whole_or_not_at_all(data: Path, tmp_path: Path) -> None:
    results = write_outputs(tmp_path / "outputs", {}, {"7/old.md": "old", "8/a.md": "a"})
    command = ("--deliverables", "--out-pack", tmp_path / "mine.json")
    assert create(results, data, *command) == 0
    (results / "7/old.md").rename(results / "7/new.md")
    (results / "99").mkdir()
    assert create(results, data, *command) == 4
    copies = tmp_path / "mine_files"
    assert [path.name for path in (copies / "7").iterdir()] == ["old.md"]
    (results / "99").rmdir()
    (results / "8/a.md").unlink()
    assert create(results, data, *command) == 0
    assert sorted(path.name for path in copies.rglob("*.md")) == ["new.md"]
    assert sorted(path.name for path in tmp_path.iterdir() if "mine" in path.name) == ["mine.json", "mine_files"]


def test_office_files_become_pdf_or_stay_with_a_note(data: Path, tmp_path: Path) -> None:
    """A document becomes a PDF, by LibreOffice or as a plain rendering of its text; one that cannot be converted is
    kept for the judge's own means."""
    from docx import Document

    results = tmp_path / "out"
    write_outputs(results, {}, {"7/broken.docx": "no document"})
    document = Document()
    document.add_paragraph("Twelve in all.")
    document.save(str(results / "7/report.docx"))
    assert create(results, data, "--deliverables") == 0
    task = stored(results / "pack.json")["tasks"][0]
    assert "7/broken.docx" in task["attached_files"]
    assert any(note.startswith("not converted: broken.docx") for note in task["meta"]["notes"])
    assert "7/report.pdf" in task["attached_files"]
    assert (results / "pack_files/7/report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a", None),
        ("sub/../a", None),
        ("gone", "missing"),
        ("sub/gone/deeper", "missing"),
        ("sub", "not a plain file"),
        (".", "outside the base folder"),
        ("../secret", "outside the base folder"),
        ("sub/../../secret", "outside the base folder"),
        ("/etc/passwd", "outside the base folder"),
        ("link", "a link, or below one"),
        ("up/secret", "a link, or below one"),
        ("a\0b", "not a path"),
        ("\ud800", "not a path"),
    ],
)
def test_which_files_may_be_used(name: str, problem: str | None, tmp_path: Path) -> None:
    base = tmp_path / "base"
    (base / "sub").mkdir(parents=True)
    (base / "a").write_text("")
    (tmp_path / "secret").write_text("")
    (base / "link").symlink_to(tmp_path / "secret")
    (base / "up").symlink_to(tmp_path)
    assert problem_of(base.resolve(), name) == problem
    if problem is None:
        assert problem_of(base.resolve(), str(base.resolve() / name)) is None


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    write_json(tmp_path / "out", "new")
    assert ((tmp_path / "other").read_text(), (tmp_path / "out").read_text()) == ("other", '"new"\n')
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

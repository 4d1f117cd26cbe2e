"""Files, folders and streams of the user."""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge.cli.fetch import data_folder
from agentgauge.core import files
from agentgauge.core.config import load_config
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.files import OwnFolder, append_whole, cannot_write, refusal, remove_left, replacing, write_whole
from agentgauge.core.index import first_line, line_entries
from agentgauge.core.text import read_text
from agentgauge.model.embedded.scripted import ReplyScript
from agentgauge.model.presets import resolve
from agentgauge.run.several.matrix import read_matrix
from tests.plugin.project import Project, run_gta

# -- Temporary folders that end with their process.


HOLDS = """
import sys
from agentgauge.core.files import OwnFolder
print(OwnFolder(sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder(kind: str, temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, kind],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_has_left_is_removed_by_the_next_of_its_kind(temporary):
    killed, left = holder("view", temporary)
    running, kept = holder("view", temporary)
    other, of_another_kind = holder("code", temporary)
    (left / "page.html").write_text("x")
    for process in (killed, other):
        process.kill()
        process.communicate()
    assert left.exists()
    with OwnFolder("view") as folder:
        assert {*temporary.iterdir()} == {folder, kept, of_another_kind}
    running.communicate("")
    assert {*temporary.iterdir()} == {kept, of_another_kind}  # this one has ended without closing it


def test_folders_and_links_that_are_no_processs_own_stay(temporary):
    foreign = temporary / "elsewhere"
    foreign.mkdir()
    (temporary / "agentgauge-view-1-x").symlink_to(foreign)
    (temporary / "agentgauge-view-7").mkdir()
    (temporary / "agentgauge-view-2-file").write_text("x")
    names = {path.name for path in temporary.iterdir()}
    with OwnFolder("view") as folder:
        assert {path.name for path in temporary.iterdir()} == {*names, folder.name}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_folders_of_other_users_stay(temporary):
    other = temporary / "agentgauge-view-1-x"
    other.mkdir()
    os.chown(other, 65534, 65534)
    with OwnFolder("view"):
        assert other.exists()


def test_a_folder_that_another_process_has_just_taken_for_a_left_one_is_made_anew(temporary, monkeypatch):
    made = tempfile.mkdtemp
    taken: list[int] = []

    def interrupted(**options):
        path = made(**options)
        if not taken:
            taken.append(os.open(path, os.O_RDONLY))
            fcntl.flock(taken[0], fcntl.LOCK_EX)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with OwnFolder("view") as folder:
        assert not os.path.samestat(folder.stat(), os.fstat(taken[0]))
    os.close(taken[0])


def test_a_folder_that_another_process_has_removed_at_once_is_made_anew(temporary, monkeypatch):
    made = tempfile.mkdtemp
    removed: list[str] = []

    def interrupted(**options):
        path = made(**options)
        if not removed:
            removed.append(path)
            Path(path).rmdir()
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with OwnFolder("view") as folder:
        assert removed and folder.is_dir() and str(folder) not in removed


# -- A user without a home, as in containers, and text files from any editor.


NOBODY = 65534


@pytest.fixture
def homeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No HOME and no passwd entry. Returns the folder of temporary files."""

    def no_entry(number: int) -> pwd.struct_passwd:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    for name in ("HOME", "XDG_CACHE_HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_entry)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


def test_a_user_without_a_home_gets_one_among_the_temporary_files(homeless: Path) -> None:
    home = files.home()
    assert home == homeless / f"agentgauge-home-{os.getuid()}" and home.stat().st_mode & 0o777 == 0o700
    assert files.cache_folder() == home / ".cache" / "agentgauge"
    assert files.home_variables() == {"HOME": str(home), "USER": f"user-{os.getuid()}"}
    assert not (homeless.parent / "~").exists()


@pytest.mark.parametrize("given", ["/nonexistent", "relative", "{file}"])
def test_a_home_that_is_no_folder_is_none(homeless: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    (homeless / "file").touch()
    monkeypatch.setenv("HOME", given.format(file=homeless / "file"))
    assert files.home().parent == homeless
    assert files.home_variables()["HOME"] == str(files.home())


def test_a_home_stays_and_so_does_a_cache_that_is_named(homeless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(homeless))
    monkeypatch.setenv("USER", "somebody")
    assert files.home() == homeless and files.home_variables() == {}
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert files.cache_base() == Path("/cache")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert files.cache_base() == homeless / ".cache"


def test_a_folder_that_others_may_write_is_not_taken(homeless: Path) -> None:
    (homeless / f"agentgauge-home-{os.getuid()}").symlink_to(homeless.parent)
    assert files.home() == files.home() != homeless.parent
    assert files.home().name.startswith("agentgauge-home-") and not files.home().is_symlink()


def test_a_tilde_that_means_nothing_is_refused(homeless: Path) -> None:
    with pytest.raises(UsageProblem, match="there is no home folder that ~ could mean"):
        resolve("scripted:~/replies.json", environ={})
    with pytest.raises(UsageProblem, match="there is no home folder that ~no-such-user could mean"):
        data_folder(Path("~no-such-user/data"))
    assert data_folder(Path("data")) == Path("data")


@pytest.mark.parametrize("home", ["~", "/nonexistent"])
def test_tools_of_a_user_without_a_home(tmp_path: Path, home: str) -> None:
    env = {"XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path), "HOME": home}
    words = ("-k", "ReadCSV or VideoClip", "--model=oracle", "--limit=2", "--run-dir=run")
    result = run_gta(*words, cwd=tmp_path, env=env)
    assert result.summary("run")["tasks"]["gta_workflow"]["passed"] == 2, result.output
    assert not (tmp_path / "~").exists()


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of a user who can read it, and the folder of temporary files beside it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home" / ".cache" / "huggingface").mkdir(parents=True)
        (folder / "tmp").mkdir()
        for path, mode in ((folder, 0o755), (folder / "home", 0o555), (folder / "home" / ".cache", 0o555)):
            path.chmod(mode)
        (folder / "tmp").chmod(0o777)
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.setenv("USER", "somebody")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
        user = os.getuid()
        if user == 0:
            os.setresuid(NOBODY, NOBODY, 0)
        try:
            yield folder
        finally:
            if user == 0:
                os.setresuid(0, 0, 0)
            for path in (folder / "home", folder / "home" / ".cache"):
                path.chmod(0o755)


def test_a_home_that_can_only_be_read_keeps_what_it_holds(read_only: Path) -> None:
    assert files.home() == read_only / "home" and files.home_variables() == {}
    substitute = read_only / "tmp" / f"agentgauge-home-{os.getuid()}"
    assert files.cache_base() == substitute / ".cache" and substitute.is_dir()


def test_a_cache_that_can_be_written_stays_in_such_a_home(read_only: Path) -> None:
    caller = os.getuid()
    if caller == NOBODY:
        os.setresuid(0, 0, 0)
    (read_only / "home" / ".cache").chmod(0o777)
    if caller == NOBODY:
        os.setresuid(NOBODY, NOBODY, 0)
    assert files.cache_base() == read_only / "home" / ".cache"


# -- text files

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom"]


def _write(path: Path, text: str, encoding: str, end: str = "\r\n") -> Path:
    mark = "\ufeff" if encoding.endswith("-bom") else ""
    path.write_bytes((mark + text.replace("\n", end)).encode(encoding.removesuffix("-bom")))
    return path


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_files_of_any_editor_are_read(tmp_path: Path, encoding: str, end: str) -> None:
    toml = _write(tmp_path / "agentgauge.toml", '# größe\n[models.m]\nurl = "http://h:1/v1"\n', encoding, end)
    assert load_config(root=tmp_path).models["m"].url == "http://h:1/v1" and load_config(toml, root=tmp_path).models
    matrix = _write(tmp_path / "matrix.toml", '# größe\nmodels = ["oracle"]\n', encoding, end)
    assert read_matrix(matrix).models == ("oracle",)
    script = _write(tmp_path / "s.json", '{"replies": {\n"*": ["größe"]}}\n', encoding, end)
    assert ReplyScript.load(script).replies[0][1][0].text == "größe"


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "agentgauge.toml").write_bytes(b"# gr\xf6\xdfe\n")
    with pytest.raises(UsageProblem, match="is not valid TOML: 'utf-8' codec"):
        load_config(root=tmp_path)


def test_samples_in_utf_16_are_refused_in_a_sentence(tmp_path: Path) -> None:
    file = _write(tmp_path / "samples.jsonl", '{"id": "a"}\n', "utf-16")
    for read in (first_line, line_entries):
        with pytest.raises(DataProblem, match="is UTF-16 text; save it as UTF-8"):
            list(read(file))


def test_a_run_with_a_byte_order_mark_in_its_settings(tmp_path: Path) -> None:
    project = Project.make(tmp_path, samples=1)
    _write(tmp_path / "agentgauge.toml", '[models.best]\nmodel = "gpt-4o"\n', "utf-8-sig")
    assert project.run("--co", "-q", "--model=best").status == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_pipe_is_read_once(tmp_path: Path, encoding: str) -> None:
    pipe, file = tmp_path / "pipe", _write(tmp_path / "file", "größe\nend\rlast\n", encoding)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[file.read_bytes()])
    writer.start()
    assert read_text(pipe) == "größe\nend\nlast\n"
    writer.join()


# -- Commands whose output cannot be written, and what the machine refuses them: one sentence, no traceback.


COMMAND = f"{sys.executable} -m agentgauge.cli.main"


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("{command} cite > /dev/full", 1, "agentgauge: standard output cannot be written (No space left on device)"),
        ("{command} --help > /dev/full", 1, "agentgauge: standard output cannot be written (No space left on device)"),
        ("{command} cite > /dev/full 2>&1", 1, ""),
        ("{command} cite >&- 2>&- <&-", 0, ""),
        ("{command} report no-such-run --table md 2>/dev/full", 4, ""),
        ("TMPDIR=/nonexistent {command} cite > /dev/null", 0, ""),
    ],
)
def test_a_command_whose_output_is_lost(line: str, status: int, says: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", line.format(command=COMMAND)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (status, says)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            OSError(errno.EACCES, "Permission denied", "a"),
            "a cannot be used (Permission denied): give this user access",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "Too many open files: raise the limit of open files (ulimit -n)",
        ),
        (OSError(errno.ENOTDIR, "Not a directory", "a/b"), "a/b cannot be used (Not a directory)"),
        (OSError("no number"), "no number"),
    ],
)
def test_what_the_machine_refuses(error: OSError, text: str) -> None:
    assert refusal(error).startswith(text)


def test_the_advice_fits_the_reason() -> None:
    full = cannot_write(Path("run"), OSError(errno.ENOSPC, "No space left on device", "run/x"))
    assert full == "run/x cannot be written (No space left on device): free disk space; finished cases are kept"
    denied = cannot_write(Path("run"), OSError(errno.EROFS, "Read-only file system"))
    assert "make the file system writable" in denied and "disk space" not in denied


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    link = tmp_path / "output"
    link.symlink_to("/dev/null")
    with pytest.raises(OSError, match="it is a device; name a file"):
        write_whole(link, b"x")
    assert link.is_char_device()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EIO])
def test_an_incomplete_piece_is_removed_with_the_true_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file, write = tmp_path / "file", os.write
    file.write_bytes(b"whole\n")
    pieces = [3, 0]

    def half(descriptor: int, content: bytes) -> int:
        if size := pieces.pop(0):
            return write(descriptor, content[:size])
        raise OSError(number, os.strerror(number))

    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OSError, match=os.strerror(number)) as raised:
        append_whole(file, descriptor, b"incomplete\n")
    monkeypatch.undo()
    os.close(descriptor)
    assert (file.read_bytes(), raised.value.filename) == (b"whole\n", str(file))


def test_what_a_killed_process_has_left_is_removed(tmp_path: Path) -> None:
    kills_itself = (
        "import os, pathlib; from agentgauge.core.files import write_whole\n"
        "pathlib.Path.chmod = lambda *_: os.kill(os.getpid(), 9)\n"
        f"write_whole(pathlib.Path({str(tmp_path / 'run.json')!r}), b'new')"
    )
    (tmp_path / "run.json").write_bytes(b"old")
    subprocess.run([sys.executable, "-c", kills_itself], check=False, timeout=60)
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / ".a-folder_7").mkdir()
    remove_left(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".a-folder_7", "run.json"]


def write(target: Path, content: bytes, number: int = 0) -> None:
    with replacing(target) as scratch:
        scratch.write_bytes(content)
        if number:
            raise OSError(number, os.strerror(number))


def test_a_file_is_replaced_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    with pytest.raises(OSError, match="No space"):
        write(target, b"ne", errno.ENOSPC)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("page.html", b"old")]
    write(target, b"new")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("page.html", b"new")]
    with pytest.raises(OSError, match="Not a directory") as raised:
        write(target / "x.html", b"new")
    assert raised.value.filename == str(target / "x.html"), "the name that the user has given"

"""A user without a home, as in containers, and text files from any editor."""

from __future__ import annotations

import os
import pwd
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgauge.cli.fetch import data_folder
from agentgauge.core import user_home
from agentgauge.core.config import load_config
from agentgauge.core.errors import DataProblem, UsageProblem
from agentgauge.core.index import cache_folder, first_line, line_entries
from agentgauge.core.text_files import read_text
from agentgauge.model.embedded.scripted import ReplyScript
from agentgauge.model.presets import resolve
from agentgauge.run.several.matrix import read_sweep
from tests.plugin.project import Project, run_gta

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
    home = user_home.home()
    assert home == homeless / f"agentgauge-home-{os.getuid()}" and home.stat().st_mode & 0o777 == 0o700
    assert cache_folder() == home / ".cache" / "agentgauge" / "index"
    assert user_home.home_variables() == {"HOME": str(home), "USER": f"user-{os.getuid()}"}
    assert not (homeless.parent / "~").exists()


@pytest.mark.parametrize("given", ["/nonexistent", "relative", "{file}"])
def test_a_home_that_is_no_folder_is_none(homeless: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    (homeless / "file").touch()
    monkeypatch.setenv("HOME", given.format(file=homeless / "file"))
    assert user_home.home().parent == homeless
    assert user_home.home_variables()["HOME"] == str(user_home.home())


def test_a_home_stays_and_so_does_a_cache_that_is_named(homeless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(homeless))
    monkeypatch.setenv("USER", "somebody")
    assert user_home.home() == homeless and user_home.home_variables() == {}
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert user_home.cache_base() == Path("/cache")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert user_home.cache_base() == homeless / ".cache"


def test_a_folder_that_others_may_write_is_not_taken(homeless: Path) -> None:
    (homeless / f"agentgauge-home-{os.getuid()}").symlink_to(homeless.parent)
    assert user_home.home() == user_home.home() != homeless.parent
    assert user_home.home().name.startswith("agentgauge-home-") and not user_home.home().is_symlink()


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
    assert user_home.home() == read_only / "home" and user_home.home_variables() == {}
    substitute = read_only / "tmp" / f"agentgauge-home-{os.getuid()}"
    assert user_home.cache_base() == substitute / ".cache" and substitute.is_dir()


def test_a_cache_that_can_be_written_stays_in_such_a_home(read_only: Path) -> None:
    caller = os.getuid()
    if caller == NOBODY:
        os.setresuid(0, 0, 0)
    (read_only / "home" / ".cache").chmod(0o777)
    if caller == NOBODY:
        os.setresuid(NOBODY, NOBODY, 0)
    assert user_home.cache_base() == read_only / "home" / ".cache"


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
    sweep = _write(tmp_path / "sweep.toml", '# größe\nmodels = ["oracle"]\n', encoding, end)
    assert read_sweep(sweep).models == ("oracle",)
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

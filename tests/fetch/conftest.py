from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentgauge.cli.main import main
from tests.fetch import official
from tests.fetch.site import Site

REPO, NAME = "open-compass/GTA", "gta_dataset.zip"
BLOB = f"/blob/{REPO}/releases/download/v0.1.0/{NAME}"
"""Where GTA-Atomic's archive is given out."""

FEW = 20
"""Sessions of WildToolBench where only the way matters: the published 256 take half a second to be checked."""
WHOLE_BUT_FEW = 1
"""Exit status of a fetch whose files came whole, but hold fewer samples than are published."""

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def fetch(site: Site, place: Place, *more: str) -> tuple[int, str, str]:
    return place.run("fetch", "gta-atomic", "--mirror", site.url, *more)


def one_sentence(err: str) -> str:
    assert err.startswith("agentgauge: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def nothing_is_seen(place: Place) -> bool:
    return not (place.base / "gta_atomic").exists()


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as one:
        yield one


@dataclass
class Place:
    """A folder to fetch to, and the command as a user gives it."""

    base: Path
    env: dict[str, str]
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "agentgauge.cli.main", *words, "--dir", str(self.base)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**self.env, **env}
        )

    def run(self, *words: str, **env: str) -> tuple[int, str, str]:
        """Exit status, standard output and standard error. In a process of its own where the hub's variables are
        set, read at import."""
        if not any(name.startswith("HF_") for name in env):
            self.capsys.readouterr()
            with self.monkeypatch.context() as patched:
                for name in set(os.environ) - set(self.env):
                    patched.delenv(name)
                for name, value in {**self.env, **env}.items():
                    patched.setenv(name, value)
                status = main([*words, "--dir", str(self.base)])
            return (status, *self.capsys.readouterr())
        process = self.start(*words, **env)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


@pytest.fixture
def place(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    plain = {
        name: value for name, value in os.environ.items() if name.upper() not in PROXIES and not name.startswith("HF_")
    }
    home = tmp_path / "home"
    home.mkdir()
    return Place(
        tmp_path / "data",
        {**plain, "HOME": str(home), "XDG_CACHE_HOME": str(home), "HF_HOME": str(home / "hf")},
        capsys,
        monkeypatch,
    )


@pytest.fixture(scope="session")
def atomic() -> bytes:
    """About 400 kB that do not shrink, in the official layout."""
    noise = {"image/noise.bin": os.urandom(400_000)}
    return official.archive({**official.atomic(), **noise}, top="gta_dataset/")

"""``install.py``: uv installs the files that pip would, from indexes that were made up in a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import install
from tests.plugin.project import ROOT

ANY, LINUX = "py3-none-any", "py3-none-manylinux_2_17_x86_64"
# Where a wheel lies, its distribution, version and tag. pip itself is installed too.
WHEELS = [
    ("main", "pip", "1.0", ANY),
    ("main", "burner", "1.0", ANY),
    ("links", "burner", "1.0+cpu", ANY),  # as a build of torch without CUDA
    ("main", "sound", "1.0", ANY),
    ("main", "sound", "1.0", LINUX),
    ("extra", "sound", "1.0", ANY),  # the same version without the library in it
    ("main", "older", "1.0", ANY),
    ("extra", "older", "2.0", ANY),
    ("main", "newer", "2.0", ANY),
    ("extra", "newer", "1.0", ANY),
]
NAMES = ("burner", "sound", "older", "newer")
CHOSEN = {
    "burner": f"links 1.0+cpu {ANY}",
    "sound": f"main 1.0 {LINUX}",
    "older": f"extra 2.0 {ANY}",
    "newer": f"main 2.0 {ANY}",
}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes")
    for place, name, version, tag in WHEELS:
        holds = folder / place / ("" if place == "links" else name)
        holds.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(holds / f"{name}-{version}-{tag}.whl", "w") as wheel:
            info = f"{name}-{version}.dist-info"
            wheel.writestr(f"{name}.txt", f"{place} {version} {tag}")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            wheel.writestr(f"{info}/RECORD", f"{name}.txt,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
        links = "".join(f'<a href="{path.name}">{path.name}</a>' for path in holds.glob("*.whl"))
        (holds / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    (folder / "pip.conf").write_text(f"[global]\nextra-index-url = {(folder / 'extra').as_uri()}\n")
    return folder


def installed(indexes: Path, folder: Path, program: Path, *, with_uv: bool, **more: str) -> tuple[dict[str, str], str]:
    """Which wheel of each name was installed, and what was printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    uv = shutil.which("uv") or shutil.which(ROOT / ".venv" / "bin" / "uv")
    path = os.pathsep.join(["/usr/bin", "/bin", *([str(Path(uv).parent)] if with_uv and uv else [])])
    pip = {
        "PIP_CONFIG_FILE": str(indexes / "pip.conf"),
        "PIP_INDEX_URL": (indexes / "main").as_uri(),
        "PIP_FIND_LINKS": str(indexes / "links"),
        "PIP_NO_CACHE_DIR": "1",
    }
    environment = {**clean, **pip, "UV_CACHE_DIR": str(folder / "cache"), "HOME": str(folder), "PATH": path, **more}
    command = [sys.executable, str(program), str(folder / "made"), *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (site,) = (folder / "made").glob("lib/python3*/site-packages")
    return {name: (site / f"{name}.txt").read_text() for name in NAMES}, done.stdout


@pytest.mark.slow
def test_pip_installs_where_uv_cannot_be_had(indexes: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(ROOT / "install.py", tmp_path))  # no environment of a project beside it
    chosen, printed = installed(indexes, tmp_path, alone, with_uv=False)
    assert chosen == CHOSEN
    assert "since uv cannot be used" in printed and "installed with pip in" in printed


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("uv") or shutil.which(ROOT / ".venv/bin/uv")), reason="uv could not be installed")
def test_uv_chooses_the_same_files(indexes: Path, tmp_path: Path) -> None:
    chosen, printed = installed(indexes, tmp_path, ROOT / "install.py", with_uv=True)
    assert chosen == CHOSEN
    assert "installed with uv in" in printed


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"index-url": "http://a"}, {"UV_INDEX": "", "UV_DEFAULT_INDEX": "http://a"}),
        (
            {"index-url": "http://a", "extra-index-url": "http://b\nhttp://c", "timeout": "9"},
            {"UV_INDEX": "http://a http://b", "UV_DEFAULT_INDEX": "http://c"},
        ),
        (
            {"index-url": "http://a", "find-links": "/x /y", "trusted-host": "b c:1", "cert": "/ca", "proxy": "http://p"},
            {
                "UV_INDEX": "", "UV_DEFAULT_INDEX": "http://a", "UV_FIND_LINKS": "/x,/y", "UV_INSECURE_HOST": "b c:1",
                "SSL_CERT_FILE": "/ca", "ALL_PROXY": "http://p",
            },
        ),
    ],
)  # fmt: skip
def test_settings_of_pip_become_those_of_uv(settings: dict[str, str], expected: dict[str, str]) -> None:
    assert install.uv_environment(settings) == {**expected, "UV_INDEX_STRATEGY": "unsafe-best-match"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"index-url": "http://a", "no-binary": ":all:"}, "pip has the setting no-binary"),
        ({"find-links": "/x"}, "pip does not name its index"),
    ],
)
def test_other_settings_are_left_to_pip(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        install.uv_environment(settings)

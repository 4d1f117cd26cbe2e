"""Install packages into a virtual environment: what the Makefile calls.

    python3 install.py .venv --editable '.[bundled]'

uv takes a fraction of pip's time, but does not read pip's settings. It is given the indexes, links, hosts and
certificates that pip is configured with, so that both choose the same files. pip installs where uv cannot be had, where
uv fails, and where pip has a setting that is not translated here.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

# Settings of pip that do not change which files it chooses.
HARMLESS = {
    "cache-dir", "config-file", "default-timeout", "disable-pip-version-check", "log", "no-cache-dir", "no-color",
    "no-compile", "no-input", "progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action", "timeout",
    "verbose",
}  # fmt: skip
# Other settings of pip: what uv calls them, and what separates several values.
TRANSLATED = {
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
    "proxy": ("ALL_PROXY", " "),
}
# What processes in a sandbox import: they cannot keep its bytecode, so each would compile it anew. pip compiles all
# files, which takes longer than the installation; uv compiles none.
IN_SANDBOX = (
    ("pandas", "ipykernel.kernelapp", "docx", "pptx", "openpyxl", "pypdf", "pypdfium2", "av", "z3"),
    (
        "sympy",
        "matplotlib.pyplot",
        "matplotlib.backends.backend_agg",
        "scipy.signal",
        "reportlab.platypus",
        "PIL.Image",
        "rapidocr.main",
        "onnxruntime",
    ),
)
IMPORT = (
    "import contextlib, sys\nfor name in sys.argv[1:]:\n    with contextlib.suppress(ImportError): __import__(name)"
)
PIP_INSTALL = ("install", "--quiet", "--disable-pip-version-check")


def pip_settings(pip: list[str]) -> dict[str, str]:
    """What ``pip install`` is configured with by files and the environment, the main index included."""
    found: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}  # the later ones win
    for line in _output([*pip, "config", "list"]).splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found:
            found[section][key] = ast.literal_eval(value)
    main = re.search(r"--index-url <url>.*?\(default (\S+)\)", _output([*pip, "install", "--help"]))
    settings = {"index-url": main.group(1)} if main else {}
    for section_settings in found.values():
        settings |= section_settings
    return {key: value for key, value in settings.items() if value.strip()}


def uv_environment(settings: dict[str, str]) -> dict[str, str]:
    """The variables with which uv chooses as pip does with ``settings``. Raises ValueError for an unknown setting.

    pip treats all indexes as one. Where several have a version, uv takes that of the earliest, and its default index is
    the last; so pip's main index, which has most files of a version, comes first and an extra one becomes the default.
    """
    unknown = settings.keys() - HARMLESS - TRANSLATED.keys() - {"index-url", "extra-index-url"}
    if unknown or "index-url" not in settings:
        raise ValueError(f"pip has the setting {min(unknown)}" if unknown else "pip does not name its index")
    *indexes, last = [settings["index-url"], *settings.get("extra-index-url", "").split()]
    variables = {"UV_INDEX": " ".join(indexes), "UV_DEFAULT_INDEX": last, "UV_INDEX_STRATEGY": "unsafe-best-match"}
    for key, (name, separator) in TRANSLATED.items():
        if key in settings:
            variables[name] = separator.join(settings[key].split())
    return variables


def install(environment: Path, words: list[str]) -> str:
    """Create ``environment`` where it is missing, install, return the name of the installer.

    Raises CalledProcessError where pip fails as well.
    """
    python = str(environment / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    if find_spec("pip"):
        pip = [sys.executable, "-m", "pip", "--python", python]
    else:  # Debian's interpreters come without
        pip = [python, "-m", "pip"]
        subprocess.run([python, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    try:
        with ThreadPoolExecutor() as pool:
            settings = pool.submit(pip_settings, pip)
            uv = _uv(environment, pip)
        variables = {**os.environ, **uv_environment(settings.result())}
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *words, "pip"], check=True, env=variables)
    except (ValueError, OSError, subprocess.CalledProcessError) as problem:
        print(f"installing with pip, which takes longer, since uv cannot be used: {problem}", flush=True)
        subprocess.run([*pip, *PIP_INSTALL, *words, "pip"], check=True)
        return "pip"
    keeping = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    compiling = [subprocess.Popen([python, "-c", IMPORT, *names], env=keeping) for names in IN_SANDBOX]
    for process in compiling:
        process.wait()
    return "uv"


def _uv(environment: Path, pip: list[str]) -> str:
    """The program uv of the path, of the project's environment, or one that pip installs into ``environment``."""
    for place in ("uv", Path(__file__).parent / ".venv" / "bin" / "uv"):
        if found := shutil.which(place):
            return str(found)
    subprocess.run([*pip, *PIP_INSTALL, "--no-compile", "uv"], check=True)
    return str(environment / "bin" / "uv")


def _output(command: list[str]) -> str:
    wide = {**os.environ, "COLUMNS": "1000"}  # pip breaks the lines of its help
    return subprocess.run(command, check=True, capture_output=True, text=True, env=wide).stdout


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - any python3 may be named to make
        version = "{}.{}".format(*sys.version_info)
        sys.exit(f"AgentGauge needs Python 3.11 or newer; this is {version}. Try: make PYTHON=python3.12")
    environment, *words = sys.argv[1:]
    print(f"installing into {environment}: {' '.join(words)}", flush=True)
    start = time.monotonic()
    try:
        program = install(Path(environment), words)
    except subprocess.CalledProcessError as problem:
        sys.exit(f"{problem}\nIf venv or pip is missing, on Debian or Ubuntu: apt-get install python3-venv")
    print(f"installed with {program} in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

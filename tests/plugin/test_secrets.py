"""Keys and passwords are sent where they belong, and are written and printed nowhere."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import pytest
import zstandard

from agentgauge.cli.main import main
from agentgauge.core.errors import UsageProblem
from agentgauge.core.features import features
from agentgauge.core.redaction import register
from agentgauge.run.services import Service
from tests.conftest import PLUGINS
from tests.fetch.site import Site
from tests.model.fault_server import Act, FaultServer, Seen, answer, body, data, tool_call
from tests.plugin.project import ROOT, Project, python, records, run_gta
from tool_impls.server.client import ToolServerBox

# -- Keys and passwords are sent where they belong, and are written and printed nowhere, whatever an endpoint says.


KEY = "sk-test-a1b2c3d4e5f6g7h8"
PASSWORD = "pa55-of-upstream"
TEAM = "team-9f8e7d6c5b4a3f2e"


def leaks(folder: Path, *secrets: str) -> list[str]:
    """Files that hold a secret in some form, also where they are compressed."""
    needles = [needle.encode() for secret in secrets for needle in spellings(secret)]
    files = [
        path for path in folder.rglob("*") if path.is_file() and path.name not in ("agentgauge.toml", "conftest.py")
    ]
    return [
        f"{path}: {needle!r}"
        for path in files
        for text in _texts(path.read_bytes())
        for needle in needles
        if needle in text
    ]


def spellings(secret: str) -> set[str]:
    """A secret as it is, and as JSON, addresses and Basic authentication write it."""
    written = json.dumps(secret)[1:-1]
    encoded = {
        base64.b64encode(f"{before}{secret}".encode()).decode().rstrip("=") for before in ("", ":", "me:", "Bearer ")
    }
    return {
        secret,
        written,
        json.dumps(written)[1:-1],
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        *encoded,
    }


def _texts(content: bytes) -> Iterator[bytes]:
    """A file's content, and what is packed into it: transcripts in records (Zstandard) and in pages (gzip), as
    base64."""
    yield content
    for packed in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", content):
        try:
            data = base64.b64decode(packed, validate=True)
        except ValueError:
            continue
        if data.startswith(b"\x1f\x8b"):
            yield gzip.decompress(data)
        elif data.startswith(b"\x28\xb5\x2f\xfd"):
            yield zstandard.ZstdDecompressor().decompress(data)


@pytest.mark.parametrize(
    "address",
    [
        f"http://me:{PASSWORD}@127.0.0.1:9",
        f"http://me:pa/{PASSWORD}@127.0.0.1:9",
        f"ftp://me:{PASSWORD}@127.0.0.1:9",
        f"me:{PASSWORD}@h:9",
    ],
)
def test_a_refused_address_is_shown_without_its_login(tmp_path, address):
    """The tool server is not there, or the address is none."""
    arguments = ("-k", "Solver", "-m", "gta_atomic_e2e", "--model", "oracle", "--run-dir", "run")
    result = run_gta(*arguments, f"--tool-server={address}", cwd=tmp_path, status=4)
    assert PASSWORD not in result.output and "me:" not in result.output
    assert "--tool-server" in result.output
    assert leaks(tmp_path, PASSWORD) == []


@pytest.mark.parametrize("option", ["--model-url", "url"])
def test_a_model_address_with_a_login_is_refused_and_not_shown(project, option):
    address = f"http://me:{PASSWORD}@127.0.0.1:9/v1"
    if option == "url":
        (project.path / "agentgauge.toml").write_text(f'[models.m]\nurl = "{address}"\nmodel = "m"\n')
    result = project.run("--model", "m", *([f"{option}={address}"] if option != "url" else []), "--run-dir", "run")
    assert result.status == 4 and "must hold no user name, password" in result.output
    assert PASSWORD not in result.output
    assert leaks(project.path, PASSWORD) == []


def test_code_that_a_model_wrote_sees_no_key(tmp_path, endpoint):
    """The model asks the real Solver for the environment of the code."""
    code = "import os\ndef solution():\n    return dict(os.environ)"
    call = tool_call("Solver", json.dumps({"command": f"```python\n{code}\n```"}))
    endpoint.choose = None
    endpoint.script = [answer(None, tool_calls=[call]), answer("done")]
    result = run_gta(
        "-k", "Solver", "-m", "gta_atomic_e2e", "--in-flight", "1", "--model", "m", "--model-url", endpoint.url, "--run-dir", "run",  # noqa: E501
        cwd=tmp_path, env={"AGENTGAUGE_API_KEY": KEY, "SERPER_API_KEY": KEY},
    )  # fmt: skip
    told = [
        message["content"]
        for request in endpoint.requests
        for message in request.body["messages"]
        if message["role"] == "tool"
    ]
    assert any("PATH" in text for text in told), (told, result)
    assert KEY not in json.dumps(told)
    assert leaks(tmp_path, KEY) == []


# -- Keys that enter a run at every place where they may, and are looked for in all that it and the commands after
# it leave.


KEY_IN_RUN = "sk-live/a1b2c3+d4e5f6g7h8"
"""With signs that addresses and JSON may escape."""
TOKEN = "of the tool-server"
LOGIN = "robot:p%40ss%2Fw0rd-of-proxy"
HUB = "hf_AbCdEfGhIjKlMnOp123456"
MIRROR = "anna:letmein-to-mirror"

LEAKY = """
import base64, os, sys
from urllib.parse import quote
from agentgauge.core.tools import Parameter
from tool_impls import base
from tool_impls.logic.code_tools import Calculator as Real

TOKEN = "of the tool-server"

class Calculator(Real):
    version = 99
    def apply(self, folder, /, expression):
        print("asked", expression, file=sys.stderr, flush=True)
        if "raise" in expression:
            raise ValueError(f"no {expression} for Bearer {TOKEN}")
        basic = base64.b64encode(f":{TOKEN}".encode()).decode()
        return f"{expression} {TOKEN} {quote(TOKEN)} {basic} http://:{quote(TOKEN)}@tools/"

class Note(base.BenchTool):
    meta = base.tool("Note", f"Writes for {TOKEN} only.", (base.text("text"),), Parameter("file", filetype="text/md"))
    category = "logic"
    def apply(self, folder, /, text):
        (folder / "note.md").write_text(f"for {TOKEN}: {text}")
        return folder / "note.md"
"""


def secrets() -> set[str]:
    """In every form that is looked for."""
    whole = {KEY_IN_RUN, TEAM, TOKEN, unquote(LOGIN), HUB, MIRROR}
    parts = {word.partition(":")[2] for word in (LOGIN, unquote(LOGIN), MIRROR)}
    forms = {form for secret in whole | parts for form in spellings(secret)}
    logins = (f":{TOKEN}", LOGIN, unquote(LOGIN), MIRROR)
    return forms | {base64.b64encode(login.encode()).decode().rstrip("=") for login in logins}


def found(*places: Path | str, without: tuple[str, ...] = ()) -> list[str]:
    """Where a secret is: files by their names, texts by what is around it. What is packed is unpacked."""
    needles = [form.encode() for form in secrets()]
    told = []
    for place in places:
        if isinstance(place, str):
            told += [place[max(place.find(n.decode()) - 90, 0) :][:200] for n in needles if n.decode() in place]
            continue
        for path in sorted(place.rglob("*")):
            named = str(path.relative_to(place))
            told += [f"name of {path}" for needle in needles if needle.decode() in named]
            if path.is_file() and not path.is_symlink() and not named.startswith(without):
                told += [f"{path}: {n!r}" for text in unpacked(path.read_bytes()) for n in needles if n in text]
    return told


def unpacked(content: bytes) -> Iterator[bytes]:
    yield from _texts(content)
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            for name in packed.namelist():
                yield from _texts(packed.read(name))


def parrot(seen: Seen) -> Act:
    """Repeats what it was sent: to a tool first, then for every case in another place."""
    key, team = seen.headers["authorization"].removeprefix("Bearer "), seen.headers["x-team"]
    messages = seen.body["messages"]
    way = sum(map(ord, json.dumps(messages[:2]))) % 5
    if all(message["role"] != "tool" for message in messages):
        words = [key, quote(key, safe=""), base64.b64encode(f"me:{key}".encode()).decode(), "raise" if way == 1 else ""]
        return answer(f"I am {key}", tool_calls=[tool_call("Calculator", json.dumps({"expression": " ".join(words)}))])
    if way == 2:
        headers = {"WWW-Authenticate": f"Bearer {key}", "X-Request-Id": key}
        return data({"error": {"message": f"{key} of {team}", "code": key}}, code=401, headers=headers)
    if way == 3:
        headers = {"Retry-After": key, "Location": f"http://me:{key}@x/"}
        return body(f"<h1>{quote(key, safe='')} {team}</h1>".encode(), code=502, kind="text/html", headers=headers)
    if way == 4:
        return body(
            b"", code=307, headers={"Location": f"ftp://me:{quote(key, safe='')}@upstream/{key}?key={quote(key)}"}
        )
    return answer(f"it is {key} {team}", reasoning_content=key, finish_reason=key)


@contextmanager
def tool_server(folder: Path) -> Iterator[str]:
    """One of the user's, with tools that tell its token."""
    (folder / "leaky.py").write_text(LEAKY)
    words = [
        sys.executable,
        "-m",
        "tool_impls.server.command",
        "--port",
        "0",
        "--extra",
        str(folder / "leaky.py"),
        "--settings",
        str(ROOT / "agentgauge.toml"),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "AGENTGAUGE_TOOL_TOKEN": TOKEN, "HF_TOKEN": HUB}
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, env=env) as server,
    ):
        try:
            assert server.stdout
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


def agentgauge(*words: str | Path, cwd: Path, **env: str) -> tuple[int, str]:
    result = python("-m", "agentgauge.cli.main", *map(str, words), cwd=cwd, env=env)
    return result.status, result.output


def test_nothing_that_a_run_and_the_reports_on_it_leave_holds_a_secret(tmp_path: Path) -> None:
    """The endpoint and the user's tool server repeat all that they are sent, and libraries log as much as they can."""
    place, given = tmp_path / "place", tmp_path / "given"
    place.mkdir()
    given.mkdir()
    with FaultServer(choose=parrot) as endpoint, tool_server(given) as tools:
        (place / "agentgauge.toml").write_text(
            f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\nkey_env = "MY_KEY"\nmax_retries = 0\n'
            f'headers = {{ X-Team = "{TEAM}" }}\n'
        )
        result = run_gta(
            *("-k", "Calculator", "-m", "gta_atomic_e2e", "--model", "m", "--run-dir", "run", "--rootdir", str(place)),
            *(["--record=tape.jsonl"] if "recording" in {plugin.name for plugin in features()} else []),
            *("--alluredir", "allure", "--junitxml", "junit.xml", "--basetemp", "tmp"),
            *("-vv", "--tb=long", "-l", "-rA", "--log-level=DEBUG", "--log-file=log.txt", "--log-cli-level=DEBUG"),
            f"--tool-server={tools.replace('//', f'//:{quote(TOKEN)}@')}",
            cwd=place,
            env={
                "MY_KEY": KEY_IN_RUN,
                "NO_PROXY": "127.0.0.1",
                "HF_TOKEN": HUB,
                "https_proxy": f"http://{LOGIN}@127.0.0.1:9",
            },
            status=1,
        )
    said = [result.output, json.dumps([request.body for request in endpoint.requests])]
    causes = {record["cause"] for record in records(place / "run") if record["status"] == "broken"}
    assert causes == {"http 401", "http 502", "redirects"}
    for words in (
        *(
            *([["--html", "page.html", "--embed"]] if "page" in PLUGINS else []),
            *([["--allure", "again"]] if "allure" in PLUGINS else []),
            ["--items"],
            ["--table", "md"],
            *([["--eval", "log.eval"]] if "formats" in PLUGINS else []),
        ),
        ["--format", "gta_atomic", "--output", "theirs"],
    ):
        status, output = agentgauge("report", "run", *words, cwd=place)
        assert status == 0, output
        said.append(output)
    said.append(agentgauge("compare", "run", "run", cwd=place)[1])
    assert found(place, given, *said, without=("agentgauge.toml", "leaky.py", "__pycache__")) == []


def test_a_file_of_text_that_a_tool_makes_holds_no_secret(tmp_path: Path) -> None:
    async def call(url: str) -> tuple[str, str]:
        box = ToolServerBox(url)
        try:
            about = (await box.catalog())["Note"].description
            return about, (await box.call("Note", {"text": "x"}, folder=tmp_path / "files", readable=()))[0].content
        finally:
            await box.close()

    with tool_server(tmp_path) as tools:
        about, path = asyncio.run(call(tools.replace("//", f"//:{quote(TOKEN)}@")))
    assert about == "Writes for [key] only."
    assert Path(path).read_text() == "for [key]: x"


BREAKS = """
import os, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session):
    environ = os.environ
    if "internal" in session.config.option.agentgauge_run_dir:
        raise RuntimeError("no " + environ["MY_KEY"])

@pytest.fixture(autouse=True)
def breaks():
    environ, key = os.environ, os.environ["MY_KEY"]
    print("we have", key)
    yield
    raise RuntimeError(f"not with {key}")
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["serial", "worker"])
@pytest.mark.parametrize("run", ["internal", "fixture"])
def test_no_traceback_with_its_variables_shows_a_secret(
    project: Project, endpoint: FaultServer, run: str, workers: tuple[str, ...]
) -> None:
    """That of an error within pytest, and of a fixture of the project's own."""
    (project.path / "breaks.py").write_text(BREAKS)
    (project.path / "agentgauge.toml").write_text(
        f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\nkey_env = "MY_KEY"\n'
    )
    result = project.run_process(
        *("-p", "breaks", "--model", "m", "--run-dir", run, "-vv", "--tb=long", "-l", "-rA", "--junitxml", "junit.xml"),
        *("--alluredir", "allure", *workers),
        env={
            "MY_KEY": KEY_IN_RUN,
            "HF_TOKEN": HUB,
            "HTTPS_PROXY": f"http://{LOGIN}@127.0.0.1:9",
            "PYTHONPATH": f"{ROOT}:{project.path}",
        },
    )
    assert ("INTERNALERROR" in result.output) == (run == "internal")
    assert "RuntimeError: no" in result.output and "[key]" in result.output
    assert found(project.path, result.output) == []


TALKER = """
import json, os, sys
from agentgauge.core.processes import given_listener
listener = given_listener()
print("Authorization: Bearer", sys.argv[1], sys.argv[2], file=sys.stderr, flush=True)
os.system(f"echo a child has {sys.argv[1]} >&2")
sys.stderr.write(f"https://me:pass@host and {sys.argv[1]}")
if sys.argv[3] == "fails":
    sys.exit(1)
print(json.dumps({"url": "http://127.0.0.1:%d" % listener.getsockname()[1]}), flush=True)
listener.accept()
"""
TALK = "Authorization: Bearer [key] [key]\na child has [key]\nhttps://host and [key]"


@pytest.mark.usefixtures("own_secrets")
@pytest.mark.parametrize("how", ["works", "fails"])
def test_the_log_of_a_service_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    register(KEY_IN_RUN)
    service = Service(
        "talker",
        [sys.executable, "-c", TALKER, KEY_IN_RUN, quote(KEY_IN_RUN, safe=""), how],
        tmp_path / "logs/talker.log",
    )
    try:
        with pytest.raises(UsageProblem, match=r"https://host and \[key\]$") if how == "fails" else nullcontext():
            service.start()
    finally:
        service.stop()
    assert (tmp_path / "logs/talker.log").read_text() == TALK


AGENT = """
import base64, os, sys
from pathlib import Path
key = os.environ["MY_KEY"]
basic = base64.b64encode(f"me:{key}".encode()).decode()
Path("files", "report.md").write_text(f"made with {key}, {basic}")
Path("files", "settings.json").write_text('{"key": "%s"}' % key.replace("/", "\\\\/"))
steps = '[{"source": "agent", "message": "%s"}]' % key
Path("trajectory.json").write_text('{"schema_version": "ATIF-v1.6", "steps": %s}' % steps)
print(f"{key} {basic}")
print(f"error {basic}", file=sys.stderr)
"""


@pytest.mark.uses("agents")
@pytest.mark.parametrize("confined", [(), ("--allow-unsafe-code",)], ids=["sandbox", "none"])
def test_nothing_that_an_agent_leaves_holds_the_key_that_it_was_given(
    tmp_path: Path, confined: tuple[str, ...]
) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "agentgauge.toml").write_text('[agent]\nenv = ["MY_KEY"]\n')
    words = (f"--agent={sys.executable} agent.py", "-k", "test_workflow and 2", "--limit=1", "--run-dir=run")
    result = run_gta("--rootdir=.", *words, *confined, cwd=tmp_path, env={"MY_KEY": KEY_IN_RUN})
    assert found(tmp_path, result.output) == []
    (report,) = (tmp_path / "run").rglob("report.md")
    assert report.read_text().startswith("made with [key], ")


@pytest.mark.parametrize(
    "words",
    [
        ["fetch", "gta-atomic", f"--miror=http://{MIRROR}@127.0.0.1:9"],
        ["fetch", "gta-atomic", "--mirror", f"http://anna:let/{MIRROR}@127.0.0.1:9"],
        ["fetch", "gta-atomic", "--mirror", f"ftp://{MIRROR}@host"],
        ["fetch", "gta-atomic", "--mirror", f"{MIRROR}@host"],
        ["fetch", "gta-atomic", "--mirror", f"http://[{MIRROR}@x"],
        ["serve-tools", f"--token={KEY_IN_RUN}"],
        ["serve-model", "--model", KEY_IN_RUN],
        ["score", KEY_IN_RUN, "--predictions", "x"],
        ["score", "gta_atomic.e2e", "--samples", KEY_IN_RUN, "--predictions", f"http://{MIRROR}@h/"],
        ["report", KEY_IN_RUN, "--table", "md"],
        ["compare", KEY_IN_RUN, KEY_IN_RUN],
        ["merge", "out", KEY_IN_RUN, KEY_IN_RUN],
        ["pack", "create", "--result-dir", KEY_IN_RUN],
        ["pack", "score", "--in-pack", KEY_IN_RUN, "--judge-url", f"http://{MIRROR}@h"],
        ["data", "check", "wild", "--data", KEY_IN_RUN],
        ["generate", "--model-url", f"http://{MIRROR}@h"],
        [KEY_IN_RUN],
    ],
)
@pytest.mark.usefixtures("own_secrets")
def test_no_error_of_a_command_shows_a_secret(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTGAUGE_API_KEY", KEY_IN_RUN)
    monkeypatch.chdir(tmp_path)
    try:
        status = main(words)
    except SystemExit as end:  # argparse
        status = int(str(end.code))
    assert status in (1, 2, 4)
    output = "".join(capsys.readouterr())
    assert output and found(tmp_path, output) == []


def test_nothing_of_a_fetch_shows_a_secret_that_the_server_repeats(tmp_path: Path) -> None:
    def echo(handler: Any, content: bytes) -> None:
        said = handler.headers.get("Authorization", "")
        handler.send(404, said.encode(), {"X-Request-Id": said, "WWW-Authenticate": said})

    echo.plain = echo.always = True  # type: ignore[attr-defined]
    env = {"HF_TOKEN": HUB, "HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
    with Site() as site:
        mirror = site.url.replace("//", f"//{MIRROR}@")
        told = {"tag_name": "v0.1.0", "assets": [{"name": f"{MIRROR.partition(':')[2]} {HUB}"}]}
        site.documents["/repos/open-compass/GTA/releases/tags/v0.1.0"] = told
        site.fault("gta_dataset.zip", echo)
        status, first = agentgauge("fetch", "gta-atomic", "--mirror", mirror, "--dir", "data", cwd=tmp_path, **env)
        assert status == 4 and "but [key] [key]" in first
        site.hub("apple/mmau", {"math_standard_20240712.jsonl": b"x"})
        site.fault("math_standard_20240712.jsonl", echo)
        status, second = agentgauge("fetch", "mmau", "--dir", "data", cwd=tmp_path, HF_ENDPOINT=mirror, **env)
        assert status == 4 and "does not exist" in second
    assert found(tmp_path, first, second) == []

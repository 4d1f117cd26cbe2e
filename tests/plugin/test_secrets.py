"""Keys and passwords are sent where they belong, and are written and printed nowhere, whatever an endpoint says."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import zstandard

from tests.model.fault_server import Act, FaultServer, Seen, answer, body, echo_authorization, status, tool_call
from tests.plugin.conftest import say
from tests.plugin.project import run_gta

KEY = "sk-test-a1b2c3d4e5f6g7h8"
ODD_KEY = 'k"e\\y/a1&b2<c3>d4%e5+f6'
"""Of characters that JSON, addresses and HTML escape."""
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


def parrot(key: str) -> Callable[[Seen], Act]:
    """Every sample is answered with the key in another form."""
    upstream = f"http://admin:{PASSWORD}@upstream/"
    basic = base64.b64encode(f":{key}".encode()).decode()
    acts: dict[str, Act] = {
        "word0": answer(f"You sent {key}. " + "And much more. " * 400),  # so long that the record is compressed
        "word1": answer("word1", reasoning_content=f"My key is {key}, {basic}", finish_reason=key),
        "word2": answer(
            [{"type": "text", "text": key[:9]}, {"type": "text", "text": key[9:]}], refusal=f"not with {key}"
        ),
        "word3": answer(
            quote(key, safe=""), tool_calls=[tool_call("find", json.dumps({"q": key, "e": json.dumps({"k": key})}))]
        ),
        "word4": status(401, f"{'x' * 190} {key} is no key at {upstream}"),
        "word5": body(f"<h1>{key} at {upstream}: {TEAM}</h1>".encode(), code=502, kind="text/html"),
        "word6": body(f"no JSON {key} {upstream}".encode(), kind=f"text/{key}"),
        "word7": answer("".join(f"\\u{ord(sign):04x}" for sign in key) + TEAM),
    }
    return lambda seen: acts[seen.body["messages"][-1]["content"].split()[-1]]


@pytest.mark.parametrize(
    ("key", "workers"), [(KEY, ("-n", "2")), (ODD_KEY, ())], ids=["usual in workers", "odd in one process"]
)
def test_a_key_that_the_endpoint_repeats_is_written_nowhere(project, endpoint, key, workers):
    endpoint.choose = parrot(key)
    project.make(project.path, samples=8)
    (project.path / "agentgauge.toml").write_text(
        f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\nkey_env = "MY_KEY"\nmax_retries = 0\nheaders = {{ X-Team ='
        f' "{TEAM}" }}\n'
    )
    result = project.run(
        "--model", "m", "--record", "tape.jsonl", "--alluredir", "allure", "--run-dir", "run", "-v", "-rA", "--showlocals", *workers,  # noqa: E501
        env={"MY_KEY": key},
    )  # fmt: skip
    assert {request.headers["authorization"] for request in endpoint.requests} == {f"Bearer {key}"}
    assert result.status == 1  # three cases are broken
    assert result.summary("run")["tasks"]["toy.say"]["broken"] == 3
    assert leaks(project.path, key, PASSWORD, TEAM) == []
    assert not [form for secret in (key, PASSWORD, TEAM) for form in spellings(secret) if form in result.output]
    assert "[key]" in result.output and "http://upstream/" in result.output


def test_a_key_is_sent_to_the_endpoint_and_written_nowhere(project, endpoint):
    endpoint.choose = lambda request: (
        echo_authorization() if "word4" in request.body["messages"][-1]["content"] else say(request)
    )
    (project.path / "agentgauge.toml").write_text(
        f'[models.m]\nurl = "{endpoint.url}"\nmodel = "m"\nkey_env = "MY_KEY"\n'
    )
    result = project.run(
        "--model", "m", "--record", "tape.jsonl", "--alluredir", "allure", "--run-dir", "run", "-v", "-rA", "--showlocals",  # noqa: E501
        env={"MY_KEY": KEY},
    )  # fmt: skip
    assert {request.headers["authorization"] for request in endpoint.requests} == {f"Bearer {KEY}"}
    assert result.status == 1  # word4 is broken: the endpoint refused the key and quoted it
    assert KEY not in result.output
    assert leaks(project.path, KEY) == []


def test_a_placeholder_is_no_secret(project, endpoint):
    """Local servers take any key, and a model may well say that word."""
    endpoint.choose = lambda _: answer("EMPTY")
    result = project.run(
        "--model", "m", "--model-url", endpoint.url, "--run-dir", "run", env={"AGENTGAUGE_API_KEY": "EMPTY"}
    )
    assert result.status == 0
    assert "got 'EMPTY'" in result.output


def test_the_password_of_a_proxy_is_written_nowhere(project):
    def choose(seen: Seen) -> Act:
        return status(
            403, f"{seen.headers['proxy-authorization']} is me:{PASSWORD}, so http://me:{PASSWORD}@proxy/ refuses"
        )

    with FaultServer(choose=choose) as proxy:
        result = project.run(
            "--model", "m", "--model-url", "http://model.example/v1", "--run-dir", "run", "-rA",
            env={"http_proxy": f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}", "NO_PROXY": "", "no_proxy": ""},
        )  # fmt: skip
    assert (
        proxy.requests[0].headers["proxy-authorization"]
        == f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"
    )
    assert result.status == 1 and "http 403" in result.output
    assert leaks(project.path, PASSWORD) == []
    assert not [form for form in spellings(PASSWORD) if form in result.output]


@pytest.mark.parametrize("login", [f"me:{PASSWORD}", f":{PASSWORD}", "me:short", f"{PASSWORD}", "me:p%40ss%2Fw0rd-7"])
def test_the_login_of_a_tool_server_is_written_nowhere(project, endpoint, login):
    secrets = [login.removeprefix("me:").removeprefix(":"), login]
    result = project.run(
        *(
            "--model",
            "m",
            "--model-url",
            endpoint.url,
            "--run-dir",
            "run",
            "--alluredir",
            "allure",
            "--record",
            "tape.jsonl",
        ),
        f"--tool-server=http://{login}@127.0.0.1:9/base",
    )
    assert result.status == 0
    assert leaks(project.path, *secrets) == []
    assert not [secret for secret in secrets if secret in result.output]
    command = json.loads((project.path / "run" / "run.json").read_text())["command"]
    assert "--tool-server=http://127.0.0.1:9/base" in command


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


def test_a_run_whose_model_repeats_its_key_can_be_replayed_without_it(tmp_path, endpoint):
    """What the model is shown of its own words is the same in both, so that every request is found. Tools do not get
    the key either."""
    call = tool_call("Calculator", json.dumps({"expression": f"len('{KEY}')"}))
    endpoint.choose = lambda seen: (
        answer(f"{KEY} it is") if seen.body["messages"][-1]["role"] == "tool" else answer(KEY, tool_calls=[call])
    )
    which = ("-k", "Calculator", "-m", "gta_atomic_e2e", "--limit", "2", "--model", "m")
    recorded = run_gta(
        *which, "--model-url", endpoint.url, "--run-dir", "run", "--record", "tape.jsonl",
        cwd=tmp_path, env={"AGENTGAUGE_API_KEY": KEY},
    )  # fmt: skip
    sent = json.dumps([request.body for request in endpoint.requests])
    assert "len('[key]')" in sent and KEY not in sent
    assert leaks(tmp_path, KEY) == []
    replayed = run_gta(*which, "--replay", "tape.jsonl", "--run-dir", "again", cwd=tmp_path)
    assert recorded.summary("run")["tasks"].keys() == replayed.summary("again")["tasks"].keys()
    for task, found in replayed.summary("again")["tasks"].items():
        assert (found["broken"], found["missing"], found["metrics"]) == (
            0,
            0,
            recorded.summary("run")["tasks"][task]["metrics"],
        )


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

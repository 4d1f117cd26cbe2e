"""Where requests go: addresses, headers, certificates, proxies."""

from __future__ import annotations

import logging
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import load_config
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.model.client import OpenAIModel
from agentgauge.model.connection import proxy_for
from agentgauge.model.providers import likely_base
from tests.model import fault_server as serve
from tests.model.fault_server import FaultServer
from tests.model.proxy_server import ProxyServer
from tests.model.talking import HELLO, SECRET, spec_at, talk_to

pytestmark = pytest.mark.usefixtures("no_proxies")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for localhost, 127.0.0.1 and model.example, with its key, in one file."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    names = "subjectAltName=DNS:localhost,DNS:model.example,IP:127.0.0.1"
    options = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-addext",
        names,
    ]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(
        [program, "req", "-x509", "-days", "2", *options, *files], check=True, capture_output=True, timeout=60
    )
    both_parts = folder / "both.pem"
    both_parts.write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return both_parts


@pytest.fixture
def secure(certificate: Path) -> Iterator[FaultServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with FaultServer([serve.answer("over TLS")], tls=context) as server:
        yield server


def test_a_certificate_that_nobody_vouches_for_is_refused_in_one_sentence(secure: FaultServer) -> None:
    with pytest.raises(ModelFault) as fault:
        talk_to(spec_at(secure.url, max_retries=6))
    assert fault.value.cause == "certificate"
    assert (
        str(fault.value)
        == f"model test-model: the certificate of 127.0.0.1:{secure.port} is not trusted: self-signed certificate; "
        "if it is one of your own, name the file of its authority in SSL_CERT_FILE"
    )
    assert secure.requests == []


def test_a_certificate_for_another_name_is_refused(
    monkeypatch: pytest.MonkeyPatch, secure: FaultServer, certificate: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    listening = FaultServer([serve.answer()], tls=secure.tls, host="127.0.0.2")
    with listening as server, pytest.raises(ModelFault, match=r"not trusted: .*127\.0\.0\.2"):
        talk_to(spec_at(server.url))
    assert listening.requests == []


def test_ssl_cert_file_names_the_authority(
    monkeypatch: pytest.MonkeyPatch, secure: FaultServer, certificate: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert talk_to(spec_at(secure.url)).text == "over TLS"


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_unusable_certificate_file_is_the_users_to_correct(
    monkeypatch: pytest.MonkeyPatch, secure: FaultServer, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "authority.pem"
    if content:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(UsageProblem, match=r"SSL_CERT_FILE names \(.*authority.pem\)"):
        talk_to(spec_at(secure.url))


def test_tls_to_a_port_without_it_ends_with_a_cause() -> None:
    def refuse(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse, args=(listener,), daemon=True).start()
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ModelFault) as fault:
            talk_to(spec_at(f"https://{place}/v1"))
    assert fault.value.cause == "connection" and f"no connection to {place}" in str(fault.value)


def test_a_server_that_is_not_there_is_named_with_the_system_s_reason_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ModelFault) as fault:
        talk_to(spec_at(f"http://{place}/v1"))
    said = f"no connection to {place}: connection refused (is the server running there?)"
    assert fault.value.cause == "connection" and str(fault.value).endswith(said)


def test_a_plain_request_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer([serve.answer("by proxy")]) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user%40home:pass@127.0.0.1:{proxy.port}")
        assert talk_to(spec_at("http://model.example/v1")).text == "by proxy"
    (head,) = proxy.heads
    assert head.startswith("POST http://model.example/v1/chat/completions HTTP/1.1")
    assert "proxy-authorization: basic dxnlckbob21lonbhc3m=" in head.lower()
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_tunnel_hides_the_key_from_the_proxy(
    monkeypatch: pytest.MonkeyPatch, secure: FaultServer, certificate: Path
) -> None:
    with ProxyServer(("127.0.0.1", secure.port)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert talk_to(spec_at("https://model.example/v1")).text == "over TLS"
    assert [head.split("\r\n")[0] for head in proxy.heads] == ["CONNECT model.example:443 HTTP/1.1"]
    assert SECRET not in proxy.heads[0]
    assert secure.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_loopback_and_no_proxy_go_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with FaultServer([serve.answer("straight")]) as server:
        assert talk_to(spec_at(server.url)).text == "straight"
        assert talk_to(spec_at(server.url.replace("127.0.0.1", "localhost"))).text == "straight"


def test_a_proxy_that_refuses_or_is_not_there_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with ProxyServer(("127.0.0.1", 9), refusal) as proxy:
        address = f"127.0.0.1:{proxy.port}"
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass-4711@{address}")
        with pytest.raises(ModelFault) as refused:
            talk_to(spec_at("https://model.example/v1"))
    assert refused.value.cause == "proxy" and "to model.example: HTTP 407 Proxy Authentication Required" in str(
        refused.value
    )
    with pytest.raises(ModelFault) as absent:
        talk_to(spec_at("https://model.example/v1"))
    assert absent.value.cause == "connection" and f"the proxy at {address} does not answer: connection refused" in str(
        absent.value
    )
    assert "pass-4711" not in str(refused.value) + str(absent.value)


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, "https://a.example/v1", None),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://a.example/v1", "http://p:3128"),
        ({"HTTPS_PROXY": "http://p:3128"}, "http://a.example/v1", None),
        ({"HTTP_PROXY": "p:3128"}, "http://a.example/v1", "http://p:3128"),
        ({"ALL_PROXY": "http://p:3128"}, "https://a.example/v1", "http://p:3128"),
        ({"https_proxy": "http://low:1", "ALL_PROXY": "http://p:3128"}, "https://a.example/v1", "http://low:1"),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "a.example"}, "https://a.example/v1", None),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ".example"}, "https://a.example/v1", None),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "*"}, "https://a.example/v1", None),
        ({"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "b.example"}, "https://a.example/v1", "http://p:3128"),
        ({"ALL_PROXY": "http://p:3128"}, "http://127.0.0.1:8000/v1", None),
        ({"ALL_PROXY": "http://p:3128"}, "http://[::1]:8000/v1", None),
        ({"ALL_PROXY": "http://p:3128"}, "http://localhost:8000/v1", None),
        ({"ALL_PROXY": "http://p:3128"}, "http://127.9.9.9/v1", None),
        ({"ALL_PROXY": "http://p:3128"}, "http://127.example/v1", "http://p:3128"),
    ],
)
def test_which_proxy_is_taken(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    _, found = proxy_for(url)
    assert (str(found.url) if found else None) == proxy


@pytest.mark.parametrize("proxy", ["socks5://user:pass-4711@p:1080", "http://user:pass-4711@", "http://p:0"])
def test_a_proxy_that_speaks_no_http_is_the_users_to_correct(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(UsageProblem, match=r"for http://model\.example is not an HTTP proxy") as problem:
        talk_to(spec_at("http://model.example/v1"))
    assert "pass-4711" not in str(problem.value)


# -- addresses and headers

AMBIENT = {
    "OPENAI_CUSTOM_HEADERS": "X-Ambient: ambient\nno header\nAuthorization: Bearer ambient\nX-Title: ambient",
    "OPENAI_ORG_ID": "ambient-org",
    "OPENAI_PROJECT_ID": "ambient-project",
    "OPENAI_API_KEY": "ambient-key",
    "OPENAI_ADMIN_KEY": "ambient-admin",
    "OPENAI_WEBHOOK_SECRET": "ambient-secret",
    "OPENAI_BASE_URL": "http://ambient.example/v1",
    "OPENAI_API_VERSION": "ambient-version",
    "AZURE_OPENAI_API_KEY": "ambient-azure-key",
    "AZURE_OPENAI_AD_TOKEN": "ambient-token",
    "AZURE_OPENAI_ENDPOINT": "http://ambient.example",
}
"""Everything that the package reads by itself."""
SECRETS = ("authorization", "api-key", "x-api-key")
BEARER = {"authorization": f"Bearer {SECRET}"}
ODD = "a/b é"
ENCODED = "/v1/openai/deployments/a%2Fb%20%C3%A9/chat/completions?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("provider", "changes", "path", "secrets"),
    [
        ("vllm", {}, "/v1/chat/completions", {}),
        ("ollama", {}, "/v1/chat/completions", {}),
        ("vllm", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("openai", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("openai", {"key_env": "KEY", "api": "responses"}, "/v1/responses", BEARER),
        ("openrouter", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("gemini", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("deepseek", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("mistral", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("anthropic", {"key_env": "KEY"}, "/v1/chat/completions", BEARER),
        ("anthropic", {"key_env": "KEY", "kind": "anthropic"}, "/v1/chat/completions", {"x-api-key": SECRET}),
        ("azure", {"key_env": "KEY", "kind": "azure", "deployment": ODD}, ENCODED, {"api-key": SECRET}),
        ("azure", {"kind": "azure", "deployment": ODD}, ENCODED, {}),
        (
            "azure",
            {"key_env": "KEY", "kind": "azure", "deployment": "d", "api": "responses"},
            "/v1/openai/responses?api-version=2024-10-21",
            {"api-key": SECRET},
        ),
        (
            "vllm",
            {"headers": {"authorization": "Bearer mine"}},
            "/v1/chat/completions",
            {"authorization": "Bearer mine"},
        ),
    ],
)
def test_an_endpoint_gets_its_own_key_and_nothing_that_is_meant_for_openai(
    monkeypatch: pytest.MonkeyPatch, provider: str, changes: dict[str, Any], path: str, secrets: dict[str, str]
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    changes = {"key_env": None, "provider": provider, "api_version": "2024-10-21", **changes}
    changes["headers"] = {"X-Title": "mine", **changes.get("headers", {})}
    reply = {"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "ok"}]}]}
    with FaultServer([serve.data(reply | serve.completion())]) as server:
        talk_to(spec_at(server.url, **changes), environ={**AMBIENT, "KEY": SECRET})
    (seen,) = server.requests
    assert seen.path == path and seen.headers["content-type"] == "application/json"
    assert {name: value for name, value in seen.headers.items() if name in SECRETS} == secrets
    assert "ambient" not in str(seen.headers) and seen.headers["x-title"] == "mine"
    assert not {"x-ambient", "openai-organization", "openai-project"} & seen.headers.keys()
    assert ("anthropic-version" in seen.headers) is (changes.get("kind") == "anthropic")


def test_openai_itself_is_sent_what_its_variables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Ambient: a: b\nno header\nX-Title: ambient")
    with FaultServer([serve.answer()]) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        talk_to(spec_at("http://api.openai.com/v1", headers={"x-title": "mine"}))
    (seen,) = server.requests
    expected = {
        "authorization": f"Bearer {SECRET}",
        "openai-organization": "ambient-org",
        "openai-project": "ambient-project",
        "x-ambient": "a: b",
        "x-title": "mine",
    }
    assert {name: seen.headers.get(name) for name in expected} == expected
    assert not any(word in str(seen.headers) for word in ("ambient-key", "ambient-admin", "ambient-token", "secret"))


def test_a_tables_headers_do_not_follow_a_redirect_to_another_place() -> None:
    with FaultServer([serve.answer("there")]) as other:
        away = serve.body(b"", code=307, headers={"Location": f"{other.url}/x"})
        with FaultServer([away]) as server:
            assert talk_to(spec_at(server.url, headers={"X-Team": "s3cret", "user-agent": "mine"})).text == "there"
    assert server.requests[0].headers["x-team"] == "s3cret"
    assert server.requests[0].headers["user-agent"] == other.requests[0].headers["user-agent"] == "mine"
    assert "s3cret" not in str(other.requests[0].headers) and other.requests[0].body == server.requests[0].body


def test_the_log_of_the_package_holds_no_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with FaultServer([serve.status(500), serve.answer()]) as server:
        model = talk_to(spec_at(server.url, max_retries=1, headers={"X-Team": "s3cret"}), shown)
    assert "HTTP Response" in caplog.text and SECRET not in caplog.text and "s3cret" not in caplog.text
    assert SECRET not in model and "s3cret" not in model


async def shown(model: OpenAIModel) -> str:
    await model.complete(HELLO)
    connection = model._endpoint._connection
    return f"{model!r} {connection!r} {connection._client!r} {connection._client._client!r}"


@pytest.mark.parametrize("line", ['{ "X Y" = "a" }', '{ X = "a\\nb" }', '{ "" = "a" }', '{ "X:" = "a" }'])
def test_headers_that_http_cannot_carry_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "agentgauge.toml").write_text(f'[models.mine]\nurl = "http://h:1/v1"\nmodel = "m"\nheaders = {line}\n')
    with pytest.raises(UsageProblem, match=r"must be headers as in HTTP, .*is none"):
        load_config(root=tmp_path)


NOT_FOUND = serve.data({"detail": "Not Found"}, code=404)
LM_STUDIO = serve.data({"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"})


@pytest.mark.parametrize(
    "act", [NOT_FOUND, serve.status(405), serve.html(), LM_STUDIO, serve.data({"hello": 1})], ids=range(5)
)
def test_a_base_without_its_path_is_named(act: serve.Act) -> None:
    with FaultServer([act]) as server:
        for url, hinted in ((server.url.removesuffix("/v1"), True), (server.url, False)):
            with pytest.raises(ModelFault) as fault:
                talk_to(spec_at(url))
            assert (f"(is {url}/v1 the base address?)" in str(fault.value)) is hinted


def test_an_overloaded_server_gets_no_advice_about_its_address() -> None:
    with FaultServer([serve.data({"error": "overloaded"})]) as server, pytest.raises(ModelFault) as fault:
        talk_to(spec_at(server.url.removesuffix("/v1")))
    assert "base address" not in str(fault.value)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:1", "http://h:1/v1"),
        ("https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1"),
        ("https://openrouter.ai", "https://openrouter.ai/api/v1"),
        ("http://h:1/v1", ""),
    ],
)
def test_where_an_interface_is_likely(url: str, base: str) -> None:
    assert likely_base(url) == base

"""Where requests go: addresses, headers, certificates, proxies."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import Config, ModelTable, load_config
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.model.presets import resolve
from agentgauge.model.providers import likely_base
from agentgauge.model.transport.addressing import custom_headers, is_loopback, proxy_for, standing_headers, url_of
from tests.model import fault_server as serve
from tests.model.fault_server import FaultServer
from tests.model.proxy_server import ProxyServer
from tests.model.talking import ENVIRON, SECRET, spec_at, talk_to

pytestmark = pytest.mark.usefixtures("no_proxies")
both = pytest.mark.usefixtures("transport")


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


@both
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


@both
def test_a_certificate_for_another_name_is_refused(secure: FaultServer, certificate: Path) -> None:
    url = secure.url.replace("127.0.0.1", "127.0.0.2")
    listening = FaultServer([serve.answer()], tls=secure.tls, host="127.0.0.2")
    with listening as server, pytest.raises(ModelFault, match=r"not trusted: .*127\.0\.0\.2"):
        talk_to(spec_at(server.url), environ={**ENVIRON, "SSL_CERT_FILE": str(certificate)})
    assert url != secure.url and listening.requests == []


@both
def test_ssl_cert_file_names_the_authority(secure: FaultServer, certificate: Path) -> None:
    assert talk_to(spec_at(secure.url), environ={**ENVIRON, "SSL_CERT_FILE": str(certificate)}).text == "over TLS"


@both
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_unusable_certificate_file_is_the_users_to_correct(
    secure: FaultServer, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "authority.pem"
    if content:
        file.write_text(content)
    with pytest.raises(UsageProblem, match=r"SSL_CERT_FILE names \(.*authority.pem\)"):
        talk_to(spec_at(secure.url), environ={**ENVIRON, "SSL_CERT_FILE": str(file)})


@both
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


@both
@pytest.mark.filterwarnings("ignore:(The 'proxy_auth'|BasicAuth):DeprecationWarning")  # the package's own way
def test_a_plain_request_goes_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer([serve.answer("by proxy")]) as server, ProxyServer(("127.0.0.1", server.port)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://user%40home:pass@127.0.0.1:{proxy.port}")
        assert talk_to(spec_at("http://model.example/v1")).text == "by proxy"
    (head,) = proxy.heads
    assert head.startswith("POST http://model.example/v1/chat/completions HTTP/1.1")
    assert "Proxy-Authorization: Basic dXNlckBob21lOnBhc3M=" in head
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@both
def test_a_tunnel_hides_the_key_from_the_proxy(
    monkeypatch: pytest.MonkeyPatch, secure: FaultServer, certificate: Path
) -> None:
    with ProxyServer(("127.0.0.1", secure.port)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
        environ = {**ENVIRON, "SSL_CERT_FILE": str(certificate)}
        assert talk_to(spec_at("https://model.example/v1"), environ=environ).text == "over TLS"
    assert [head.split("\r\n")[0] for head in proxy.heads] == ["CONNECT model.example:443 HTTP/1.1"]
    assert SECRET not in proxy.heads[0]
    assert secure.requests[0].headers["authorization"] == f"Bearer {SECRET}"


@both
def test_loopback_and_no_proxy_go_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with FaultServer([serve.answer("straight")]) as server:
        assert talk_to(spec_at(server.url)).text == "straight"
        assert talk_to(spec_at(server.url.replace("127.0.0.1", "localhost"))).text == "straight"


@both
@pytest.mark.filterwarnings("ignore:(The 'proxy_auth'|BasicAuth):DeprecationWarning")
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
    assert (
        absent.value.cause == "connection"
        and "the proxy does not answer" in str(absent.value)
        and address in str(absent.value)
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
    ],
)
def test_which_proxy_is_taken(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    found = proxy_for(url)
    assert (found.url if found else None) == proxy


# -- addresses and headers


@pytest.mark.parametrize(
    ("changes", "path", "url"),
    [
        ({}, "/chat/completions", "http://h:1/v1/chat/completions"),
        ({}, "/files/..%2Fa", "http://h:1/v1/files/..%2Fa"),
        (
            {"kind": "azure", "deployment": "a/b é", "api_version": "2024-10-21"},
            "/chat/completions",
            "http://h:1/v1/openai/deployments/a%2Fb%20%C3%A9/chat/completions?api-version=2024-10-21",
        ),
        (
            {"kind": "azure", "deployment": "d", "api_version": "2024-10-21"},
            "/responses",
            "http://h:1/v1/openai/responses?api-version=2024-10-21",
        ),
    ],
)
def test_addresses(changes: dict[str, Any], path: str, url: str) -> None:
    assert url_of(spec_at("http://h:1/v1", **changes), path) == url


AMBIENT = {
    "OPENAI_CUSTOM_HEADERS": "X-Ambient: a: b\nno header\nX-Title: ambient",
    "OPENAI_ORG_ID": "org",
    "OPENAI_PROJECT_ID": "project",
}


def test_openai_itself_is_sent_what_its_variables_say_and_no_other_host_is() -> None:
    own = resolve("gpt-4o", config=Config(), environ={"OPENAI_API_KEY": "k"})
    sent = standing_headers(replace(own, headers={"x-title": "mine"}), "k", AMBIENT)
    assert sent == {
        "Accept": "application/json",
        "User-Agent": "AgentGauge",
        "OpenAI-Organization": "org",
        "OpenAI-Project": "project",
        "Authorization": "Bearer k",
        "X-Ambient": "a: b",
        "x-title": "mine",
    }
    for spec in (spec_at("http://h:1/v1"), spec_at("http://h:1/v1", kind="azure")):
        assert (
            not {"OpenAI-Organization", "OpenAI-Project", "X-Ambient", "X-Title"}
            & standing_headers(spec, "k", AMBIENT).keys()
        )
    assert custom_headers({}) == {}


@both
def test_the_users_headers_go_along_and_the_variables_stay_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "ambient-token")
    with FaultServer([serve.answer()]) as server:
        table = ModelTable(
            provider="azure", model="m", endpoint=server.url.removesuffix("/v1"), headers={"X-Title": "mine"}
        )
        environ = {"AZURE_OPENAI_API_KEY": SECRET, **AMBIENT}
        talk_to(resolve("mine", config=Config(models={"mine": table}), environ=environ), environ=environ)
        talk_to(spec_at(server.url, headers={"X-Title": "mine"}), environ={**ENVIRON, **AMBIENT})
    for seen in server.requests:
        assert seen.headers["x-title"] == "mine" and seen.headers["content-type"] == "application/json"
        assert not {"x-ambient", "openai-organization", "openai-project"} & seen.headers.keys()
        assert "ambient" not in str(seen.headers)


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://127.example/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_loopback(url: str, is_one: bool) -> None:
    assert is_loopback(url) is is_one


@pytest.mark.parametrize("line", ['{ "X Y" = "a" }', '{ X = "a\\nb" }', '{ "" = "a" }', '{ "X:" = "a" }'])
def test_headers_that_http_cannot_carry_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "agentgauge.toml").write_text(f'[models.mine]\nurl = "http://h:1/v1"\nmodel = "m"\nheaders = {line}\n')
    with pytest.raises(UsageProblem, match=r"must be headers as in HTTP, .*is none"):
        load_config(root=tmp_path)


NOT_FOUND = serve.data({"detail": "Not Found"}, code=404)
LM_STUDIO = serve.data({"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"})


@both
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

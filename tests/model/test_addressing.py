"""Where requests go and what they carry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import Config, ModelTable, load_config
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.model.presets import resolve
from agentgauge.model.providers import likely_base
from agentgauge.model.transport.addressing import custom_headers, is_loopback, standing_headers, url_of
from tests.model import fault_server as serve
from tests.model.fault_server import FaultServer
from tests.model.talking import ENVIRON, SECRET, spec_at, talk_to

pytestmark = pytest.mark.usefixtures("no_proxies")
both = pytest.mark.usefixtures("transport")


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
    with pytest.raises(UsageProblem, match="is not a header"):
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


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"])
def test_no_proxy_is_asked_for_this_machine(host: str) -> None:
    assert is_loopback(f"http://{host}:8000/v1") and not is_loopback("http://192.168.0.1:8000/v1")

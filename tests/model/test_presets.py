"""What a model name means, which key goes where, and what is said about names that mean nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.config import Config, ModelTable, Prices, QuirkTable
from agentgauge.core.errors import UsageProblem
from agentgauge.model.endpoint import read_key
from agentgauge.model.presets import resolve
from agentgauge.model.providers import PRESETS
from agentgauge.model.spec import ModelSpec
from agentgauge.model.unread_variables import unread_variables

ALL_KEYS = {preset.key_env: f"{preset.name}-secret" for preset in PRESETS.values()} | {
    "AZURE_OPENAI_ENDPOINT": "https://a.example.net"
}


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_resolves_with_its_own_key(name: str) -> None:
    spec = resolve(f"{name}/some/model", environ=ALL_KEYS)
    assert spec.model == "some/model" and spec.provider == name and spec.key_env == PRESETS[name].key_env
    assert spec.url == (PRESETS[name].url or "https://a.example.net")
    assert read_key(spec, ALL_KEYS) == f"{name}-secret"
    assert "secret" not in repr(spec)


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.key_required])
def test_a_missing_key_is_named(name: str) -> None:
    with pytest.raises(UsageProblem, match=f"set the environment variable {PRESETS[name].key_env}"):
        resolve(f"{name}/m", environ={"AZURE_OPENAI_ENDPOINT": "https://a.example.net", PRESETS[name].key_env: " "})


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.self_hosted])
def test_own_servers_need_no_key(name: str) -> None:
    spec = resolve(f"{name}/m", environ={})
    assert spec.key_env is None and read_key(spec, {}) is None


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "gpt-4.1-mini", "chatgpt-4o-latest", "o1", "o3-mini", "o4-mini", "codex-mini-latest", "ft:gpt-4o:x"],
)
def test_openai_names_need_no_prefix(name: str) -> None:
    spec = resolve(name, environ={"OPENAI_API_KEY": "k"})
    assert (spec.provider, spec.model, spec.url) == ("openai", name, "https://api.openai.com/v1")


@pytest.mark.parametrize(
    ("name", "field", "temperature"),
    [
        ("gpt-4o", "max_tokens", True),
        ("o3-mini", "max_completion_tokens", False),
        ("gpt-5-mini", "max_completion_tokens", False),
        ("gpt-5-chat-latest", "max_tokens", True),
        ("openrouter/openai/o3", "max_tokens", True),
    ],
)
def test_reasoning_models_of_openai_have_quirks(name: str, field: str, temperature: bool) -> None:
    quirks = resolve(name, need_key=False, environ={}).quirks
    assert (quirks.token_field, quirks.temperature, quirks.stop) == (field, temperature, temperature)


URL_CASES: list[tuple[str, str, dict[str, str], tuple[str, str, str | None]]] = [
    # name, --model-url, environment -> model, provider, variable of the key
    ("m", "http://127.0.0.1:9/v1", {"OPENAI_API_KEY": "x"}, ("m", "url", None)),
    ("gpt-4o", "https://proxy.example.net/v1", {"OPENAI_API_KEY": "x"}, ("gpt-4o", "url", None)),
    ("m", "http://127.0.0.1:9/v1", {"AGENTGAUGE_API_KEY": "x"}, ("m", "url", "AGENTGAUGE_API_KEY")),
    ("gpt-4o", "https://api.openai.com/v1/", {"OPENAI_API_KEY": "x"}, ("gpt-4o", "openai", "OPENAI_API_KEY")),
    ("gpt-4o", "http://api.openai.com/v1", {"OPENAI_API_KEY": "x"}, ("gpt-4o", "url", None)),  # no key over plain HTTP
    ("m", "https://api.deepseek.com", {"DEEPSEEK_API_KEY": "x"}, ("m", "deepseek", "DEEPSEEK_API_KEY")),
    ("openai/gpt-oss-20b", "http://gpu:8000/v1", {"OPENAI_API_KEY": "x"}, ("openai/gpt-oss-20b", "url", None)),
    ("vllm/org/m", "http://gpu:8000/v1", {"VLLM_API_KEY": "x"}, ("org/m", "vllm", "VLLM_API_KEY")),
    ("vllm/org/m", "http://gpu:8000/v1", {"AGENTGAUGE_API_KEY": "x"}, ("org/m", "vllm", "AGENTGAUGE_API_KEY")),
]


@pytest.mark.parametrize(("name", "url", "environ", "expected"), URL_CASES)
def test_with_an_address_of_ones_own(
    name: str, url: str, environ: dict[str, str], expected: tuple[str, str, str | None]
) -> None:
    spec = resolve(name, url=url, environ=environ)
    assert (spec.model, spec.provider, spec.key_env) == expected
    assert spec.url == url.rstrip("/")


@pytest.mark.parametrize(
    ("name", "variable", "value", "url", "key_env"),
    [
        ("gpt-4o", "OPENAI_BASE_URL", "https://gateway.example.net/v1/", "https://gateway.example.net/v1", "OPENAI"),
        ("openai/m", "OPENAI_BASE_URL", "http://localhost:9/v1", "http://localhost:9/v1", "OPENAI"),
        ("gpt-4o", "OPENAI_BASE_URL", " ", "https://api.openai.com/v1", "OPENAI"),
        ("groq/m", "OPENAI_BASE_URL", "https://gateway.example.net/v1", "https://api.groq.com/openai/v1", "GROQ"),
        ("groq/m", "GROQ_BASE_URL", "https://g.example.net", "https://g.example.net/openai/v1", "GROQ"),
        ("together/m", "TOGETHER_BASE_URL", "https://t.example.net/v1", "https://t.example.net/v1", "TOGETHER"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "https://a.example.net/", "https://a.example.net/v1", "ANTHROPIC"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "https://a.example.net/v1", "https://a.example.net/v1", "ANTHROPIC"),
        ("ollama/m", "OLLAMA_HOST", "gpu-box", "http://gpu-box:11434/v1", "OLLAMA"),
        ("ollama/m", "OLLAMA_HOST", ":99", "http://127.0.0.1:99/v1", "OLLAMA"),
        ("anthropic/m", "ANTHROPIC_BASE_URL", "https://a.net/v1/chat/completions", "https://a.net/v1", "ANTHROPIC"),
        ("ollama/m", "OLLAMA_HOST", "10.0.0.2:99", "http://10.0.0.2:99/v1", "OLLAMA"),
        ("ollama/m", "OLLAMA_HOST", "https://o.example.net", "https://o.example.net/v1", "OLLAMA"),
    ],
)
def test_the_providers_own_variable_says_where_it_is(
    name: str, variable: str, value: str, url: str, key_env: str
) -> None:
    spec = resolve(name, environ={**ALL_KEYS, variable: value})
    assert (spec.url, spec.key_env) == (url, f"{key_env}_API_KEY")


def test_a_gateways_key_stays_with_the_gateway() -> None:
    environ = {"OPENAI_API_KEY": "of the gateway", "OPENAI_BASE_URL": "https://gateway.example.net/v1"}
    assert resolve("gpt-4o", url="https://api.openai.com/v1", environ=environ).key_env is None
    for other in (
        "https://other.example.net/v1",
        "https://gateway.example.net:8443/v1",
        "https://gateway.example.net/b",
    ):
        spec = resolve("gpt-4o", url=other, environ=environ)
        assert (spec.provider, spec.key_env, spec.key_required) == ("url", None, False)
    spec = resolve("m", url="https://gateway.example.net/v1", environ=environ)
    assert (spec.provider, spec.key_env) == ("openai", "OPENAI_API_KEY")


def test_providers_behind_one_gateway_are_told_apart() -> None:
    gateway = "https://gateway.example.net"
    environ = {**ALL_KEYS, "OPENAI_BASE_URL": f"{gateway}/openai/v1", "ANTHROPIC_BASE_URL": f"{gateway}/anthropic"}
    assert resolve("m", url=f"{gateway}/anthropic/v1", environ=environ).key_env == "ANTHROPIC_API_KEY"
    assert resolve("m", url=f"{gateway}/openai/v1/", environ=environ).key_env == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://h:1/v1", "http://h:1/v1"),
        (" http://h:1/v1/// ", "http://h:1/v1"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("http://h:1/v1/chat/completions/", "http://h:1/v1"),
        ("http://h:1/v1//completions", "http://h:1/v1"),
        ("http://h:1/v1/chat", "http://h:1/v1"),
        ("http://h:1/v1/models", "http://h:1/v1"),
        ("http://h:1/v1/responses", "http://h:1/v1"),
        ("http://h:1/v1/messages", "http://h:1/v1"),
        ("http://h:1/v1/embeddings", "http://h:1/v1"),
        ("http://h:11434/api/chat", "http://h:11434/v1"),
        ("http://h:11434/api/tags", "http://h:11434/v1"),
        ("http://h:3000/api/chat/completions", "http://h:3000/api"),
        ("https://r.services.ai.azure.com/models", "https://r.services.ai.azure.com/models"),
        ("http://h:1", "http://h:1"),
        ("http://[::1]:8000/v1/", "http://[::1]:8000/v1"),
        ("HTTP://h:1/v1", "http://h:1/v1"),
        ('"http://h:1/v1"', "http://h:1/v1"),
        ("<http://h:1/v1>", "http://h:1/v1"),
    ],
)
def test_a_pasted_address_becomes_the_base_address(url: str, base: str) -> None:
    assert resolve("m", url=url, environ={}).url == base


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:8000", "write http://localhost:8000/v1"),
        ("localhost:8000/v1", "write http://localhost:8000/v1"),
        ("127.0.0.1:8000", "write http://127.0.0.1:8000/v1"),
        ("[::1]:8000", "write http://[::1]:8000/v1"),
        ("gpu-box:8000/v1/", "write http://gpu-box:8000/v1/"),
        ("api.example.com/v1", "write https://api.example.com/v1"),
        ("http:/localhost:8000/v1", "write http://localhost:8000/v1"),
        ("http//h/v1", "write http://h/v1"),
        ("my server", "give one such as http://localhost:8000/v1"),
        ("http://::1:8000/v1", "an IPv6 address stands in brackets: give one such as http://[::1]:8000/v1"),
        ("::1", "an IPv6 address stands in brackets"),
        ("unix:///run/llm.sock", "a Unix socket cannot be asked: let the server listen at a port"),
        ("/run/llm.sock", "a Unix socket cannot be asked"),
        ("ftp://h/v1", "only http and https are supported"),
        ("ws://h:1/v1", "only http and https are supported"),
        ("http://h:99999/v1", "'http://h:99999/v1' is not an address"),
        ("http://h/v1?key=hidden", "leave out what follows the ?, and put a key in an environment variable"),
        ("http://h/v1?api-version=1", "leave out what follows the ?"),
        (
            "https://r.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview",
            "give https://r.services.ai.azure.com/openai/v1, which takes no version",
        ),
        (
            "https://r.openai.azure.com/openai/deployments/gpt%2D4o/chat/completions?api-version=2025-01-01",
            "for Azure write --model=azure/gpt-4o --model-url=https://r.openai.azure.com and set"
            " AZURE_OPENAI_API_VERSION=2025-01-01",
        ),
    ],
)
def test_a_refused_address_says_what_to_write(url: str, said: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        resolve("m", url=url, environ={})
    assert said in str(problem.value) and "hidden" not in str(problem.value)


OLLAMA = [
    ("", "http://localhost:11434"),
    ("1.2.3.4", "http://1.2.3.4:11434"),
    (":56789", "http://127.0.0.1:56789"),
    ("1.2.3.4:56789", "http://1.2.3.4:56789"),
    ("http://1.2.3.4", "http://1.2.3.4"),
    ("https://1.2.3.4", "https://1.2.3.4"),
    ("https://1.2.3.4:56789", "https://1.2.3.4:56789"),
    ("example.com", "http://example.com:11434"),
    ("example.com:56789", "http://example.com:56789"),
    ("http://example.com", "http://example.com"),
    ("https://example.com:56789", "https://example.com:56789"),
    ("example.com/", "http://example.com:11434"),
    ("example.com:56789/", "http://example.com:56789"),
    ("example.com/path", "http://example.com:11434/path"),
    ("example.com:56789/path/", "http://example.com:56789/path"),
    ("https://example.com:56789/path", "https://example.com:56789/path"),
    ("[0001:002:003:0004::1]", "http://[0001:002:003:0004::1]:11434"),
    ("[0001:002:003:0004::1]:56789", "http://[0001:002:003:0004::1]:56789"),
    ("http://[0001:002:003:0004::1]", "http://[0001:002:003:0004::1]"),
    ("https://[0001:002:003:0004::1]:56789", "https://[0001:002:003:0004::1]:56789"),
    ("[0001:002:003:0004::1]/path", "http://[0001:002:003:0004::1]:11434/path"),
    ("[::1]:56789/path/", "http://[::1]:56789/path"),
    ("::1", "http://[::1]:11434"),
    ("0.0.0.0", "http://0.0.0.0:11434"),
    (' "127.0.0.1:1" ', "http://127.0.0.1:1"),
    ("example.com/v1", "http://example.com:11434"),
]
"""``OLLAMA_HOST``, and where Ollama's own package asks; a scheme's own port is left out."""


@pytest.mark.parametrize(("value", "url"), OLLAMA)
def test_ollamas_variable_is_read_as_by_its_own_package(value: str, url: str) -> None:
    assert resolve("ollama/m", environ={"OLLAMA_HOST": value}).url == f"{url}/v1"


def test_azure() -> None:
    environ = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"}
    spec = resolve("azure/my-deployment", environ=environ)
    assert (spec.kind, spec.url, spec.deployment) == ("azure", "https://r.openai.azure.com", "my-deployment")
    table = ModelTable(
        provider="azure", model="o3", deployment="d", endpoint="https://t.openai.azure.com", api_version="2025-01-01"
    )
    spec = resolve("mine", config=Config(models={"mine": table}), environ={"AZURE_OPENAI_API_KEY": "k"})
    assert (spec.url, spec.deployment, spec.api_version) == ("https://t.openai.azure.com", "d", "2025-01-01")
    assert spec.quirks.token_field == "max_completion_tokens"
    with pytest.raises(UsageProblem, match="AZURE_OPENAI_ENDPOINT"):
        resolve("azure/d", environ={"AZURE_OPENAI_API_KEY": "k"})


AZURE = "https://r.openai.azure.com"


@pytest.mark.parametrize(
    ("endpoint", "variables", "version"),
    [
        (AZURE, {}, "2024-10-21"),
        (AZURE, {"OPENAI_API_VERSION": "2025-01-01"}, "2025-01-01"),
        (AZURE, {"AZURE_OPENAI_API_VERSION": "2025-02-02", "OPENAI_API_VERSION": "2025-01-01"}, "2025-02-02"),
        (f"{AZURE}/openai", {}, "2024-10-21"),
        (f"{AZURE}/openai/v1/", {}, "2024-10-21"),
        (f"{AZURE}/openai/deployments/d", {}, "2024-10-21"),
        (f"{AZURE}/openai/deployments/d/chat/completions?api-version=2025-03-03", {}, "2025-03-03"),
        (f"{AZURE}/?api-version=2025-03-03", {"OPENAI_API_VERSION": "2025-01-01"}, "2025-03-03"),
    ],
)
@pytest.mark.parametrize("as_option", [False, True])
def test_what_azures_portal_shows(endpoint: str, variables: dict[str, str], version: str, as_option: bool) -> None:
    environ = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": endpoint, **variables}
    spec = resolve("azure/d", url=endpoint if as_option else None, environ=environ)
    assert (spec.url, spec.deployment, spec.api_version) == (AZURE, "d", version)


@pytest.mark.parametrize(
    ("name", "table", "provider", "model"),
    [
        ("Qwen3-8B", ModelTable(url="http://h:1/v1"), "url", "Qwen3-8B"),
        ("org/Qwen3-8B", ModelTable(provider="vllm"), "vllm", "org/Qwen3-8B"),
        ("gpt-4o", ModelTable(temperature=0), "openai", "gpt-4o"),
        ("deepseek/deepseek-chat", ModelTable(temperature=0), "deepseek", "deepseek-chat"),
        ("deepseek/deepseek-chat", ModelTable(provider="deepseek"), "deepseek", "deepseek-chat"),
        ("deepseek/deepseek-chat", ModelTable(url="http://h:1/v1"), "url", "deepseek/deepseek-chat"),
        ("mine", ModelTable(provider="vllm", model="m"), "vllm", "m"),
    ],
)
def test_a_tables_model_is_its_name_unless_it_says_another(
    name: str, table: ModelTable, provider: str, model: str
) -> None:
    spec = resolve(name, config=Config(models={name: table}), environ=ALL_KEYS)
    assert (spec.provider, spec.model, spec.name) == (provider, model, name)


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("ft:gpt-4o-mini-2024-07-18:o3-lab::abc", False),
        ("ft:gpt-4.1-mini-2025-04-14:gpt-5-team:o1:x", False),
        ("ft:o4-mini-2025-04-16:chat-team::x", True),
        ("ft:gpt-5-2025-08-07:org::x", True),
        ("gpt-5-chat-latest", False),
        ("o3", True),
    ],
)
def test_a_fine_tuned_model_can_do_what_its_base_can(name: str, reasons: bool) -> None:
    spec = resolve(name, environ=ALL_KEYS)
    assert spec.provider == "openai" and spec.quirks.temperature is not reasons
    azure = resolve(f"azure/{name}", url=AZURE, environ=ALL_KEYS)
    assert azure.quirks == spec.quirks


@pytest.mark.parametrize(
    ("name", "variables", "said"),
    [
        ("gpt-4o", {"OPENAI_MODEL": "o3"}, ["OPENAI_MODEL is set in the environment and not read: --model names"]),
        ("gpt-4o", {"OPENAI_MODEL": "gpt-4o", "OPENAI_API_BASE": "https://api.openai.com/v1/"}, []),
        ("gpt-4o", {"OPENAI_BASE_URL": "https://g.example.net/v1", "OPENAI_API_BASE": "https://g.example.net"}, []),
        (
            "gpt-4o",
            {"OPENAI_API_BASE": "https://g.example.net/v1"},
            ["OPENAI_API_BASE is set in the environment and not read: OPENAI_BASE_URL and --model-url name"],
        ),
        (
            "azure/d",
            {"AZURE_OPENAI_DEPLOYMENT": "e", "AZURE_OPENAI_DEPLOYMENT_NAME": "d", "AZURE_API_VERSION": "2023-05-15"},
            [
                "AZURE_OPENAI_DEPLOYMENT is set in the environment and not read: --model names the deployment",
                "AZURE_API_VERSION is set in the environment and not read: AZURE_OPENAI_API_VERSION names",
            ],
        ),
        ("azure/d", {"AZURE_OPENAI_API_VERSION": "2025-01-01", "OPENAI_MODEL": "m"}, []),
        ("anthropic/m", {"ANTHROPIC_MODEL": "n", "OPENAI_MODEL": "o"}, ["ANTHROPIC_MODEL is set"]),
        ("vllm/m", {"VLLM_BASE_URL": "http://gpu:8000/v1"}, ["VLLM_BASE_URL is set in the environment and not read"]),
        ("ollama/m", {"OLLAMA_HOST": "gpu", "OLLAMA_BASE_URL": "http://gpu:11434"}, []),
        ("baseline", {"OPENAI_MODEL": "gpt-4o"}, ["OPENAI_MODEL is set"]),
        ("oracle", {"OPENAI_MODEL": "gpt-4o"}, []),
        ("m http://gpu:8000/v1", {"OPENAI_MODEL": "m", "OPENAI_API_BASE": "http://gpu:8000"}, []),
        ("m http://gpu:8000/v1", {"OPENAI_BASE_URL": "http://h/v1", "ANTHROPIC_MODEL": "n"}, []),
        (
            "m http://gpu:8000/v1",
            {"OPENAI_MODEL": "n", "OPENAI_API_BASE": "http://h/v1", "OPENAI_ORGANIZATION": "o"},
            [
                "OPENAI_API_BASE is set in the environment and not read: --model-url names the address",
                "OPENAI_MODEL is set in the environment and not read: --model names the model",
            ],
        ),
    ],
)
def test_variables_that_are_not_read_are_named(name: str, variables: dict[str, str], said: list[str]) -> None:
    environ = {**ALL_KEYS, "AZURE_OPENAI_ENDPOINT": AZURE, **variables}
    name, _, url = name.partition(" ")
    lines = list(unread_variables(resolve(name, url=url or None, environ=environ), environ))
    assert len(lines) == len(said) and all(map(str.startswith, lines, said)), lines


@pytest.mark.parametrize(
    ("name", "url", "own"),
    [
        ("vllm/m", "https://gpu.example.com/v1", True),
        ("m", "http://localhost:1/v1", True),
        ("m", "http://192.168.0.7:1/v1", True),
        ("m", "http://[::1]:1/v1", True),
        ("m", "http://gpu-box/v1", True),
        ("m", "http://host.docker.internal:1/v1", True),
        ("m", "https://api.example.com/v1", False),
        ("gpt-4o", None, False),
    ],
)
def test_servers_of_ones_own(name: str, url: str | None, own: bool) -> None:
    assert resolve(name, url=url, environ=ALL_KEYS).is_own_server is own


def test_a_table_goes_before_everything_and_keeps_its_settings() -> None:
    table = ModelTable(
        provider="openai",
        model="gpt-4o",
        temperature=0.5,
        timeout=9,
        max_retries=1,
        prices=Prices(1, 2),
        quirks=QuirkTable(seed=False),
    )
    spec = resolve("gpt-4o", config=Config(models={"gpt-4o": table}), environ={"OPENAI_API_KEY": "k"})
    assert (spec.temperature, spec.timeout, spec.max_retries, spec.prices, spec.quirks.seed) == (
        0.5,
        9,
        1,
        Prices(1, 2),
        False,
    )


@pytest.mark.parametrize(
    ("name", "table", "vision"),
    [
        ("gpt-5", None, None),  # OpenAI serves models that see and others
        ("anthropic/claude-sonnet-4-5", None, True),
        ("vllm/qwen3-vl", None, None),
        ("oracle", None, True),
        ("mine", ModelTable(provider="vllm", model="gpt-4-lookalike", vision=False), False),
        ("mine", ModelTable(provider="vllm", model="qwen3-vl", vision=True), True),
        ("mine", ModelTable(provider="anthropic", model="claude-text", vision=False), False),
    ],
)
def test_vision_is_what_the_table_says_else_what_the_provider_says(
    name: str, table: ModelTable | None, vision: bool | None
) -> None:
    config = Config(models={"mine": table} if table else {})
    spec = resolve(name, config=config, need_key=False, environ={})
    assert spec.vision is vision
    assert spec.fingerprint == replace(spec, vision=None).fingerprint  # it plans cases, and changes no answer


def test_a_provider_key_does_not_follow_a_table_to_another_host() -> None:
    table = ModelTable(provider="openai", model="m", url="https://proxy.example.net/v1")
    config = Config(models={"mine": table, "named": replace(table, key_env="OPENAI_API_KEY")})
    environ = {"OPENAI_API_KEY": "k"}
    assert resolve("mine", config=config, environ=environ).key_env is None
    assert resolve("named", config=config, environ=environ).key_env == "OPENAI_API_KEY"
    with pytest.raises(UsageProblem, match="OPENAI_API_KEY"):
        resolve("named", config=config, environ={})


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (ModelTable(model="m"), "names neither a provider nor a url"),
        (ModelTable(), "names neither a provider nor a url"),
        (ModelTable(provider="vlm", model="m"), "no provider 'vlm' (did you mean vllm"),
    ],
)
def test_an_incomplete_table_is_refused(table: ModelTable, said: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        resolve("mine", config=Config(models={"mine": table}), environ={})
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("orcale", "did you mean oracle"),
        ("gtp-4o", "did you mean gpt-4o"),
        ("Qwen2.5-7B", "accepted are oracle, baseline, scripted:FILE"),
        ("opnai/gpt-4o", "did you mean openai"),
        ("vllm/", "write vllm/MODEL"),
        ("gpt-oss-20b", "unknown model"),
        ("scripted", "scripted:FILE"),
        ("scripted:/no/such/file.json", "cannot be read"),
        ("", "unknown model"),
    ],
)
def test_an_unknown_name_is_explained(name: str, said: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        resolve(name, environ={})
    assert said in str(problem.value)


def test_embedded_models(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"replies": {"*": ["a"]}}))
    spec = resolve(f"scripted:{file}", environ={})
    assert spec.embedded and spec.script == file and spec.url is None
    before = spec.fingerprint
    file.write_text(json.dumps({"replies": {"*": ["b"]}}))
    assert resolve(f"scripted:{file}", environ={}).fingerprint != before
    with pytest.raises(UsageProblem, match="leave --model-url out"):
        resolve("oracle", url="http://h/v1", environ={})


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"url": "http://elsewhere/v1"}, True),
        ({"key_env": "OTHER"}, True),
        ({"timeout": 1.0}, True),
        ({"prices": Prices(1, 1)}, True),
        ({"model": "n"}, False),
        ({"temperature": 0.1}, False),
        ({"extra_body": {"top_p": 1}}, False),
        ({"api": "chat"}, False),
        ({"pdf": "file"}, False),
    ],
)
def test_the_fingerprint_covers_what_may_change_an_answer(change: dict[str, Any], same: bool) -> None:
    spec = ModelSpec(name="m", kind="openai", model="m", provider="url", url="http://h/v1")
    assert (replace(spec, **change).fingerprint == spec.fingerprint) is same


@pytest.mark.parametrize("path", ["", "/", "/chat/completions", "/responses"])
def test_an_address_may_be_that_of_a_request(path: str) -> None:
    assert resolve("m", url=f"http://h/v1{path}", environ={}).url == "http://h/v1"


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "kéy"])
def test_a_value_that_no_header_carries_is_refused_and_not_shown(value: str) -> None:
    spec = resolve("gpt-4o", environ={"OPENAI_API_KEY": value})
    with pytest.raises(UsageProblem, match="OPENAI_API_KEY cannot be a key") as problem:
        read_key(spec, {"OPENAI_API_KEY": value})
    assert value not in str(problem.value)

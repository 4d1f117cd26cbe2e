"""The providers that a model name may start with: their addresses, keys and limitations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal
from urllib.parse import urlsplit

from agentgauge.core.announcement import announced, refused
from agentgauge.model.base_url import base_of, host_address

TokenField = Literal["max_tokens", "max_completion_tokens"]
LaterSystem = Literal["system", "user"]


@dataclass(frozen=True, slots=True)
class Quirks:
    """Differences between an endpoint and OpenAI's chat completions."""

    seed: bool | None = None  # sends "seed": always, never, or (None) with requests that are drawn several times
    temperature: bool = True  # accepts "temperature"
    stop: bool = True  # accepts "stop"; if not, the reply is cut at the stop words after it came
    token_field: TokenField = "max_tokens"
    stream: bool = False  # is asked for a stream; an endpoint that refuses anything else is found out by itself
    later_system: LaterSystem = "system"
    """Role for system messages after the first other message. ``user`` where the endpoint moves all system messages to
    the front or refuses them there, which would take tool results of the ReAct protocol out of their order."""
    user_after_tool: bool = True  # accepts a user message after a tool's result; if not, an assistant's stands between


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenAI-compatible endpoint that a model name can start with."""

    name: str  # behind which a slash and the model follow: "openai"
    title: str
    url: str | None  # base URL; None: must be given
    key_env: str  # the environment variable that holds the key
    key_required: bool = True
    self_hosted: bool = False  # the address is the user's own choice, so the key may go wherever it points
    quirks: Quirks = Quirks()
    url_env: str = ""  # the variable that holds another base URL, as the provider's own package reads it
    url_end: str = ""  # what the address in that variable may lack, since the provider's own package adds it
    vision: bool | None = None  # whether its models see pictures: all of them, none, or (None) not known for all


UNSUPPORTED = re.compile(
    r"unsupported|not support|unknown|unrecognized|unexpected|unwanted|forbidden|not (?:permitted|allowed|accepted)"
    r"|additional propert|not a valid|invalid (?:field|property|key)|remove"
    r"|(?:must|should|may|can) ?not (?:contain|include|have|be (?:sent|passed|set|provided|included|present))",
    re.IGNORECASE,
)
"""Words of a refusal that a field is too much."""

_NO_SEED = Quirks(seed=False)
_STRICT = Quirks(seed=False, later_system="user")
_MISTRAL = Quirks(seed=False, later_system="user", user_after_tool=False)
_STREAMED = Quirks(stream=True)  # its open Qwen3, QwQ, QVQ and Omni models answer in no other way, all others do too


def _self_hosted(name: str, title: str, port: int, url_env: str = "") -> Provider:
    url, key_env = f"http://localhost:{port}/v1", f"{name.upper()}_API_KEY"
    return Provider(name, title, url, key_env, key_required=False, self_hosted=True, url_env=url_env, url_end="/v1")


def _hosted(
    name: str,
    title: str,
    url: str | None,
    quirks: Quirks = Quirks(),
    key: str = "",
    url_env: str = "",
    url_end: str = "",
) -> Provider:
    key_env = f"{key or name.upper()}_API_KEY"
    return Provider(name, title, url, key_env, quirks=quirks, url_env=url_env, url_end=url_end)


PRESETS: Mapping[str, Provider] = {
    preset.name: preset
    for preset in (
        _hosted("openai", "OpenAI", "https://api.openai.com/v1", url_env="OPENAI_BASE_URL"),
        _hosted("azure", "Azure OpenAI", None, key="AZURE_OPENAI", url_env="AZURE_OPENAI_ENDPOINT"),
        replace(
            _hosted("anthropic", "Anthropic", "https://api.anthropic.com/v1", _STRICT, "", "ANTHROPIC_BASE_URL", "/v1"),
            vision=True,
        ),
        _hosted("gemini", "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", _STRICT),
        _hosted("deepseek", "DeepSeek", "https://api.deepseek.com/v1", _NO_SEED),
        _hosted("mistral", "Mistral", "https://api.mistral.ai/v1", _MISTRAL),
        _hosted("groq", "Groq", "https://api.groq.com/openai/v1", url_env="GROQ_BASE_URL", url_end="/openai/v1"),
        _hosted("together", "Together AI", "https://api.together.xyz/v1", url_env="TOGETHER_BASE_URL"),
        _hosted("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1", _NO_SEED),
        _hosted("openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
        _hosted("xai", "xAI", "https://api.x.ai/v1"),
        _hosted("moonshot", "Moonshot AI", "https://api.moonshot.ai/v1", _NO_SEED),
        _hosted("zhipu", "Zhipu AI", "https://open.bigmodel.cn/api/paas/v4", _NO_SEED, key="ZHIPUAI"),
        _hosted(
            "dashscope", "Alibaba Model Studio", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", _STREAMED
        ),
        _hosted("nvidia", "NVIDIA NIM", "https://integrate.api.nvidia.com/v1"),
        _self_hosted("vllm", "vLLM", 8000),
        _self_hosted("lmdeploy", "LMDeploy", 23333),
        _self_hosted("sglang", "SGLang", 30000),
        _self_hosted("ollama", "Ollama", 11434, "OLLAMA_HOST"),
        _self_hosted("llamacpp", "llama.cpp server", 8080),
        _self_hosted("lmstudio", "LM Studio", 1234),
    )
}


def custom_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers in OPENAI_CUSTOM_HEADERS, which the ``openai`` package sends: one ``name: value`` a line."""
    lines = [line.partition(":") for line in environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n") if ":" in line]
    return {name.strip(): value.strip() for name, _, value in lines}


def url_of(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """The base URL: the one in the environment, completed if it lacks a part, else the provider's own; None if there is
    neither."""
    given = environ.get(provider.url_env, "").strip() if provider.url_env else ""
    if provider.self_hosted and given:
        given = host_address(given, urlsplit(provider.url or "").port)
        if "://" not in given:
            return given  # it cannot be read
    given = base_of(given)
    if not given:
        return provider.url
    return given if given.endswith(provider.url_end) else given + provider.url_end


def likely_base(url: str) -> str:
    """Where the interface may be if an address is that of a host alone: at the provider's own path, else at ``/v1``.
    Empty for an address with a path."""
    parts = urlsplit(url)
    if parts.path not in ("", "/"):
        return ""
    if (parts.hostname or "").endswith(".azure.com"):
        return f"{url}/openai/v1"
    known = (preset.url for preset in known_providers().values() if preset.url and not preset.self_hosted)
    return next((base for base in known if urlsplit(base).hostname == parts.hostname), f"{url}/v1")


@cache
def known_providers() -> Mapping[str, Provider]:
    """All providers: ours, and those that installed packages announce.

    Raises UsageProblem for one that is no provider, or that has the name of another.
    """
    found = dict(PRESETS)
    for plugin, provider in announced("providers"):
        if not isinstance(provider, Provider):
            raise refused(plugin, "providers", f"names {provider!r:.200}; accepted is an agentgauge.authoring.Provider")
        if provider.name in found:
            raise refused(plugin, "providers", f"names a second provider {provider.name!r}; give it another name")
        found[provider.name] = provider
    return found


_OPENAI_NAME = re.compile(r"^(gpt-(?!oss)|chatgpt-|o\d|codex)")
"""Names that mean OpenAI without a prefix. ``gpt-oss`` is a model that others serve."""

_REASONING_NAME = re.compile(r"^(o\d|gpt-5|codex)(?!.*chat)")
"""OpenAI's reasoning models refuse ``max_tokens``, ``stop`` and any temperature but the default."""


def is_openai_name(model: str) -> bool:
    return bool(_OPENAI_NAME.match(_base_name(model)))


def is_reasoning_name(model: str) -> bool:
    base = _base_name(model)
    return bool(_REASONING_NAME.match(base)) and "chat" not in base


def quirks_of(preset: Provider, model: str) -> Quirks:
    """The preset's quirks, or those of the model family where OpenAI itself or Azure serves it."""
    if preset.name in ("openai", "azure") and is_reasoning_name(model):
        return Quirks(temperature=False, stop=False, token_field="max_completion_tokens")
    return preset.quirks


def quirks_after(refusal: str, quirks: Quirks) -> Quirks:
    """The quirks that a refused request shows: parameters that the endpoint does not accept and a benchmark can do
    without. ``refusal``: the endpoint's words. A temperature is none of them, because figures depend on it."""
    if not UNSUPPORTED.search(refusal):
        return quirks
    seed, stop, max_tokens = (_refuses(refusal, word) for word in ("seed", "stop", "max_tokens"))
    return replace(
        quirks,
        seed=False if seed else quirks.seed,
        stop=quirks.stop and not stop,
        token_field="max_completion_tokens"
        if max_tokens and "max_completion_tokens" in refusal
        else quirks.token_field,
    )


def _refuses(refusal: str, parameter: str) -> bool:
    """Whether the parameter is named as such: quoted, or behind a word for it, or alone behind a colon."""
    before = r"""['"`]|\b(?:parameters?|arguments?|propert(?:y|ies)|fields?|inputs?)\b:? |: """
    return re.search(rf"(?:{before}){parameter}(?!\w)(?! *\w)", refusal) is not None


def names(text: str, word: str) -> bool:
    """Whether a text has the word, by itself."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _base_name(model: str) -> str:
    """The model that a fine-tuned one was made from: ``gpt-4o`` of ``ft:gpt-4o:my-o3-team::id``."""
    return model.split(":")[1] if model.startswith("ft:") else model

"""Environment variables of other programs that seem to name the model or its address, and that nothing here reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentgauge.model.presets import AZURE_VERSIONS
from agentgauge.model.providers import known_providers
from agentgauge.model.spec import ModelSpec

_ADDRESSES = ("BASE_URL", "API_BASE", "API_BASE_URL", "API_URL", "API_ENDPOINT", "ENDPOINT", "API_HOST", "HOST")
_MODELS = ("MODEL", "MODEL_NAME", "MODEL_ID", "API_MODEL", "DEFAULT_MODEL", "CHAT_MODEL")
_DEPLOYMENTS = ("DEPLOYMENT", "DEPLOYMENT_NAME", "DEPLOYMENT_ID", "CHAT_DEPLOYMENT", "CHAT_DEPLOYMENT_NAME")
_MORE_PREFIXES = {
    "azure": ("AZURE",),
    "gemini": ("GOOGLE", "GOOGLE_GEMINI"),
    "lmstudio": ("LM_STUDIO",),
    "together": ("TOGETHERAI", "TOGETHER_AI"),
    "vllm": ("HOSTED_VLLM",),
    "zhipu": ("ZAI", "ZHIPU"),
}
"""Under which names other programs know a provider, beside the name in the variable of its key."""


def unread_variables(spec: ModelSpec, environ: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each kind of variable that is set to something else than what is used, and is not read."""
    if spec.kind == "baseline":  # the default: no model was named
        yield from _sentence(_differing(environ, ("OPENAI",), _MODELS, ()), "--model names the model")
        return
    if spec.provider == "url":  # a bare --model-url: most programs that take one read the variables of OpenAI's package
        addresses = _differing(environ, ("OPENAI",), _ADDRESSES, (spec.url or "",))
        yield from _sentence([name for name in addresses if name != "OPENAI_BASE_URL"], "--model-url names the address")
        models = _differing(environ, ("OPENAI",), _MODELS, (spec.model, spec.name))
        yield from _sentence(models, "--model names the model")
        return
    provider = known_providers().get(spec.provider)
    if provider is None:
        return
    prefixes = (provider.key_env.removesuffix("_API_KEY"), *_MORE_PREFIXES.get(provider.name, ()))
    read = f"{provider.url_env} and --model-url name" if provider.url_env else "--model-url names"
    addresses = _differing(environ, prefixes, _ADDRESSES, (spec.url or "",))
    yield from _sentence([name for name in addresses if name != provider.url_env], f"{read} the address")
    names = (spec.model, spec.name, spec.deployment or "")
    models = _differing(environ, prefixes, (*_MODELS, *(_DEPLOYMENTS if provider.name == "azure" else ())), names)
    yield from _sentence(models, f"--model names the {'deployment' if provider.name == 'azure' else 'model'}")
    if provider.name == "azure":
        versions = _differing(environ, ("AZURE",), ("API_VERSION",), (spec.api_version or "",))
        yield from _sentence(versions, f"{AZURE_VERSIONS[0]} names the version, which is {spec.api_version}")
    if provider.name == "openai":
        used = environ.get("OPENAI_ORG_ID", "")
        yield from _sentence(
            _differing(environ, ("OPENAI",), ("ORGANIZATION",), (used,)), "OPENAI_ORG_ID names the organization"
        )


def _differing(
    environ: Mapping[str, str], prefixes: tuple[str, ...], ends: tuple[str, ...], used: tuple[str, ...]
) -> list[str]:
    """The variables that are set to something else than what is used."""
    plain = {value.rstrip("/").removesuffix("/v1") for value in used}
    names = (f"{prefix}_{end}" for prefix in prefixes for end in ends)
    return [name for name in names if environ.get(name, "").strip().rstrip("/").removesuffix("/v1") not in {"", *plain}]


def _sentence(names: list[str], instead: str) -> Iterator[str]:
    if names:
        are = "are" if names[1:] else "is"
        yield f"{' and '.join(names)} {are} set in the environment and not read: {instead}"

"""From a model's name to a ModelSpec.

Where a key may be sent: a provider's key (``OPENAI_API_KEY``, ...) is sent to that provider's own host, or to the one
in its variable where that is set (``OPENAI_BASE_URL``, ...). Any other address in ``--model-url`` or ``url`` gets the
variable that ``key_env`` names, else ``AGENTGAUGE_API_KEY`` if it is set, else no key. For servers that the user runs
(vLLM, Ollama, ...) the address is always the user's own, so their key is sent, too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import cast
from urllib.parse import urlsplit

from agentgauge.core.config import Config, ModelTable
from agentgauge.core.errors import UsageProblem, did_you_mean
from agentgauge.core.files import expanded
from agentgauge.core.redaction import looks_random, register
from agentgauge.model.base_url import azure_address, checked_url
from agentgauge.model.prices import prices_of
from agentgauge.model.providers import Provider, custom_headers, is_openai_name, known_providers, quirks_of, url_of
from agentgauge.model.spec import DEFAULT_PATIENCE, DEFAULT_RETRIES, DEFAULT_TIMEOUT, ModelKind, ModelSpec

OWN_KEY = "AGENTGAUGE_API_KEY"
"""Key for an endpoint that is no provider's own host."""

_WELL_KNOWN = ("oracle", "baseline", "gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "o3", "o4-mini")
AZURE_API_VERSION = "2024-10-21"
AZURE_VERSIONS = ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION")
"""Variables with another one. The first that is set counts."""
ACCEPTED_FORMS = (
    "oracle, baseline, scripted:FILE, an OpenAI name such as gpt-4o, provider/model, a [models.NAME] table of"
    " agentgauge.toml, or any name with --model-url"
)


def resolve(
    name: str,
    *,
    url: str | None = None,
    config: Config | None = None,
    need_key: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> ModelSpec:
    """Resolve a model name, and register the secrets that its requests will carry.

    ``need_key=False`` (replay, rescore) does not require the key. Raises UsageProblem for an unknown name, an unusable
    address, a missing or damaged script, and a missing key.
    """
    config = config or Config()
    name = name.strip()
    spec = _embedded(name) or _hosted(name, url, config, environ)
    if spec.embedded and url is not None:
        raise UsageProblem(f"--model {name} is built in and has no address; leave --model-url out")
    if need_key and spec.key_required and not environ.get(spec.key_env or "", "").strip():
        raise UsageProblem(f"--model {name} needs a key: set the environment variable {spec.key_env}")
    register(environ.get(spec.key_env or "", "").strip())
    headers = (*spec.headers.values(), *custom_headers(environ).values())
    register(*(word for value in headers for word in value.split() if looks_random(word)))
    return spec


def _embedded(name: str) -> ModelSpec | None:
    if name in ("oracle", "baseline"):
        return ModelSpec(name=name, kind=cast(ModelKind, name), model=name, provider=name, vision=True)
    if name == "scripted" or name.startswith("scripted:"):
        # imported here, because no other model has a script
        from agentgauge.model.embedded.scripted import ReplyScript

        given = name.partition(":")[2]
        if not given:
            raise UsageProblem(
                "--model scripted needs a file: scripted:FILE, with the replies as JSON (docs/models.md)"
            )
        file = expanded(given)
        ReplyScript.load(file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        model = f"scripted:{file.name}"
        return ModelSpec(name, "scripted", model, "scripted", vision=True, script=file.absolute(), script_digest=digest)
    return None


def _hosted(name: str, url: str | None, config: Config, environ: Mapping[str, str]) -> ModelSpec:
    if name in config.models:
        return _from_table(name, config.models[name], url, environ)
    prefix, slash, rest = name.partition("/")
    preset = known_providers().get(prefix) if slash and rest else None
    if url is not None:
        # Hugging Face names look like provider/model too ("openai/gpt-oss-20b"), and gateways take the whole name. So
        # with an address of one's own, only the prefixes of self-hosted servers and of Azure are read as such.
        if preset is not None and (preset.self_hosted or preset.name == "azure"):
            return _spec(name, preset, rest, ModelTable(url=url), environ)
        if not name:
            raise UsageProblem("--model-url needs --model with the name that the endpoint knows the model by")
        return _spec(name, _preset_at(url, environ), name, ModelTable(url=url), environ)
    if preset is not None:
        return _spec(name, preset, rest, ModelTable(), environ)
    if is_openai_name(name):
        return _spec(name, known_providers()["openai"], name, ModelTable(), environ)
    raise _unknown(name, config)


def _from_table(name: str, table: ModelTable, url: str | None, environ: Mapping[str, str]) -> ModelSpec:
    where = f"[models.{name}] of agentgauge.toml"
    address = url or table.url
    provider, model = table.provider, table.model or table.deployment or name
    prefix, _, rest = name.partition("/")
    if model == name and rest and prefix in known_providers() and (provider == prefix or not (provider or address)):
        provider, model = prefix, rest
    if provider is None:
        if address is None and not is_openai_name(model):
            raise UsageProblem(f"{where} names neither a provider nor a url; give one of them")
        preset = _preset_at(address, environ) if address else known_providers()["openai"]
    elif provider in known_providers():
        preset = known_providers()[provider]
    else:
        raise UsageProblem(f"{where}: {_no_provider(provider)}")
    if url is not None:
        table = replace(table, url=url, endpoint=None)
    return _spec(name, preset, model, table, environ)


def _spec(name: str, preset: Provider, model: str, table: ModelTable, environ: Mapping[str, str]) -> ModelSpec:
    azure = preset.name == "azure"
    address = (table.endpoint if azure else None) or table.url or url_of(preset, environ)
    if not address:
        advice = f"set {preset.url_env}" if preset.url_env else "give --model-url"
        raise UsageProblem(f"--model {name} needs an address: {advice}")
    version = table.api_version or ""
    if azure:
        address, named, in_address = azure_address(address)
        deployment = table.deployment or model
        if named and named != deployment:
            raise UsageProblem(
                f"--model {name}: its address is that of the deployment {named!r}, and the deployment to ask is"
                f" {deployment!r}; correct one of them"
            )
        version = version or in_address or _azure_version(environ)
    try:
        address = checked_url(address)
    except UsageProblem as problem:
        if table.endpoint or table.url:
            raise
        raise UsageProblem(f"{preset.url_env}: {problem}") from None
    key_env, required = _key(preset, table, address, environ)
    given_quirks = {key: value for key, value in asdict(table.quirks).items() if value is not None}
    return ModelSpec(
        name=name,
        kind="azure" if azure else "openai",
        model=model,
        provider=preset.name,
        url=address,
        key_env=key_env,
        key_required=required,
        temperature=table.temperature,
        max_tokens=table.max_tokens,
        timeout=DEFAULT_TIMEOUT if table.timeout is None else table.timeout,
        max_retries=DEFAULT_RETRIES if table.max_retries is None else table.max_retries,
        outage_patience=DEFAULT_PATIENCE if table.outage_patience is None else table.outage_patience,
        requests_per_minute=table.requests_per_minute,
        tokens_per_minute=table.tokens_per_minute,
        prices=table.prices or prices_of(preset.url or address, model),
        extra_body=table.extra_body,
        headers=table.headers,
        quirks=replace(quirks_of(preset, model), **given_quirks),
        api_version=version if azure else None,
        deployment=(table.deployment or model) if azure else None,
        api=table.api,
        pdf=table.pdf,
        vision=preset.vision if table.vision is None else table.vision,
        cache_control=table.cache_control,
    )


def _azure_version(environ: Mapping[str, str]) -> str:
    given = (environ.get(name, "").strip() for name in AZURE_VERSIONS)
    return next(filter(None, given), AZURE_API_VERSION)


def _key(preset: Provider, table: ModelTable, address: str, environ: Mapping[str, str]) -> tuple[str | None, bool]:
    """The variable whose value may be sent to the address, and whether it must be set."""
    if table.key_env:
        return table.key_env, True
    if preset.name == "azure" or (_is_own(preset, address, environ) and not preset.self_hosted):
        return preset.key_env, preset.key_required
    for variable in (preset.key_env if preset.self_hosted else "", OWN_KEY):
        if environ.get(variable, "").strip():
            return variable, False
    return None, False


_PORTS = {"http": 80, "https": 443}
_CUSTOM = Provider("url", "an OpenAI-compatible endpoint", None, OWN_KEY, key_required=False)


def _preset_at(url: str, environ: Mapping[str, str]) -> Provider:
    """The provider whose own host this is, for its key and quirks; else a plain endpoint."""
    address = checked_url(url)
    for preset in known_providers().values():
        if preset.url and not preset.self_hosted and _is_own(preset, address, environ):
            return preset
    return _CUSTOM


def _is_own(preset: Provider, address: str, environ: Mapping[str, str]) -> bool:
    """Whether the address is the provider's: of its own host by any path, of a variable's as a whole, since a gateway
    may have other services beside it."""
    own = url_of(preset, environ)
    try:
        mine, theirs = _parts(own or ""), _parts(address)
    except ValueError:  # a variable with no address
        return False
    return mine[:3] == theirs[:3] if own == preset.url else mine == theirs


def _parts(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and path: a key for ``https`` is not for ``http`` on the same host."""
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme, 0), parts.path


def _unknown(name: str, config: Config) -> UsageProblem:
    prefix, slash, rest = name.partition("/")
    if slash and not rest:
        return UsageProblem(f"--model {name!r} names no model after the slash; write {prefix}/MODEL")
    if slash:
        return UsageProblem(
            f"unknown model {name!r}: {_no_provider(prefix)}; for an endpoint of your own add --model-url"
        )
    close = did_you_mean(name, [*config.models, *known_providers(), *_WELL_KNOWN])
    return UsageProblem(f"unknown model {name!r}{close}; accepted are {ACCEPTED_FORMS}")


def _no_provider(name: str) -> str:
    known = known_providers()
    return f"there is no provider {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}"

"""A model's settings: address, request options, prices. Holds no secret."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from agentgauge.core.config import Prices
from agentgauge.model.base_url import is_private
from agentgauge.model.prices import PriceList
from agentgauge.model.providers import Quirks, known_providers

ModelKind = Literal["openai", "azure", "anthropic", "oracle", "baseline", "scripted"]
"""``anthropic``: Anthropic's own interface, which only batches use; its models are else asked as ``openai``."""
Api = Literal["chat", "responses"]
PdfForm = Literal["pages", "file"]
EMBEDDED_KINDS: tuple[ModelKind, ...] = ("oracle", "baseline", "scripted")

DEFAULT_TIMEOUT = 600.0  # seconds for one try, as the openai package has it: reasoning models need minutes
DEFAULT_RETRIES = 6
DEFAULT_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A resolved model name. The key itself is read from ``key_env`` when the client is made, and kept nowhere else."""

    name: str  # as the user wrote it: "vllm/Qwen/Qwen2.5-7B-Instruct"
    kind: ModelKind
    model: str  # its name in requests: "Qwen/Qwen2.5-7B-Instruct"
    provider: str  # preset, or "url" for a bare --model-url, or the kind of an embedded model
    url: str | None = None  # base URL (Azure: endpoint); None for an embedded model
    key_env: str | None = None  # environment variable of the key; None: no key is sent
    key_required: bool = False
    temperature: float | None = None  # None: the request's, or the endpoint's default
    max_tokens: int | None = None
    timeout: float = DEFAULT_TIMEOUT  # seconds for one try
    max_retries: int = DEFAULT_RETRIES  # tries after the first; rate limits get three times as many
    outage_patience: float = DEFAULT_PATIENCE  # seconds that an endpoint which has answered may be away
    requests_per_minute: float | None = None  # of all workers together; None: as fast as the endpoint allows
    tokens_per_minute: float | None = None  # of prompts and completions, of all workers together
    prices: PriceList = field(default_factory=Prices)
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold a secret under a harmless name
    quirks: Quirks = field(default_factory=Quirks)
    api_version: str | None = None  # Azure
    deployment: str | None = None  # Azure
    api: Api | None = None  # None: chat completions, but Responses for requests with files to OpenAI itself
    pdf: PdfForm | None = None  # how chat completions are shown a PDF; None: as pictures of its pages
    vision: bool | None = None  # whether it sees pictures, as its table or the provider declares it; None: not declared
    cache_control: bool = False  # chat completions get marks of Anthropic's prompt cache; answers are the same
    script: Path | None = None  # scripted:FILE
    script_digest: str = ""  # of the script's content
    reported: str | None = None  # its name as the endpoint reports it; None: it was not asked

    @property
    def embedded(self) -> bool:
        """Whether it is one of AgentGauge's embedded models, which answer in the process that asks."""
        return self.kind in EMBEDDED_KINDS

    @property
    def is_own_server(self) -> bool:
        """Whether the model is served by the user, who knows what that costs."""
        provider = known_providers().get(self.provider)
        return bool(provider and provider.self_hosted) or is_private(self.url or "")

    @property
    def fingerprint(self) -> str:
        """Short digest of everything that may change an answer.

        The address, the key, prices, marks of a cache, rates and patience are left out: a server that
        moved to another machine between a run and its ``--resume`` is still the same model. Whether it sees pictures
        changes which cases are planned, and no answer.
        """
        # A stream changes no answer, and an order of roles that the endpoint refuses gets none. A run made before seeds
        # were left out of most requests can be resumed.
        quirks = {**asdict(self.quirks), "seed": {None: True, True: "always"}.get(self.quirks.seed, False)}
        del quirks["stream"], quirks["user_after_tool"]
        content = [
            self.kind,
            self.provider,
            self.model,
            self.temperature,
            self.max_tokens,
            dict(self.extra_body),
            dict(self.headers),
            quirks,
            self.api_version,
            self.deployment,
            self.script_digest,
        ]
        if forms := {key: value for key, value in (("api", self.api), ("pdf", self.pdf)) if value is not None}:
            content.append(forms)
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def endpoint_fingerprint(self) -> str:
        """The ``fingerprint`` with the address, since two servers may have different models of one name. An embedded
        model is the same everywhere."""
        url = self.url or ""
        if self.kind == "azure":
            url += f"/openai?api-version={quote(self.api_version or '', safe='')}"
        # With what every request had when judgements were first kept, which are found by the fingerprint.
        place = (
            None if self.embedded else [url, {"Accept": "application/json", "User-Agent": "AgentGauge", **self.headers}]
        )
        return hashlib.sha256(json.dumps([self.fingerprint, place]).encode()).hexdigest()[:16]

"""Reading ``agentgauge.toml``: models of one's own, settings of tools, a folder of prompts.

Secrets do not belong in the file. A table names the environment variable that holds a key (``key_env``); a literal
key is refused before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from agentgauge.core.checking import STRICT, read
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_toml
from agentgauge.core.types import Usage

CONFIG_NAME = "agentgauge.toml"

_SECRET_KEY = re.compile(r"^(api_?key|key|token|secret|password|auth|authorization|bearer)$", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"^(sk-|gsk_|hf_|xai-|AIza|r8_|Bearer\s|Basic\s)\S{6,}")
_HEADER = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
_LARGEST = 1e12  # of the numbers of settings

Number = Annotated[int | float, Field(ge=0, le=_LARGEST)]  # an integer stays one: requests and fingerprints show it
Positive = Annotated[int | float, Field(gt=0, le=_LARGEST)]
Count = Annotated[int, Field(ge=0, le=_LARGEST)]


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
        raise ValueError("the name of an environment variable")
    return name


# The value may be a key put in the wrong place, so no message shows it: ``repr=False``.
Variable = Annotated[str, AfterValidator(_variable)]


def _some_price(prices: Any) -> Any:
    if isinstance(prices, dict) and prices and not prices.keys() & {"prompt", "completion"}:
        raise ValueError("a table with prompt and completion")
    return None if prices == {} else prices


def _plain_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if not (_HEADER.match(name) and value.isprintable() and value.isascii()):
            raise ValueError(f"headers as in HTTP, name and value of ASCII on one line; {name!r} is none")
        if _SECRET_HEADER.search(name):
            raise ValueError(
                f"without {name}, which looks like a secret; name the environment variable that holds the key in"
                " key_env instead"
            )
    return headers


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    __pydantic_config__ = STRICT
    prompt: Number = 0.0
    completion: Number = 0.0
    cached: Annotated[Number | None, Field(description="prompt tokens from the provider's cache; None: prompt")] = None
    cache_write: Annotated[Number | None, Field(description="prompt tokens put into the cache; None: prompt")] = None
    batch_discount: Annotated[
        int | float, Field(ge=0, le=1, description="share of a price that requests in batches save")
    ] = 0.5

    source = "agentgauge.toml"

    @property
    def known(self) -> bool:
        """Whether the cost of requests is known."""
        return True

    @property
    def free(self) -> bool:
        """Whether requests cost nothing."""
        return not any((self.prompt, self.completion, self.cached, self.cache_write))

    def dollars(self, usage: Usage) -> float:
        """The price of one request in US dollars."""
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.cache_write is None else self.cache_write
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
        prompt = fresh * self.prompt + usage.cached_tokens * cached + usage.cache_write_tokens * written
        return (prompt + usage.completion_tokens * self.completion) / 1e6

    def batch(self) -> Prices:
        """The prices of requests in batches."""
        share = 1 - self.batch_discount
        return Prices(
            self.prompt * share,
            self.completion * share,
            None if self.cached is None else self.cached * share,
            None if self.cache_write is None else self.cache_write * share,
            batch_discount=0.0,
        )


@dataclass(frozen=True, slots=True)
class QuirkTable:
    """The limitations of a server that differ from the provider's preset. None: as in the preset."""

    __pydantic_config__ = STRICT
    seed: Annotated[bool | None, Field(description='send "seed" always or never')] = None
    temperature: Annotated[bool | None, Field(description='does it accept "temperature"?')] = None
    stop: Annotated[bool | None, Field(description='does it accept "stop"?')] = None
    stream: Annotated[bool | None, Field(description="ask for a stream?")] = None
    token_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    later_system: Annotated[
        Literal["system", "user"] | None, Field(description="role that system messages behind the first turn get")
    ] = None
    user_after_tool: Annotated[
        bool | None, Field(description="does it accept a user message directly after a tool's result?")
    ] = None


@dataclass(frozen=True, slots=True)
class ModelTable:
    """One ``[models.NAME]`` table. None: not given, so the provider's preset decides."""

    __pydantic_config__ = STRICT
    provider: str | None = None
    model: str | None = None
    url: str | None = None
    key_env: Annotated[Variable | None, Field(repr=False, examples=["MY_API_KEY"])] = None
    temperature: Number | None = None
    max_tokens: Annotated[int, Field(ge=1, le=_LARGEST)] | None = None
    timeout: Annotated[Positive | None, Field(description="seconds, for one try")] = None
    max_retries: Count | None = None
    outage_patience: Annotated[
        Number | None, Field(description="seconds that an endpoint which has answered may be away")
    ] = None
    requests_per_minute: Annotated[Positive | None, Field(description="of all workers together")] = None
    tokens_per_minute: Positive | None = None
    prices: Annotated[
        Prices | None, BeforeValidator(_some_price), Field(description="None: those that a plugin knows")
    ] = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Annotated[Mapping[str, str], AfterValidator(_plain_headers), Field(repr=False)] = field(
        default_factory=dict
    )
    endpoint: Annotated[str | None, Field(description="Azure")] = None
    api_version: Annotated[str | None, Field(description="Azure")] = None
    deployment: Annotated[str | None, Field(description="Azure")] = None
    api: Literal["chat", "responses"] | None = None
    pdf: Annotated[Literal["pages", "file"] | None, Field(description="how chat completions are shown a PDF")] = None
    cache_control: Annotated[bool, Field(description="marks of Anthropic's prompt cache in chat completions")] = False
    vision: Annotated[bool | None, Field(description="does the model see pictures?")] = None
    quirks: QuirkTable = QuirkTable()


@dataclass(frozen=True, slots=True)
class AgentTable:
    """The ``[agent]`` table: what the program of ``--agent`` may see and use. The limits are those of one call."""

    __pydantic_config__ = STRICT
    readable: Annotated[tuple[str, ...], Field(description="files and folders, relative to the file")] = ()
    env: Annotated[tuple[Variable, ...], Field(repr=False, description="environment variables that it gets")] = ()
    seconds: Annotated[int | float, Field(ge=1, le=_LARGEST)] = 600.0
    memory_mb: Annotated[int, Field(ge=64, le=_LARGEST)] = 4096
    requests: Annotated[int, Field(ge=1, le=_LARGEST, description="to the model")] = 100
    network: bool = False


@dataclass(frozen=True, slots=True)
class PromptsTable:
    __pydantic_config__ = STRICT
    folder: Annotated[str | None, Field(description="texts that replace the built-in wording")] = None


@dataclass(frozen=True, slots=True)
class ScoringTable:
    __pydantic_config__ = STRICT
    similarity: Annotated[str | None, Field(description="backend that compares texts")] = None


@dataclass(frozen=True, slots=True)
class TestsTable:
    __pydantic_config__ = STRICT
    run_folder: Annotated[
        bool, Field(description="whether a run of a project's own tests alone leaves a run folder")
    ] = False


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The tables of the file."""

    __pydantic_config__ = STRICT
    models: dict[str, ModelTable] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    prompts: PromptsTable = PromptsTable()
    scoring: ScoringTable = ScoringTable()
    agent: AgentTable = AgentTable()
    tests: TestsTable = TestsTable()


@dataclass(frozen=True, slots=True)
class Config:
    """The whole file. Empty where there is none."""

    path: Path | None = None
    models: Mapping[str, ModelTable] = field(default_factory=dict)
    tools: Mapping[str, Any] = field(default_factory=dict)  # untouched: tool_impls reads it
    prompts: Path | None = None  # folder of texts that replace the built-in wording
    similarity: str | None = None  # backend that compares texts; None: each benchmark's own choice
    agent: AgentTable = AgentTable()
    keeps_own_tests: bool = False  # whether a run of a project's own tests alone leaves a run folder


def load_config(path: Path | None = None, *, root: Path) -> Config:
    """Read an explicit file, or ``agentgauge.toml`` in ``root``; an empty configuration where that is missing.

    Raises UsageProblem for a missing explicit file, broken TOML, unknown keys, wrong types and literal secrets.
    """
    if path is None:
        path = root / CONFIG_NAME
        if not path.is_file():
            return Config()
    try:
        data = read_toml(path)
    except OSError as error:
        raise UsageProblem(
            f"the configuration {path} cannot be read ({error.strerror}); give the path of an {CONFIG_NAME}"
        ) from None
    except ValueError as error:
        raise UsageProblem(f"{path} is not valid TOML: {error}; correct the file") from None
    for table, content in data.items():
        if table != "tools":  # whose settings have own names for keys
            _refuse_secrets(content, f"{path}: {table}")
    file = read(ConfigFile, data, str(path))
    return Config(
        path=path,
        models=file.models,
        tools=data.get("tools", {}),
        prompts=_prompts(path, file.prompts.folder),
        similarity=file.scoring.similarity,
        agent=replace(file.agent, readable=tuple(str(path.parent / place) for place in file.agent.readable)),
        keeps_own_tests=file.tests.run_folder,
    )


def _prompts(path: Path, folder: str | None) -> Path | None:
    if folder is None:
        return None
    place = path.parent / folder
    if not place.is_dir():
        raise UsageProblem(
            f"{path}: prompts.folder is {folder!r}, and there is no folder {place}; create it or correct the path"
        )
    return place


def _refuse_secrets(data: Any, where: str) -> None:
    for key, value in data.items() if isinstance(data, dict) else ():
        if isinstance(value, str) and _SECRET_KEY.match(key):
            raise _holds_secret(f"{where}.{key}")
        _refuse_secrets(value, f"{where}.{key}")
    if isinstance(data, str) and _SECRET_VALUE.match(data):
        raise _holds_secret(where)


def _holds_secret(where: str) -> UsageProblem:
    return UsageProblem(
        f'{where} holds a secret; put it in an environment variable and name that with key_env = "MY_API_KEY"'
    )

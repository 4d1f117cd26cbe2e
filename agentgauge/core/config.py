"""Reading ``agentgauge.toml``: models of one's own, settings of tools, a folder of prompts.

Secrets do not belong in the file. A table names the environment variable that holds a key (``key_env``); a literal
key is refused before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agentgauge.core.errors import UsageProblem
from agentgauge.core.parsing import read_toml
from agentgauge.core.types import Usage

CONFIG_NAME = "agentgauge.toml"

_SECRET_KEY = re.compile(r"^(api_?key|key|token|secret|password|auth|authorization|bearer)$", re.IGNORECASE)
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_SECRET_VALUE = re.compile(r"^(sk-|gsk_|hf_|xai-|AIza|r8_|Bearer\s|Basic\s)\S{6,}")
_HEADER = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
_LARGEST = 1e12  # of the numbers of settings
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    prompt: float = 0.0
    completion: float = 0.0
    cached: float | None = None  # prompt tokens from the provider's cache; None: as ``prompt``
    cache_write: float | None = None  # prompt tokens that the provider puts into its cache; None: as ``prompt``
    batch_discount: float = 0.5  # share of a price that requests in batches save

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

    seed: bool | None = None  # send "seed" always or never?
    temperature: bool | None = None  # does it accept "temperature"?
    stop: bool | None = None  # does it accept "stop"?
    stream: bool | None = None  # ask for a stream?
    token_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    later_system: Literal["system", "user"] | None = None  # role that system messages behind the first turn get
    user_after_tool: bool | None = None  # does it accept a user message directly after a tool's result?


@dataclass(frozen=True, slots=True)
class ModelTable:
    """One ``[models.NAME]`` table. None: not given, so the provider's preset decides."""

    provider: str | None = None
    model: str | None = None
    url: str | None = None
    key_env: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None  # seconds, for one try
    max_retries: int | None = None
    outage_patience: float | None = None  # seconds that an endpoint which has answered may be away
    requests_per_minute: float | None = None  # of all workers together
    tokens_per_minute: float | None = None
    prices: Prices | None = None  # None: those that genai-prices knows
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    endpoint: str | None = None  # Azure
    api_version: str | None = None  # Azure
    deployment: str | None = None  # Azure
    api: Literal["chat", "responses"] | None = None
    pdf: Literal["pages", "file"] | None = None  # how chat completions are shown a PDF
    cache_control: bool = False  # marks of Anthropic's prompt cache in chat completions
    vision: bool | None = None  # does the model see pictures?
    transport: Literal["lean", "openai"] | None = None  # how requests travel
    quirks: QuirkTable = QuirkTable()


@dataclass(frozen=True, slots=True)
class AgentTable:
    """The ``[agent]`` table: what the program of ``--agent`` may see and use. The limits are those of one call."""

    readable: tuple[str, ...] = ()  # files and folders, relative to the file
    env: tuple[str, ...] = ()  # names of environment variables that it gets
    seconds: float = 600.0
    memory_mb: int = 4096
    requests: int = 100  # to the model
    network: bool = False


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
    reader = _Reader(path)
    tables = ("models", "tools", "prompts", "scoring", "agent", "tests")
    top = reader.table(data, "the file", dict.fromkeys(tables, dict))
    models = {name: _model_table(reader, name, table) for name, table in top.get("models", {}).items()}
    scoring = reader.table(top.get("scoring", {}), "[scoring]", {"similarity": str})
    return Config(
        path=path,
        models=models,
        tools=top.get("tools", {}),
        prompts=_prompts(reader, top.get("prompts", {})),
        similarity=scoring.get("similarity"),
        agent=_agent_table(reader, top.get("agent", {})),
        keeps_own_tests=reader.table(top.get("tests", {}), "[tests]", {"run_folder": bool}).get("run_folder", False),
    )


def _agent_table(reader: _Reader, data: Mapping[str, Any]) -> AgentTable:
    known = reader.table(data, "[agent]", get_type_hints(AgentTable))
    for key, low in (("seconds", 1), ("memory_mb", 64), ("requests", 1)):
        reader.at_least(known, "[agent]", key, low)
    for key in ("readable", "env"):
        if not all(isinstance(one, str) for one in known.get(key, ())):
            raise UsageProblem(f"{reader.path}: [agent] {key} must be a list of texts")
    if not all(map(_VARIABLE.match, known.get("env", ()))):
        # A value may be a key put in the wrong place, so it is not shown.
        raise UsageProblem(f"{reader.path}: [agent] env must be a list of names of environment variables")
    known["readable"] = tuple(str(reader.path.parent / place) for place in known.get("readable", ()))
    return AgentTable(**{**known, "env": tuple(known.get("env", ()))})


def _prompts(reader: _Reader, data: Mapping[str, Any]) -> Path | None:
    folder = reader.table(data, "[prompts]", {"folder": str}).get("folder")
    if folder is None:
        return None
    place: Path = reader.path.parent / folder
    if not place.is_dir():
        raise UsageProblem(
            f"{reader.path}: [prompts] folder is {folder!r}, and there is no folder {place}; create it or correct the"
            " path"
        )
    return place


def _model_table(reader: _Reader, name: str, data: object) -> ModelTable:
    where = f"[models.{name}]"
    if not isinstance(data, dict):
        raise UsageProblem(f"{reader.path}: {where} must be a table, with keys such as provider, model and url")
    reader.refuse_secrets(data, where)
    known = reader.table(data, where, get_type_hints(ModelTable))
    prices = reader.table(known.pop("prices", {}), f"{where} prices", get_type_hints(Prices))
    if prices and not prices.keys() & {"prompt", "completion"}:
        raise UsageProblem(f"{reader.path}: {where} prices has neither prompt nor completion; give both, or no prices")
    if not prices.get("batch_discount", 0) <= 1:
        raise UsageProblem(f"{reader.path}: {where} prices batch_discount is {prices['batch_discount']}; give 0 to 1")
    quirks = reader.table(known.pop("quirks", {}), f"{where} quirks", get_type_hints(QuirkTable))
    for key, low in (("temperature", 0), ("max_tokens", 1), ("max_retries", 0), ("outage_patience", 0)):
        reader.at_least(known, where, key, low)
    for key in prices:
        reader.at_least(prices, f"{where} prices", key, 0)
    for key, unit in (("timeout", " seconds"), ("requests_per_minute", ""), ("tokens_per_minute", "")):
        if known.get(key, 1) <= 0:
            raise UsageProblem(f"{reader.path}: {where} {key} is {known[key]}; it must be more than 0{unit}")
    if (variable := known.get("key_env")) is not None and not _VARIABLE.match(variable):
        # The value may be a key put in the wrong place, so it is not shown.
        raise UsageProblem(
            f"{reader.path}: {where} key_env must be the name of an environment variable, for example MY_API_KEY"
        )
    for header, value in known.get("headers", {}).items():
        if not isinstance(value, str):
            raise UsageProblem(f"{reader.path}: {where} headers.{header} must be a text")
        if not (_HEADER.match(header) and value.isprintable()):
            raise UsageProblem(
                f"{reader.path}: {where} headers.{header} is not a header; its name and value must fit on one line,"
                " as in HTTP"
            )
        if _SECRET_HEADER.search(header):
            raise UsageProblem(
                f"{reader.path}: {where} headers.{header} looks like a secret; "
                "name the environment variable that holds the key in key_env instead"
            )
    return ModelTable(**known, prices=Prices(**prices) if prices else None, quirks=QuirkTable(**quirks))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks tables of one file; every message starts with the file's path."""

    path: Path

    def table(self, data: Mapping[str, Any], where: str, accepted: Mapping[str, Any]) -> dict[str, Any]:
        """``accepted``: key → annotation of its value."""
        for key, value in data.items():
            if key not in accepted:
                raise UsageProblem(f"{self.path}: {where} has no setting {key!r}; accepted are {', '.join(accepted)}")
            kinds, texts = _rule(accepted[key])
            # bool is an int to Python, and never a number to a reader of the file.
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise UsageProblem(f"{self.path}: {where} {key} must be {_words(kinds)}, not {_words((type(value),))}")
            if isinstance(value, int | float) and not abs(value) <= _LARGEST:  # NaN is not, either
                raise UsageProblem(f"{self.path}: {where} {key} must be a number up to {_LARGEST:g}")
            if texts and value not in texts:
                raise UsageProblem(f"{self.path}: {where} {key} is {value!r}; accepted are {', '.join(texts)}")
        return dict(data)

    def at_least(self, table: Mapping[str, Any], where: str, key: str, low: float) -> None:
        if key in table and not table[key] >= low:
            raise UsageProblem(f"{self.path}: {where} {key} is {table[key]}; it must be {low} or more")

    def refuse_secrets(self, data: Mapping[str, Any], where: str) -> None:
        for key, value in data.items():
            if isinstance(value, dict):
                self.refuse_secrets(value, f"{where} {key}")
            elif isinstance(value, str) and (_SECRET_KEY.match(key) or _SECRET_VALUE.match(value)):
                raise UsageProblem(
                    f"{self.path}: {where} {key} holds a secret; "
                    'put it in an environment variable and name that with key_env = "MY_API_KEY"'
                )


def _rule(annotation: Any) -> tuple[tuple[type, ...], tuple[str, ...]]:
    """The types that a value may have, and the texts that it is limited to, if it is."""
    if type(None) in get_args(annotation):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Literal:
        return (str,), get_args(annotation)
    if annotation is float:
        return (int, float), ()
    if get_origin(annotation) is tuple:
        return (list,), ()
    return (annotation if annotation in (str, int, bool) else dict,), ()


_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


def _words(kinds: tuple[type, ...]) -> str:
    return " or ".join(_NAMES.get(kind, kind.__name__) for kind in kinds)

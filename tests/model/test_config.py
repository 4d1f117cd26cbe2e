"""agentgauge.toml: what is read, and what is refused with a helpful sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgauge.core.config import Config, Prices, load_config
from agentgauge.core.errors import UsageProblem


def _load(folder: Path, text: str) -> Config:
    (folder / "agentgauge.toml").write_text(text, encoding="utf-8")
    return load_config(root=folder)


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    config = _load(
        tmp_path,
        """
        [models.mine]
        provider = "vllm"
        model = "org/Model-7B"
        url = "http://gpu:8000/v1"
        key_env = "GPU_KEY"
        temperature = 0
        max_tokens = 512
        timeout = 30
        max_retries = 2
        requests_per_minute = 60
        tokens_per_minute = 1e5
        prices = { prompt = 2.5, completion = 10 }
        extra_body = { top_p = 0.9 }
        headers = { X-Title = "test" }
        api = "responses"
        pdf = "file"
        quirks = { seed = false, later_system = "user" }
        [tools]
        GoogleSearch = { folder = "pages" }
        [prompts]
        folder = "texts"
        """,
    )
    table = config.models["mine"]
    assert (table.provider, table.model, table.url, table.key_env) == (
        "vllm",
        "org/Model-7B",
        "http://gpu:8000/v1",
        "GPU_KEY",
    )
    assert (table.temperature, table.max_tokens, table.timeout, table.max_retries) == (0, 512, 30, 2)
    assert (table.requests_per_minute, table.tokens_per_minute) == (60, 100_000)
    assert table.prices == Prices(2.5, 10)
    assert table.extra_body == {"top_p": 0.9} and table.headers == {"X-Title": "test"}
    assert (table.api, table.pdf) == ("responses", "file")
    assert table.quirks.seed is False and table.quirks.later_system == "user" and table.quirks.stop is None
    assert config.tools == {"GoogleSearch": {"folder": "pages"}}
    assert config.prompts == tmp_path / "texts"


def test_without_a_file_the_configuration_is_empty(tmp_path: Path) -> None:
    assert load_config(root=tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[model.a]\n", "it has no 'model'; accepted are models, tools, prompts"),
        ("[models.a]\nmodle = 'x'\n", "models.a has no 'modle'; accepted are provider, model, url"),
        ("[models]\na = 'gpt-4o'\n", 'models.a is "gpt-4o" and must be an object'),
        ("[models.a]\ntimeout = '5 s'\n", 'timeout is "5 s" and must be a number'),
        ("[models.a]\nmax_tokens = true\n", "max_tokens is true and must be an integer"),
        ("[models.a]\ntimeout = 0\n", "timeout is 0 and must be more than 0"),
        ("[models.a]\nmax_retries = -1\n", "max_retries is -1 and must be 0 or more"),
        ("[models.a]\nprices = { input = 1 }\n", "prices is an object and must be a table with prompt and completion"),
        ("[models.a]\nprices = { prompt = 1, input = 1 }\n", "prices has no 'input'; accepted are prompt, completion"),
        ("[models.a]\nprices = { prompt = -1 }\n", "prices.prompt is -1"),
        ("[models.a]\nprices = 0\n", "prices is 0 and must be an object"),
        ('[models.a]\nprices = ""\n', 'prices is "" and must be an object'),
        ('models = "sk-abcdefghij"\n', "models holds a secret"),
        (
            "[models.a]\nprices = { batch_discount = 0.3 }\n",
            "prices is an object and must be a table with prompt and completion",
        ),
        ("[models.a]\nquirks = { token_field = 'tokens' }\n", "'max_tokens' or 'max_completion_tokens'"),
        ("[models.a]\napi = 'response'\n", "api is \"response\" and must be 'chat' or 'responses'"),
        ("[models.a]\npdf = true\n", "pdf is true and must be"),
        ("[models.a]\npdf = 'text'\n", "pdf is \"text\" and must be 'pages' or 'file'"),
        ("[models.a]\nheaders = { A = 1 }\n", "headers.A must be a string"),
        ("[prompts]\nfolder = 'nowhere'\n", "there is no folder"),
        ("[models.a\n", "is not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        _load(tmp_path, text)
    assert said in str(problem.value) and "agentgauge.toml" in str(problem.value)


@pytest.mark.parametrize(
    "line",
    [
        "api_key = 'sk-very-secret-1'",
        "token = 'very-secret-1'",
        "extra_body = { api_key = 'very-secret-1' }",
        "model = 'sk-very-secret-1'",
        "key_env = 'sk-very-secret-1'",
        "headers = { Authorization = 'Bearer very-secret-1' }",
        "headers = { X-Api-Key = 'very-secret-1' }",
        "headers = { X-Other = 'Bearer very-secret-1' }",
    ],
)
def test_a_literal_secret_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        _load(tmp_path, f"[models.a]\n{line}\n")
    assert "environment variable" in str(problem.value)
    assert "very-secret" not in str(problem.value)


def test_a_missing_explicit_file_is_a_usage_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="cannot be read"):
        load_config(tmp_path / "other.toml", root=tmp_path)

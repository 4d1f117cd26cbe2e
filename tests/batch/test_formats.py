"""What lines of results mean, and what the batches of each provider are: literal tables."""

from __future__ import annotations

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.model.batch.anthropic import ANTHROPIC
from agentgauge.model.batch.files import OPENAI
from agentgauge.model.batch.formats import seconds_of
from agentgauge.model.batch.openrouter import OPENROUTER
from agentgauge.model.batch.providers import FORMATS, check_batches, with_batch_prices
from agentgauge.model.endpoint import Endpoint
from agentgauge.model.presets import resolve
from agentgauge.model.retry import Failure

SPEC = resolve("m", url="http://127.0.0.1:1/v1", environ={})
BODY = {"choices": [{"message": {"content": "x"}}]}


@pytest.mark.parametrize(
    ("form", "line", "expected"),
    [
        (OPENAI, {"response": {"status_code": 200, "body": BODY}, "error": None}, BODY),
        (OPENAI, {"response": {"body": BODY}}, BODY),
        (OPENAI, {"response": {"status_code": 429, "body": {"error": {"message": "slow"}}}}, ("http 429", "limit")),
        (OPENAI, {"response": {"status_code": 500, "body": {}}}, ("http 500", "again")),
        (OPENAI, {"response": {"status_code": 400, "body": {"error": {"message": "no"}}}}, ("http 400", "final")),
        (
            OPENAI,
            {"response": {"status_code": 400, "body": {"error": {"code": "content_filter", "message": "no"}}}},
            ("content filter", "final"),
        ),
        (OPENAI, {"response": None, "error": {"code": "batch_expired", "message": "late"}}, ("batch expired", "again")),
        (OPENAI, {"error": {"code": "batch_cancelled"}}, ("batch cancelled", "final")),
        (OPENAI, {"error": {"message": "odd"}}, ("failed in batch", "again")),
        (OPENAI, {"error": {"type": "rate_limit_exceeded"}}, ("failed in batch", "limit")),
        (OPENAI, {}, ("no result", "again")),
        (OPENROUTER, {"error": {"error_type": "rate_limit_exceeded", "message": "m"}}, ("failed in batch", "limit")),
        (ANTHROPIC, {"result": {"type": "expired"}}, ("batch expired", "again")),
        (ANTHROPIC, {"result": {"type": "canceled"}}, ("batch cancelled", "final")),
        (ANTHROPIC, {"result": {"type": "succeeded"}}, ("no result", "again")),
        (
            ANTHROPIC,
            {"result": {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error"}}}},
            ("failed: overloaded_error", "limit"),
        ),
        (
            ANTHROPIC,
            {"result": {"type": "errored", "error": {"type": "error", "error": {"type": "invalid_request_error"}}}},
            ("failed: invalid_request_error", "final"),
        ),
        (ANTHROPIC, {"result": {"type": "errored"}}, ("failed in batch", "again")),
    ],
)
def test_a_line_of_results(form, line, expected):
    outcome = form.result(Endpoint(SPEC, None, None), line)
    assert ((outcome.cause, outcome.kind) if isinstance(outcome, Failure) else outcome) == expected


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (1700000000, 1.7e9),
        ("2023-11-14T22:13:20Z", 1.7e9),
        ("2023-11-14T22:13:20+00:00", 1.7e9),
        ("soon", float("inf")),
        (None, float("inf")),
    ],
)
def test_times_of_creation(moment, seconds):
    assert seconds_of(moment) == seconds


def test_providers_without_batches_are_refused_and_keep_their_prices():
    with pytest.raises(UsageProblem, match="known for the providers openai, azure, together, anthropic, openrouter"):
        check_batches(SPEC)
    assert with_batch_prices(SPEC) is SPEC
    assert set(FORMATS) == {"openai", "azure", "together", "anthropic", "openrouter"}

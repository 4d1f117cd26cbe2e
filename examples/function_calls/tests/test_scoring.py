"""Which calls are right."""

import pytest
from function_calls.test_function_calls import FunctionCalls

from agentgauge import Conversation, Sample
from agentgauge.authoring import ConversationCall, author_of

GOLD = [{"name": "add", "arguments": {"a": [1, "one"], "b": [2], "note": [None, "x"]}}]


@pytest.mark.parametrize(
    ("gold", "made", "right"),
    [
        (GOLD, [("add", {"a": 1, "b": 2})], True),
        (GOLD, [("add", {"a": "one", "b": 2, "note": "x"})], True),
        (GOLD, [("add", {"a": 1, "b": 3})], False),
        (GOLD, [("add", {"a": 1})], False),
        (GOLD, [("add", {"a": 1, "b": 2, "c": 3})], False),
        (GOLD, [("sub", {"a": 1, "b": 2})], False),
        (GOLD, [("add", "{a: 1}")], False),
        (GOLD, [], False),
        (GOLD, [("add", {"a": 1, "b": 2})] * 2, False),
        ([*GOLD, {"name": "sub", "arguments": {}}], [("sub", {}), ("add", {"a": 1, "b": 2})], True),
        ([], [], True),
        ([], [("add", {"a": 1, "b": 2})], False),
    ],
)
def test_calls_are_compared_in_any_order(tmp_path, gold, made, right):
    sample = Sample("1", "function_calls", (), {"gold": {"calls": gold}}, tmp_path)
    answer = Conversation("", tuple(ConversationCall(name, arguments) for name, arguments in made))
    assert author_of(FunctionCalls)().score(sample, answer).passed is right

"""The bundled records of tool use: their shapes, and that targets, tools, rules and histories fit each other."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from bench_mmau import replies
from bench_mmau.oracle import tool_call
from bench_mmau.tool_use.calls import compare_calls
from bundled_data.mmau import tools
from bundled_data.mmau.tool_use.words import Call, ToolError
from tests.every import every

FILES = tools.files()
RECORDS = [record for records in FILES.values() for record in records]
EARLIER_STEPS = {"single_step": 0, "parallel": 0, "multi_step_double": 1, "multi_step_triple": 2, "self_correct": 1}
EACH = every("record", RECORDS, ids=lambda record: record["id"])


def _kind(file: str) -> str:
    return re.fullmatch(r"tool_use_(?:execution_)?(.+)_20240712\.jsonl", file)[1]


def _calls(message):
    """Names and decoded arguments."""
    found = []
    for call in message.get("tool_calls", []):
        assert call["type"] == "function" and isinstance(call["id"], str)
        arguments = call["function"]["arguments"]
        found.append((call["function"]["name"], json.loads(arguments) if isinstance(arguments, str) else arguments))
    return found


def _rules(record):
    return [rule.get("arguments", {}) for rule in record.get("target_message_match_rules", [])]


def _steps(record):
    return [message for message in record["messages"] if message.get("tool_calls")]


def _fits(record, name, arguments):
    (schema,) = (one["function"]["parameters"] for one in record["tools"] if one["function"]["name"] == name)
    jsonschema.Draft202012Validator(schema).validate(arguments)


def test_files_and_ids():
    assert {_kind(file) for file in FILES} == set(EARLIER_STEPS)
    assert all(len(records) >= 12 for records in FILES.values())
    ids = [record["id"] for record in RECORDS]
    assert len(set(ids)) == len(ids) and not any(":" in one for one in ids)


def test_the_same_bytes_every_time():
    assert json.dumps(tools.files()) == json.dumps(FILES)


@pytest.mark.parametrize("file", FILES)
def test_steps_and_numbers_of_target_calls(file):
    kind = _kind(file)
    for record in FILES[file]:
        assert len(_steps(record)) == EARLIER_STEPS[kind], record["id"]
        count = len(_calls(record["target_message"]))
        assert count in {"single_step": {0, 1}, "parallel": {2, 3, 4}, "self_correct": {1, 2}}.get(kind, range(4)), (
            record["id"]
        )


@EACH
def test_shape(record):
    assert set(record) - {"target_message_match_rules"} == {"id", "messages", "tools", "target_message"}
    assert all(
        tool["type"] == "function" and {"name", "description", "parameters"} == set(tool["function"])
        for tool in record["tools"]
    )
    for tool in record["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["function"]["parameters"])
        assert len(tool["function"]["name"]) <= 32  # what the Gemini client of the original keeps of a name [Q25]
    target = record["target_message"]
    assert target["role"] == "assistant" and ("tool_calls" in target) != bool(target["content"])
    replies.format_target(target)


@EACH
def test_history_is_in_order(record):
    open_calls: list[tuple[str, str]] = []
    seen = []
    for message in record["messages"]:
        if message["role"] == "tool":
            assert open_calls.pop(0) == (message["tool_call_id"], message["name"])
            continue
        assert not open_calls
        for call in message.get("tool_calls", []):
            assert isinstance(call["function"]["arguments"], str)
            open_calls.append((call["id"], call["function"]["name"]))
            seen.append(call["id"])
    seen += [call["id"] for call in record["target_message"].get("tool_calls", [])]
    assert not open_calls and record["messages"][-1]["role"] in ("user", "tool") and len(set(seen)) == len(seen)


@EACH
def test_target_calls_fit_their_tools_and_run(record):
    for name, arguments in _calls(record["target_message"]):
        _fits(record, name, arguments)
        Call(name, arguments).run()


@EACH
def test_results_in_the_history_are_those_of_the_tools(record):
    if record["id"].startswith("retry-"):
        return
    shown = [message["content"] for message in record["messages"] if message["role"] == "tool"]
    ran = [Call(name, arguments) for step in _steps(record) for name, arguments in _calls(step)]
    for call in ran:
        _fits(record, call.name, call.arguments)
    assert [json.loads(one) for one in shown] == [call.run() for call in ran]


@EACH
def test_rules_accept_the_target(record):
    target = replies.format_target(record["target_message"])
    rules = record.get("target_message_match_rules")
    if not target.calls:
        assert rules is None
        return
    assert compare_calls(target.calls, target.calls, rules)
    for (name, arguments), rule in zip(_calls(record["target_message"]), _rules(record), strict=False):
        for argument, wanted in rule.items():
            if "multi_choices" in wanted:
                assert arguments[argument] in wanted["multi_choices"]
                for choice in wanted["multi_choices"]:
                    _fits(record, name, {**arguments, argument: choice})
            assert "date_match" not in wanted or re.match(r"\d{4}-\d\d-\d\d", arguments[argument])


@EACH
def test_the_oracle_is_right_and_a_changed_call_is_wrong(record):
    target = replies.format_target(record["target_message"])
    said = tool_call(record, None)
    if not target.calls:
        assert said.text == target.content and not said.tool_calls
        return
    rules = record.get("target_message_match_rules")
    predicted = [replies.ReplyCall(call.name, call.arguments, "x") for call in said.tool_calls]
    assert compare_calls(predicted, target.calls, rules)
    other = replies.ReplyCall(target.calls[0].name, json.dumps({"surely_unknown": 1}), "x")
    assert not compare_calls([other, *predicted[1:]], target.calls, rules)


def test_self_correction():
    (records,) = (records for file, records in FILES.items() if "self_correct" in file)
    failures = [record for record in records if "failure" in record["id"]]
    mistakes = [record for record in records if "mistake" in record["id"]]
    assert len(failures) == len(mistakes) == len(records) / 2
    openings = {
        next(one["content"] for one in record["messages"] if one["role"] == "user").partition("\n\n")[0]
        for record in records
    }
    assert len(openings) == 1
    for record in failures:
        assert _calls(_steps(record)[0]) == _calls(record["target_message"])
        assert re.search(r"\b(429|50\d)\b|[Tt]empor|timed out|closed", record["messages"][-1]["content"])
    odd = 0
    for record in mistakes:
        ((name, arguments),) = _calls(_steps(record)[0])
        ((right_name, right),) = _calls(record["target_message"])
        assert (name, arguments) != (right_name, right)
        shown = json.loads(record["messages"][-1]["content"])
        if isinstance(shown, dict) and "error" in shown:
            with pytest.raises(ToolError, match=re.escape(shown["error"])):
                Call(name, arguments).run()
        else:
            assert Call(name, arguments).run() == shown != Call(right_name, right).run()
            odd += 1
    assert 2 <= odd < len(mistakes) / 2


def test_every_kind_of_rule_occurs():
    rules = [rule for record in RECORDS for rule in record.get("target_message_match_rules", [])]
    kinds = {
        json.dumps(wanted) if "date_match" in wanted else next(iter(wanted))
        for rule in rules
        for wanted in rule.get("arguments", {}).values()
    }
    assert kinds == {"regex_match", "multi_choices", '{"date_match": true}', '{"date_match": false}'}
    assert {} in rules and any("target_message_match_rules" not in record for record in RECORDS)


def test_every_type_of_argument_occurs():
    values = [
        value for record in RECORDS for _, arguments in _calls(record["target_message"]) for value in arguments.values()
    ]
    assert {type(value) for value in values} == {str, int, float, bool, list, dict, type(None)}
    assert any(isinstance(value, list) and isinstance(value[0], dict) for value in values)
    assert any(isinstance(value, str) and not value.isascii() for value in values)


def test_domains_and_tools():
    called = {name for record in RECORDS for name, _ in _calls(record["target_message"])}
    assert len({tools.catalogue()[name].domain for name in called}) >= 12
    used = called | {name for record in RECORDS for step in _steps(record) for name, _ in _calls(step)}
    assert len(used) > 0.9 * len(tools.catalogue())


def test_arguments_are_objects_or_text():
    kinds = {
        type(call["function"]["arguments"])
        for record in RECORDS
        for call in record["target_message"].get("tool_calls", [])
    }
    assert kinds == {dict, str}


def test_some_targets_are_texts_computed_from_the_history():
    texts = {
        record["id"]: record["target_message"]["content"]
        for record in RECORDS
        if "tool_calls" not in record["target_message"]
    }
    assert len(texts) >= 5
    results = {
        record["id"]: [json.loads(one["content"]) for one in record["messages"] if one["role"] == "tool"]
        for record in RECORDS
        if record["id"] in texts
    }
    zurich, lodz = results["double-weather"]
    assert texts["double-weather"] == min((zurich, lodz), key=lambda one: one["rain_percent"])["city"]
    assert zurich["rain_percent"] != lodz["rain_percent"]
    dearest = max(results["double-museum"][0], key=lambda one: one["adult_eur"])
    assert float(texts["double-museum"]) == 2 * dearest["adult_eur"] + dearest["child_eur"]
    assert int(texts["double-recipe"]) == results["double-recipe"][0]["flour_g"]
    first, second = results["triple-weather"]
    assert int(texts["triple-weather"]) == second["high"] - first["high"]
    assert float(texts["triple-hotel"]) == pytest.approx(results["triple-hotel"][1]["amount"] / 4, abs=0.0049)

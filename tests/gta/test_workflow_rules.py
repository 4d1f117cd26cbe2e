"""The embedded judge: what a check may say, what it finds, and what it says is missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgauge.core.errors import DataProblem
from bench_gta.workflow.facts import Facts
from bench_gta.workflow.rules import folded, holds, holds_number, judge, numbers, reads_pictures, validate

REPORT = Facts(
    "report.pdf", "PDF", 900, {"pages": 3, "words": 120, "bytes": 900}, "Busiest day:\nThursday, 1,234.5 visits"
)
SHORT = Facts("short.pdf", "PDF", 300, {"pages": 1, "words": 4, "bytes": 300}, "Nothing much in here")
TABLE = Facts(
    "Roster.csv", "CSV table", 60, {"rows": 3, "columns": 2, "words": 9}, "day | who\nMonday | Ann\nTuesday | Bo"
)
POSTER = Facts("poster.png", "picture", 60, {"width": 640, "height": 480}, shown="TEA\nWEEK")
DATA = Facts(
    "data.json", "JSON file", 60, {"lines": 1}, "{}", parsed=[{"id": 1, "tags": ["b", "a"]}, {"id": 2, "tags": []}]
)
BROKEN = Facts("broken.pdf", "PDF", 5, {"bytes": 5}, broken="it is damaged")
FILES = (SHORT, REPORT, TABLE, POSTER, DATA, BROKEN)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,234.5 and 1.234,5", [1234.5, 1234.5]),
        ("1,234 1.234 1,23", [1234, 1.234, 1.23]),
        ("1'234'567", [1234567]),
        ("12\u202f500 km", [12500]),
        ("12 500 km", [12500, 12, 500]),
        ("a, b: 96, 97.", [96, 97]),
        ("1,2,3", [1, 2, 3]),
        ("A4, x2, v1.2.3, H2O", []),
        ("on 2026-05-04 at 9:30 for 4", [4]),
        ("-5, \u22127 and 3-5", [-5, -7, 3, 5]),
        ("\u20ac1,053.00, 20% off, 12km", [1053, 20, 12]),
        ("0,250 and 0.5", [0.25, 0.5]),
        ("7.25 | 8", [7.25, 8]),
    ],
)
def test_numbers_are_read_as_a_reader_would(text: str, found: list[float]) -> None:
    assert list(numbers(text)) == found


@given(st.integers(0, 10**9), st.sampled_from(["{:,}", "{}", "{:,}.00", "EUR {:,}", "({})"]))
def test_a_number_is_found_however_it_is_written(number: int, form: str) -> None:
    assert holds_number(f"It is {form.format(number)}, we think.", number)


@pytest.mark.parametrize(
    ("text", "wanted", "there"),
    [
        ("The Busiest\n  Day", "busiest day", True),
        ("reduced", "red", False),
        ("it is red.", "red", True),
        ("a \u201cquoted\u201d word", '"quoted"', True),
        ("10\u201312", "10-12", True),
        ("C++ code", "c++", True),
        ("1234", "12", False),
        ("12.7 bars", "7", False),
        ("7.5 bars", "7", False),
        ("at 10:00", "10", False),
        ("7. That is all", "7", True),
        ("6, 7 and 8", "7", True),
    ],
)
def test_texts_are_found_as_whole_words(text: str, wanted: str, there: bool) -> None:
    assert holds(folded(text), folded(wanted)) is there


FOR_NORD = {"all": ["Nord", ["take", "order"]], "none": ["not", "Alp"]}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("We take Nord.", True),
        ("Take Nord, not Alp.", True),
        ("Alp is near, but dear; so take Nord!", True),
        ("Our order (to Nord) is written.", True),
        ("- **Order:** from Nord", True),
        ("We will take the helmets\nfrom Nord.", True),
        ("Take Alp, not Nord.", False),
        ("Do not take Nord.", False),
        ("Nord is cheaper. Take Alp.", False),
        ("Nord is cheaper\nTake Alp", False),
        ("A, b, c, d: take it, from this one, or that one, or Nord.", True),
        ("Take this one, that one, one more, a further one, or Nord.", False),
        ("", False),
    ],
)
def test_a_statement_stands_in_a_part_of_one_sentence(answer: str, said: bool) -> None:
    assert judge({"answer": {"says": [FOR_NORD]}}, answer=answer, files=())[0] == (10 if said else 0)


DARK_ABOVE = "10" * 32 + "f0" * 32


@pytest.mark.parametrize(
    ("look", "alike"),
    [
        (DARK_ABOVE, True),
        ("20" * 30 + "60" * 4 + "e0" * 30, True),
        ("f0" * 32 + "10" * 32, False),
        ("10f0" * 32, False),
        ("80" * 64, False),
        ("", False),
    ],
)
def test_a_picture_may_be_asked_to_look_like_another(look: str, alike: bool) -> None:
    files = [Facts("a.png", "picture", 9, look=look)]
    assert judge({"file": "a.png", "resembles": DARK_ABOVE}, answer="", files=files)[0] == (10 if alike else 0)


@pytest.mark.parametrize(
    ("check", "score"),
    [
        ({"answer": {}}, 10),
        ({"answer": {"contains": ["thursday"]}}, 10),
        ({"answer": {"contains": ["Thursday", "Friday"]}}, 5),
        ({"answer": {"contains": [["Friday", "Thursday"]]}}, 10),
        ({"answer": {"lacks": ["Friday"]}}, 10),
        ({"answer": {"lacks": ["Thursday"]}}, 0),
        ({"answer": {"numbers": [12]}}, 10),
        ({"answer": {"numbers": [{"value": 12.4, "tolerance": 0.5}, {"value": 12.4, "tolerance": 0.3}]}}, 5),
        ({"answer": {"words": {"max": 5}}}, 10),
        ({"answer": {"words": {"max": 3}}}, 0),
        ({"file": "*.pdf"}, 10),
        ({"file": "*.PDF", "pages": 3}, 10),
        ({"file": "*.pdf", "pages": {"max": 2}, "contains": ["Thursday"]}, 5),
        ({"file": "*.pdf", "count": 2}, 10),
        ({"file": "*.pdf", "count": {"min": 3}}, 0),
        ({"file": "*.pdf", "count": {"min": 3}, "pages": 3}, 5),
        ({"file": "roster.csv", "rows": 3, "columns": 2, "contains": ["Tuesday | Bo"]}, 10),
        ({"file": "*.docx"}, 0),
        ({"file": "*.docx", "contains": ["a", "b", "c"], "lacks": ["d"]}, 0),
        ({"file": "broken.pdf", "lacks": ["d"]}, 0),
        ({"file": "roster.csv", "pages": 1, "rows": 3}, 5),
        ({"file": "poster.png", "shows": ["tea week"], "width": {"min": 600}}, 10),
        ({"file": "poster.png", "shows": ["coffee"]}, 0),
        ({"file": "data.json", "json": {"is": "list", "keys": ["id", "tags"]}}, 10),
        ({"file": "data.json", "json": {"keys": ["id"]}}, 0),
        ({"all": [{"file": "*.pdf"}, {"answer": {"contains": ["Thursday"], "numbers": [99, 98]}}]}, 5),
        ({"any": [{"file": "*.docx"}, {"answer": {"contains": ["Thursday", "Friday"]}}]}, 5),
    ],
    ids=str,
)
def test_the_score_is_the_share_of_conditions_that_hold(check: Any, score: float) -> None:
    assert judge(check, answer="It was Thursday: 12.", files=FILES)[0] == pytest.approx(score)


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('{"keep": ["b", "a"], "n": 1}', 10),
        ('Here it is:\n```json\n{"keep": ["a", "b"], "n": 2}\n```\nBye.', 10),
        ('{"keep": ["a"]}', 20 / 3),
        ('{"n": 1}', 10 / 3),
        ("[1]", 0),
        ("keep a and b", 0),
        ("", 0),
    ],
)
def test_an_answer_may_be_asked_for_json(answer: str, score: float) -> None:
    assert judge({"answer": {"json": {"keys": ["keep"], "values": {"keep": ["a", "b"]}}}}, answer=answer, files=())[
        0
    ] == pytest.approx(score)


@pytest.mark.parametrize(
    ("check", "analysis"),
    [
        ({"file": "*.pdf"}, "1 of 1 conditions hold."),
        (
            {"file": "report.pdf", "pages": {"max": 2}},
            "0 of 1 conditions hold. Missing: report.pdf has 3 pages, at most 2 were asked for.",
        ),
        ({"file": "short.pdf", "pages": 2}, "0 of 1 conditions hold. Missing: short.pdf has 1 page, 2 were asked for."),
        (
            {"file": "roster.csv", "pages": 1},
            "0 of 1 conditions hold. Missing: Roster.csv has no pages to measure, 1 was asked for.",
        ),
        ({"file": "*.docx", "contains": ["x", "y"]}, "0 of 2 conditions hold. Missing: no file *.docx was delivered."),
        ({"file": "broken.pdf"}, "0 of 1 conditions hold. Missing: broken.pdf cannot be read: it is damaged."),
        (
            {"file": "*.csv", "count": 2},
            "0 of 1 conditions hold. Missing: of *.csv 1 file was delivered, 2 were asked for.",
        ),
        (
            {"answer": {"numbers": [{"value": 7.5, "tolerance": 0.1}, 8], "contains": [["x", "y"], "yes"]}},
            (
                "1 of 4 conditions hold. Missing: the answer does not say 'x' or 'y'; the answer lacks the number 7.5"
                " (within 0.1); the answer lacks the number 8."
            ),
        ),
        (
            {"answer": {"contains": list("abcdefgh")}},
            (
                "0 of 8 conditions hold. Missing: the answer does not say 'a'; the answer does not say 'b'; the answer"
                " does not say 'c'; the answer does not say 'd'; the answer does not say 'e'; the answer does not say"
                " 'f'; and 2 more."
            ),
        ),
    ],
    ids=str,
)
def test_the_analysis_says_what_is_missing(check: Any, analysis: str) -> None:
    assert judge(check, answer="Yes.", files=FILES)[1] == analysis


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (None, "must be an object with one of answer, file, all, any; got None"),
        ({}, "must be an object with one of answer, file, all, any; got {}"),
        ({"files": "*.pdf"}, "must be an object with one of"),
        ({"answer": {}, "file": "*"}, "must be an object with one of"),
        ({"answer": {}, "pages": 1}, "takes no other word beside it; got 'pages'"),
        (
            {"answer": {"contain": ["a"]}},
            "no condition 'contain' on an answer; accepted are contains, lacks, numbers, says, json, words",
        ),
        ({"answer": "Thursday"}, "conditions on an answer in a check must be an object"),
        ({"file": "*.pdf", "page": 1}, "no condition 'page' on a file; accepted are file, count"),
        ({"file": ""}, "must be a name or a pattern such as '*.pdf'; got ''"),
        ({"file": "*.pdf", "count": {"max": 0}}, "min above its max"),
        ({"file": "*.pdf", "count": 0}, "'count' in a check must ask for at least one file; got 0"),
        ({"file": "*.pdf", "pages": {"min": 3, "max": 2}}, "'pages' in a check has a min above its max"),
        (
            {"file": "*.pdf", "pages": {"least": 3}},
            "'pages' in a check must be a number or an object with 'min' or 'max'",
        ),
        ({"file": "*.pdf", "pages": True}, "'pages' in a check must be a number"),
        ({"file": "*.pdf", "pages": {}}, "'pages' in a check must be a number"),
        ({"answer": {"contains": "Thursday"}}, "'contains' in a check must be a list with at least one entry"),
        ({"answer": {"contains": []}}, "'contains' in a check must be a list with at least one entry"),
        ({"answer": {"contains": [3]}}, "'contains' in a check must hold strings; got 3"),
        ({"answer": {"contains": [[" "]]}}, "'contains' in a check must hold strings; got ' '"),
        ({"answer": {"lacks": [["a"]]}}, "'lacks' in a check must hold strings"),
        ({"answer": {"numbers": ["7"]}}, "'numbers' in a check must hold numbers or objects"),
        ({"answer": {"numbers": [{"value": 1, "within": 2}]}}, "'numbers' in a check must hold numbers or objects"),
        ({"answer": {"json": {"is": "text"}}}, "'is' of 'json' in a check must be 'object' or 'list'; got 'text'"),
        ({"answer": {"json": {"key": ["a"]}}}, "no condition 'key' on 'json'; accepted are is, keys, values"),
        ({"answer": {"json": {"values": []}}}, "'values' of 'json' in a check must be an object"),
        ({"answer": {"says": ["take"]}}, "conditions on 'says' in a check must be an object"),
        ({"answer": {"says": [{"none": ["a"]}]}}, "a statement of 'says' in a check must have 'all'"),
        ({"answer": {"says": [{"all": ["a"], "not": ["b"]}]}}, "no condition 'not' on 'says'; accepted are all, none"),
        ({"answer": {"resembles": DARK_ABOVE}}, "no condition 'resembles' on an answer"),
        (
            {"file": "*.png", "resembles": "files/a.png"},
            "'resembles' in a check must be 128 hexadecimal digits; got 'files/a.png'",
        ),
        ({"all": []}, "'all' in a check must be a list of at least one check"),
        ({"any": [{"answer": {}}, {"file": 3}]}, "must be a name or a pattern"),
    ],
    ids=str,
)
def test_a_check_that_breaks_the_rules_is_refused(check: Any, said: str) -> None:
    with pytest.raises(DataProblem) as refusal:
        validate(check)
    assert said in str(refusal.value)
    with pytest.raises(DataProblem):
        judge(check, answer="Thursday", files=FILES)


@pytest.mark.parametrize(
    ("check", "reads"),
    [
        ({"file": "*.png", "shows": ["a"]}, True),
        ({"all": [{"answer": {}}, {"any": [{"file": "*.mp4", "shows": ["a"]}]}]}, True),
        ({"file": "*.png", "contains": ["shows"]}, False),
    ],
)
def test_only_checks_that_ask_for_it_have_pictures_read(check: Any, reads: bool) -> None:
    assert reads_pictures(check) is reads


CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "contains": st.lists(st.sampled_from(["Thursday", "Ann", "x"]), min_size=1, max_size=3),
        "lacks": st.lists(st.sampled_from(["Thursday", "x"]), min_size=1, max_size=2),
        "numbers": st.lists(st.integers(0, 20), min_size=1, max_size=2),
        "words": st.integers(0, 9),
        "says": st.just([FOR_NORD]),
    },
)
CHECKS: Any = st.recursive(
    st.builds(lambda found: {"answer": found}, CONDITIONS)
    | st.builds(
        lambda pattern, found: {"file": pattern, **found}, st.sampled_from(["*.pdf", "*.csv", "*", "*.doc"]), CONDITIONS
    ),
    lambda inner: st.builds(
        lambda word, parts: {word: parts}, st.sampled_from(["all", "any"]), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)


@given(CHECKS)
def test_a_score_lies_between_nought_and_ten_and_nothing_earns_nothing(check: Any) -> None:
    assert 0 <= judge(check, answer="It was Thursday: 12.", files=FILES)[0] <= 10
    assert judge(check, answer="", files=())[0] < 10

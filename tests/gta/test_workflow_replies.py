"""A judge's reply: the strict reader, and several votes as one. Upstream's reader is tested by the golden cases."""

from __future__ import annotations

import pytest

from bench_gta.workflow.prompts import LeafVerdict, Unreadable, median, read_reply


@pytest.mark.parametrize(
    ("reply", "score", "analysis"),
    [
        ('{"score": 7, "analysis": "fine"}', 7.0, "fine"),
        ('```json\n{"analysis": "2 of 3 files", "score": 9}\n```', 9.0, "2 of 3 files"),
        ('My grade:\n{"score": 6.5, "analysis": "a {brace} in it"} - done.', 6.5, "a {brace} in it"),
        ('{not json} {"score": 0, "analysis": ""}', 0.0, ""),
        ('{"result": {"score": 10, "analysis": "inside"}}', 10.0, "inside"),
        ('{"score": 7, "analysis": "whole", "parts": [{"score": 2}]}', 7.0, "whole"),
        ('{"score": "8.5", "analysis": "text"}', 8.5, "text"),
        ('{"score": 4}', 4.0, ""),
        ('{"score": 5, "analysis": "two\nlines",}', 5.0, "two\nlines"),
        ("{'score': 5, 'analysis': 'single'}", 5.0, "single"),
        (
            '<think>{"score": 2}, or more?</think>{"score": 8, "analysis": "no </think> in it"}',
            8.0,
            "no </think> in it",
        ),
        ('perhaps {"score": 2}</think>{"score": 8}', 8.0, ""),
        ('{"score": 4, "analysis": "draft"} {"score": 4.0, "analysis": "last"}', 4.0, "last"),
        ('﻿{"score": 3, "analysis": "mark"}', 3.0, "mark"),
    ],
)
def test_the_strict_reader_finds_the_object(reply: str, score: float, analysis: str) -> None:
    assert read_reply(reply, strict=True) == LeafVerdict(score, analysis, "")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "no JSON object with a 'score'"),
        ("9/10", "no JSON object with a 'score'"),
        ('[{"points": 6}]', "no JSON object with a 'score'"),
        ('{"analysis": "no grade"}', "no JSON object with a 'score'"),
        ('{"score": 7, "analysis": "cut off', "no JSON object with a 'score'"),
        ('{"score": 3} {"score": 9}', "holds the scores 3.0, 9.0"),
        ('{"score": true}', "is 'True'; accepted is a number from 0 to 10"),
        ('{"score": null}', "is 'None'"),
        ('{"score": NaN}', "is 'nan'"),
        ('{"score": "nan"}', "is 'nan'"),
        ('{"score": -1}', "is '-1'"),
        ('{"score": 11}', "is '11'"),
        ('{"score": "7/10"}', "is '7/10'"),
        ('{"score": [8]}', r"is '\[8\]'"),
        ('{"score": Infinity}', "is 'inf'"),
    ],
)
def test_the_strict_reader_refuses_what_it_would_have_to_guess(reply: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_reply(reply, strict=True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[" * 100_000 + "5", LeafVerdict(5.0, "regex fallback", "regex fallback")),
        ('{"score": 1' + "0" * 5000 + "}", LeafVerdict(10.0, "regex fallback", "regex fallback")),
        ('{"score": 1' + "0" * 400 + "}", LeafVerdict(10.0, "regex fallback", "regex fallback")),
        ("nothing", LeafVerdict(0.0, "parse failed", "parse failed")),
    ],
)
def test_upstreams_rules_read_something_from_every_text(reply: str, expected: LeafVerdict) -> None:
    assert read_reply(reply) == expected


def votes(*scores: float) -> list[LeafVerdict]:
    return [LeafVerdict(score, f"because {score:g}", "") for score in scores]


@pytest.mark.parametrize(
    ("scores", "score", "analysis"),
    [
        ([4], 4, "because 4"),
        ([9, 2, 5], 5, "because 5"),
        ([8, 4], 6, "because 4"),
        ([1, 10, 7, 6], 6.5, "because 6"),
        ([0, 0, 10, 10], 5, "because 0"),
    ],
)
def test_votes_come_to_their_median(scores: list[float], score: float, analysis: str) -> None:
    assert median(votes(*scores)) == LeafVerdict(score, analysis, "")

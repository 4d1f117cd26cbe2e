"""The checker: whether a reply is right. Pure, so that stored replies can be scored again."""

from agentgauge import Score

MARK = "Answer:"


def score_reply(reply: str, expected: str) -> Score:
    """The text after the last mark must be the expected answer; case, and a full stop at the end, do not matter."""
    _, mark, rest = reply.rpartition(MARK)
    answer = rest.strip().removesuffix(".") if mark else ""
    right = answer.casefold() == expected.casefold()
    wrong, got = ("wrong_answer", repr(answer)) if answer else ("no_answer", "no answer")
    return Score(
        passed=right,
        values={"right": float(right), "all": 1.0},  # a metric is made of their sums over all samples
        labels=() if right else (wrong,),
        explanation=f"expected {expected!r}, got {got}",
    )

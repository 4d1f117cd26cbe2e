"""The records decide, and what the reader was told."""

from dataclasses import asdict

import pytest
from library_desk.desk import Desk, clear_fine, hold, renew
from library_desk.test_library_desk import LibraryDesk

from agentgauge import Conversation, Sample, ToolError
from agentgauge.authoring import author_of

PAYLOAD = {"calls": [{"name": "renew", "arguments": {"books": ["Dune"]}}], "tell": ["Dune"]}


def score(desk, text, tmp_path):
    talk = Conversation(text, messages=({"role": "assistant", "content": text},), state=asdict(desk))
    return author_of(LibraryDesk)().score(Sample("1", "library_desk", (), PAYLOAD, tmp_path), talk)


def test_right_records_and_the_right_word(tmp_path):
    desk = Desk.opened()
    renew(desk, ["Dune"])
    assert score(desk, "Dune is renewed.", tmp_path).passed
    assert score(desk, "Done.", tmp_path).labels == ("not_told",)


def test_other_records_are_wrong(tmp_path):
    desk = Desk.opened()
    renew(desk, ["Dune"], days=7)
    assert score(desk, "Dune is renewed.", tmp_path).labels == ("wrong_state",)


@pytest.mark.parametrize("call", [lambda d: renew(d, ["Faust"]), lambda d: clear_fine(d, "Ida Berg", "paid")])
def test_tools_refuse_what_is_not_there(call):
    with pytest.raises(ToolError):
        call(Desk.opened())


def test_a_hold_is_the_last_in_line():
    desk = Desk.opened()
    assert hold(desk, "Eva Roth", "Emma") == "number 2 in line"

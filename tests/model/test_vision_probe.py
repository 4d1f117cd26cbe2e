"""Whether a model sees pictures is asked of the model itself."""

from __future__ import annotations

import base64
import io
import json
import socket
import threading
from typing import Any

import pytest

from agentgauge.core.errors import ModelFault
from agentgauge.model.vision_probe import NUMBER, Sight, sees_pictures
from tests.model.fault_server import FaultServer, Seen, answer, status
from tests.model.talking import spec_at, talk_to


def probe(server: FaultServer) -> Sight:
    found = talk_to(spec_at(server.url), sees_pictures)
    assert isinstance(found, Sight)
    return found


def refuses_pictures(connection: socket.socket, seen: Seen, stopped: threading.Event) -> bool:
    shown = "image_url" in json.dumps(seen.body)
    act = status(400, "this model is not multimodal") if shown else answer("I see no picture.")
    return act(connection, seen, stopped)


@pytest.mark.parametrize("said", ["472", "The number is **472**.", "4 7 2", "4, 7, 2"])
def test_a_model_that_names_what_the_picture_shows_sees(said: str) -> None:
    with FaultServer([answer(said)]) as server:
        assert probe(server).sees is True
        assert len(server.requests) == 1


@pytest.mark.parametrize("said", ["123", "14725", "I cannot see pictures.", '{"score": 9}'])
def test_a_model_that_replies_anything_else_does_not_see(said: str) -> None:
    with FaultServer([answer(said)]) as server:
        found = probe(server)
        assert found.sees is False
        assert said in found.why
        assert found.usage.requests == 1


def test_an_endpoint_that_refuses_pictures_and_nothing_else_does_not_see() -> None:
    with FaultServer([refuses_pictures]) as server:
        found = probe(server)
        assert found.sees is False
        assert "takes no pictures" in found.why
        assert "this model is not multimodal" in found.why
        assert len(server.requests) == 2


@pytest.mark.parametrize("code", [401, 404, 500])
def test_an_endpoint_that_answers_nothing_is_not_called_blind(code: int) -> None:
    with FaultServer([status(code)]) as server, pytest.raises(ModelFault, match=f"HTTP {code}"):
        probe(server)


def test_an_endpoint_without_any_answer_is_not_called_blind() -> None:
    with FaultServer([answer("ok")]) as server:
        url = server.url
    with pytest.raises(ModelFault, match="no connection"):
        talk_to(spec_at(url), sees_pictures)


@pytest.mark.parametrize("message", [{"text": ""}, {"text": None, "refusal": "I must not."}])
def test_an_empty_reply_tells_nothing(message: dict[str, Any]) -> None:
    with FaultServer([answer(**message)]) as server:
        found = probe(server)
        assert found.sees is None
        assert found.why


def test_the_picture_is_a_picture() -> None:
    image = pytest.importorskip("PIL.Image")
    with FaultServer([answer(NUMBER)]) as server:
        probe(server)
        part = server.requests[0].body["messages"][0]["content"][1]
    shown = image.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].partition(",")[2])))
    shown.load()
    assert shown.size == (460, 180)
    assert set(shown.tobytes()) == {0, 255}

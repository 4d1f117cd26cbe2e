"""MathOCR: Mathpix against a server that answers with given bytes, and the vision model in its place."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentgauge.core.errors import ToolError, ToolFault
from tests.tools.servers import Canned, Last, canned_server, http
from tool_impls.base import READY
from tool_impls.perception import mathocr
from tool_impls.perception.mathocr import MathOCR, bare
from tool_impls.settings import ToolSettings

PICTURE = Image.new("RGBA", (8, 6), (40, 90, 210, 255))
SECRET = "very-secret-key"
READ = {"text": "\\( x^{2} \\)", "latex_styled": "x^{2}", "confidence": 0.99}
REFUSED = {"error": f"Image not supported {SECRET}", "error_info": {"id": "image_not_supported"}}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATHPIX_APP_ID", "some-app")
    monkeypatch.setenv("MATHPIX_APP_KEY", SECRET)
    monkeypatch.setattr(mathocr, "PAUSE", 0.001)


def use(server: Canned, raw: bool = False) -> str:
    tool = MathOCR(ToolSettings(tables={"MathOCR": {"url": f"{server.url}/v3/text", "raw": raw}}))
    tool.setup()
    return tool.apply(Path(), image=PICTURE)


def serve(*answers: bytes) -> Any:
    return canned_server({"/v3/text": list(answers)})


def test_formula_comes_from_the_service() -> None:
    with serve(http(200, READ)) as server:
        assert use(server) == "x^{2}"
    (request,) = server.requests
    assert (request.method, request.headers["app_id"], request.headers["app_key"]) == ("POST", "some-app", SECRET)
    order = request.json()
    picture = Image.open(io.BytesIO(base64.b64decode(order["src"].removeprefix("data:image/png;base64,"))))
    assert (picture.mode, picture.size, picture.getpixel((0, 0))) == ("RGB", (8, 6), (40, 90, 210))
    assert set(order["formats"]) == {"text", "latex_styled"}


@pytest.mark.parametrize(
    ("reply", "told"), [({"text": "Let \\( x=1 \\)"}, "Let \\( x=1 \\)"), ({"text": "a", "latex_styled": ""}, "a")]
)
def test_text_is_given_where_there_is_more_than_a_formula(reply: dict[str, str], told: str) -> None:
    with serve(http(200, reply)) as server:
        assert use(server) == told


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (http(200, REFUSED), ToolError, "Mathpix could not read the picture: Image not supported ***"),
        (http(400, REFUSED), ToolError, "Mathpix could not read the picture: Image not supported ***"),
        (http(400, {"error": 5}), ToolError, "HTTP 400"),
        (http(200, {"text": " "}), ToolError, "found no formula"),
        (
            http(401, {"error": f"bad key {SECRET}"}),
            ToolFault,
            "refused the keys in MATHPIX_APP_ID and MATHPIX_APP_KEY",
        ),
        (http(429, "slow down"), ToolFault, "takes no more requests"),
        (http(200, "<html>", kind="text/html"), ToolFault, "without a usable result"),
        (http(200, []), ToolFault, "without a usable result"),
    ],
    ids=["error", "bad request", "odd error", "nothing", "keys", "busy", "html", "list"],
)
def test_errors_of_the_service_are_failed_calls(answer: bytes, error: type[Exception], told: str) -> None:
    with serve(answer) as server, pytest.raises(error) as caught:
        use(server)
    assert told in str(caught.value) and SECRET not in str(caught.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("trouble", [http(503, "busy"), Last(), b""], ids=["5xx", "closed", "silent"])
def test_network_faults_are_tried_three_times(trouble: bytes, raw: bool) -> None:
    with serve(trouble, trouble, http(200, READ)) as server:
        assert use(server, raw) == (json.dumps(READ) if raw else "x^{2}")
    assert len(server.requests) == 3
    with serve(trouble) as server, pytest.raises(ToolFault, match="3 times"):
        use(server, raw)
    assert len(server.requests) == 3


def test_service_that_is_not_there_is_a_fault() -> None:
    with serve() as server:
        pass
    with pytest.raises(ToolFault, match="Mathpix cannot be reached"):
        use(server)


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_raw_reply_is_the_services_own_json_even_of_an_error(status: int) -> None:
    body = json.dumps({"error": "no", "request_id": "1"})
    with serve(http(status, body)) as server:
        assert use(server, raw=True) == body
    assert len(server.requests) == 1


def test_raw_reply_holds_no_key() -> None:
    with serve(http(200, REFUSED)) as server:
        assert SECRET not in use(server, raw=True)


def test_raw_is_what_the_released_tool_does() -> None:
    assert MathOCR(ToolSettings(released=True)).option("raw") is True
    assert MathOCR(ToolSettings(released=False)).option("raw") is False


VISION = {"vision": {"url": "http://127.0.0.1:1/v1", "model": "seer"}}


@pytest.mark.parametrize(
    ("names", "tables", "state", "backend"),
    [
        (("MATHPIX_APP_ID", "MATHPIX_APP_KEY"), {}, READY, "Mathpix"),
        (("MATHPIX_APP_ID", "MATHPIX_APP_KEY"), VISION, READY, "Mathpix"),
        ((), VISION, "substitute: endpoint seer in place of Mathpix", "endpoint seer"),
        (("MATHPIX_APP_ID",), VISION, "substitute: endpoint seer in place of Mathpix", "endpoint seer"),
        ((), {"vision": {"url": "http://127.0.0.1:1/v1"}}, "unavailable: [tools.vision] has a url but no model", "endpoint"),  # noqa: E501
        ((), {}, "unavailable: set the environment variables MATHPIX_APP_ID and MATHPIX_APP_KEY; or name its weights", "basic"),  # noqa: E501
        (("MATHPIX_APP_ID",), {}, "unavailable: set the environment variable MATHPIX_APP_KEY too; or name its weights", "basic"),  # noqa: E501
    ],
    ids=["keys", "both", "vision", "half", "no model", "none", "one key"],
)  # fmt: skip
def test_state_and_backend(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], tables: Any, state: str, backend: str
) -> None:
    for name in {"MATHPIX_APP_ID", "MATHPIX_APP_KEY"} - set(names):
        monkeypatch.delenv(name)
    for basic in (False, True):  # there is no basic mode
        settings = ToolSettings(basic=basic, tables=tables)
        assert MathOCR.back_end(settings).startswith(state)
        assert MathOCR.backend(settings) == backend


@pytest.mark.parametrize(
    ("answer", "latex"),
    [
        ("x^2", "x^2"),
        ("$x^2$", "x^2"),
        ("$$\nx^2\n$$", "x^2"),
        (r"\[ x^2 \]", "x^2"),
        (r"\(x^2\)", "x^2"),
        ("```latex\nx^2\n```", "x^2"),
        ("```\n$x^2$\n```", "x^2"),
        ("$x$ and $y$", "$x$ and $y$"),
        (r"\(x\) and \(y\)", r"\(x\) and \(y\)"),
        ("$", "$"),
        ("``````", ""),
    ],
)
def test_models_answer_loses_what_stands_around_the_latex(answer: str, latex: str) -> None:
    assert bare(answer) == latex

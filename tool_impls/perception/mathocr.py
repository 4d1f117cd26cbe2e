"""MathOCR: a formula in a picture becomes LaTeX, through Mathpix or the vision model
(docs/benchmarks/tools.md#pictures)."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.pictures import fitted
from agentgauge.core.text import parse_json
from tool_impls import base
from tool_impls.model_sources import png
from tool_impls.perception import vision
from tool_impls.settings import Option, ToolSettings

if TYPE_CHECKING:
    from PIL.Image import Image

ID, KEY = "MATHPIX_APP_ID", "MATHPIX_APP_KEY"
URL = Option("url", "text", "https://api.mathpix.com/v3/text", "another address that speaks Mathpix's protocol")
RAW = Option("raw", "bool", False, "answer with Mathpix's reply in JSON, as the released tool does", released=True)
SECONDS = 60.0  # for one request, as released
TRIES = 3
PAUSE = 0.5  # seconds before the second try; doubled for the third
LONGEST = 4096  # pixels of a side; larger pictures are scaled down
QUESTION = "Write the formula in this picture as LaTeX. Answer with the LaTeX alone."


class MathOCR(vision.VisionTool):
    meta = base.tool("MathOCR", "Reads a formula in a picture and writes it in LaTeX.", (base.IMAGE,), base.TEXT_OUT)
    category = "logic"
    packages = ("PIL",)
    version = 2  # pictures as viewers display them
    options = (URL, RAW)
    variables = (ID, KEY)

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        missing = [name for name in (ID, KEY) if not os.environ.get(name)]
        if not missing:
            return base.READY
        state = super().back_end(settings)
        if not vision.configured(settings):
            variables = f"variables {ID} and {KEY}" if len(missing) == 2 else f"variable {missing[0]} too"
            other = state.removeprefix(f"{base.UNAVAILABLE}: ")
            return base.unavailable(f"set the environment {variables}; or {other}")
        return base.substitute(f"{super().backend(settings)} in place of Mathpix") if state == base.READY else state

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        return "Mathpix" if has_keys() else super().backend(settings)

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return () if has_keys() else super().weights(settings)

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return not has_keys() and super().on_device(settings)

    def setup(self, device: str = "cpu") -> None:
        if not has_keys():
            super().setup(device)

    def apply(self, folder: Path, /, image: Image) -> str:
        """LaTeX without fences and dollar signs; with ``raw`` Mathpix's reply, even that of an error."""
        if not has_keys():
            return bare(self._ask(image, QUESTION))
        return asyncio.run(self._read(png(fitted(image, LONGEST))))

    async def _read(self, picture: bytes) -> str:
        """Raises ToolFault where the service fails, ToolError where it reads nothing in the picture.

        Network faults and HTTP 5xx are tried again; with ``raw`` every reply that is JSON is taken, as released.
        """
        import aiohttp

        keys = {"app_id": os.environ[ID], "app_key": os.environ[KEY]}
        address = "data:image/png;base64," + base64.b64encode(picture).decode()
        order = {"src": address, "formats": ["text", "latex_styled"]}
        problem, cause = "", ""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=SECONDS), headers=keys) as session:
            for attempt in range(TRIES):
                if attempt:
                    await asyncio.sleep(PAUSE * 2 ** (attempt - 1))
                try:
                    async with session.post(self.option("url"), json=order) as reply:
                        body, status = (await reply.read()).decode("utf-8", "replace"), reply.status
                except TimeoutError:
                    problem, cause = f"gave no answer within {SECONDS:g} s", "timeout"
                except aiohttp.ClientError as error:
                    problem, cause = f"cannot be reached ({type(error).__name__})", "connection"
                else:
                    body = _without(body, keys.values())
                    if self.option("raw") and _is_json(body):
                        return body
                    if status < 500 and not self.option("raw"):
                        return result_of(status, body)
                    problem, cause = f"answered HTTP {status}", f"http {status}"
        raise ToolFault(f"Mathpix {problem}, {TRIES} times", cause=cause)


def result_of(status: int, body: str) -> str:
    """The LaTeX of a reply, or its text where the picture holds more than one formula."""
    if status in (401, 403):
        raise ToolFault(f"Mathpix refused the keys in {ID} and {KEY} (HTTP {status})", cause=f"http {status}")
    if status == 429:
        raise ToolFault("Mathpix takes no more requests for now (HTTP 429)", cause="http 429")
    try:
        reply: Any = parse_json(body)
    except ValueError:
        reply = None
    if not isinstance(reply, dict):
        raise ToolFault(f"Mathpix answered HTTP {status} without a usable result", cause="protocol")
    if status != 200 or reply.get("error"):
        detail = error if isinstance(error := reply.get("error"), str) else f"HTTP {status}"
        raise ToolError(f"Mathpix could not read the picture: {detail}"[:300])
    for name in ("latex_styled", "text"):
        if isinstance(found := reply.get(name), str) and found.strip():
            return found.strip()
    raise ToolError("Mathpix found no formula and no text in the picture")


def has_keys() -> bool:
    return bool(os.environ.get(ID) and os.environ.get(KEY))


def bare(answer: str) -> str:
    """The LaTeX of a model's answer, without a fence and without dollar signs or brackets around all of it."""
    text = answer.strip()
    if text.startswith("```") and text.endswith("```") and len(text) >= 6:
        head, _, rest = text[3:-3].partition("\n")
        text = (rest if head.strip().lower() in ("", "latex", "tex", "math") else f"{head}\n{rest}").strip()
    for left, right in (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$")):
        inside = text[len(left) : len(text) - len(right)]
        if text.startswith(left) and text.endswith(right) and len(text) > len(left + right) and left not in inside:
            return inside.strip()
    return text


def _is_json(text: str) -> bool:
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def _without(text: str, secrets: Iterable[str]) -> str:
    """A service may quote the key in its own words."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text

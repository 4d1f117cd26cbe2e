"""Questions about pictures: the back end ``[tools.vision]`` that several tools share (GTA tools spec 6).

An OpenAI-compatible endpoint (``url``), or a model on this machine (``weights``); without both, some tools have a plain
basic mode of their own.
"""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tool_impls import devices
from tool_impls.base import READY, BenchTool, unavailable
from tool_impls.endpoints import ENDPOINT, Vision, endpoint_of, endpoint_state
from tool_impls.options import Option
from tool_impls.settings import ToolSettings
from tool_impls.weights import ALLOW_DOWNLOAD, local, name_of, resolve, weights_option, weights_state

if TYPE_CHECKING:
    from PIL.Image import Image

    from tool_impls.perception.local_vision import LocalVision

TABLE = "vision"
DEFAULT = "Qwen/Qwen3-VL-4B-Instruct"
SIZE = "about 9 GB"
WEIGHTS = weights_option(DEFAULT)
BATCH = Option("batch", "int", 8, "questions that a local model answers together, at most", least=1)
MAX_TOKENS = Option("max_tokens", "int", 512, "length of an answer in tokens, at most", least=1)
OPTIONS = (*ENDPOINT, WEIGHTS, ALLOW_DOWNLOAD, BATCH, MAX_TOKENS)


def configured(settings: ToolSettings) -> bool:
    """Whether the table names an endpoint or a model."""
    return endpoint_of(settings, TABLE) is not None or settings.value(TABLE, WEIGHTS) is not None


_loading = threading.Lock()


def vision_model(settings: ToolSettings, device: str) -> Vision | LocalVision:
    """The model that answers questions; all tools of this process share a local model. Call it only if ``state`` is
    ready.
    """
    limit = settings.value(TABLE, MAX_TOKENS)
    if endpoint := endpoint_of(settings, TABLE):
        return Vision(endpoint, limit)
    source = resolve(settings, TABLE, settings.value(TABLE, WEIGHTS))
    assert source is not None, "only where the state is ready"
    with _loading:
        return _loaded(source, devices.plain(device), settings.value(TABLE, BATCH), limit)


@cache
def _loaded(source: Path | str, device: str, batch: int, limit: int) -> LocalVision:
    from tool_impls.perception.local_vision import LocalVision

    return LocalVision(source, device, batch, limit)


class VisionTool(BenchTool):
    """A tool that asks the model of ``[tools.vision]``."""

    tables = ("vision",)
    concurrency = 8  # a local model answers them together
    seconds = 300.0
    _model: Vision | LocalVision | None = None

    @classmethod
    def back_end(cls, settings: ToolSettings) -> str:
        """READY, or ``unavailable: what to set``."""
        from tool_impls.perception.local_vision import folder_state

        endpoint, given = endpoint_of(settings, TABLE), settings.value(TABLE, WEIGHTS)
        if endpoint is not None and given is not None:
            both = "an endpoint (url) and a local model (weights)"
            return unavailable(f"[tools.{TABLE}] names {both}; take one of them out")
        if endpoint is not None:
            return endpoint_state(endpoint, TABLE)
        found = weights_state(settings, TABLE, given, DEFAULT, SIZE)
        if given is None:
            return f"{found}; or an OpenAI-compatible endpoint (url, model, key_env)"
        source = resolve(settings, TABLE, given)
        return folder_state(source, TABLE) if found == READY and source is not None else found

    @classmethod
    def backend(cls, settings: ToolSettings) -> str:
        """``endpoint NAME``, ``transformers NAME``, or ``basic`` where nothing is configured."""
        if endpoint := endpoint_of(settings, TABLE):
            return f"endpoint {endpoint.model}".rstrip()
        given = settings.value(TABLE, WEIGHTS)
        return "basic" if given is None else f"transformers {name_of(resolve(settings, TABLE, given), given)}"

    @classmethod
    def weights(cls, settings: ToolSettings) -> tuple[Path, ...]:
        return () if endpoint_of(settings, TABLE) else local(resolve(settings, TABLE, settings.value(TABLE, WEIGHTS)))

    @classmethod
    def on_device(cls, settings: ToolSettings) -> bool:
        return endpoint_of(settings, TABLE) is None and settings.value(TABLE, WEIGHTS) is not None

    def setup(self, device: str = "cpu") -> None:
        if configured(self.settings):
            self._model = vision_model(self.settings, device)

    def _ask(self, image: Image, question: str) -> str:
        """The answer, stripped. Raises ToolFault when the model cannot be reached, ToolError when it refuses."""
        assert self._model is not None, "setup comes first, and only with something to ask"
        return self._model.ask(image, question)

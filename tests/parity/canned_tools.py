"""The tools behind the recorded AgentLego traffic, with the results that they had there.

A worker process of the tool server loads them too, so this imports nothing of pytest.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.tools import Tool
from tool_impls.base import BenchTool


def _echo(image: Any, text: str, k: int, scale: float, top1: bool, note: str | None) -> str:
    return f"size={image.width}x{image.height} text={text!r} k={k} scale={scale} top1={top1} note={note!r}"


def _square(side: int, color: str) -> Any:
    from PIL import Image

    return Image.new("RGB", (side, side), color)


def _fail(text: str) -> str:
    raise ValueError(f"cannot handle {text}")


BEHAVIOUR: dict[str, Callable[..., Any]] = {
    "Calculator": lambda expression: str(eval(expression, {"__builtins__": {}})),  # literals of the golden data only
    "CountGivenObject": lambda image, text, bbox: 1 if bbox else 3,
    "TextToBbox": lambda image, text, top1: (
        "(4, 5, 60, 70), score 87" + ("" if top1 else "\n(80, 5, 99, 40), score 61")
    ),
    "EchoParams": _echo,
    "PaintSquare": _square,
    "CountPixels": lambda image: image.width * image.height,
    "IsWide": lambda image: image.width > image.height,
    "AlwaysFails": _fail,
    "Ping": lambda: "pong",
}
"""What the golden README says of the canned tools. The other tools have one fixed result, taken from their first
answer."""


def canned_tools(golden: Path, module: str = __name__) -> dict[str, type[BenchTool]]:
    """By name. ``golden``: the folder of the recorded traffic; ``module``: where the classes say that they are."""
    exchanges = _read(golden, "exchanges.json")["exchanges"]
    metas = [Tool.from_json(entry["toolmeta"]) for entry in _read(golden, "remote_tools.json")["tools"]]
    return {meta.name: _canned(meta, _fixed(meta.name, exchanges, golden), module) for meta in metas}


def body_of(message: Mapping[str, Any], golden: Path) -> bytes:
    """The body of a recorded request or answer."""
    if "body_ref" in message:
        return json.dumps(_read(golden, message["body_ref"])).encode()
    body = message["body"] or {}
    return base64.b64decode(body["base64"]) if "base64" in body else body.get("text", "").encode()


def picture(text: str) -> Any:
    """A picture from base64."""
    from PIL import Image

    return Image.open(io.BytesIO(base64.b64decode(text)))


def _read(golden: Path, name: str) -> Any:
    return json.loads((golden / name).read_text(encoding="utf-8"))


def _fixed(name: str, exchanges: list[Any], golden: Path) -> Any:
    for exchange in exchanges:
        asked = exchange.get("request", {}).get("path", "").partition("?")[0].strip("/")
        if asked == name and exchange["response"]["status"] == 200:
            results = json.loads(body_of(exchange["response"], golden))
            return tuple(results) if isinstance(results, list) else results
    return "never called"


def _canned(meta: Tool, fixed: Any, module: str) -> type[BenchTool]:
    def apply(self: BenchTool, folder: Path, /, **values: Any) -> Any:
        if meta.name in BEHAVIOUR:
            return BEHAVIOUR[meta.name](**values)
        if meta.name == "ReverseFile":
            result = folder / "reversed"
            result.write_bytes(values["file"].read_bytes()[::-1])
            return result
        if isinstance(fixed, tuple):
            return tuple(picture(r) if o.type == "image" else r for o, r in zip(meta.outputs, fixed, strict=True))
        return picture(fixed) if meta.outputs[0].type == "image" else fixed

    return type(meta.name, (BenchTool,), {"__module__": module, "meta": meta, "category": "logic", "apply": apply})

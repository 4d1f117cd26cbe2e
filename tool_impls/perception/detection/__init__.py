"""Finding and counting things in pictures and videos: the back end ``[tools.detection]`` and its three tools."""

from __future__ import annotations

from tool_impls.perception.detection.finder import OPTIONS, TABLE
from tool_impls.perception.detection.tools import CountGivenObject, TextToBbox, VideoObjectDetection

__all__ = ["OPTIONS", "TABLE", "CountGivenObject", "TextToBbox", "VideoObjectDetection"]

"""Font files for drawing text: DejaVu, which comes with matplotlib, and for signs that it lacks what the system has."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts", "/System/Library/Fonts", "C:/Windows/Fonts")
WIDE = ("notosanscjk", "notoserifcjk", "sourcehansans", "wqy", "droidsansfallback", "simsun", "simhei", "msyh", "pingfang", "unifont")
"""How files with Chinese, Japanese and Korean signs are called, the better ones first."""

"""Signs that a document takes from fonts with encodings of their own."""

from __future__ import annotations

import re

SYMBOL = dict(
    zip(
        (*range(0x21, 0x7F), *range(0xA1, 0xF0), *range(0xF1, 0xFF)),
        "!∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
        "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪"
        "〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
        strict=True,
    )
)
WINGDINGS = {
    **{0x21: "✏", 0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□"},
    **{0x71: "❑", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "◻", 0xAB: "★", 0xD8: "➢", 0xDF: "←", 0xE0: "→"},
    **{0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xEF: "⇦", 0xF0: "⇨", 0xF1: "⇧", 0xF2: "⇩", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒"},
    0xFE: "☑",
}
PRIVATE = re.compile("[\uf000-\uf0ff]")  # where Word puts the signs of such fonts
FONTS = {"symbol": SYMBOL, "wingdings": WINGDINGS}


def symbol(font: str, code: str) -> str:
    """The sign with a hexadecimal code; as the file has it where the font is not known."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    known: dict[int, str] = FONTS.get(font.lower(), {})
    sign = known.get(number - 0xF000 if 0xF000 <= number <= 0xF0FF else number)
    if sign is not None:
        return sign
    return chr(number) if 0x20 <= number < 0xD800 or 0xE000 <= number < 0xFFFE else ""


def in_font(font: str, text: str) -> str:
    """A text in a font, with the signs that are the font's own."""
    return PRIVATE.sub(lambda sign: symbol(font, f"{ord(sign[0]):x}"), text)

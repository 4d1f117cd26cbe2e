"""The text of a part of a Word document or presentation, all of it once, in the order of the file.

What stands in paragraphs and cells differs little between the two. Elements that are not named here are looked into:
content controls, smart tags, custom XML, links, simple fields, shapes, groups and whatever programs will think of.
Equations become one line of text (``(a+b)/2``, ``x^2``, ``√(b^2-4ac)``), and signs from fonts with encodings of their
own become the characters that they show.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from tool_impls.documents.charts import BETWEEN, chart, diagram
from tool_impls.documents.package import Package, below, child, local, number, relation, value

BRACKETS = (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
REMOVED = ("del", "moveFrom")


def equation(element: Element) -> str:
    """The text of an equation, or of a part of one."""
    kept = (one for one in element if local(one) not in REMOVED and not local(one).endswith("Pr"))
    parts = [(local(one), equation(one)) for one in kept]
    text = defaultdict(str, parts)

    def grouped(name: str) -> str:
        inner = text[name]
        return inner if inner.replace(".", "").isdecimal() or len(inner) < 2 else f"({inner})"

    def script(sign: str, name: str) -> str:
        return f"{sign}{grouped(name)}" if text[name] else ""

    def joined(separator: str, name: str) -> str:
        return separator.join(inner for part, inner in parts if part == name)

    match local(element):
        case "t":
            return element.text or ""
        case "f":
            bar = "¦" if value(child(element, "fPr", "type")) == "noBar" else "/"
            return f"{grouped('num')}{bar}{grouped('den')}"
        case "sSup" | "sSub" | "sSubSup":
            return grouped("e") + script("_", "sub") + script("^", "sup")
        case "sPre":
            return script("_", "sub") + script("^", "sup") + grouped("e")
        case "limLow":
            return text["e"] + script("_", "lim")
        case "limUpp":
            return text["e"] + script("^", "lim")
        case "rad":
            return f"root({text['deg']}, {text['e']})" if text["deg"] else f"√({text['e']})"
        case "nary":
            sign = value(child(element, "naryPr", "chr"), default="∫")
            return f"{sign}{script('_', 'sub')}{script('^', 'sup')} {text['e']}"
        case "d":
            signs = [value(child(element, "dPr", name), default=usual) for name, usual in BRACKETS]
            return signs[0] + joined(signs[1], "e") + signs[2]
        case "m":
            return f"[{joined('; ', 'mr')}]"
        case "mr":
            return joined(", ", "e")
        case "eqArr":
            return joined("; ", "e")
        case "func":
            return f"{text['fName']} {text['e']}"
        case "acc":
            return text["e"] + value(child(element, "accPr", "chr"), default="\u0302")
    return "".join(inner for _, inner in parts)


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


PLACED = frozenset(("p", "tbl", "chart", "relIds", "altChunk"))
"""What gives lines of its own."""

LOOSE = frozenset(("r", "oMath", "oMathPara"))
"""What stands in a paragraph, but is read without one too."""

NO_TEXT = frozenset(
    (
        *("pPr", "rPr", "tblPr", "trPr", "tcPr", "sectPr", "sdtPr", "ctrlPr", "lstStyle", "extLst"),
        *("instrText", "delText", "delInstrText", "del", "moveFrom"),
    )
)
"""Properties, instructions of fields, and what was deleted or moved away."""

SIGNS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-"}


class OfficeText:
    """Reads one part. ``notes``: what references in it stand for; each is read where it is first referred to.

    ``without``: names of further elements that are not looked into.
    """

    def __init__(
        self,
        package: Package,
        part: str,
        root: Element,
        notes: dict[tuple[str, str], Note] | None = None,
        without: Iterable[str] = (),
    ) -> None:
        self.part = part
        self._package = package
        self._notes = {} if notes is None else notes
        self._skipped = NO_TEXT.union(without)
        self._whole = _whole_fields(root)
        self._fields: list[bool] = []  # of those that are open, whether this is their instruction, which is not shown
        self._seen: set[str] = set()  # charts and diagrams

    def lines(self, element: Element) -> Iterator[str]:
        """What stands in an element: a line for each paragraph and each row of a table."""
        for block in self.blocks(element):
            yield from self.block_lines(block)

    def line(self, element: Element) -> str:
        """What stands in an element, as one line."""
        return " ".join(line.replace("\n", " ") for line in self.lines(element) if line)

    def blocks(self, element: Element) -> Iterator[Element]:
        """Paragraphs and tables, and what else gives lines, but not what these hold."""
        return self._found(element, PLACED | LOOSE)

    def rows(self, table: Element) -> Iterator[Element]:
        """Rows that were not deleted."""
        return (row for row in self._found(table, {"tr"}) if child(row, "trPr", "del") is None)

    def cells(self, row: Element) -> Iterator[Element]:
        """Elements of the file: one for each cell, however many columns it claims to span."""
        return self._found(row, {"tc"})

    def _found(self, element: Element, names: frozenset[str] | set[str]) -> Iterator[Element]:
        for one in element:
            name = local(one)
            if name in self._skipped:
                continue
            if name in names:
                yield one
            elif name == "AlternateContent":
                yield from next(filter(None, (list(self._found(branch, names)) for branch in one)), ())
            else:
                yield from self._found(one, names)

    def block_lines(self, block: Element) -> Iterator[str]:
        match local(block):
            case "tbl":
                for row in self.rows(block):
                    yield BETWEEN.join(self.line(cell) for cell in self.cells(row))
            case "chart" | "relIds":
                yield from self._drawn(block)
            case "altChunk":
                part = self._package.related(self.part, relation(block))
                yield f"[a file in another format stands here, which is not read: {part}]"
            case _:
                yield from self._paragraph(block)

    def _paragraph(self, paragraph: Element) -> Iterator[str]:
        """Its line; then those of text boxes and charts that stand in it."""
        texts: list[str] = []
        within: list[Element] = []
        self._read(paragraph if local(paragraph) == "p" else [paragraph], texts, within)
        text = "".join(texts)
        if text or not (within or _is_gone(paragraph)):
            yield text
        for block in within:
            yield from self.block_lines(block)

    def _read(self, elements: Iterable[Element], texts: list[str], within: list[Element]) -> None:
        """Adds the text of elements, and what stands in them and gives lines of its own."""
        for one in elements:
            name = local(one)
            if name in self._skipped:
                continue
            if name in PLACED:
                within.append(one)
            elif name == "AlternateContent":
                before = len(texts), len(within)
                for branch in one:
                    self._read(branch, texts, within)
                    if (len(texts), len(within)) != before:
                        break
            elif name == "fldChar":
                texts += self._field(one)
            elif name == "ruby":
                over, base = child(one, "rt"), child(one, "rubyBase")
                self._read(() if base is None else base, texts, within)
                texts.append("(")
                self._read(() if over is None else over, texts, within)
                texts.append(")")
            elif text := self._text(one, name):
                texts.append(text)
            elif name == "r":
                start = len(texts)
                self._read(one, texts, within)
                texts[start:] = (in_font(_font(one), text) for text in texts[start:])
            else:
                self._read(one, texts, within)

    def _text(self, one: Element, name: str) -> str:
        """The text of an element that is text or a sign."""
        if any(self._fields):
            return ""
        match name:
            case "t":
                return one.text or ""
            case "br":
                return "" if value(one, "type") in ("page", "column") else "\n"
            case "sym":
                return symbol(value(one, "font"), value(one, "char"))
            case "oMath":
                return equation(one)
            case "textpath":
                return value(one, "string")
            case "footnoteReference" | "endnoteReference" | "commentReference":
                note = self._notes.pop((name, value(one, "id")), None)
                return note.shown() if note is not None else ""
        return SIGNS.get(name, "")

    def _field(self, mark: Element) -> Iterator[str]:
        """The mark where a field begins, its result begins, or it ends. Of an old form field, what was chosen."""
        kind = value(mark, "fldCharType")
        if kind == "separate" and self._fields:
            self._fields[-1] = False
        elif kind == "end" and mark in self._whole and self._fields:
            self._fields.pop()
        elif kind == "begin":
            data = child(mark, "ffData")
            box, choice = child(data, "checkBox"), child(data, "ddList")
            if box is not None:
                state = child(box, "checked")
                state = child(box, "default") if state is None else state
                yield "☒" if state is not None and value(state, default="1") in ("1", "true", "on") else "☐"
            elif choice is not None:
                entries = [value(entry) for entry in choice if local(entry) == "listEntry"]
                place = value(child(choice, "result"), default=value(child(choice, "default"), default="0"))
                chosen = number(place)
                yield from entries[chosen:][:1] if chosen is not None else ()
            if mark in self._whole:
                self._fields.append(True)

    def _drawn(self, element: Element) -> Iterator[str]:
        """A chart or diagram, where it first stands."""
        is_chart = local(element) == "chart"
        part = self._package.related(self.part, relation(element, "id" if is_chart else "dm"))
        root = self._package.root(part) if part is not None and part not in self._seen else None
        if part is not None and root is not None:
            self._seen.add(part)
            yield from (chart if is_chart else diagram)(root)


class Note:
    """A footnote, an endnote or a comment."""

    def __init__(self, label: str, element: Element, text: OfficeText) -> None:
        self._label, self._element, self._reader = label, element, text

    def shown(self) -> str:
        text = self._reader.line(self._element).strip()
        return f"[{self._label}: {text}]" if text else ""


def _whole_fields(root: Element) -> set[Element]:
    """The marks of begins and ends of those fields that have both."""
    whole: set[Element] = set()
    begun: list[Element] = []
    for mark in below(root, "fldChar"):
        kind = value(mark, "fldCharType")
        if kind == "begin":
            begun.append(mark)
        elif kind == "end" and begun:
            whole |= {begun.pop(), mark}
    return whole


def _font(run: Element) -> str:
    """The font of a run's symbols, in a document or on a slide."""
    properties = child(run, "rPr")
    return value(child(properties, "rFonts"), "ascii") or value(child(properties, "sym"), "typeface")


def _is_gone(paragraph: Element) -> bool:
    """Whether a paragraph without text was deleted or moved away."""
    mark = child(paragraph, "pPr", "rPr")
    return mark is not None and any(local(one) in ("del", "moveFrom") for one in mark)

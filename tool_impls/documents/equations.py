"""Equations of Office as one line of text: ``(a+b)/2``, ``x^2``, ``√(b^2-4ac)``."""

from __future__ import annotations

from collections import defaultdict
from xml.etree.ElementTree import Element

from tool_impls.documents.package import child, local, value

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

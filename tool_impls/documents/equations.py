"""Equations of Office as one line of text: ``(a+b)/2``, ``x^2``, ``√(b^2-4ac)``."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from tool_impls.documents.package import child, children, local, value

REMOVED = ("del", "moveFrom")


def equation(element: Element | None) -> str:
    """The text of an equation, or of a part of one."""
    if element is None:
        return ""
    part = {local(one): one for one in element}

    def text(name: str) -> str:
        return equation(part.get(name))

    def grouped(name: str) -> str:
        inner = text(name)
        return inner if inner.replace(".", "").isdecimal() or len(inner) < 2 else f"({inner})"

    def script(sign: str, name: str) -> str:
        return f"{sign}{grouped(name)}" if text(name) else ""

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
            return text("e") + script("_", "lim")
        case "limUpp":
            return text("e") + script("^", "lim")
        case "rad":
            degree = text("deg")
            return (f"root({degree}, {text('e')})") if degree else f"√({text('e')})"
        case "nary":
            sign = value(child(element, "naryPr", "chr"), default="∫")
            return f"{sign}{script('_', 'sub')}{script('^', 'sup')} {text('e')}"
        case "d":
            signs = [value(child(element, "dPr", name), default=usual) for name, usual in BRACKETS]
            return signs[0] + signs[1].join(equation(one) for one in children(element, "e")) + signs[2]
        case "m":
            rows = (", ".join(equation(cell) for cell in children(row, "e")) for row in children(element, "mr"))
            return f"[{'; '.join(rows)}]"
        case "eqArr":
            return "; ".join(equation(row) for row in children(element, "e"))
        case "func":
            return f"{text('fName')} {text('e')}"
        case "acc":
            return text("e") + value(child(element, "accPr", "chr"), default="\u0302")
    kept = (one for one in element if local(one) not in REMOVED and not local(one).endswith("Pr"))
    return "".join(equation(one) for one in kept)


BRACKETS = (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))

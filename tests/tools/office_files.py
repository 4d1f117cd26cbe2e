"""Small Office files written by hand, part by part."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
OF_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
WORD = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
    "p188": "http://schemas.microsoft.com/office/powerpoint/2018/8/main",
    "r": RELATIONS,
}
TYPE = "application/vnd.openxmlformats-officedocument."
MAIN = {"wor": "wordprocessingml.document.main", "ppt": "presentationml.presentation.main"}
DEFAULTS = (
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
)
STRICT = (
    (f'="{RELATIONS}', '="http://purl.oclc.org/ooxml/officeDocument/relationships'),
    ("http://schemas.openxmlformats.org/wordprocessingml/2006/", "http://purl.oclc.org/ooxml/wordprocessingml/"),
    ("http://schemas.openxmlformats.org/presentationml/2006/", "http://purl.oclc.org/ooxml/presentationml/"),
    ("http://schemas.openxmlformats.org/drawingml/2006/", "http://purl.oclc.org/ooxml/drawingml/"),
    ("http://schemas.openxmlformats.org/officeDocument/2006/math", "http://purl.oclc.org/ooxml/officeDocument/math"),
)


FRAME = "<a:graphic><a:graphicData>{}</a:graphicData></a:graphic>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*content: str) -> str:
    return f"<w:p>{''.join(one if one.startswith('<') else run(one) for one in content)}</w:p>"


def xml(name: str, content: str) -> str:
    """A part, with every namespace declared."""
    spaces = " ".join(f'xmlns:{prefix}="{space}"' for prefix, space in WORD.items())
    return f'<?xml version="1.0" encoding="UTF-8"?><{name} {spaces}>{content}</{name}>'


def relations(*targets: tuple[str, str, str]) -> str:
    """A part of relations: id, last word of the type or the whole of it, target."""
    entries = "".join(
        f'<Relationship Id="{id_}" Type="{kind if ":" in kind else f"{RELATIONS}/{kind}"}" Target="{target}"/>'
        for id_, kind, target in targets
    )
    return f'<Relationships xmlns="{OF_PACKAGE}/relationships">{entries}</Relationships>'


def package(path: Path, parts: Mapping[str, str], main: str) -> Path:
    """The file, with its list of media types and its relation to the main part."""
    kinds = {name: "drawingml.chart" for name in parts if "/charts/" in name} | {main: MAIN[main.strip("/")[:3]]}
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPE}{kind}+xml"/>' for name, kind in kinds.items()
    )
    types = f'<Types xmlns="{OF_PACKAGE}/content-types">{DEFAULTS}{overrides}</Types>'
    first = {"[Content_Types].xml": types, "_rels/.rels": relations(("r1", "officeDocument", main))}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**first, **parts}.items():
            archive.writestr(name, content)
    return path


def word(path: Path, body: str, parts: Mapping[str, str] | None = None) -> Path:
    """A document. ``parts``: further ones, by their names below ``word``; each kind is the name's first word."""
    others = parts or {}
    related = relations(*((name.split(".")[0].replace("/", "_"), _kind(name), name) for name in others))
    made = {"word/document.xml": xml("w:document", f"<w:body>{body}</w:body>"), "word/_rels/document.xml.rels": related}
    return package(path, {**made, **{f"word/{name}": part for name, part in others.items()}}, "word/document.xml")


def _kind(name: str) -> str:
    return name.rpartition("/")[2].split(".")[0].rstrip("0123456789")


def presentation(path: Path, slides: list[str], parts: Mapping[str, str] | None = None) -> Path:
    """Slides of shapes. ``parts``: further ones, by their names below ``ppt``; all slides have relations to them."""
    others = parts or {}
    marks = "".join(f'<p:sldId id="{256 + place}" r:id="s{place}"/>' for place in range(len(slides)))
    made = {
        "ppt/presentation.xml": xml("p:presentation", f"<p:sldIdLst>{marks}</p:sldIdLst>"),
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"s{place}", "slide", f"slides/slide{place}.xml") for place in range(len(slides))),
            *((f"a{place}", _kind(name), name) for place, name in enumerate(others) if "uthors" in name),
        ),
    }
    for place, slide in enumerate(slides):
        shapes = f"<p:cSld><p:spTree>{slide}</p:spTree></p:cSld>"
        made[f"ppt/slides/slide{place}.xml"] = xml("p:sld", shapes)
        made[f"ppt/slides/_rels/slide{place}.xml.rels"] = relations(
            *((name.split(".")[0].replace("/", "_"), _kind(name), f"/ppt/{name}") for name in others)
        )
    return package(path, {**made, **{f"ppt/{name}": part for name, part in others.items()}}, "ppt/presentation.xml")


def strict(path: Path, target: Path) -> Path:
    """The file in the Strict form of the standard, which has namespaces of its own."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(target, "w") as made:
        for name in archive.namelist():
            text = archive.read(name).decode()
            for usual, other in STRICT:
                text = text.replace(usual, other)
            made.writestr(name, text)
    return target

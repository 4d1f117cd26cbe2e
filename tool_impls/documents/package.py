"""Opens Office files: their parts, and how one leads to another (ECMA-376, part 2).

Elements and attributes go by their local names, since a file in Strict form has namespaces of its own, and programs
choose prefixes as they like. Names of parts are compared as Office compares them: without case, and as addresses.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from agentgauge.core.errors import ToolError
from tool_impls.documents.guard import UNPARSED, malformed

PLAIN = ("p", "br", "t", "v")
NOT_PARSED = (ElementTree.ParseError, ValueError, LookupError)  # the last two for unknown encodings
RELATIONS = "relationships}"  # the end of both namespaces of attributes that name a relation


class Relation(NamedTuple):
    """A relation of a part to another one."""

    id: str
    kind: str  # the last word of its type: "footnotes"
    part: str


class Package:
    """An Office file that ``guard.check_office`` has let through."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")  # closed with the package, even while a part of it is being read
        try:
            self._archive = zipfile.ZipFile(self._file)
        except BaseException:
            self._file.close()
            raise
        self._names = {_key(name): name for name in self._archive.namelist()}
        self._relations: dict[str, dict[str, Relation]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()
        self._file.close()

    def main(self, name: str, what: str) -> tuple[str, Element]:
        """The main part and its root, which must have this name. Raises ToolError. ``what``: ``a DOCX document``."""
        problem = f"it names no main part; save it as {what}"
        for part in self.parts("", "officeDocument"):
            root = self.root(part)
            if root is None:
                problem = f"its main part {part!r} is missing"
            elif local(root) == name:
                return part, root
            else:
                problem = f"its main part is a {local(root)}"
        raise ToolError(f"the file is not {what} that can be read: {problem}")

    def root(self, part: str) -> Element | None:
        """The root of a part; None where the file has no such part. Raises ToolError for damaged XML."""
        name = self._names.get(_key(part))
        if name is None or name.lower().endswith(UNPARSED):
            return None
        try:
            return ElementTree.fromstring(self._archive.read(name))
        except NOT_PARSED:
            raise malformed(name) from None

    def sound_root(self, part: str) -> Element | None:
        """As ``root``, but None also for damaged XML: for parts that no text depends on."""
        with suppress(ToolError):
            return self.root(part)
        return None

    def elements(self, part: str, name: str) -> Iterator[Element]:
        """The elements of a part with this name, one after the other: only one is kept. None where there is no part.
        Raises ToolError for damaged XML.
        """
        found = self._names.get(_key(part))
        if found is None:
            return
        with self._archive.open(found) as stream:
            try:
                for _, element in ElementTree.iterparse(stream):
                    if local(element) == name:
                        yield element
                        element.clear()
            except NOT_PARSED:
                raise malformed(found) from None

    def has(self, part: str) -> bool:
        return _key(part) in self._names

    def relations(self, part: str) -> dict[str, Relation]:
        """Those of a part to others in the file, by id; of the file as a whole where ``part`` is empty."""
        if part not in self._relations:
            folder, name = posixpath.split(part)
            root = self.root(posixpath.join(folder, "_rels", f"{name}.rels"))
            found = () if root is None else _relations(root, folder)
            self._relations[part] = {relation.id: relation for relation in found}
        return self._relations[part]

    def parts(self, part: str, *kinds: str) -> list[str]:
        """The parts to which a part has relations of these kinds."""
        return [relation.part for relation in self.relations(part).values() if relation.kind in kinds]

    def related(self, part: str, id_: str) -> str | None:
        """The part to which a relation leads; None where there is none."""
        found = self.relations(part).get(id_)
        return found.part if found is not None else None

    def of_type(self, *ends: str) -> list[str]:
        """The parts whose media types end so, by name."""
        types = self.sound_root("[Content_Types].xml")
        typed = [] if types is None else [one for one in types if value(one, "ContentType").endswith(ends)]
        return sorted(name for one in typed if (name := value(one, "PartName")) and _key(name) in self._names)


def _relations(root: Element, folder: str) -> Iterator[Relation]:
    for one in root:
        if value(one, "TargetMode") != "External":
            target = value(one, "Target").replace("\\", "/")
            part = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            yield Relation(value(one, "Id"), value(one, "Type").rpartition("/")[2], part)


def _key(name: str) -> str:
    return unquote(name).replace("\\", "/").lstrip("/").lower()


def local(element: Element) -> str:
    """The name without its namespace."""
    return element.tag.rpartition("}")[2]


def child(element: Element | None, *path: str) -> Element | None:
    """The element that a path of names leads to."""
    for name in path:
        element = next((one for one in element if local(one) == name), None) if element is not None else None
    return element


def children(element: Element | None, name: str = "") -> list[Element]:
    """Those with a name, or all."""
    return [one for one in element if local(one) == name or not name] if element is not None else []


def below(root: Element, name: str) -> Iterator[Element]:
    """The elements at any depth with a name in the namespace of the root."""
    return root.iter(root.tag[: -len(local(root))] + name)


def value(element: Element | None, name: str = "val", default: str = "") -> str:
    """An attribute, in whatever namespace but that of relations."""
    given = element.attrib.items() if element is not None else ()
    return next(
        (text for key, text in given if key.rpartition("}")[2] == name and not key.endswith(RELATIONS + name)), default
    )


def number(text: str) -> int | None:
    """A whole number of reasonable size; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def relation(element: Element, name: str = "id") -> str:
    """The name of the relation in an attribute."""
    return next((text for key, text in element.attrib.items() if key.endswith(RELATIONS + name)), "")


def shown(element: Element) -> Iterator[Element]:
    """All elements below; of alternatives, which are one thing in several forms, those of the first."""
    for one in element:
        yield one
        yield from shown(one[0] if local(one) == "AlternateContent" and len(one) else one)


def plain(element: Element | None) -> str:
    """The text of an element as one line."""
    if element is None:
        return ""
    texts = (" " if local(one) in ("p", "br") else one.text for one in element.iter() if local(one) in PLAIN)
    return " ".join("".join(filter(None, texts)).split())

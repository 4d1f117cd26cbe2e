"""Office files of unknown origin: checked before a library reads them (docs/benchmarks/tools.md#reading-documents), and
opened as parts that lead to one another (ECMA-376, part 2).

Office files are zip archives of XML. Before any library sees one, its directory is measured, every part is unpacked
once in small pieces and thrown away, and its XML goes through a parser that builds nothing. So a file that would unpack
to gigabytes, that lies about its sizes or that declares entities costs little time and no memory. Checked in this
order, with the numbers below as limits; each failure is one ToolError.

Elements and attributes go by their local names, since a file in Strict form has namespaces of its own, and programs
choose prefixes as they like. Names of parts are compared as Office compares them: without case, and as addresses.
"""

from __future__ import annotations

import posixpath
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

from agentgauge.core.errors import AgentGaugeError, ToolError
from tool_impls.bounds import FILE_BYTES

MAX_DIRECTORY = 4 * 2**20  # bytes of an archive's directory; a part takes about 100
MAX_PARTS = 10_000
MAX_TOTAL = 256 * 2**20  # bytes of all parts, unpacked
MAX_RATIO = 200  # unpacked to packed, counted above FREE_OF_RATIO; honest sheets stay below 50
FREE_OF_RATIO = 8 * 2**20  # bytes
MAX_TAGS = 4_000_000  # in parts that are held as a tree, about 100 bytes each; worksheets are read row by row
CHUNK = 2**16  # bytes

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # the container of Office files before 2007 and of encrypted ones
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream there that holds a file with a password
BLANK = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"  # what may stand before the first tag: byte order marks, white space
EBCDIC = bytes.fromhex("4c6fa794")  # <?xm there; libxml2 would read it
UNPARSED = (".svg", ".htm", ".html", ".xhtml", ".mht")  # kept as they are by the libraries, and may well have a DOCTYPE


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns any error of a library on a broken file into one ToolError. ``what``: ``a PDF``, ``a DOCX file``."""
    try:
        yield
    except (AgentGaugeError, MemoryError):
        raise
    except Exception as error:  # these libraries raise nearly anything, from KeyError to struct.error
        problem = "it is damaged or of another kind; save it anew with the program that made it"
        if isinstance(error, RecursionError):
            problem = "its parts are nested too deeply or in a circle"
        raise ToolError(f"the file is not {what} that can be read: {problem}") from None


def check_size(path: Path) -> int:
    """The size in bytes. Raises ToolError for an empty or oversized file."""
    size = path.stat().st_size
    if size == 0:
        raise ToolError("the file is empty")
    if size > FILE_BYTES:
        raise ToolError(f"the file has {_mb(size)}; at most {_mb(FILE_BYTES)} are read")
    return size


def check_office(path: Path, what: str, *, well_formed: bool = True) -> None:
    """Raises ToolError unless the file is a sound archive of reasonable size whose XML declares no document type.

    ``well_formed``: nor may it have errors, because other parsers than the one in here might read on behind these.
    """
    size = check_size(path)
    with path.open("rb") as stream:
        start = stream.read(8)
        if start == OLE:
            if ENCRYPTED in path.read_bytes():
                raise ToolError(f"the file is protected by a password; save it as {what} without one")
            raise ToolError(f"the file is not {what}: it is of the Office format before 2007; save it as {what}")
        if not start.startswith(b"PK"):
            raise ToolError(f"the file is not {what}: it is no zip archive")
        _check_directory(stream, size, what)
        try:
            with zipfile.ZipFile(path) as archive:
                parts = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, UnicodeError, ValueError, struct.error):
            raise ToolError(f"the file is not {what} that can be read: its directory is damaged") from None
        _check_parts(parts, size)
        tags = 0
        for part in parts:
            tags += _check_part(stream, part, well_formed)
            if tags > MAX_TAGS:
                raise ToolError(f"the file holds more than {MAX_TAGS:,} XML tags, which is too much to read")


def _check_directory(stream: IO[bytes], size: int, what: str) -> None:
    """Refuse a directory of millions of parts before anything is built from it."""
    tail = min(size, 22 + 2**16 + 76)  # the end record, the longest comment, the 64-bit records
    stream.seek(size - tail)
    data = stream.read(tail)
    at = data.rfind(b"PK\x05\x06")
    if at < 0 or len(data) < at + 22:
        raise ToolError(f"the file is not {what} that can be read: its end is missing, so it was cut off on the way")
    parts, length = struct.unpack("<HL", data[at + 10 : at + 16])
    if data[max(at - 20, 0) : at].startswith(b"PK\x06\x07") and at >= 76:
        parts, length = struct.unpack("<QQ", data[at - 44 : at - 28])
    if parts > MAX_PARTS or length > MAX_DIRECTORY:
        claimed = f"{parts:,} parts in a directory of {_mb(length)}"
        raise ToolError(f"the file claims {claimed}; at most {MAX_PARTS:,} parts are read")


def _check_parts(parts: list[zipfile.ZipInfo], size: int) -> None:
    if len(parts) > MAX_PARTS:
        raise ToolError(f"the file holds {len(parts):,} parts; at most {MAX_PARTS:,} are read")
    total = sum(part.file_size for part in parts)
    if total > MAX_TOTAL:
        raise ToolError(f"the file would unpack to {_mb(total)}; at most {_mb(MAX_TOTAL)} are read")
    if total > FREE_OF_RATIO and total > MAX_RATIO * size:
        times = f"{total // size:,} times its size, which no honest document does"
        raise ToolError(f"the file would unpack to {times}; at most {MAX_RATIO} times is read")
    for part in parts:
        if part.flag_bits & 1:
            raise ToolError(f"the file is protected by a password (part {part.filename!r}); save it without one")
        if part.compress_type not in (STORED, DEFLATED):
            method = f"method {part.compress_type}, which Office files do not use"
            raise ToolError(f"part {part.filename!r} is packed with {method}")


def _check_part(stream: IO[bytes], part: zipfile.ZipInfo, well_formed: bool) -> int:
    """The number of a part's tags. Its size and sum must be as declared, its XML free of document types."""
    length, checksum, tags, blank, parsed = 0, 0, 0, True, True
    parser: expat.XMLParserType | None = None
    for piece in _unpacked(stream, part):
        if blank and parser is None and _is_xml(part.filename, piece):
            parser = _parser(part.filename)
        blank = blank and not piece.strip(BLANK)
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
        if length > part.file_size:
            declared = f"the {part.file_size:,} bytes that the file declares for it"
            raise ToolError(f"part {part.filename!r} unpacks to more than {declared}")
        if parser is not None:
            tags += piece.count(b"<")
            parsed = parsed and _fed(parser, piece)
    if length != part.file_size or checksum != part.CRC:
        raise ToolError(f"part {part.filename!r} is damaged or cut off")
    if parser is not None and not (parsed and _fed(parser, b"", last=True)) and well_formed:
        raise malformed(part.filename)
    return 0 if "/worksheets/" in part.filename else tags


def _unpacked(stream: IO[bytes], part: zipfile.ZipInfo) -> Iterator[bytes]:
    """The part's content. ``ZipFile.read`` unpacks all of a part before it looks at the declared size."""
    stream.seek(part.header_offset)
    header = stream.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise ToolError(f"part {part.filename!r} is damaged or cut off")
    stream.seek(sum(struct.unpack("<HH", header[26:30])), 1)
    left = part.compress_size
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS) if part.compress_type == DEFLATED else None
    while left > 0 and (packed := stream.read(min(CHUNK, left))):
        left -= len(packed)
        if unpacker is None:
            yield packed
            continue
        while packed:
            try:
                piece = unpacker.decompress(packed, CHUNK)
            except zlib.error:
                raise ToolError(f"part {part.filename!r} is damaged or cut off") from None
            if piece:
                yield piece
            packed = unpacker.unconsumed_tail
    if unpacker is not None and (rest := unpacker.flush()):
        yield rest


def _is_xml(name: str, start: bytes) -> bool:
    """By name, or by how it begins whatever its name is: a library may take it by its content."""
    lower = name.lower()
    if lower.endswith(UNPARSED):
        return False
    return lower.endswith((".xml", ".rels", ".vml")) or start.lstrip(BLANK).startswith(b"<") or start.startswith(EBCDIC)


def _parser(name: str) -> expat.XMLParserType:
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        reason = "which Office files do not need and which is not read"
        raise ToolError(f"part {name!r} declares a document type or entities, {reason}")

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    return parser


def _fed(parser: expat.XMLParserType, piece: bytes, last: bool = False) -> bool:
    """Whether the parser found no error."""
    try:
        parser.Parse(piece, last)
    except (expat.ExpatError, ValueError, LookupError):  # the last two for encodings that it does not know
        return False
    return True


def malformed(name: str) -> ToolError:
    return ToolError(f"part {name!r} is not well-formed XML in UTF-8 or UTF-16")


def _mb(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


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

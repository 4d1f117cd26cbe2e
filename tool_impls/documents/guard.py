"""Checks files of unknown origin before a library reads them (GTA tools spec 5.2).

Office files are zip archives of XML. Before any library sees one, its directory is measured, every part is unpacked
once in small pieces and thrown away, and its XML goes through a parser that builds nothing. So a file that would unpack
to gigabytes, that lies about its sizes or that declares entities costs little time and no memory. Checked in this
order, with the numbers below as limits; each failure is one ToolError.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
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

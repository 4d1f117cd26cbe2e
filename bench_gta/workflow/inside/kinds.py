"""The kind of a delivered file, by its name (docs/benchmarks/gta_workflow.md#judges)."""

from __future__ import annotations

from pathlib import PurePath

Kind = str
"""A key of SUFFIXES: ``page`` is HTML, ``plain`` becomes a PDF, ``text`` is shown as text; empty: not known."""

DOCUMENTS = (".docx", ".docm", ".dotx", ".dotm")
SLIDES = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm")
SHEETS = (".xlsx", ".xlsm", ".xltx", ".xltm")
"""What Office writes since 2007: without and with macros, as it is opened, and as a template."""

SUFFIXES: dict[Kind, str] = {
    "pdf": ".pdf",
    "picture": (
        ".png .apng .jpg .jpeg .jpe .jfif .webp .gif .bmp .tif .tiff .avif .jp2 .ico .tga .ppm .pgm .pbm .heic .heif"
    ),
    "drawing": ".svg",
    "audio": ".mp3 .wav .m4a .flac .ogg .aac .opus .aiff",
    "video": ".mp4 .mov .webm .avi .mkv .m4v .mpg .mpeg",
    "page": ".html .htm",
    "markdown": ".md .markdown",
    "plain": ".txt .json",
    "office": " ".join((*DOCUMENTS, *SLIDES, *SHEETS, ".xlsb .doc .ppt .xls .odt .odp .ods .rtf")),
    "notebook": ".ipynb",
    "text": (
        ".csv .tsv .py .js .mjs .ts .tsx .jsx .css .scss .xml .yaml .yml .toml .ini .cfg .sql .tex .bib .sh .bat .ps1"
        " .java .kt .c .h .cc .cpp .hpp .cs .go .rs .rb .php .pl .lua .r .m .jl .swift .scala .vue .log .srt .vtt .ics"
        " .jsonl .rst .dot .env"
    ),
    "archive": ".zip .tar .gz .tgz .bz2 .xz .tbz2 .txz .jar .whl",
}

_KINDS: dict[str, Kind] = {suffix: kind for kind, suffixes in SUFFIXES.items() for suffix in suffixes.split()}

# QUIRK (docs/benchmarks/gta_workflow.md#produced-files): the released tool server names these files after their media
# type.
_MEDIA_TYPES = {
    ".wordprocessingml.document": ".docx",
    ".presentationml.presentation": ".pptx",
    ".spreadsheetml.sheet": ".xlsx",
}


def suffix_of(name: str) -> str:
    """The suffix in lower case, with its dot; that of the usual name where the file is named after its media type."""
    name = name.lower()
    return next((suffix for end, suffix in _MEDIA_TYPES.items() if name.endswith(end)), PurePath(name).suffix)


def usual_name(name: str) -> str:
    """The name, with the usual suffix where it ends with a media type."""
    end = next((end for end in _MEDIA_TYPES if name.lower().endswith(end)), "")
    return name[: len(name) - len(end)] + _MEDIA_TYPES[end] if end else name


def kind_of(name: str) -> Kind:
    """The kind of a file by its name."""
    return _KINDS.get(suffix_of(name), "")

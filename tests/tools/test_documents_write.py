"""Documents that tools write: what is in them, that readers and other programs read them, and how they look."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageDraw

from agentgauge.core.errors import ToolError
from agentgauge.core.tools import PICTURE
from tool_impls.documents import (
    TOOLS,
    CsvFileGenerator,
    DocxFileGenerator,
    HtmlFileGenerator,
    PdfFileGenerator,
    PptxFileGenerator,
    ReadCSV,
    ReadDOCX,
    ReadPDF,
    ReadPPTX,
    ReadXLSX,
    XlsxFileGenerator,
    writing,
)
from tool_impls.documents.markdown import Code, Heading, Item, Paragraph, Picture, Span, Table, blocks, spans
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")
pytest.importorskip("openpyxl")
pytest.importorskip("reportlab")

PICTURES = Path(__file__).parent / "pictures"


def make(kind: type[Any], folder: Path, released: bool = False, **values: Any) -> Path:
    tables = {kind.meta.name: values.pop("options", {})}
    path = kind(ToolSettings(released=released, tables=tables)).apply(folder, **values)
    assert path.parent == folder
    return Path(path)


def shown(kind: type[Any], path: Path) -> str:
    return str(kind(ToolSettings(released=False)).apply(Path(), **{kind.meta.inputs[0].name: path}))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Pictures of a task, by the paths that a model would write."""
    sun = Image.new("RGB", (640, 360), "steelblue")
    ImageDraw.Draw(sun).ellipse((200, 60, 440, 300), fill="gold")
    sun.save(tmp_path / "sun.png")
    Image.new("RGB", (300, 900), "seagreen").save(tmp_path / "tall.jpg")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    return {f"image/{name}": tmp_path / name for name in ("sun.png", "tall.jpg", "broken.png")}


# --- all of them -----------------------------------------------------------------------------------------------------

TABLE = '[["Name 名称", "Sum"], ["Li, \\"王\\"", 1.50], ["", null]]'
CALLS: dict[type[Any], dict[str, str]] = {
    CsvFileGenerator: {"data_str": TABLE},
    XlsxFileGenerator: {"data_str": TABLE},
    DocxFileGenerator: {"content": "Name 名称\n\nLi, 王"},
    PdfFileGenerator: {"content": "Name 名称\n\nLi, 王"},
    PptxFileGenerator: {"slides_content_str": '[{"title": "Name 名称", "content": "Li, 王"}]'},
    HtmlFileGenerator: {"html_code": "<p>Name 名称</p>"},
}
READERS = {".csv": ReadCSV, ".xlsx": ReadXLSX, ".docx": ReadDOCX, ".pdf": ReadPDF, ".pptx": ReadPPTX}
each_writer = pytest.mark.parametrize("kind", CALLS, ids=[kind.meta.name for kind in CALLS])


def test_the_tools_are_those_of_the_specification() -> None:
    writers = ["Csv", "Xlsx", "Docx", "Pdf", "Pptx", "Html"]
    readers = ["CSV", "XLSX", "DOCX", "PDF", "PPTX"]
    assert [tool.meta.name for tool in TOOLS] == [f"{name}FileGenerator" for name in writers] + [
        f"Read{name}" for name in readers
    ]
    assert {tool.category for tool in TOOLS} == {"operation"}
    for tool in TOOLS:
        assert tool.state(ToolSettings()) == "ready"
        assert all(parameter.description for parameter in tool.meta.inputs)


@each_writer
def test_a_reader_reads_what_the_writer_wrote(kind: type[Any], tmp_path: Path) -> None:
    path = make(kind, tmp_path, filename="a", **CALLS[kind])
    text = shown(READERS[path.suffix], path) if path.suffix in READERS else path.read_text(encoding="utf-8")
    assert "Name 名称" in text
    assert path.suffix == ".html" or ("Li, " in text and "王" in text)


@each_writer
def test_equal_calls_make_equal_files(kind: type[Any], tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("first", "second"))
    for folder in (first, second):
        folder.mkdir()
        make(kind, folder, filename="a", **CALLS[kind])
    (one,), (other,) = first.iterdir(), second.iterdir()
    assert one.read_bytes() == other.read_bytes()


@each_writer
@pytest.mark.parametrize(("filename", "stem"), [("报告 1", "报告 1"), ("a.b", "a.b"), ("x?y", "x_y")])
def test_the_name_is_kept_and_gets_its_suffix_once(kind: type[Any], filename: str, stem: str, tmp_path: Path) -> None:
    path = make(kind, tmp_path, filename=filename, output_dir="/somewhere/else", **CALLS[kind])
    assert path.stem == stem
    assert make(kind, tmp_path, filename=path.name.upper(), **CALLS[kind]).suffix == path.suffix


@each_writer
@pytest.mark.parametrize("filename", ["../a", "a/b", "c:\\a", ".."])
def test_folders_in_a_name_are_refused(kind: type[Any], filename: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="plain name without folders"):
        make(kind, tmp_path, filename=filename, **CALLS[kind])
    assert not any(tmp_path.iterdir())


# --- tables ----------------------------------------------------------------------------------------------------------

BAD_TABLES = {
    "[[1, 2": "not valid JSON",
    "": "not valid JSON",
    "[[NaN]]": "NaN is no JSON value",
    "[" * 100_000: "nested too deeply",
    '{"a": 1}': "must be a list of rows; got an object",
    '["ab", "cd"]': "row 1 of data_str must be a list of values; got a text",
    "[[1], 2]": "row 2 of data_str must be a list of values; got a number",
    "[[1, [2]]]": "row 1, column 2 of data_str must be a string",
}


@pytest.mark.parametrize("kind", [CsvFileGenerator, XlsxFileGenerator])
@pytest.mark.parametrize("data", BAD_TABLES, ids=list(BAD_TABLES.values()))
def test_what_is_no_table_is_refused(kind: type[Any], data: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=BAD_TABLES[data]):
        make(kind, tmp_path, data_str=data, filename="a")
    assert not any(tmp_path.iterdir())


def test_csv_values_are_written_as_given(tmp_path: Path) -> None:
    path = make(
        CsvFileGenerator,
        tmp_path,
        filename="a",
        data_str='[["a,b", "c\\"d", "e\\nf", "=1+1", " "], [1.50, 1e3, -0, true, null], [], [""]]',
    )
    assert path.read_bytes() == b'"a,b","c""d","e\nf",=1+1, \r\n1.50,1e3,-0,True,\r\n\r\n""\r\n'


def test_sheet_values_keep_their_kind_and_formulas_stay_text(tmp_path: Path) -> None:
    import openpyxl

    row = ["=SUM(A1:A9)", "#N/A", "+1", "007", "a\u0007b", 7, 1.5, True, None, "2024-01-05"]
    path = make(XlsxFileGenerator, tmp_path, filename="a", data_str=json.dumps([row, ["名称"]]))
    book = openpyxl.load_workbook(path)
    (sheet,) = book.worksheets
    first, second = sheet.iter_rows()
    assert [cell.value for cell in first] == [
        "=SUM(A1:A9)",
        "#N/A",
        "+1",
        "007",
        "ab",
        7,
        1.5,
        True,
        None,
        "2024-01-05",
    ]
    assert [cell.data_type for cell in first] == list("sssssnnbns")
    assert [cell.quotePrefix for cell in first[:3]] == [True, True, False]
    assert second[0].value == "名称"


@pytest.mark.parametrize(
    ("row", "message"),
    [(["x" * 32_768], "more than 32,767 characters"), ([1] * 16_385, "16,384 columns"), ([1e999], "too large")],
)
def test_what_no_sheet_holds_is_refused(row: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=message):
        make(XlsxFileGenerator, tmp_path, filename="a", data_str=json.dumps([row]).replace("Infinity", "1e999"))


# --- HTML ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "page"),
    [
        ("<html><p>x</p></html>", "<html><p>x</p></html>"),
        ("Here:\n```html\n<HTML lang='en'>x</HTML>\n```\nDone.", "<HTML lang='en'>x</HTML>"),
        ("```css\np {}\n```\n```html\n<html>x</html>\n```", "<html>x</html>"),
        ("~~~\n<html>x</html>\n~~~", "<html>x</html>"),
        ("```html\n<html>cut", "<html>cut"),
        (
            "<!DOCTYPE html>\n<html><pre>\n```\ncode\n```\n</pre></html>",
            "<!DOCTYPE html>\n<html><pre>\n```\ncode\n```\n</pre></html>",
        ),
    ],
)
def test_a_whole_page_is_unwrapped_and_kept(code: str, page: str, tmp_path: Path) -> None:
    assert make(HtmlFileGenerator, tmp_path, filename="a.HTML", html_code=code).read_text(encoding="utf-8") == page


@pytest.mark.parametrize("code", ["<p>你好</p>", "```\n<p>你好</p>\n```"])
def test_a_part_of_a_page_is_put_into_one(code: str, tmp_path: Path) -> None:
    from lxml import html

    page = html.fromstring(make(HtmlFileGenerator, tmp_path, filename="a&b", html_code=code).read_bytes())
    assert (page.findtext("head/title"), page.findtext("body/p")) == ("a&b", "你好")
    assert page.find("head/meta").get("charset") == "utf-8"


# --- Markdown --------------------------------------------------------------------------------------------------------


def plain(text: str) -> tuple[Span, ...]:
    return (Span(text),)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a **b** c", "a |B:b| c"),
        ("*a* _b_ __c__ ***d***", "I:a| |I:b| |B:c| |BI:d"),
        ("**a *b* c**", "B:a |BI:b|B: c"),
        ("`a*b*` ``c`d``", "C:a*b*| |C:c`d"),
        ("中**重点**文", "中|B:重点|文"),
        ("2*3*4, snake_case_name, a * b, _private", "2|I:3|4, snake_case_name, a * b, _private"),
        ("**open, *open, `open, [open](", "**open, *open, `open, [open]("),
        ("[label](https://a.b/c_(d)) [](x) [x](x) <https://e.f>", "label (https://a.b/c_(d)) x x https://e.f"),
        ("[**b**](x)", "B:b| (x)"),
        (r"\*a\* 1\. \\", "*a* 1. \\"),
    ],
)
def test_spans(text: str, parts: str) -> None:
    marked = [
        "".join(sign for sign, on in zip("BIC", (span.bold, span.italic, span.code), strict=True) if on)
        for span in spans(text)
    ]
    assert (
        "|".join(f"{mark}:{span.text}" if mark else span.text for mark, span in zip(marked, spans(text), strict=True))
        == parts
    )


def test_blocks() -> None:
    text = """# One #
## C#
line one
line two

- a
  - b
    continued
    - c
- d
1. e
2) f

7. g
```py
# code
  ![](x)
```
before ![alt](a b.png "t") after
{{image_2}}
| h | i |
|---|:-:|
| j \\| k | **l** | m |
| n |

####### seven
***
    code

Title
---
> quote <b>"""
    assert list(blocks(text)) == [
        Heading(1, plain("One")),
        Heading(2, plain("C#")),
        Paragraph(plain("line one\nline two")),
        Item(plain("a"), None, 0),
        Item(plain("b\ncontinued"), None, 1),
        Item(plain("c"), None, 2),
        Item(plain("d"), None, 0),
        Item(plain("e"), 1, 0),
        Item(plain("f"), 2, 0),
        Item(plain("g"), 7, 0),
        Code("# code\n  ![](x)"),
        Paragraph(plain("before")),
        Picture(path="a b.png"),
        Paragraph(plain("after")),
        Picture(number=2),
        Table(((plain("h"), plain("i")), (plain("j | k"), (Span("l", bold=True),)), (plain("n"), ()))),
        Paragraph(plain("####### seven")),
        Paragraph(plain("***")),
        Code("code"),
        Heading(2, plain("Title")),
        Paragraph(plain("> quote <b>")),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "![](a.png)",
        "![x](a b.png)",
        '![x]( <a b> "t" )',
        "![x](a.png 't')",
        "![](a)![](b)",
        "![](a(1).png)",
        "![]()",
        "![](\na)",
        "[x](a)",
    ],
)
def test_pictures_are_found_as_the_files_of_a_call_are(text: str) -> None:
    found = [block.path for block in blocks(text) if isinstance(block, Picture)]
    assert found == [path.strip() for path in PICTURE.findall(text)]


def test_tables_may_stay_lines() -> None:
    assert list(blocks("| a |\n|---|", tables=False)) == [Paragraph(plain("| a |\n|---|"))]


# --- DOCX ------------------------------------------------------------------------------------------------------------

MARKDOWN = """# Report 报告

A **bold** and *italic* word, `code`, a [link](https://example.com). 中文**重点**。

- apples
  - green

1. first
2. second

Between.

1. again

```python
print("<b>")
```

| City | 城市 |
|------|------|
| Paris | 北京 |

![sun](image/sun.png)
{{image_2}}
{{image_9}}
![](image/none.png)
![](image/broken.png)
"""
NOTES = [
    "[image 9 is missing: image_paths names 2]",
    "[image not found: none.png]",
    "[image cannot be read: broken.png]",
]
BOTH = "image/sun.png, image/tall.jpg"


def test_markdown_becomes_a_word_document(files: dict[str, Path], tmp_path: Path) -> None:
    import docx

    path = make(
        DocxFileGenerator, tmp_path, content=MARKDOWN, filename="a", image_paths=BOTH, render_markdown=True, files=files
    )
    document = docx.Document(str(path))
    styles = {paragraph.text: paragraph.style.name for paragraph in document.paragraphs}
    assert styles["Report 报告"] == "Heading 1"
    assert [styles[text] for text in ("apples", "green", "first", "again")] == [
        "List Bullet",
        "List Bullet 2",
        "List Number",
        "List Number",
    ]
    runs = {run.text: run for paragraph in document.paragraphs for run in paragraph.runs}
    assert runs["bold"].bold and runs["italic"].italic and runs["重点"].bold and not runs["italic"].bold
    assert runs["code"].font.name == runs['print("<b>")'].font.name == "Courier New"
    assert ", a link (https://example.com). 中文" in runs
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows] == [
        ["City", "城市"],
        ["Paris", "北京"],
    ]
    assert [round(shape.width.inches, 2) for shape in document.inline_shapes] == [5.0, 2.67]
    assert [paragraph.text for paragraph in document.paragraphs[-3:]] == NOTES


def test_lists_of_a_word_document_start_anew(tmp_path: Path) -> None:
    import docx

    content = "1. a\n2. b\n   1. c\n3. d\n\nText\n\n1. e\n```\ncode\n```\n2. f\n\nText\n\n5. g"
    document = docx.Document(
        str(make(DocxFileGenerator, tmp_path, content=content, filename="a", render_markdown=True))
    )
    lists = {
        p.text: p._p.pPr.numPr.numId.val
        for p in document.paragraphs
        if p._p.pPr is not None and p._p.pPr.numPr is not None
    }
    assert lists["a"] == lists["b"] == lists["d"] and lists["e"] == lists["f"]
    assert len({lists["a"], lists["c"], lists["e"], lists["g"]}) == 4
    numbering = document.part.numbering_part.element
    starts = {
        name: numbering.num_having_numId(lists[name]).xpath("./w:lvlOverride/w:startOverride/@w:val") for name in "aeg"
    }
    assert starts == {"a": ["1"], "e": ["1"], "g": ["5"]}


@pytest.mark.parametrize("kind", [DocxFileGenerator, PdfFileGenerator])
def test_plain_text_is_not_markup(kind: type[Any], files: dict[str, Path], tmp_path: Path) -> None:
    content = (
        "# a **b** <c> & &amp; ![](image/sun.png)\nsame paragraph\n\n\nnext{{image_1}}last \x07\x00\x0b{{image_3}}"
    )
    path = make(kind, tmp_path, content=content, filename="a", image_paths="image/sun.png", files=files)
    text = shown(READERS[path.suffix], path)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert lines == [
        "# a **b** <c> & &amp; ![](image/sun.png)",
        "same paragraph",
        "next",
        "last",
        "[image 3 is missing: image_paths names 1]",
    ]


@pytest.mark.parametrize("kind", [DocxFileGenerator, PdfFileGenerator])
def test_too_much_text_is_refused(kind: type[Any], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="at most 2,000,000"):
        make(kind, tmp_path, content="x" * 2_000_001, filename="a")


# --- pictures
# ----------------------------------------------------------------------------------------------------------


def test_pictures_of_other_formats_become_png_and_stand_upright(tmp_path: Path) -> None:
    image = Image.new("RGB", (40, 20), "red")
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(tmp_path / "turned.jpg", exif=exif)
    image.save(tmp_path / "a.webp")
    image.save(tmp_path / "a.png")
    turned, webp, kept = (writing.load(tmp_path / name) for name in ("turned.jpg", "a.webp", "a.png"))
    assert turned and webp and kept
    assert (turned.width, turned.height, turned.data[:4]) == (20, 40, b"\x89PNG")
    assert (webp.width, webp.height, webp.data[:4]) == (40, 20, b"\x89PNG")
    assert kept.data == (tmp_path / "a.png").read_bytes()


@pytest.mark.filterwarnings("ignore:Image size")  # Pillow's own, of such a picture
def test_pictures_that_are_too_large_or_too_many_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="more than 200 pictures"):
        make(DocxFileGenerator, tmp_path, content="{{image_1}}" * 201, filename="a", image_paths=BOTH, files=files)
    Image.new("1", (10_000, 6_401)).save(tmp_path / "sun.png")
    with pytest.raises(ToolError, match="10000 by 6401 pixels"):
        make(DocxFileGenerator, tmp_path, content="{{image_1}}", filename="a", image_paths=BOTH, files=files)


# --- PDF -------------------------------------------------------------------------------------------------------------


def test_markdown_becomes_a_pdf(files: dict[str, Path], tmp_path: Path) -> None:
    import pypdf

    path = make(
        PdfFileGenerator, tmp_path, content=MARKDOWN, filename="a", image_paths=BOTH, render_markdown=True, files=files
    )
    reader = pypdf.PdfReader(path)
    assert [float(value) for value in reader.pages[0].mediabox] == [0, 0, 612, 792]
    assert sum(len(page.images) for page in reader.pages) == 2
    text = shown(ReadPDF, path)
    for part in (
        "Report 报告",
        "A bold and italic word, code, a link (https://example.com). 中文重点。",
        "• apples",
        "2. second",
        'print("<b>")',
        "北京",
    ):
        assert part in text
    assert [line for line in text.split("\n") if line.startswith("[image")] == NOTES
    fonts = {
        str(font.get_object()["/BaseFont"]) for page in reader.pages for font in page["/Resources"]["/Font"].values()
    }
    assert {"/Helvetica", "/Helvetica-Bold", "/Courier"} <= fonts and any("STSong" in font for font in fonts)


def test_signs_are_shown_by_a_font_that_has_them(tmp_path: Path) -> None:
    path = make(PdfFileGenerator, tmp_path, content="é – € “x” • → ≤ α Ж ✓ 汉字 カナ 한국어 😀 ع", filename="a")
    assert shown(ReadPDF, path).split() == [
        "é",
        "–",
        "€",
        "“x”",
        "•",
        "→",
        "≤",
        "α",
        "Ж",
        "✓",
        "汉字",
        "カナ",
        "한국어",
        "□",
        "□",
    ]


def test_a_font_file_can_be_embedded(tmp_path: Path) -> None:
    import matplotlib
    import pypdf

    font = Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")
    path = make(PdfFileGenerator, tmp_path, content="Straße ქართ 汉", filename="a", options={"font": str(font)})
    names = pypdf.PdfReader(path).pages[0]["/Resources"]["/Font"].values()
    assert any("DejaVu" in str(name.get_object()["/BaseFont"]) for name in names)
    assert "Straße ქართ 汉" in shown(ReadPDF, path)


@pytest.mark.parametrize(
    "content",
    [
        "word " * 20_000,
        "汉" * 30_000,
        "x" * 30_000,
        "```\n" + "y" * 5_000 + "\n" * 300 + "```",
        "|a|b|\n|-|-|\n|" + "long cell " * 2_000 + "|c|",
        "|" + "a|" * 40 + "\n|" + "-|" * 40 + "\n|" + "b|" * 40,
        "- " + "item " * 5_000,
        "# " + "title " * 500,
    ],
    ids=["words", "chinese", "one word", "code", "tall cell", "wide table", "item", "heading"],
)
def test_long_parts_flow_over_the_pages(content: str, tmp_path: Path) -> None:
    path = make(PdfFileGenerator, tmp_path, content=content, filename="a", render_markdown=True)
    assert len(shown(ReadPDF, path)) > 200


# --- PPTX ------------------------------------------------------------------------------------------------------------

SLIDES = json.dumps(
    [
        {"title": "Plan 计划", "content": "First point\n- Second point\n  - nested\n\n中文"},
        {"title": "Pictures", "content": "Before\n{{image_1}}\nAfter{{image_2}}{{image_7}}"},
        {"title": "", "content": ["{{image_1}}"]},
    ]
)


def test_slides(files: dict[str, Path], tmp_path: Path) -> None:
    import pptx

    path = make(PptxFileGenerator, tmp_path, slides_content_str=SLIDES, filename="a", image_paths=BOTH, files=files)
    first, second, third = pptx.Presentation(str(path)).slides
    assert [(p.text, p.level) for p in first.placeholders[1].text_frame.paragraphs] == [
        ("First point", 0),
        ("Second point", 0),
        ("nested", 1),
        ("中文", 0),
    ]
    assert [p.text for p in second.placeholders[1].text_frame.paragraphs] == ["Before", "After"]
    one, other = (shape for shape in second.shapes if shape.shape_type == 13)
    assert (one.left.inches, one.top.inches) == (1.0, 3.5)
    assert 3.5 < one.width.inches <= 4 and one.left + one.width <= other.left
    assert other.left + other.width <= pptx.util.Inches(10) and other.top + other.height <= pptx.util.Inches(7.5)
    body = second.placeholders[1]
    assert body.top + body.height <= one.top
    assert [shape.shape_type for shape in third.shapes] == [14, 13]
    (only,) = (shape for shape in third.shapes if shape.shape_type == 13)
    assert (only.width.inches, only.left.inches, only.top.inches) == (4.0, 1.0, 3.5)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 12])
def test_pictures_of_a_slide_do_not_overlap(number: int, files: dict[str, Path], tmp_path: Path) -> None:
    import pptx

    slides = json.dumps([{"title": "x", "content": "{{image_1}}" * number}])
    path = make(PptxFileGenerator, tmp_path, slides_content_str=slides, filename="a", image_paths=BOTH, files=files)
    boxes = [
        (
            shape.left.inches,
            shape.top.inches,
            (shape.left + shape.width) / 914_400,
            (shape.top + shape.height) / 914_400,
        )
        for shape in pptx.Presentation(str(path)).slides[0].shapes
        if shape.shape_type == 13
    ]
    assert len(boxes) == number
    assert all(0 <= x1 < x2 <= 10 and 3.5 <= y1 < y2 <= 7.5 for x1, y1, x2, y2 in boxes)
    pairs = [(one, other) for place, one in enumerate(boxes) for other in boxes[:place]]
    assert not any(min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1]) for a, b in pairs)


@pytest.mark.parametrize(
    ("slides", "message"),
    [
        ("[", "not valid JSON"),
        ("{}", "must be a list of slides"),
        ("[]", "1 to 500 slides"),
        ('["a"]', "slide 1"),
        ('[{"title": "a"}, {}]', "slide 2"),
        ('[{"title": 1}]', "title of slide 1 must be a string; got 1"),
        ('[{"content": {"a": 1}}]', "content of slide 1"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_are_no_slides_is_refused(slides: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=message):
        make(PptxFileGenerator, tmp_path, slides_content_str=slides, filename="a")


# --- looks and other programs
# ------------------------------------------------------------------------------------------


def resembles(page: Image.Image, name: str) -> bool:
    """Whether a page looks as before: blurred by scaling down, hardly a spot differs. Fonts differ between machines."""
    with Image.open(PICTURES / name) as reference:
        wanted = reference.convert("L")
    size = (wanted.width // 6, wanted.height // 6)
    one, other = (image.convert("L").resize(wanted.size).resize(size, Image.Resampling.BOX) for image in (page, wanted))
    spots = ImageChops.difference(one, other).histogram()
    return sum(spots[48:]) <= 0.02 * size[0] * size[1]


def pages(path: Path) -> list[Image.Image]:
    pdfium = pytest.importorskip("pypdfium2")
    with pdfium.PdfDocument(path) as document:
        return [document[number].render(scale=0.75).to_pil().convert("L") for number in range(len(document))]


def converted(path: Path, folder: Path) -> Path:
    """The document as a PDF made by LibreOffice."""
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("LibreOffice is not installed")
    profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
    command = [office, profile, "--headless", "--convert-to", "pdf", "--outdir", str(folder / "made"), str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return folder / "made" / f"{path.stem}.pdf"


LATIN = "".join(sign for sign in MARKDOWN if sign < "\u2e80")  # no Chinese font is sure to be there


def test_a_pdf_looks_as_it_should(files: dict[str, Path], tmp_path: Path) -> None:
    path = make(
        PdfFileGenerator, tmp_path, content=LATIN, filename="a", image_paths=BOTH, render_markdown=True, files=files
    )
    first, *_ = pages(path)
    assert resembles(first, "pdf.png")
    assert not resembles(Image.new("L", first.size, "white"), "pdf.png")


def test_a_word_document_looks_as_it_should(files: dict[str, Path], tmp_path: Path) -> None:
    path = make(
        DocxFileGenerator, tmp_path, content=LATIN, filename="a", image_paths=BOTH, render_markdown=True, files=files
    )
    first, *_ = pages(converted(path, tmp_path))
    assert resembles(first, "docx.png")

"""What ReadPPTX shows; and what both readers show of charts and diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.office_files import FRAME, paragraph, presentation, strict, word, xml
from tool_impls.documents import ReadDOCX, ReadPPTX
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")


def read(kind: type[Any], path: Path, released: bool = False, **options: Any) -> str:
    settings = ToolSettings(released=released, tables={kind.meta.name: options})
    return str(kind(settings).apply(Path(), file=path))


# --- charts and diagrams


def series(name: str, places: str, values: str, kinds: tuple[str, str] = ("cat", "val")) -> str:
    title = f"<c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>{name}</c:v></c:pt></c:strCache></c:strRef></c:tx>"
    return f"<c:ser>{title}<c:{kinds[0]}>{places}</c:{kinds[0]}><c:{kinds[1]}>{values}</c:{kinds[1]}></c:ser>"


def texts(*values: str) -> str:
    return f"<c:strRef><c:f>A1</c:f><c:strCache><c:ptCount val='9'/>{points(*values)}</c:strCache></c:strRef>"


def numbers(*values: str, form: str = "General") -> str:
    cache = f"<c:numCache><c:formatCode>{form}</c:formatCode>{points(*values)}</c:numCache>"
    return f"<c:numRef><c:f>B1</c:f>{cache}</c:numRef>"


def points(*values: str) -> str:
    return "".join(f"<c:pt idx='{place}'><c:v>{text}</c:v></c:pt>" for place, text in enumerate(values) if text)


def plot(*content: str, title: str = "") -> str:
    words = (
        f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>" if title else ""
    )
    inner = f"<c:barChart>{''.join(content)}</c:barChart>{AXIS if title else ''}"
    return xml("c:chartSpace", f"<c:chart>{words}<c:plotArea>{inner}</c:plotArea></c:chart>")


PLACES = texts("North", "007")
LEVELS = (
    "<c:multiLvlStrRef><c:multiLvlStrCache><c:lvl>" + points("May", "June", "May") + "</c:lvl><c:lvl>"
    "<c:pt idx='0'><c:v>2025</c:v></c:pt><c:pt idx='2'><c:v>2026</c:v></c:pt></c:lvl></c:multiLvlStrCache>"
    "</c:multiLvlStrRef>"
)
AXIS = "<c:valAx><c:title><c:tx><c:rich><a:p><a:r><a:t>EUR</a:t></a:r></a:p></c:rich></c:tx></c:title></c:valAx>"
NEW_FORM = xml(
    "cx:chartSpace",
    "<cx:chartData><cx:data id='0'><cx:strDim type='cat'><cx:lvl ptCount='2'><cx:pt idx='0'>Rent</cx:pt>"
    "<cx:pt idx='1'>Food</cx:pt></cx:lvl></cx:strDim><cx:numDim type='val'><cx:lvl formatCode='General'>"
    "<cx:pt idx='0'>900</cx:pt><cx:pt idx='1'>-41.5</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData>"
    "<cx:chart><cx:title><cx:tx><cx:txData><cx:v>Costs</cx:v></cx:txData></cx:tx></cx:title><cx:plotArea>"
    "<cx:plotAreaRegion><cx:series><cx:tx><cx:txData><cx:v>EUR</cx:v></cx:txData></cx:tx><cx:dataId val='0'/>"
    "</cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart>",
)
EMPTY = "[the file stores no values of this chart]"
CHARTS = {
    "bars": (
        plot(series("A", PLACES, numbers("120", "95")), series("B", PLACES, numbers("", "0.1")), title="Sales"),
        "Chart: Sales\nAxes: EUR\n | A | B\nNorth | 120 | \n007 | 95 | 0.1",
    ),
    "percent": (
        plot(series("A", PLACES, numbers("0.475", "0.28999999999999998", form="0.0%"))),
        "Chart:\n | A\nNorth | 47.5%\n007 | 29%",
    ),
    "dates": (
        plot(series("A", numbers("45000", "45001.5", form="d\\ mmm\\ yyyy"), numbers("1", "2"))),
        "Chart:\n | A\n2023-03-15 | 1\n2023-03-16 12:00:00 | 2",
    ),
    "a format with a word": (
        plot(series("A", PLACES, numbers("3", "4", form="0 &quot;days&quot;;[Red]0"))),
        "Chart:\n | A\nNorth | 3\n007 | 4",
    ),
    "points": (
        plot(
            series("A", numbers("1", "2"), numbers("3", "4"), ("xVal", "yVal")),
            series("B", numbers("5"), numbers("6"), ("xVal", "yVal")),
        ),
        "Chart:\n | A\n1 | 3\n2 | 4\n | B\n5 | 6",
    ),
    "no places": (plot(series("A", "", numbers("3", "4"))), "Chart:\n | A\n1 | 3\n2 | 4"),
    "levels": (
        plot(series("A", LEVELS, numbers("1", "2", "3"))),
        "Chart:\n | A\n2025 / May | 1\n2025 / June | 2\n2026 / May | 3",
    ),
    "new form": (NEW_FORM, "Chart: Costs\n | EUR\nRent | 900\nFood | -41.5"),
    "no series": (plot(), f"Chart:\n{EMPTY}"),
    "values in another file": (plot(series("A", "", "<c:numRef><c:f>B1</c:f></c:numRef>")), f"Chart:\n{EMPTY}"),
}
MARK = '<c:chart r:id="charts_chart1"/>'


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_read_as_tables(name: str, tmp_path: Path) -> None:
    part, shown = CHARTS[name]
    held = {"charts/chart1.xml": part}
    frame = f"<p:graphicFrame>{FRAME.format(MARK)}</p:graphicFrame>"
    slides = presentation(tmp_path / "a.pptx", [f"<p:grpSp>{frame}</p:grpSp>"], held)
    document = word(
        tmp_path / "a.docx", paragraph("x", f"<w:r><w:drawing>{FRAME.format(MARK)}</w:drawing></w:r>"), held
    )
    assert read(ReadPPTX, slides) == shown == read(ReadPPTX, strict(slides, tmp_path / "b.pptx"))
    assert read(ReadDOCX, document) == f"x\n{shown}"


DIAGRAM = xml(
    "dgm:dataModel",
    "<dgm:ptLst><dgm:pt modelId='0' type='doc'/>"
    + "".join(
        f"<dgm:pt modelId='{id_}'><dgm:t><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>"
        for id_, text in ((3, "third"), (2, "below first"), (1, "first"))
    )
    + "<dgm:pt modelId='9' type='pres'><dgm:t><a:p><a:r><a:t>no</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst>"
    "<dgm:cxnLst>"
    "<dgm:cxn modelId='7' srcId='0' destId='3' srcOrd='1'/><dgm:cxn modelId='8' srcId='0' destId='1' srcOrd='0'/>"
    "<dgm:cxn modelId='6' srcId='1' destId='2' srcOrd='0'/><dgm:cxn modelId='5' srcId='2' destId='1' srcOrd='0'/>"
    "</dgm:cxnLst>",
)


def test_diagrams_are_read_from_top_to_bottom(tmp_path: Path) -> None:
    held = {"diagrams/data1.xml": DIAGRAM}
    frame = FRAME.format('<dgm:relIds r:dm="diagrams_data1" r:lo="x"/>')
    slides = presentation(tmp_path / "a.pptx", [f"<p:graphicFrame>{frame}</p:graphicFrame>"], held)
    document = word(tmp_path / "a.docx", paragraph(f"<w:r><w:drawing>{frame}</w:drawing></w:r>"), held)
    assert read(ReadPPTX, slides) == "first\nbelow first\nthird" == read(ReadDOCX, document)


# --- slides


def shape(*paragraphs: str, kind: str = "") -> str:
    place = f"<p:nvSpPr><p:nvPr><p:ph type='{kind}'/></p:nvPr></p:nvSpPr>" if kind else ""
    lines = "".join(f"<a:p>{one if one.startswith('<') else slide_run(one)}</a:p>" for one in paragraphs)
    return f"<p:sp>{place}<p:txBody><a:bodyPr/><a:lstStyle/>{lines}</p:txBody></p:sp>"


def slide_run(text: str) -> str:
    return f"<a:r><a:rPr/><a:t>{text}</a:t></a:r>"


def slide_cell(text: str) -> str:
    return f"<a:tc><a:txBody><a:p>{slide_run(text)}</a:p></a:txBody></a:tc>"


SHAPES = {
    "field": (shape(f"{slide_run('Page ')}<a:fld type='slidenum'><a:rPr/><a:pPr/><a:t>3</a:t></a:fld>"), "Page 3"),
    "line end": (shape(f"{slide_run('a')}<a:br/>{slide_run('b')}"), "a\nb"),
    "empty paragraph": (shape("a", "<a:endParaRPr/>", "b"), "a\n\nb"),
    "equation": (
        shape(
            "<mc:AlternateContent><mc:Choice Requires='a14'><a14:m><m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r>"
            "</m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></a14:m></mc:Choice>"
            f"<mc:Fallback>{slide_run(' ')}</mc:Fallback></mc:AlternateContent>"
        ),
        "(a+b)/2",
    ),
    "shape in two forms": (
        f"<mc:AlternateContent><mc:Choice Requires='p14'>{shape('new')}</mc:Choice>"
        f"<mc:Fallback>{shape('old')}</mc:Fallback></mc:AlternateContent>",
        "new",
    ),
    "group in a group": (f"<p:grpSp><p:grpSp>{shape('deep')}</p:grpSp></p:grpSp>", "deep"),
    "connector": (
        f"<p:cxnSp>{shape('on the line').removeprefix('<p:sp>').removesuffix('</p:sp>')}</p:cxnSp>",
        "on the line",
    ),
    "table in a group": (
        "<p:grpSp><p:graphicFrame>"
        + FRAME.format(f"<a:tbl><a:tr>{''.join(map(slide_cell, 'ab'))}</a:tr></a:tbl>")
        + "</p:graphicFrame></p:grpSp>",
        "a | b",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_slides_are_read(name: str, tmp_path: Path) -> None:
    made, shown = SHAPES[name]
    slides = presentation(tmp_path / "a.pptx", [shape("first", kind="title") + made, shape("last")])
    assert read(ReadPPTX, slides) == f"first\n{shown}\nlast" == read(ReadPPTX, strict(slides, tmp_path / "b.pptx"))


def test_a_whole_presentation_is_read() -> None:
    """A chart, a group in a group, merged cells, a hidden slide."""
    shown = "Sales 2026\nChart:\n | Boxes\nNorth | 120\nSouth | 95\nin a group\nin a nested group\nMerged | \na | b"
    path = Path(__file__).with_name("data") / "chart-group.pptx"
    assert read(ReadPPTX, path) == f"{shown}\nHidden slide:\nhidden slide\nsecond line"


def test_notes_and_comments_of_both_forms_stand_after_their_slide(tmp_path: Path) -> None:
    page = shape("say hello", "twice", kind="body") + shape("7", kind="sldNum") + shape("beside")
    new = (
        "<p188:cm authorId='{{A}}'><p188:replyLst><p188:reply authorId='{{B}}'><p188:txBody>{}</p188:txBody>"
        "</p188:reply></p188:replyLst><p188:txBody>{}</p188:txBody></p188:cm>"
    )
    parts = {
        "notesSlides/notesSlide1.xml": xml("p:notes", f"<p:cSld><p:spTree>{page}</p:spTree></p:cSld>"),
        "comments/comments1.xml": xml("p:cmLst", "<p:cm authorId='0'><p:text>old form</p:text></p:cm>"),
        "comments/comments2.xml": xml(
            "p188:cmLst", new.format(*(f"<a:p>{slide_run(text)}</a:p>" for text in ("No.", "New?")))
        ),
        "commentAuthors.xml": xml("p:cmAuthorLst", "<p:cmAuthor id='0' name='Ann'/>"),
        "authors.xml": xml("p188:authorLst", "<p188:author id='{A}' name='Bo'/><p188:author id='{B}' name='Cy'/>"),
    }
    slides = presentation(tmp_path / "a.pptx", [shape("text")], parts)
    comments = "Comment by Ann: old form\nComment by Bo: New?\nReply by Cy: No."
    assert read(ReadPPTX, slides) == f"text\nNotes: say hello\ntwice\nbeside\n{comments}"
    assert read(ReadPPTX, slides, notes=False) == "text"

"""What ReadDOCX and ReadPPTX show: all text that the file's own program shows, once, in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools import office_files
from tests.tools.office_files import presentation, renamed, strict, word, xml
from tool_impls.documents import ReadDOCX, ReadPPTX
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")


def read(kind: type[Any], path: Path, released: bool = False, **options: Any) -> str:
    settings = ToolSettings(released=released, tables={kind.meta.name: options})
    return str(kind(settings).apply(Path(), file=path))


FRAME = "<a:graphic><a:graphicData>{}</a:graphicData></a:graphic>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*content: str) -> str:
    return f"<w:p>{''.join(one if one.startswith('<') else run(one) for one in content)}</w:p>"


def cell(*content: str) -> str:
    return f"<w:tc>{''.join(content)}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def row(*texts: str) -> str:
    return f"<w:tr>{''.join(cell(paragraph(text)) for text in texts)}</w:tr>"


def control(content: str) -> str:
    return f"<w:sdt><w:sdtPr><w:alias w:val='hint'/></w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def mark(kind: str, data: str = "") -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}">{data}</w:fldChar></w:r>'


def instruction(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def box(*content: str) -> str:
    """A text box, in the form of today and in that of 2007, which programs write side by side."""
    held = f"<w:txbxContent>{''.join(content)}</w:txbxContent>"
    new = f"<w:drawing>{FRAME.format(f'<wps:wsp><wps:txbx>{held}</wps:txbx></wps:wsp>')}</w:drawing>"
    old = f"<w:pict><v:shape><v:textbox>{held}</v:textbox></v:shape></w:pict>"
    choice = f'<mc:Choice Requires="wps">{new}</mc:Choice><mc:Fallback>{old}</mc:Fallback>'
    return f"<w:r><mc:AlternateContent>{choice}</mc:AlternateContent></w:r>"


IN_PLACE = {
    "control in a line": (paragraph("Name: ", control(run("Mia Berg")), "."), "Name: Mia Berg."),
    "control in a control": (paragraph(control(control(run("in")) + run("ner"))), "inner"),
    "control of paragraphs": (control(paragraph("one") + paragraph("two")), "one\ntwo"),
    "control of a table": (control(table(row("a", "b"))), "a | b"),
    "control of a row": (table(row("a", "b"), control(row("c", "d"))), "a | b\nc | d"),
    "control of a cell": (table(f"<w:tr>{cell(paragraph('a'))}{control(cell(paragraph('b')))}</w:tr>"), "a | b"),
    "control in a cell": (table(f"<w:tr>{cell(control(paragraph('a')))}{cell(paragraph('b'))}</w:tr>"), "a | b"),
    "smart tag": (paragraph("in ", f"<w:smartTag w:element='City'>{run('Bergen')}</w:smartTag>", "."), "in Bergen."),
    "custom XML": (f"<w:customXml><w:p><w:customXml>{run('one')}</w:customXml></w:p></w:customXml>", "one"),
    "custom XML of rows": (table(f"<w:customXml>{row('a', 'b')}</w:customXml>"), "a | b"),
    "simple field": (
        paragraph("Total ", f"<w:fldSimple w:instr='X'>{run('1,250 EUR')}</w:fldSimple>"),
        "Total 1,250 EUR",
    ),
    "field": (paragraph(mark("begin"), instruction("PAGE"), mark("separate"), "7", mark("end"), " of 9"), "7 of 9"),
    "field in the instruction of another": (
        paragraph(
            *(mark("begin"), instruction("IF"), mark("begin"), instruction("F"), mark("separate"), "unseen"),
            *(mark("end"), instruction("= 1"), mark("separate"), "seen", mark("end")),
        ),
        "seen",
    ),
    "field without end": (paragraph(mark("begin"), "kept") + paragraph("all"), "kept\nall"),
    "field over paragraphs": (
        paragraph(mark("begin"), instruction("TOC"), mark("separate"), "One") + paragraph("Two", mark("end")),
        "One\nTwo",
    ),
    "box that is ticked": (paragraph(mark("begin", "<w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData>")), "☒"),
    "box that is not": (
        paragraph(mark("begin", "<w:ffData><w:checkBox><w:default w:val='0'/></w:checkBox></w:ffData>")),
        "☐",
    ),
    "choice of a list": (
        paragraph(
            mark(
                "begin",
                "<w:ffData><w:ddList><w:result w:val='1'/>"
                "<w:listEntry w:val='no'/><w:listEntry w:val='yes'/></w:ddList></w:ffData>",
            )
        ),
        "yes",
    ),
    "link": (paragraph("see ", f"<w:hyperlink r:id='x'>{run('the page')}</w:hyperlink>"), "see the page"),
    "insertion and deletion": (
        paragraph(f"<w:ins>{run('new ')}</w:ins>", "<w:del><w:r><w:delText>old </w:delText></w:r></w:del>", "text"),
        "new text",
    ),
    "moved text": (
        paragraph("a", f"<w:moveFrom>{run(' gone')}</w:moveFrom>") + paragraph(f"<w:moveTo>{run('here')}</w:moveTo>"),
        "a\nhere",
    ),
    "paragraph that was moved away": (
        paragraph("a") + f"<w:p><w:pPr><w:rPr><w:moveFrom/></w:rPr></w:pPr><w:moveFrom>{run('b')}</w:moveFrom></w:p>",
        "a",
    ),
    "row that was deleted": (table(row("a", "b"), "<w:tr><w:trPr><w:del/></w:trPr></w:tr>"), "a | b"),
    "table in a table": (
        table(f"<w:tr>{cell(paragraph('a'), table(row('b', 'c'), row('d', 'e')))}{cell(paragraph('f'))}</w:tr>"),
        "a b | c d | e | f",
    ),
    "text box, once": (paragraph("before", box(paragraph("in the box")), " after"), "before after\nin the box"),
    "text box in a text box": (paragraph(box(paragraph("outer", box(paragraph("inner"))))), "outer\ninner"),
    "table in a text box": (paragraph(box(table(row("a", "b")))), "a | b"),
    "text box that only old programs show": (
        paragraph(
            "<w:r><mc:AlternateContent><mc:Choice Requires='wpi'/><mc:Fallback><w:t>old</w:t></mc:Fallback>"
            "</mc:AlternateContent></w:r>"
        ),
        "old",
    ),
    "drawn words": (paragraph("<w:r><w:pict><v:shape><v:textpath string='DRAFT'/></v:shape></w:pict></w:r>"), "DRAFT"),
    "signs": (
        paragraph(
            "a",
            "<w:r><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:cr/></w:r>",
        ),
        "a\tb\nc-d\n",
    ),
    "a page break is no text": (paragraph("a", "<w:r><w:br w:type='page'/></w:r>", "b"), "ab"),
    "tab stops are no tabs": (f"<w:p><w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr>{run('a')}</w:p>", "a"),
    "symbols": (
        paragraph(
            "<w:r><w:sym w:font='Symbol' w:char='F061'/><w:sym w:font='Wingdings' w:char='F0FC'/>"
            "<w:sym w:font='X' w:char='20AC'/></w:r>"
        ),
        "α✓€",
    ),
    "ruby": (
        paragraph(
            f"<w:r><w:ruby><w:rubyPr/><w:rt>{run('かん')}</w:rt><w:rubyBase>{run('漢')}</w:rubyBase></w:ruby></w:r>"
        ),
        "漢(かん)",
    ),
    "right to left": (paragraph(f"<w:bdo w:val='rtl'>{run('אב')}</w:bdo>", f"<w:dir>{run('c')}</w:dir>"), "אבc"),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_text_is_read_in_its_place(name: str, tmp_path: Path) -> None:
    body, shown = IN_PLACE[name]
    document = word(tmp_path / "a.docx", f"{paragraph('first')}{body}{paragraph('last')}")
    assert read(ReadDOCX, document) == f"first\n{shown}\nlast"
    assert read(ReadDOCX, strict(document, tmp_path / "b.docx")) == f"first\n{shown}\nlast"


def math(content: str) -> str:
    return f"<m:oMath>{content}</m:oMath>"


def term(text: str, name: str = "") -> str:
    inner = f"<m:r><m:rPr><m:sty/></m:rPr><m:t>{text}</m:t></m:r>" if text else ""
    return f"<m:{name}>{inner}</m:{name}>" if name else inner


EQUATIONS = {
    "A=πr²": term("A=πr²"),
    "(a+b)/2": f"<m:f><m:fPr/>{term('a+b', 'num')}{term('2', 'den')}</m:f>",
    "n¦k": f"<m:f><m:fPr><m:type m:val='noBar'/></m:fPr>{term('n', 'num')}{term('k', 'den')}</m:f>",
    "x^2": f"<m:sSup>{term('x', 'e')}{term('2', 'sup')}</m:sSup>",
    "x_1^(n+1)": f"<m:sSubSup>{term('x', 'e')}{term('1', 'sub')}{term('n+1', 'sup')}</m:sSubSup>",
    "√(b-4)": f"<m:rad><m:radPr/>{term('', 'deg')}{term('b-4', 'e')}</m:rad>",
    "root(3, x)": f"<m:rad><m:radPr/>{term('3', 'deg')}{term('x', 'e')}</m:rad>",
    "∑_(i=1)^n i": (
        "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr>"
        f"{term('i=1', 'sub')}{term('n', 'sup')}{term('i', 'e')}</m:nary>"
    ),
    "∫ x": f"<m:nary>{term('', 'sub')}{term('', 'sup')}{term('x', 'e')}</m:nary>",
    "[a|b)": f"<m:d><m:dPr><m:begChr m:val='['/></m:dPr>{term('a', 'e')}{term('b', 'e')}</m:d>",
    "[1, 2; 3, 4]": (
        f"<m:m><m:mr>{term('1', 'e')}{term('2', 'e')}</m:mr><m:mr>{term('3', 'e')}{term('4', 'e')}</m:mr></m:m>"
    ),
    "lim_(x→0)": f"<m:limLow>{term('lim', 'e')}{term('x→0', 'lim')}</m:limLow>",
    "sin x": f"<m:func>{term('sin', 'fName')}{term('x', 'e')}</m:func>",
    "a=1; b=2": f"<m:eqArr>{term('a=1', 'e')}{term('b=2', 'e')}</m:eqArr>",
}


@pytest.mark.parametrize("shown", EQUATIONS)
def test_equations_are_read_as_one_line(shown: str, tmp_path: Path) -> None:
    inline = paragraph("so ", math(EQUATIONS[shown]), " holds")
    alone = f"<m:oMathPara><m:oMathParaPr/>{math(EQUATIONS[shown])}</m:oMathPara>"
    document = word(tmp_path / "a.docx", f"{inline}{paragraph(alone)}{alone}")
    assert read(ReadDOCX, document) == f"so {shown} holds\n{shown}\n{shown}"


def test_notes_and_comments_stand_where_they_are_referred_to(tmp_path: Path) -> None:
    body = paragraph(
        *("One", "<w:r><w:footnoteReference w:id='2'/></w:r>", ", two", "<w:r><w:endnoteReference w:id='2'/></w:r>"),
        *(" three", "<w:r><w:commentReference w:id='0'/></w:r>", ".", "<w:r><w:footnoteReference w:id='2'/></w:r>"),
    )
    again = (
        f"<w:r><w:footnoteRef/></w:r>{run(' see ')}{control(run('page 3'))}<w:r><w:footnoteReference w:id='2'/></w:r>"
    )
    separator = f"<w:footnote w:type='separator' w:id='-1'>{paragraph('x')}</w:footnote>"
    parts = {
        "footnotes.xml": xml("w:footnotes", f"{separator}<w:footnote w:id='2'>{paragraph(again)}</w:footnote>"),
        "endnotes.xml": xml("w:endnotes", f"<w:endnote w:id='2'>{paragraph('at the end')}</w:endnote>"),
        "comments.xml": xml(
            "w:comments", f"<w:comment w:id='0' w:author='Ann'>{paragraph('Sure?')}{paragraph('Yes.')}</w:comment>"
        ),
    }
    document = word(tmp_path / "a.docx", body, parts)
    shown = "One[footnote: see page 3], two[endnote: at the end] three[comment by Ann: Sure? Yes.]."
    assert read(ReadDOCX, document) == shown == read(ReadDOCX, strict(document, tmp_path / "b.docx"))


def test_headers_come_first_and_footers_last(tmp_path: Path) -> None:
    def section(kind: str, first: str, second: str) -> str:
        return f"<w:{kind}Reference w:type='first' r:id='{first}'/><w:{kind}Reference r:id='{second}'/>"

    marks = section("header", "header1", "header2") + section("footer", "footer1", "missing")
    parts = {
        "header1.xml": xml("w:hdr", table(row("ACME", "2026"))),
        "header2.xml": xml("w:hdr", paragraph("ACME | 2026")),
        "footer1.xml": xml("w:ftr", paragraph(control(run("confidential"))) + paragraph("Page 1")),
    }
    document = word(tmp_path / "a.docx", f"{paragraph('text')}<w:sectPr>{marks}</w:sectPr>", parts)
    assert read(ReadDOCX, document) == "Header: ACME | 2026\ntext\nFooter: confidential Page 1"


def test_a_file_of_another_format_within_a_document_is_named(tmp_path: Path) -> None:
    document = word(tmp_path / "a.docx", "<w:altChunk r:id='aFChunk'/>", {"aFChunk.mht": "MIME"})
    assert read(ReadDOCX, document) == "[a file in another format stands here, which is not read: word/aFChunk.mht]"


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
    "no values": (plot(), "Chart:"),
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
            "<mc:AlternateContent><mc:Choice Requires='a14'><a14:m>"
            f"{math(EQUATIONS['(a+b)/2'])}</a14:m></mc:Choice>"
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


# --- files as programs write them


@pytest.mark.parametrize(
    "names",
    [
        {"word/document.xml": "word\\document.xml", "_rels/.rels": "_rels\\.rels"},
        {"word/document.xml": "Word/Document.XML", "word/_rels/document.xml.rels": "Word/_rels/Document.XML.rels"},
        {"[Content_Types].xml": "other.xml"},
    ],
)
def test_names_of_parts_are_compared_as_office_compares_them(names: dict[str, str], tmp_path: Path) -> None:
    document = word(tmp_path / "a.docx", paragraph("hello"))
    assert read(ReadDOCX, renamed(document, tmp_path / "b.docx", names)) == "hello"


@pytest.mark.parametrize("target", ["/word/main%20part.xml", "word/./x/../main%20part.xml", "word/main part.xml"])
def test_the_main_part_may_lie_anywhere(target: str, tmp_path: Path) -> None:
    part = xml("w:document", f"<w:body>{paragraph('hello')}</w:body>")
    assert read(ReadDOCX, office_files.package(tmp_path / "a.docx", {"word/main part.xml": part}, target)) == "hello"


def test_prefixes_may_be_any(tmp_path: Path) -> None:
    space = office_files.WORD["w"]
    parts = {
        "word/document.xml": (
            f"<ns0:document xmlns:ns0='{space}'><ns0:body><p xmlns='{space}'><r><t>hello</t></r></p>"
            "</ns0:body></ns0:document>"
        )
    }
    assert read(ReadDOCX, office_files.package(tmp_path / "a.docx", parts, "word/document.xml")) == "hello"


def test_relations_that_lead_nowhere_do_no_harm(tmp_path: Path) -> None:
    """As programs leave them that replace a picture by nothing."""
    drawn = f"<w:r><w:drawing>{FRAME.format(MARK)}</w:drawing></w:r>"
    parts = {
        "word/document.xml": xml("w:document", f"<w:body>{paragraph('hello', drawn)}</w:body>"),
        "word/_rels/document.xml.rels": office_files.relations(("charts_chart1", "chart", "NULL"), ("x", "image", "")),
    }
    document = office_files.package(tmp_path / "a.docx", parts, "word/document.xml")
    assert read(ReadDOCX, document) == "hello"


def test_under_parity_python_docx_and_python_pptx_choose_what_is_shown(tmp_path: Path) -> None:
    import docx
    import pptx
    from docx.oxml import parse_xml

    document = docx.Document()
    document.add_paragraph("one")
    document.element.body.insert(1, parse_xml(xml("w:p", run("two") + control(run("three"))).encode()))
    document.save(str(tmp_path / "a.docx"))
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = "one\vtwo"
    slides.save(str(tmp_path / "a.pptx"))
    assert read(ReadDOCX, tmp_path / "a.docx") == "one\ntwothree"
    assert read(ReadDOCX, tmp_path / "a.docx", released=True) == "one\ntwo"
    assert read(ReadPPTX, tmp_path / "a.pptx", released=True) == "one\ntwo"

"""Word documents, presentations and workbooks as programs write them: everything is read once, in its place."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.facts import facts
from bench_gta.workflow.inside import facts as child
from tests.tools import office_files
from tests.tools.office_files import FRAME, paragraph, presentation, run, strict, word, xml
from tool_impls.documents import ReadDOCX, ReadPPTX, ReadXLSX
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")
pytest.importorskip("openpyxl")


def read(kind: type[Any], path: Path, released: bool = False, **options: Any) -> str:
    settings = ToolSettings(released=released, tables={kind.meta.name: options})
    return str(kind(settings).apply(Path(), file=path))


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
    "symbols as text": (
        paragraph("<w:r><w:rPr><w:rFonts w:ascii='Wingdings'/></w:rPr><w:t>\uf0fc\uf0a8</w:t></w:r>", "\uf0fc"),
        "✓◻\uf0fc",
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


# --- files as programs write them


@pytest.mark.parametrize("kind", [ReadDOCX, ReadPPTX])
def test_damage_that_concerns_no_text_is_ignored_but_under_parity(kind: type[Any], tmp_path: Path) -> None:
    damaged = {"theme/theme1.xml": "<a>", "settings.xml": "no XML", "styles.xml": "<a></b>"}
    if kind is ReadDOCX:
        path = word(tmp_path / "a.docx", paragraph("hello"), damaged)
    else:
        slide = "<p:sp><p:txBody><a:p><a:r><a:t>hello</a:t></a:r></a:p></p:txBody></p:sp>"
        path = office_files.presentation(tmp_path / "a.pptx", [slide], damaged)
    assert read(kind, path) == "hello"
    judged = child.look(path, "Word document" if kind is ReadDOCX else "presentation", read=False)
    assert judged["text"] == "hello"
    with pytest.raises(ToolError, match="not well-formed XML"):
        read(kind, path, released=True)


@pytest.mark.parametrize("part", ["document", "footnotes"])
def test_damage_that_concerns_texts_is_told(part: str, tmp_path: Path) -> None:
    parts = {"footnotes.xml": xml("w:footnotes", "")}
    document = word(tmp_path / "a.docx", paragraph("hello"), parts)
    with zipfile.ZipFile(document) as archive, zipfile.ZipFile(tmp_path / "b.docx", "w") as made:
        for name in archive.namelist():
            text = archive.read(name)
            made.writestr(name, text[:-3] if part in name.rpartition("/")[2] and "rels" not in name else text)
    with pytest.raises(ToolError, match=f"part 'word/{part}.xml' is not well-formed XML"):
        read(ReadDOCX, tmp_path / "b.docx")


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


def slides_text(kind: type[Any], path: Path, released: bool = False, **options: Any) -> str:
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
    assert slides_text(ReadPPTX, slides) == shown == slides_text(ReadPPTX, strict(slides, tmp_path / "b.pptx"))
    assert slides_text(ReadDOCX, document) == f"x\n{shown}"


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
    assert slides_text(ReadPPTX, slides) == "first\nbelow first\nthird" == slides_text(ReadDOCX, document)


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
    assert (
        slides_text(ReadPPTX, slides)
        == f"first\n{shown}\nlast"
        == slides_text(ReadPPTX, strict(slides, tmp_path / "b.pptx"))
    )


def test_a_whole_presentation_is_read() -> None:
    """A chart, a group in a group, merged cells, a hidden slide."""
    shown = "Sales 2026\nChart:\n | Boxes\nNorth | 120\nSouth | 95\nin a group\nin a nested group\nMerged | \na | b"
    path = Path(__file__).with_name("data") / "chart-group.pptx"
    assert slides_text(ReadPPTX, path) == f"{shown}\nHidden slide:\nhidden slide\nsecond line"


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
    assert slides_text(ReadPPTX, slides) == f"text\nNotes: say hello\ntwice\nbeside\n{comments}"
    assert slides_text(ReadPPTX, slides, notes=False) == "text"


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
FORMATS = ["0.0%", "0.00E+00", 'yyyy"年"m"月"d"日"', "[h]:mm", "h:mm", '#,##0.00 "kg"', '0" %"', "[Red]0%;-0%", "\\%0"]
NUMBERS = [
    ("0.475", "47.5%"),
    ("1234.5", "1234.5"),
    ("46145", "2026-05-03"),
    ("1.125", "27:00:00"),
    ("0.395833333333333", "09:30:00"),
    ("3.5", "3.5"),
    ("50", "50"),
    ("0.07", "7%"),
    ("0.5", "0.5"),
]
"""What is stored in a cell with each of FORMATS, and how it is shown."""


def styles(codes: list[str] = FORMATS, before: str = "", after: str = "") -> str:
    formats = "".join(
        f'<numFmt numFmtId="{164 + place}" formatCode="{code.replace(chr(34), "&quot;")}"/>'
        for place, code in enumerate(codes)
    )
    used = "".join(f'<xf numFmtId="{164 + place}"/>' for place in range(len(codes)))
    return (
        f'<styleSheet xmlns="{MAIN}"><numFmts count="99">{formats}</numFmts>{before}<cellXfs><xf'
        f' numFmtId="0"/>{used}</cellXfs>{after}</styleSheet>'
    )


def rows(text: str, more: str = "") -> str:
    return f'<worksheet xmlns="{MAIN}">{more}<sheetData>{text}</sheetData></worksheet>'


def relations(**targets: str) -> str:
    links = "".join(
        f'<Relationship Id="r{place}" Type="{LINKS}/{kind.rstrip("0123456789")}" Target="{target}"/>'
        for place, (kind, target) in enumerate(targets.items(), start=1)
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{links}</Relationships>'
    )


def workbook(names: str = '<sheet name="One" sheetId="1" r:id="r1"/>', more: str = "", first: str = "") -> str:
    return f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">{first}<sheets>{names}</sheets>{more}</workbook>'


CELL = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" s="1"><v>0.475</v></c><c r="C1" s="3"><v>46145</v></c></row>'
SOUND = {
    "_rels/.rels": relations(officeDocument="xl/workbook.xml"),
    "xl/workbook.xml": workbook(),
    "xl/_rels/workbook.xml.rels": relations(
        worksheet="worksheets/sheet1.xml", styles="styles.xml", sharedStrings="sharedStrings.xml"
    ),
    "xl/styles.xml": styles(),
    "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>item</t></si></sst>',
    "xl/worksheets/sheet1.xml": rows(CELL),
}
SHOWN = "item,47.5%,2026-05-03"


def written(folder: Path, changes: dict[str, str | None] | None = None, name: str = "a.xlsx") -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        for part, text in {**SOUND, **(changes or {})}.items():
            if text is not None:
                archive.writestr(part, text)
    return folder / name


def book_text(path: Path, released: bool = False, **options: Any) -> str:
    return str(ReadXLSX(ToolSettings(released=released, tables={"ReadXLSX": options})).apply(Path(), file=path))


def judged(path: Path) -> list[str]:
    """The lines that a judge sees."""
    return str(child.look(path, "workbook", read=False)["text"]).splitlines()


# --- damage that concerns no cell ------------------------------------------------------------------------------------

EXTENSION = '<extLst><ext uri="{x}"><x:y xmlns:x="urn:x"/></ext></extLst>'
DAMAGED: dict[str, dict[str, str | None]] = {
    "sound": {},
    "empty fill": {"xl/styles.xml": styles(before="<fills><fill/></fills>")},
    "extension in a fill": {"xl/styles.xml": styles(before=f"<fills><fill>{EXTENSION}</fill></fills>")},
    "bad colour": {"xl/styles.xml": styles(before='<fonts><font><color rgb="#FF0000"/></font></fonts>')},
    "bad font family": {"xl/styles.xml": styles(before='<fonts><font><family val="34"/></font></fonts>')},
    "unknown element": {"xl/styles.xml": styles(before="<nonsense><a/></nonsense>", after="<more/>")},
    "wrong count": {"xl/styles.xml": styles(before='<fonts count="x"><font/></fonts>')},
    "bad border": {"xl/styles.xml": styles(before='<borders><border><left style="wavy"/></border></borders>')},
    "a format without a code": {
        "xl/styles.xml": styles(before='<numFmts><numFmt numFmtId="199"/><numFmt formatCode="0"/></numFmts>')
    },
    "bad named style": {"xl/styles.xml": styles(after='<cellStyles><cellStyle xfId="77"/></cellStyles>')},
    "bad gradient": {"xl/styles.xml": styles(after='<dxfs><dxf><fill><gradientFill type="x"/></fill></dxf></dxfs>')},
    "bad dates of the file": {
        "docProps/core.xml": "<a:coreProperties xmlns:a='http://schemas.openxmlformats.org/package/2006/metadata/core-properties'"
        " xmlns:d='http://purl.org/dc/terms/'><d:created>yesterday</d:created></a:coreProperties>"
    },
    "bad properties": {"docProps/custom.xml": "<Properties><property name='x'><vt>1</vt></property></Properties>"},
    "bad theme": {"xl/theme/theme1.xml": "<theme/>"},
    "parts that end early": {
        "xl/theme/theme1.xml": "<theme><a",
        "xl/drawings/drawing1.xml": "<a></b>",
        "docProps/app.xml": "nothing",
        "docProps/core.xml": "<?xml version='1.0' encoding='utf-7'?><a/>",
        "[Content_Types].xml": "<Types>",
    },
    "bad views": {
        "xl/worksheets/sheet1.xml": rows(
            CELL,
            '<sheetPr><tabColor rgb="red"/></sheetPr><sheetViews><sheetView view="x" zoomScale="-3"><pane state="y"/>'
            "</sheetView></sheetViews><sheetFormatPr baseColWidth='q'/><cols><col/></cols>",
        )
    },
    "bad names": {
        "xl/workbook.xml": workbook(
            more='<definedNames><definedName name="_xlnm.Print_Area" localSheetId="9">#REF!</definedName><definedName/>'
            "</definedNames><calcPr calcId='x'/>",
            first="<bookViews><workbookView activeTab='-2' tabRatio='x'/></bookViews>",
        )
    },
    "wrong dimension": {"xl/worksheets/sheet1.xml": rows(CELL, '<dimension ref="A1:XFD1048576"/>')},
    "no dimension at all": {"xl/worksheets/sheet1.xml": rows(CELL, '<dimension ref="#REF!"/>')},
    "a style that is not there": {"xl/worksheets/sheet1.xml": rows(CELL.replace('r="A1"', 'r="A1" s="4711"'))},
    "bad parts after the cells": {
        "xl/worksheets/sheet1.xml": rows(CELL).replace(
            "</worksheet>",
            "<mergeCells><mergeCell ref='?'/></mergeCells><dataValidations><dataValidation type='x'/></dataValidations>"
            "<hyperlinks><hyperlink/></hyperlinks><pageSetup orientation='sideways'/></worksheet>",
        )
    },
    "no list of types": {"[Content_Types].xml": None},
    "no way to the workbook": {"_rels/.rels": None},
    "texts under another case": {
        "xl/sharedStrings.xml": None,
        "xl/SharedStrings.xml": SOUND["xl/sharedStrings.xml"],
    },
    "texts with fonts": {
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><r><rPr><family val="99"/></rPr><t>it</t></r><r><t>em</t></r>'
        '<rPh sb="0" eb="1"><t>read so</t></rPh><phoneticPr fontId="x"/></si></sst>'
    },
    "texts in place": {
        "xl/sharedStrings.xml": None,
        "xl/worksheets/sheet1.xml": rows(CELL.replace('t="s"><v>0</v>', 't="inlineStr"><is><t>item</t></is>')),
    },
    "absolute targets": {
        "xl/_rels/workbook.xml.rels": relations(
            worksheet="/xl/worksheets/sheet1.xml", styles="/xl/styles.xml", sharedStrings="/xl/sharedStrings.xml"
        )
    },
    "no places of cells": {"xl/worksheets/sheet1.xml": rows(re.sub(' r="[A-C]?1"', "", CELL))},
    "strict": {part: (text or "").replace(MAIN, STRICT) for part, text in SOUND.items()},
    "prefixes": {
        "xl/worksheets/sheet1.xml": f'<x:worksheet xmlns:x="{MAIN}"><x:sheetData>'
        + CELL.replace("<", "<x:").replace("<x:/", "</x:")
        + "</x:sheetData></x:worksheet>"
    },
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_that_concerns_no_cell_is_ignored(damage: str, tmp_path: Path) -> None:
    assert book_text(written(tmp_path, DAMAGED[damage])) == SHOWN


def test_a_judge_reads_the_same(tmp_path: Path) -> None:
    paths = [written(tmp_path, parts, f"{place}.xlsx") for place, parts in enumerate(DAMAGED.values())]
    found = facts(paths, folder=tmp_path)
    assert [one.text for one in found] == ["One:\n" + SHOWN.replace(",", " | ")] * len(paths)


def test_a_workbook_with_macros_is_a_workbook(tmp_path: Path) -> None:
    path = written(tmp_path, {"xl/vbaProject.bin": "\0" * 9}, "a.xlsm")
    (found,) = facts([path], folder=tmp_path)
    assert (book_text(path), found.kind, found.measures["rows"]) == (SHOWN, "workbook", 1)


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
def test_damage_of_what_cells_depend_on_is_told(part: str, tmp_path: Path) -> None:
    path = written(tmp_path, {part: (SOUND[part] or "")[:-9]})
    with pytest.raises(ToolError, match=f"part '{part}' is not well-formed XML"):
        book_text(path)
    assert facts([path], folder=tmp_path)[0].broken.startswith(f"part '{part}'")


# --- what cells hold -------------------------------------------------------------------------------------------------


def cells(*texts: str) -> dict[str, str | None]:
    return {"xl/worksheets/sheet1.xml": rows("".join(f'<row r="{n}">{text}</row>' for n, text in enumerate(texts, 1)))}


def test_numbers_are_shown_as_their_format_says_what_they_are(tmp_path: Path) -> None:
    made = (f'<c s="{style}"><v>{stored}</v></c>' for style, (stored, _) in enumerate(NUMBERS, start=1))
    path = written(tmp_path, cells("".join(made)))
    assert book_text(path).split(",") == [shown for _, shown in NUMBERS]
    assert judged(path)[1].split(" | ") == [shown for _, shown in NUMBERS]
    assert book_text(path, released=True).startswith("0.475,") and book_text(path, percent=False).startswith("0.475,")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('<c t="str"><f>IF(A9,1,"")</f><v></v></c>', ""),
        ('<c t="str"><f>IF(A9,1,"")</f></c>', ""),
        ('<c t="str"><f>"a"</f><v>a</v></c>', "a"),
        ("<c><f>ODD(2)</f><v></v></c>", "=ODD(2)"),
        ("<c><f>ODD(2)</f></c>", "=ODD(2)"),
        ("<c><f>1+1</f><v>2</v></c>", "2"),
        ('<c t="e"><f>1/0</f><v>#DIV/0!</v></c>', "#DIV/0!"),
        ('<c t="e"><v>#N/A</v></c>', "#N/A"),
        ('<c t="b"><v>1</v></c>', "True"),
        ('<c t="b"><f>TRUE()</f><v>0</v></c>', "False"),
        ('<c t="d"><v>2026-05-03T00:00:00</v></c>', "2026-05-03"),
        ('<c t="d" s="5"><v>09:30:00</v></c>', "09:30:00"),
        ('<c t="d"><v>soon</v></c>', "soon"),
        ('<c t="s"><v>x</v></c>', "[text missing in the file]"),
        ("<c><v>1E+21</v></c>", "1e+21"),
        ("<c><v>-0.5</v></c>", "-0.5"),
        ("<c><v>n/a</v></c>", "n/a"),
        ('<c s="3"><v>1e300</v></c>', "1e+300"),
        ('<c s="3"><v>-3</v></c>', "-3"),
        ('<c s="4"><v>-0.5</v></c>', "-12:00:00"),
        ('<c t="inlineStr"><is><t xml:space="preserve"> a_x0041_ </t></is></c>', " aA "),
        ('<c t="s"><v>99</v></c>', "[text missing in the file]"),
    ],
)
def test_each_kind_of_cell_is_read(cell: str, shown: str, tmp_path: Path) -> None:
    path = written(tmp_path, cells(f"{cell}<c><v>7</v></c>"))
    assert book_text(path) == f"{shown},7"
    assert judged(path)[1] == f"{shown} | 7"


def test_shared_formulas_without_results_are_moved_to_their_places(tmp_path: Path) -> None:
    first = '<c r="A1"><f t="shared" ref="A1:A2" si="0">LEN(B1)</f></c>'
    assert book_text(written(tmp_path, cells(first, '<c r="A2"><f t="shared" si="0"/></c>'))) == "=LEN(B1)\n=LEN(B2)"


def test_dates_since_1904(tmp_path: Path) -> None:
    changes = {"xl/workbook.xml": workbook(first='<workbookPr date1904="1"/>'), **cells('<c s="3"><v>44683</v></c>')}
    assert book_text(written(tmp_path, changes)) == "2026-05-03"


def test_hidden_sheets_are_marked(tmp_path: Path) -> None:
    names = (
        '<sheet name="One" r:id="r1"/><sheet name="Two" state="hidden" r:id="r2"/><sheet name="Gone" r:id="r9"/>'
        '<sheet name="Three" state="veryHidden" r:id="r3"/><sheet name="Chart" r:id="r4"/>'
    )
    links = relations(
        worksheet1="worksheets/sheet1.xml",
        worksheet2="worksheets/sheet2.xml",
        worksheet3="worksheets/sheet2.xml",
        chartsheet="chartsheets/sheet1.xml",
    )
    changes = {
        "xl/workbook.xml": workbook(names),
        "xl/_rels/workbook.xml.rels": links,
        "xl/worksheets/sheet2.xml": rows("<row><c><v>2</v></c></row>"),
        "xl/chartsheets/sheet1.xml": f'<chartsheet xmlns="{MAIN}"/>',
    }
    path = written(tmp_path, {**changes, **cells("<c><v>1</v></c>")})
    assert book_text(path) == "Sheet One:\n1\n\nSheet Two (hidden):\n2\n\nSheet Three (hidden):\n2"
    assert judged(path) == ["One:", "1", "Two (hidden):", "2", "Three (hidden):", "2"]


# --- other kinds of files --------------------------------------------------------------------------------------------


def old(stream: str) -> bytes:
    return bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600) + stream.encode("utf-16-le") + bytes(600)


def zipped(*parts: str) -> Callable[[], bytes]:
    def made() -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for part in parts:
                archive.writestr(part, "<a/>")
        return stream.getvalue()

    return made


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (lambda: old("Workbook"), "is of the Office format before 2007; save it as an XLSX workbook"),
        (lambda: old("EncryptedPackage"), "is protected by a password; save it as an XLSX workbook without one"),
        (zipped("xl/workbook.bin"), "it is a binary workbook (XLSB); save it as XLSX"),
        (zipped("mimetype", "META-INF/manifest.xml"), "it is an OpenDocument file; save it as XLSX"),
        (zipped("word/document.xml"), "it is a Word document; save it as XLSX"),
        (zipped("a.txt"), "it holds no workbook"),
    ],
)
def test_other_files_are_named(content: Callable[[], bytes], reason: str, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content())
    with pytest.raises(ToolError) as caught:
        book_text(tmp_path / "a.xlsx")
    assert reason in str(caught.value)

"""What ReadDOCX shows: all text that Word shows, once, in its place."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.inside import facts as child
from tests.tools import office_files
from tests.tools.office_files import FRAME, paragraph, run, strict, word, xml
from tool_impls.documents import ReadDOCX, ReadPPTX
from tool_impls.settings import ToolSettings

pytest.importorskip("docx")
pytest.importorskip("pptx")


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

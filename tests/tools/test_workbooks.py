"""Workbooks as programs write them: damaged where no cell is concerned, in other forms, with what cells can hold."""

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
from tool_impls.documents import ReadXLSX
from tool_impls.settings import ToolSettings

pytest.importorskip("openpyxl")

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


def read(path: Path, released: bool = False, **options: Any) -> str:
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
    assert read(written(tmp_path, DAMAGED[damage])) == SHOWN


def test_a_judge_reads_the_same(tmp_path: Path) -> None:
    paths = [written(tmp_path, parts, f"{place}.xlsx") for place, parts in enumerate(DAMAGED.values())]
    found = facts(paths, folder=tmp_path)
    assert [one.text for one in found] == ["One:\n" + SHOWN.replace(",", " | ")] * len(paths)


def test_a_workbook_with_macros_is_a_workbook(tmp_path: Path) -> None:
    path = written(tmp_path, {"xl/vbaProject.bin": "\0" * 9}, "a.xlsm")
    (found,) = facts([path], folder=tmp_path)
    assert (read(path), found.kind, found.measures["rows"]) == (SHOWN, "workbook", 1)


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
def test_damage_of_what_cells_depend_on_is_told(part: str, tmp_path: Path) -> None:
    path = written(tmp_path, {part: (SOUND[part] or "")[:-9]})
    with pytest.raises(ToolError, match=f"part '{part}' is not well-formed XML"):
        read(path)
    assert facts([path], folder=tmp_path)[0].broken.startswith(f"part '{part}'")


# --- what cells hold -------------------------------------------------------------------------------------------------


def cells(*texts: str) -> dict[str, str | None]:
    return {"xl/worksheets/sheet1.xml": rows("".join(f'<row r="{n}">{text}</row>' for n, text in enumerate(texts, 1)))}


def test_numbers_are_shown_as_their_format_says_what_they_are(tmp_path: Path) -> None:
    made = (f'<c s="{style}"><v>{stored}</v></c>' for style, (stored, _) in enumerate(NUMBERS, start=1))
    path = written(tmp_path, cells("".join(made)))
    assert read(path).split(",") == [shown for _, shown in NUMBERS]
    assert judged(path)[1].split(" | ") == [shown for _, shown in NUMBERS]
    assert read(path, released=True).startswith("0.475,") and read(path, percent=False).startswith("0.475,")


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
    assert read(path) == f"{shown},7"
    assert judged(path)[1] == f"{shown} | 7"


def test_shared_formulas_without_results_are_moved_to_their_places(tmp_path: Path) -> None:
    first = '<c r="A1"><f t="shared" ref="A1:A2" si="0">LEN(B1)</f></c>'
    assert read(written(tmp_path, cells(first, '<c r="A2"><f t="shared" si="0"/></c>'))) == "=LEN(B1)\n=LEN(B2)"


def test_dates_since_1904(tmp_path: Path) -> None:
    changes = {"xl/workbook.xml": workbook(first='<workbookPr date1904="1"/>'), **cells('<c s="3"><v>44683</v></c>')}
    assert read(written(tmp_path, changes)) == "2026-05-03"


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
    assert read(path) == "Sheet One:\n1\n\nSheet Two (hidden):\n2\n\nSheet Three (hidden):\n2"
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
        read(tmp_path / "a.xlsx")
    assert reason in str(caught.value)

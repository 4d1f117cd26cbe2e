"""Facts about delivered files, and the formulas of workbooks."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import DataProblem
from bench_gta.workflow import facts as module
from bench_gta.workflow.confined import run_child
from bench_gta.workflow.facts import KINDS, MEASURES, Facts, facts
from bench_gta.workflow.inside.facts import READERS, look
from bench_gta.workflow.inside.kinds import SUFFIXES
from bench_gta.workflow.inside.sheets import Formulas
from tests.tools import office_files
from tests.tools.media import make_video
from tests.tools.office_files import xml
from tool_impls.base import BenchTool
from tool_impls.documents import TOOLS
from tool_impls.settings import ToolSettings

pytestmark = pytest.mark.slow

for needed in ("PIL", "av", "docx", "pptx", "openpyxl", "pypdf", "reportlab"):
    pytest.importorskip(needed, reason="documents and media need agentgauge[tools]")

MARKDOWN = "# Title\n\nThree plain words.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
PAGE = """<html><head><title>Tea &amp; more</title><style>p { color: red }</style></head><body><h1>Prices</h1>
<p>One
 <b>po</b>t</p><script>var hidden = 1;</script><img src=x.png alt="a pot"><svg/>
<table><tr><th>Tea<th>EUR</tr><tr>
<td>Mint</td>
<td>2.80</td></tr></table><a href=m>Book</a></body></html>"""


def tool(name: str) -> BenchTool:
    return next(kind for kind in TOOLS if kind.meta.name == name)(ToolSettings(released=False))


def sound(path: Path, loud: float) -> None:
    import numpy

    from tool_impls.audio import sound_file as sounds

    time = numpy.arange(16_000) / 16_000
    sounds.write(path, [(loud * numpy.sin(2 * numpy.pi * 440 * time))[None, :].astype(numpy.float32)], 16_000, "mono")


def picture(path: Path) -> None:
    from PIL import Image

    image = Image.new("RGB", (40, 30), "white")
    image.putpixel((3, 3), (255, 0, 0))
    image.save(path)


def archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/one.txt", "1")
        file.writestr("two.txt", "2")


def generated(name: str, **arguments: Any) -> Callable[[Path], None]:
    return lambda path: tool(name).apply(path.parent, filename=path.name, **arguments).replace(path)


def written(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text, encoding="utf-8")


ROWS = json.dumps([["tea", "eur"], ["Mint", 2.8], ["Chai", 3.9]])
SLIDES = json.dumps([{"title": "First", "content": "One\nTwo"}, {"title": "Second", "content": "Three"}])
CASES: dict[str, tuple[Callable[[Path], None], dict[str, float], str]] = {
    "a.pdf": (
        generated("PdfFileGenerator", content=MARKDOWN, render_markdown=True),
        {"pages": 1, "pictures": 0},
        "Three plain words.",
    ),
    "a.docx": (
        generated("DocxFileGenerator", content=MARKDOWN, render_markdown=True),
        {"headings": 1, "paragraphs": 4, "tables": 1, "rows": 2, "columns": 2, "pictures": 0},
        "1 | 2",
    ),
    "a.pptx": (
        generated("PptxFileGenerator", slides_content_str=SLIDES),
        {"slides": 2, "headings": 2, "pictures": 0, "tables": 0, "charts": 0},
        "Three",
    ),
    "a.xlsx": (
        generated("XlsxFileGenerator", data_str=ROWS),
        {"sheets": 1, "rows": 3, "columns": 2, "charts": 0},
        "Mint | 2.8",
    ),
    "a.csv": (generated("CsvFileGenerator", data_str=ROWS), {"rows": 3, "columns": 2}, "Chai | 3.9"),
    "semicolons.csv": (written("a;b;c\n1,5;2;\n\n"), {"rows": 2, "columns": 3}, "1,5 | 2 | "),
    "a.html": (
        written(PAGE),
        {"headings": 1, "paragraphs": 1, "tables": 1, "rows": 2, "columns": 2, "pictures": 2, "links": 1},
        "Tea & more\nPrices\nOne pot\na pot\nTea | EUR\nMint | 2.80\nBook",
    ),
    "a.md": (
        written(MARKDOWN),
        {"headings": 1, "tables": 1, "rows": 2, "columns": 2, "lines": 7},
        "Three plain words.",
    ),
    "a.json": (written('{"a": [1, 2]}'), {"lines": 1}, '"a"'),
    "a.txt": (written("One line\n\ntwo lines\n"), {"lines": 2, "words": 4}, "two lines"),
    "b.txt": (written("one\u2028line\x0c\r\ntwo\rthree"), {"lines": 3}, "three"),
    "a.py": (written("print(1)\n"), {"lines": 1}, "print(1)"),
    "a.zip": (archive, {"members": 2}, "a/one.txt\ntwo.txt"),
    "a.png": (picture, {"width": 40, "height": 30, "colours": 2}, ""),
    "a.wav": (
        lambda path: sound(path, 0.5),
        {"seconds": 1.0, "rate": 16_000, "channels": 1, "loudness": -9.0, "pitch": 440.0},
        "",
    ),
    "silent.wav": (lambda path: sound(path, 0.0), {"seconds": 1.0, "loudness": -120.0}, ""),
    "a.mp4": (
        lambda path: make_video(path, 20),
        {"frames": 20, "seconds": 2.0, "width": 96, "height": 64, "channels": 0},
        "",
    ),
}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Facts]:
    folder = tmp_path_factory.mktemp("delivered")
    for name, (make, _, _) in CASES.items():
        make(folder / name)
    return dict(zip(CASES, facts([folder / name for name in CASES], folder=folder), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_measured_and_read(known: dict[str, Facts], name: str) -> None:
    found, (_, measures, text) = known[name], CASES[name]
    assert found.broken == "" and found.name == name
    assert {word: found.measures[word] for word in measures} == pytest.approx(measures)
    assert text in found.text
    assert found.measures.keys() <= MEASURES.keys()
    assert found.bytes == found.measures["bytes"] > 0


def test_every_kind_of_file_has_a_reader() -> None:
    assert set(READERS) | {"picture", "video"} == set(KINDS.values())


def test_a_file_is_known_by_all_the_suffixes_that_judges_know_it_by(tmp_path: Path) -> None:
    opened = {
        kind for kind in SUFFIXES if kind not in ("office", "archive", "")
    }  # of these only some can be looked into
    assert {KINDS.get(suffix) or KINDS.get(kind) for kind in opened for suffix in SUFFIXES[kind].split()} <= set(
        READERS
    ) | {
        "picture",
        "video",
    }


def native_chart(path: Path) -> None:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    presentation = Presentation()
    data = CategoryChartData()
    data.categories = ["Birch wall", "Slate wall"]
    data.add_series("Height", (8, 12.5))
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(3), data)
    presentation.save(str(path))


def pictures_in_group_and_placeholder(path: Path) -> None:
    from pptx import Presentation

    image = path.with_name("in_slide.png")
    picture(image)
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[8])  # a picture with a caption
    slide.placeholders[1].insert_picture(str(image))
    slide.shapes.add_group_shape().shapes.add_picture(str(image), 0, 0)
    presentation.save(str(path))


def vector_chart(path: Path) -> None:
    from reportlab.graphics.charts.barcharts import VerticalBarChart
    from reportlab.graphics.shapes import Drawing
    from reportlab.platypus import SimpleDocTemplate

    chart = VerticalBarChart()
    chart.data = [(52, 44, 41, 35, 33)]
    chart.categoryAxis.categoryNames = ["Chain", "Brake", "Full", "Wheel", "Puncture"]
    drawing = Drawing(300, 200)
    drawing.add(chart)
    SimpleDocTemplate(str(path)).build([drawing])


def formulas(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for row in (
        ["tea", "january", "march", "total", "growth"],
        ["Mint", 45, 66, "=SUM(B2:C2)", "=ROUND((C2/B2-1)*100,1)"],
        ["Chai", 97, 140, "=B3+$C$3", "=C3/B3-1"],
        ["all", None, None, "=SUM(D2:D3)", '=CONCATENATE("a","b")'],
    ):
        book.active.append(row)
    book.save(path)


def named_after_media_type(path: Path) -> None:
    usual = path.with_name("usual.docx")
    CASES["a.docx"][0](usual)
    usual.replace(path)


def link(path: Path) -> None:
    path.write_text("<a href='mailto:info%40shop.example'>Book</a><a href='#'>Top</a><a name=x>")


DRAWN: dict[str, tuple[Callable[[Path], None], dict[str, float], tuple[str, ...]]] = {
    "native.pptx": (native_chart, {"charts": 1, "pictures": 0}, ("Birch wall", "12.5")),
    "pictures.pptx": (pictures_in_group_and_placeholder, {"pictures": 2, "charts": 0}, ()),
    "vector.pdf": (vector_chart, {"pictures": 0}, ("Brake", "Puncture")),
    "link.html": (link, {"links": 1}, ()),
    "memo.wordprocessingml.document": (named_after_media_type, {"headings": 1}, ()),
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Facts]:
    folder = tmp_path_factory.mktemp("drawn")
    for name, (make, _, _) in DRAWN.items():
        make(folder / name)
    return dict(zip(DRAWN, facts([folder / name for name in DRAWN], folder=folder, read=True), strict=True))


@pytest.mark.parametrize("name", DRAWN)
def test_charts_and_pictures_are_counted_and_read_however_they_were_made(drawn: dict[str, Facts], name: str) -> None:
    found, (_, measures, texts) = drawn[name], DRAWN[name]
    assert found.broken == ""
    assert {word: found.measures[word] for word in measures} == measures
    assert [text for text in texts if text not in found.shown] == []
    assert texts or not found.shown


def test_documents_are_measured_as_they_are_read(tmp_path: Path) -> None:
    """Content controls, the Strict form, names of charts that are unusual."""
    heading = "<w:p><w:pPr><w:pStyle w:val='berschrift1'/></w:pPr><w:r><w:t>Prices</w:t></w:r></w:p>"
    row = "<w:tr><w:tc><w:p/></w:tc><w:sdt><w:sdtContent><w:tc><w:p/></w:tc></w:sdtContent></w:sdt></w:tr>"
    body = f"<w:sdt><w:sdtContent>{heading}<w:tbl>{row}</w:tbl></w:sdtContent></w:sdt><w:p/>"
    style = "<w:style w:styleId='berschrift1'><w:name w:val='heading 1'/></w:style>"
    parts = {"styles.xml": xml("w:styles", style), "charts/first.xml": xml("c:chartSpace", "")}
    document = office_files.word(tmp_path / "a.docx", body, parts)
    text = "<p:txBody><a:p><a:r><a:t>T</a:t></a:r></a:p></p:txBody>"
    held = f"<p:nvSpPr><p:nvPr><p:ph type='ctrTitle'/></p:nvPr></p:nvSpPr>{text}"
    frame = "<mc:AlternateContent><mc:Choice><p:graphicFrame><a:tbl/></p:graphicFrame></mc:Choice><mc:Fallback><p:pic/>"
    shapes = f"<p:grpSp><p:sp>{held}</p:sp></p:grpSp>{frame}</mc:Fallback></mc:AlternateContent>"
    slides = office_files.presentation(tmp_path / "a.pptx", [shapes])
    for made, kind, measures in (
        (
            document,
            "Word document",
            {"headings": 1, "paragraphs": 1, "tables": 1, "rows": 1, "columns": 2, "charts": 1},
        ),
        (slides, "presentation", {"slides": 1, "headings": 1, "tables": 1, "pictures": 0, "charts": 0}),
    ):
        for path in (made, office_files.strict(made, made.with_stem("strict"))):
            found = look(path, kind, read=False)["measures"]
            assert {name: found[name] for name in measures} == measures


def test_formulas_that_no_program_has_worked_out_are_worked_out(tmp_path: Path) -> None:
    formulas(tmp_path / "a.xlsx")
    (found,) = facts([tmp_path / "a.xlsx"], folder=tmp_path)
    assert found.text.splitlines()[2:] == [
        "Mint | 45 | 66 | 111 | 46.7",
        "Chai | 97 | 140 | 237 | 0.4432989691",
        'all |  |  | 348 | =CONCATENATE("a","b")',
    ]


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", b"<a>" + b" " * 60_000_000)


def huge_picture(path: Path) -> None:
    from PIL import Image

    Image.new("1", (9_000, 9_000)).save(path)


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty.pdf": (lambda path: path.touch(), "the file is empty"),
    "missing.pdf": (lambda path: None, "there is no such file"),
    "garbage.pdf": (written("no PDF at all"), "it does not begin as one"),
    "garbage.docx": (written("no archive"), "it is no zip archive"),
    "bomb.docx": (bomb, "would unpack to"),
    "garbage.xlsx": (archive, "not an XLSX workbook that can be read"),
    "garbage.pptx": (archive, "not a PPTX presentation that can be read"),
    "garbage.png": (written("no picture"), "not a picture that can be read"),
    "huge.png": (huge_picture, "it has 9000 by 9000 pixels; at most 64 million are looked at"),
    "garbage.mp3": (written("no sound"), "is not a sound file that can be read"),
    "garbage.mp4": (written("no video"), "is not a video that can be read"),
    "garbage.json": (written("{a: 1}"), "it is not valid JSON"),
    "deep.json": (written("[" * 100_000), "it is not valid JSON"),
    "garbage.csv": (lambda path: path.write_bytes(b"a,b\n\0\x81\x8d"), "is no text"),
    "garbage.zip": (written("PK nothing"), "its end is missing"),
}


def test_a_broken_file_is_told_with_the_reason_and_takes_no_other_along(tmp_path: Path) -> None:
    for name, (make, _) in BROKEN.items():
        make(tmp_path / name)
    (tmp_path / "sound.txt").write_text("still here")
    *found, sound = facts([*(tmp_path / name for name in BROKEN), tmp_path / "sound.txt"], folder=tmp_path)
    assert {one.name: one.broken for one in found if BROKEN[one.name][1] not in one.broken} == {}
    assert all(one.broken for one in found)
    assert sound.text == "still here" and not sound.broken


def test_text_in_pictures_and_videos_is_read_on_request(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr", reason="reading pictures needs agentgauge[tools]")
    from bundled_data.canvas import Pen

    pen = Pen(300, 80)
    pen.text(20, 20, "TEA WEEK", 40)
    pen.done().save(tmp_path / "a.png")
    assert facts([tmp_path / "a.png"], folder=tmp_path)[0].shown == ""
    assert facts([tmp_path / "a.png"], folder=tmp_path, read=True)[0].shown.replace(" ", "") == "TEAWEEK"


def test_a_file_that_ends_the_child_is_broken_and_the_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.run_child

    def dies_of_bad_files(child: str, order: Any, **options: Any) -> Any:
        if any("bad" in file["path"] for file in order["files"]):
            raise DataProblem("the program that looked at it was ended: it ran longer than 60 s")
        return real(child, order, **options)

    monkeypatch.setattr(module, "run_child", dies_of_bad_files)
    paths = [tmp_path / f"{name}.txt" for name in ("a", "bad", "c")]
    for path in paths:
        path.write_text(path.stem)
    found = facts(paths, folder=tmp_path)
    assert [one.text for one in found] == ["a", "", "c"]
    assert [one.broken for one in found] == ["", "the program that looked at it was ended: it ran longer than 60 s", ""]


@pytest.fixture
def taken_over(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """From its call on, the child answers this."""
    return lambda answer: monkeypatch.setattr(module, "run_child", lambda *_, **__: answer)


def test_of_a_child_that_was_taken_over_only_known_measures_and_texts_are_kept(
    tmp_path: Path, taken_over: Callable[[Any], None]
) -> None:
    told = {
        "measures": {"pages": 2, "score": 10, "words": "many", "lines": True, "bytes": 99},
        "text": 5,
        "shown": "x",
        "name": "other",
    }
    taken_over([told])
    (tmp_path / "a.txt").write_text("a")
    assert facts([tmp_path / "a.txt"], folder=tmp_path) == [
        Facts("a.txt", "text", 1, {"pages": 2, "bytes": 1}, "", "x")
    ]


# -- the sandbox


def test_a_child_sees_no_other_files(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "scratch").mkdir()
    order = {"files": [{"path": str(tmp_path / "secret.txt"), "kind": "text"}], "read": False}
    with pytest.raises(DataProblem):
        run_child("bench_gta.workflow.inside.facts", order, folder=tmp_path / "scratch")
    (found,) = run_child(
        "bench_gta.workflow.inside.facts", order, folder=tmp_path / "scratch", readable=[tmp_path / "secret.txt"]
    )
    assert found["text"] == "secret"


CELLS: dict[str, list[list[Any]]] = {
    "Data": [[1, 2, 3], [4, None, "text"], ["=A1+1", "=A3*2", "=C3"]],
    "My sheet": [[10]],
}


def worked_out(formula: str) -> Any:
    return Formulas({**CELLS, "Test": [[formula]]}).value("Test", 1, 1)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("=1+2*3", 7),
        ("=(1+2)*3", 9),
        ("=2^3^2", 64),
        ("=-2^2", 4),
        ("=10-4-3", 3),
        ("=8/4/2", 1),
        ("=50%*4", 2),
        ("= 1.5e2 + .5", 150.5),
        ("=Data!A1 + Data!$B$1", 3),
        ("='My sheet'!A1/4", 2.5),
        ("=SUM(Data!A1:C1)", 6),
        ("=sum(Data!A1:C2, 5)", 15),
        ("=AVERAGE(Data!A1:C1)*MAX(1;2)", 4),
        ("=MIN(3,2)+COUNT(Data!A1:C2)+ABS(-1)", 7),
        ("=ROUND(100*(66/45-1),1)", 46.7),
        ("=ROUND(2.345,2)", 2.35),
        ("=Data!B2+1", 1),
        ("=Data!B3", 4),
        ("plain", "plain"),
        (7, 7),
        (None, None),
    ],
    ids=str,
)
def test_a_formula_is_worked_out(formula: str, value: Any) -> None:
    assert worked_out(formula) == value


MORE_THAN_PLAIN = (
    *(
        "=",
        "=1/0",
        "=1+",
        "=(1",
        "=1)",
        "=Data!C2+1",
        "=Data!C3",
        "=A1",
        "=NOW()",
        '="a"&"b"',
        "=SUM(A",
        "=AVERAGE(Data!B2:B2)",
        "=9^999",
    ),
    *("=(-8)^0.5", "=ROUND(1)", "=SUM(Data!A1:ZZ9999999)", f"={'(' * 9_000}", "=#REF!"),
)


@pytest.mark.parametrize("formula", MORE_THAN_PLAIN, ids=lambda formula: str(formula[:30]))
def test_a_formula_that_needs_more_stays_as_it_is(formula: str) -> None:
    assert worked_out(formula) == formula


def test_a_running_total_over_many_rows_is_worked_out() -> None:
    rows = [["=1"], *([f"=A{row}+1"] for row in range(1, 3_000))]
    formulas = Formulas({"Test": rows})
    assert [formulas.value("Test", 1, row) for row in range(1, 3_001)] == list(range(1, 3_001))

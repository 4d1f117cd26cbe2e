"""Office files with random damage in their parts: a text or one sentence, for the tool and for the judge alike."""

from __future__ import annotations

import copy
import io
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.inside import facts as child
from tests.tools import office_files
from tests.tools.office_files import xml
from tool_impls.documents import ReadDOCX, ReadPPTX, ReadXLSX, read_office
from tool_impls.settings import ToolSettings

for package in ("docx", "pptx", "openpyxl"):
    pytest.importorskip(package)

ROUNDS = {"docx": 80, "pptx": 80, "xlsx": 20}  # openpyxl is slow
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.faults) for seed in range(1, 41))]
TOOLS = {"docx": ReadDOCX, "pptx": ReadPPTX, "xlsx": ReadXLSX}
KINDS = {"docx": "Word document", "pptx": "presentation", "xlsx": "workbook"}
ODD = (
    "",
    "0",
    "-1",
    "1",
    "true",
    "99999999999",
    "9" * 5000,
    "1e309",
    "nan",
    "NULL",
    "../../x",
    "/",
    "rId1",
    "\u2028",
    "%",
)

Parts = dict[str, bytes]


# --- files to damage


def document(path: Path) -> None:
    note = "<w:p><w:r><w:t>note</w:t><w:{}Reference w:id='1'/></w:r></w:p>"
    field = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>"
    body = (
        "<w:p><w:r><w:t>one</w:t><w:tab/><w:br/><w:sym w:font='Symbol' w:char='F061'/><w:footnoteReference w:id='1'/>"
        "<w:endnoteReference w:id='1'/><w:commentReference w:id='1'/></w:r><w:ins><w:r><w:t>two</w:t></w:r></w:ins>"
        f"{field.format('begin')}<w:r><w:instrText>X</w:instrText></w:r>{field.format('separate')}"
        f"<w:r><w:t>3</w:t></w:r>{field.format('end')}<w:fldSimple><w:r><w:t>four</w:t></w:r></w:fldSimple></w:p>"
        "<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr>"
        "</w:tbl>"
        "<w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
        "<w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent>"
        "</mc:Choice><mc:Fallback><w:txbxContent><w:p/></w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>"
        "<w:r><w:drawing><c:chart r:id='charts_chart1'/><dgm:relIds r:dm='diagrams_data1'/></w:drawing></w:r></w:p>"
        "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>"
    )
    parts = {
        "header1.xml": xml("w:hdr", "<w:p><w:r><w:t>head</w:t></w:r></w:p>"),
        "styles.xml": xml("w:styles", "<w:style w:styleId='a'><w:name w:val='heading 1'/></w:style>"),
        "charts/chart1.xml": CHART,
        "diagrams/data1.xml": DIAGRAM,
        **{
            f"{kind}s.xml": xml(f"w:{kind}s", f"<w:{kind} w:id='1' w:author='A'>{note.format(kind)}</w:{kind}>")
            for kind in ("footnote", "endnote", "comment")
        },
    }
    office_files.word(path, body, parts)


CHART = xml(
    "c:chartSpace",
    "<c:date1904 val='0'/><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>T</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    "<c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>S</c:v></c:pt></c:strCache>"
    "</c:strRef></c:tx><c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx='0'><c:v>x</c:v></c:pt></c:lvl>"
    "<c:lvl><c:pt idx='0'><c:v>y</c:v></c:pt></c:lvl></c:multiLvlStrCache></c:multiLvlStrRef></c:cat><c:val><c:numRef>"
    "<c:numCache><c:formatCode>yyyy</c:formatCode><c:pt idx='0'><c:v>4.5</c:v></c:pt></c:numCache></c:numRef></c:val>"
    "</c:ser></c:barChart></c:plotArea></c:chart>",
)
DIAGRAM = xml(
    "dgm:dataModel",
    "<dgm:pt modelId='0' type='doc'/><dgm:pt modelId='1'><dgm:t><a:p><a:r><a:t>d</a:t></a:r></a:p></dgm:t></dgm:pt>"
    "<dgm:cxn srcId='0' destId='1' srcOrd='0'/>",
)


def presentation(path: Path) -> None:
    text = "<p:txBody><a:p><a:r><a:t>text</a:t></a:r><a:br/><a:fld><a:t>1</a:t></a:fld></a:p></p:txBody>"
    shapes = (
        f"<p:sp><p:nvSpPr><p:nvPr><p:ph type='title'/></p:nvPr></p:nvSpPr>{text}</p:sp><p:grpSp><p:sp>{text}</p:sp>"
        "</p:grpSp><p:graphicFrame><a:graphic><a:tbl><a:tr><a:tc><a:txBody><a:p/></a:txBody></a:tc></a:tr></a:tbl><c:chart"
        " r:id='charts_chart1'/><dgm:relIds r:dm='diagrams_data1'/></a:graphic></p:graphicFrame><p:pic/>"
    )
    parts = {
        "charts/chart1.xml": CHART,
        "diagrams/data1.xml": DIAGRAM,
        "notesSlides/notesSlide1.xml": xml("p:notes", f"<p:cSld><p:spTree><p:sp>{text}</p:sp></p:spTree></p:cSld>"),
        "comments/comments1.xml": xml("p:cmLst", "<p:cm authorId='0'><p:text>c</p:text></p:cm>"),
        "commentAuthors.xml": xml("p:cmAuthorLst", "<p:cmAuthor id='0' name='A'/>"),
    }
    office_files.presentation(path, [shapes, shapes], parts)


def workbook(path: Path) -> None:
    import openpyxl
    from openpyxl.chart import BarChart, Reference
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["tea", "eur"], ["Mint", 2.8], ["Chai", "=B2*2"]):
        sheet.append(row)
    sheet["B2"].style, sheet["A1"].font = "Percent", Font(bold=True)
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "D1")
    book.save(path)


MAKERS = {"docx": document, "pptx": presentation, "xlsx": workbook}


# --- damage


def damaged(parts: Parts, chance: random.Random) -> bytes:
    """The file with one to five damages."""
    held = dict(parts)
    damages = [*[in_tree] * chance.choice((0, 1, 1, 4)), chance.choice((in_tree, in_bytes, deepened, elsewhere))]
    for damage in damages:
        damage(held, chance.choice(sorted(held)), chance)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in held.items():
            archive.writestr(name, part)
    return buffer.getvalue()


def in_tree(held: Parts, name: str, chance: random.Random) -> None:
    try:
        root = ElementTree.fromstring(held[name])
    except ElementTree.ParseError:
        return
    elements = list(root.iter())
    at, other = chance.choice(elements), chance.choice(elements)
    change = chance.choice((dropped, doubled, renamed, put_inside, nested, valued, valued, unvalued, said))
    change(at, other, chance)
    held[name] = ElementTree.tostring(root)


def dropped(at: Element, other: Element, chance: random.Random) -> None:
    if len(at):
        at.remove(chance.choice(list(at)))


def doubled(at: Element, other: Element, chance: random.Random) -> None:
    at.extend([copy.deepcopy(one) for one in at] * chance.choice((1, 5)))


def renamed(at: Element, other: Element, chance: random.Random) -> None:
    at.tag = chance.choice((other.tag, other.tag.rpartition("}")[2], "x"))


def put_inside(at: Element, other: Element, chance: random.Random) -> None:
    at.append(copy.deepcopy(other))


def nested(at: Element, other: Element, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 30))):
        inner = Element(at.tag, at.attrib)
        at.append(inner)
        at = inner


def valued(at: Element, other: Element, chance: random.Random) -> None:
    if at.attrib:
        at.set(chance.choice(sorted(at.attrib)), chance.choice((*ODD, *other.attrib.values())))


def unvalued(at: Element, other: Element, chance: random.Random) -> None:
    at.attrib.clear()


def said(at: Element, other: Element, chance: random.Random) -> None:
    at.text = chance.choice(ODD)


def in_bytes(held: Parts, name: str, chance: random.Random) -> None:
    part = held[name]
    at = chance.randrange(len(part) + 1)
    put = chance.choice((b"", b"<", b"&", b"0", b'"', b"\xff"))
    held[name] = part[:at] + put + part[at + chance.choice((0, 1, 9)) :]


def deepened(held: Parts, name: str, chance: random.Random) -> None:
    at, depth = held[name].rfind(b"</"), chance.choice((100, 3000))
    if at > 0:
        held[name] = held[name][:at] + b"<x>" * depth + b"</x>" * depth + held[name][at:]


def elsewhere(held: Parts, name: str, chance: random.Random) -> None:
    """The part is missing, lies under another name, or holds what another one should."""
    other = chance.choice(sorted(held))
    part = held.pop(name)
    held[chance.choice((name.upper(), other, name + " ", name.replace("/", "\\")))] = part


# --- what comes of it


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Parts]:
    folder = tmp_path_factory.mktemp("whole")
    found = {}
    for suffix, make in MAKERS.items():
        make(folder / suffix)
        with zipfile.ZipFile(folder / suffix) as archive:
            found[suffix] = {name: archive.read(name) for name in archive.namelist() if "theme" not in name}
    return found


def outcome(act: Callable[[], str]) -> tuple[str | None, str]:
    """The text, or the refusal."""
    try:
        return act(), ""
    except ToolError as error:
        return None, str(error)


@contextmanager
def only_too_deep(what: str) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise ToolError(f"{what} is nested too deeply") from None


@pytest.mark.filterwarnings("ignore::UserWarning:openpyxl")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("suffix", TOOLS)
def test_random_damage_gives_a_text_or_one_sentence(
    suffix: str, seed: int, whole: dict[str, Parts], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, path = random.Random(f"{suffix} {seed}"), tmp_path / f"a.{suffix}"
    tool = TOOLS[suffix](ToolSettings(released=False))
    if suffix != "xlsx":  # no library reads these, so nothing may be raised but a refusal
        for module in (read_office, child):
            monkeypatch.setattr(module, "reading", only_too_deep)
    outcomes = set()
    for _ in range(ROUNDS[suffix]):
        path.write_bytes(damaged(whole[suffix], chance))
        text, refusal = outcome(lambda: tool.apply(tmp_path, file=path))
        judged = child.look(path, KINDS[suffix], read=True)
        assert "\n" not in refusal and "Error" not in refusal and (refusal or text is not None)
        if suffix != "xlsx":  # the judge shows sheets in a form of its own
            assert judged.get("text") == text
        outcomes.add(text is not None)
    assert outcomes == {True, False}

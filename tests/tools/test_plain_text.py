"""Text files in the encodings that people have, and tables with their delimiters."""

from __future__ import annotations

import random
import re
import zlib
from pathlib import Path

import pytest

from agentgauge.core.errors import ToolError
from bench_gta.workflow.facts import facts
from bench_gta.workflow.inside.convert import content
from tool_impls.documents import ReadCSV
from tool_impls.documents.plain_text import decode, read_csv
from tool_impls.settings import ToolSettings

TEXTS = {
    "cp1252": [
        "Name;Größe;Straße\nJörg;180;Höhe 3\n",
        "name,price\ncafé,3\n",
        "name,price\nnaïve,3\nplain,4\n",
        "Prénom,Âge,Ville\nHélène,34,Orléans\nZoé,29,Besançon\n",
        "producto;cantidad\nniño;3\naños;12\nEspaña;1\n",
        "Artikel;Preis\nKäse;1,99 €\nBrötchen;0,35 €\n",
        "item,price\n“Fancy” widget,£3.50\nTom’s – best,£4\n",
        "place,temperature\nroof,20 °C\ncellar,±0.5\n",
        "nome,cidade\nJoão,São Paulo\nConceição,Brasília\n",
    ],
    "mac_roman": ["Name;Größe;Straße\nJörg;180;Höhe 3\n", "prénom,âge\nÉloïse,31\nFrançois,40\n"],
    "cp850": ["Name;Größe;Straße\nJörg;180;Höhe 3\n", "prénom,ville\nHélène,Orléans\nZoé,Besançon\n"],
    "cp1250": ["imię;miasto\nŁukasz;Łódź\nŻaneta;Kraków\nMałgorzata;Gdańsk\n"],
    "cp1251": ["имя;город\nИван;Москва\nОльга;Санкт-Петербург\n", "товар,цена\nхлеб,35\nмолоко,80\n"],
    "cp1253": ["όνομα;πόλη\nΓιώργος;Αθήνα\nΜαρία;Θεσσαλονίκη\n"],
    "shift_jis": ["商品,価格\nりんご,120\nバナナ,80\n", "氏名,住所\n山田太郎,東京都千代田区丸の内\n"],
    "euc_kr": ["도시,인구\n서울,9700000\n부산,3400000\n"],
    "big5": ["城市,人口\n臺北,2600000\n高雄,2700000\n"],
    "gb18030": [
        "城市,人口\n北京,2154\n",
        "姓名,年龄\n张三,20\n李四,30\n王五,25\n",
        "单价,备注\n3,好\n",
        "id,name\n1,键盘\n2,鼠标\n",
        "价,量\n",
    ],
    "utf-8": ["名前,Größe,цена\n", "a\n", "only one � that was there before\n"],
    "utf-8-sig": ["a,中\n"],
    "utf-16": ["a,中\n"],
    "utf-32": ["a,中\n"],
    "utf-16-le": ["name,price\ncafé,3\ntea,4\n"],
    "utf-16-be": ["name,price\ncafé,3\ntea,4\n"],
}


@pytest.mark.parametrize(("encoding", "text"), [(encoding, text) for encoding in TEXTS for text in TEXTS[encoding]])
def test_the_encoding_is_found(encoding: str, text: str, tmp_path: Path) -> None:
    assert decode(text.encode(encoding)) == text
    assert decode((text * 20_000)[:400_000].encode(encoding)) == (text * 20_000)[:400_000]


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_tool_and_judge_read_a_file_alike(name: str, tmp_path: Path) -> None:
    for encoding in ("cp1252", "cp1251", "gb18030", "shift_jis", "utf-16"):
        (tmp_path / name).write_bytes(TEXTS.get(encoding, TEXTS["utf-8"])[0].encode(encoding))
        tool = ReadCSV(ToolSettings()).apply(Path(), csv_file=tmp_path / name)
        (judge,), (shown, _) = facts([tmp_path / name], folder=tmp_path), content(tmp_path / name)
        words = re.findall(r"[\w -]+", tool)
        assert re.findall(r"[\w -]+", judge.text.replace(" | ", ",")) == words == re.findall(r"[\w -]+", shown)


def test_files_that_are_no_text_are_refused() -> None:
    for data in (random.Random(1).randbytes(3000).replace(b"\0", b""), zlib.compress(b"text " * 10)):
        with pytest.raises(ToolError, match="is no text in UTF-8, UTF-16 or another common encoding; save it as UTF-8"):
            decode(data)


def test_an_encoding_can_be_named() -> None:
    assert decode("ÄÖÜ".encode("mac-roman"), "mac-roman") == "ÄÖÜ"
    with pytest.raises(ToolError, match="no text in UTF-8, UTF-16 or ascii; save it as UTF-8"):
        decode(b"\xff\xfa", "ascii")


@pytest.mark.parametrize(
    ("text", "delimiter", "rows"),
    [
        ("a,b\n1,2\n", ",", [["a", "b"], ["1", "2"]]),
        ("a;b\n1,5;2\n", ";", [["a", "b"], ["1,5", "2"]]),
        ("1,5;2,5\n3,5;4,5\n", ";", [["1,5", "2,5"], ["3,5", "4,5"]]),
        ("a\tb\n1,5\t2;3\n", "\t", [["a", "b"], ["1,5", "2;3"]]),
        ("a|b\n1|2\n", "|", [["a", "b"], ["1", "2"]]),
        ("Report, 2024\n\na;b\n1;2\n", ";", [["Report, 2024"], ["a", "b"], ["1", "2"]]),
        ('"a;b;c;d",e\n"f;g",h\n', ",", [["a;b;c;d", "e"], ["f;g", "h"]]),
        ('"a, b";c\n"d, e, f";g\n', ";", [["a, b", "c"], ["d, e, f", "g"]]),
        ("name,notes\nx,one; two\ny,three; four\n", ",", [["name", "notes"], ["x", "one; two"], ["y", "three; four"]]),
        ("a,b\nonly\n1,2,3\nx;y,z\n", ",", [["a", "b"], ["only"], ["1", "2", "3"], ["x;y", "z"]]),
        ("sep=;\na;b\n", ";", [["a", "b"]]),
        ("sep=^\r\na^b\r\n", "^", [["a", "b"]]),
        ("one\rtwo\r", ",", [["one"], ["two"]]),
        ("", ",", []),
    ],
)
def test_the_delimiter_is_what_divides_the_rows(text: str, delimiter: str, rows: list[list[str]]) -> None:
    found, read = read_csv(text)
    assert (found, list(read)) == (delimiter, rows)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'"a, b";"c"\n"d;e";f\n', 'a, b;c\n"d;e";f'),
        (b"a;b\n1,5;2", "a;b\n1,5;2"),
        (b"a\tb\n1\t2\n", "a\tb\n1\t2"),
    ],
)
def test_the_tool_keeps_the_delimiter(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    assert ReadCSV(ToolSettings()).apply(Path(), csv_file=tmp_path / "a.csv") == text

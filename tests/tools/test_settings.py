"""The ``[tools]`` table, and which tools can work under it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ToolUnavailable, UsageProblem
from tool_impls.availability import check, require
from tool_impls.registry import GTA_ATOMIC, TOOLS
from tool_impls.settings import SERPER_KEY, Endpoint, SearchSettings, ToolSettings, load, parse


def read(text: str, base: Path = Path()) -> ToolSettings:
    return parse(tomllib.loads(text).get("tools", {}), base)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SERPER_KEY, "VISION_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", ToolSettings()),
        ("[tools]\nbasic = true", ToolSettings(basic=True)),
        ('[tools]\ndisable = ["OCR", "Plot"]', ToolSettings(disable=frozenset({"OCR", "Plot"}))),
        ("[tools.ocr]\nparagraphs = false", ToolSettings(paragraphs=False)),
        ('[tools.vision]\nurl = "http://h/v1"\nmodel = "m"', ToolSettings(vision=Endpoint("http://h/v1", "m"))),
        ('[tools.image]\nurl = "http://h"\nmodel = "m"\nkey_env = "K"', ToolSettings(image=Endpoint("http://h", "m", "K"))),
        ('[tools.search]\nprovider = "serper"', ToolSettings()),
        ('[tools.search]\nurl = "http://proxy"', ToolSettings(search=SearchSettings(url="http://proxy"))),
    ],
)
def test_table_is_read(text: str, settings: ToolSettings) -> None:
    assert read(text) == settings


def test_search_folder_starts_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "a.toml").write_text('[tools.search]\nfolder = "texts"\n[other]\nx = 1')
    assert load(tmp_path / "a.toml").search.folder == tmp_path / "texts"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tools = 3", "must be a table"),
        ("[tools]\nbasics = true", "does not know basics; accepted are basic, disable, image, ocr, search, vision"),
        ('[tools]\nbasic = "yes"', "true or false; got 'yes'"),
        ('[tools]\ndisable = "OCR"', "must be a list"),
        ('[tools]\ndisable = ["Ocr"]', "unknown tools: Ocr; known are AddText, Calculator"),
        ('[tools.vision]\nurl = "http://h"', "needs model"),
        ('[tools.vision]\nmodel = "m"', "needs url"),
        ('[tools.vision]\nurl = "h:80"\nmodel = "m"', "must start with http"),
        ('[tools.vision]\nurl = "http://h"\nmodel = "m"\nkey = "sk"', "does not know key; accepted are key_env, model, url"),
        ("[tools.ocr]\nmerge = true", "does not know merge"),
        ('[tools.search]\nprovider = "bing"', "must be \"serper\"; got 'bing'"),
        ('[tools.search]\nfolder = "nowhere"', "names no folder: "),
        ('[tools.search]\nfolder = "."\nprovider = "serper"', "not both"),
    ],
)
def test_wrong_table_is_refused_with_what_is_accepted(text: str, told: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        read(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(("content", "told"), [(None, "cannot be read"), (b"[tools", "not valid TOML"), (b"\xff", "not valid TOML")])
def test_wrong_file_is_refused(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageProblem, match=told):
        load(path)


VISION = Endpoint("http://h", "m")
NEEDS_MODEL = {
    "ImageDescription",
    "RegionAttributeDescription",
    "CountGivenObject",
    "MathOCR",
    "TextToImage",
    "ImageStylization",
    "TextToBbox",
}


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        (ToolSettings(), {}),
        (
            ToolSettings(basic=True),
            dict.fromkeys(("ImageDescription", "RegionAttributeDescription", "TextToImage", "ImageStylization"), "basic"),
        ),
        (
            ToolSettings(vision=VISION),
            dict.fromkeys(("ImageDescription", "RegionAttributeDescription", "CountGivenObject", "MathOCR"), "ready"),
        ),
        (ToolSettings(image=VISION), dict.fromkeys(("TextToImage", "ImageStylization"), "ready")),
        (ToolSettings(basic=True, image=VISION, disable=frozenset({"TextToImage"})), {
            "ImageDescription": "basic", "RegionAttributeDescription": "basic", "ImageStylization": "ready", "TextToImage": "disabled",
        }),
        (ToolSettings(search=SearchSettings(Path())), {"GoogleSearch": "ready"}),
    ],
)  # fmt: skip
def test_states(settings: ToolSettings, changed: dict[str, str]) -> None:
    states = check(settings)
    assert list(states) == [kind.meta.name for kind in GTA_ATOMIC]
    expected = {name: "unavailable" if name in NEEDS_MODEL | {"GoogleSearch"} else "ready" for name in states} | changed
    assert {name: state.partition(":")[0] for name, state in states.items()} == expected


def test_key_makes_the_web_search_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERPER_KEY, "k")
    assert check(ToolSettings(), ["GoogleSearch"]) == {"GoogleSearch": "ready"}


def test_endpoint_without_its_key_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ToolSettings(basic=True, vision=Endpoint("http://h", "m", "VISION_KEY"))
    assert "VISION_KEY, which is not set" in check(settings, ["ImageDescription"])["ImageDescription"]
    monkeypatch.setenv("VISION_KEY", "k")
    assert check(settings, ["ImageDescription"]) == {"ImageDescription": "ready"}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["MathOCR"], "MathOCR is needed but unavailable: name an OpenAI-compatible endpoint in [tools.vision]"),
        (["TextToBbox"], "TextToBbox is needed but unavailable"),
        (["OCR", "GoogleSearch"], SERPER_KEY),
        (["ImageDescription"], "or set basic = true in [tools]"),
        (["TextToImage", "MathOCR"], "(also unavailable: MathOCR)"),
    ],
)
def test_needed_tool_that_cannot_work_names_the_setting(names: list[str], told: str) -> None:
    with pytest.raises(ToolUnavailable) as caught:
        require(ToolSettings(), names)
    assert told in str(caught.value) and "disable = [" in str(caught.value)


def test_disabled_and_basic_tools_pass() -> None:
    assert require(ToolSettings(basic=True, disable=frozenset({"MathOCR"})), ["MathOCR", "TextToImage", "OCR"]) == {
        "MathOCR": "disabled",
        "TextToImage": "basic",
        "OCR": "ready",
    }


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TOOLS["DrawBox"], "packages", ("no_such_package",))
    assert (
        check(ToolSettings(), ["DrawBox"])["DrawBox"]
        == "unavailable: the Python package no_such_package is missing; install agentgauge[tools]"
    )


def test_unknown_name_is_refused() -> None:
    with pytest.raises(UsageProblem, match="no tool 'Ocr'"):
        check(ToolSettings(), ["Ocr"])


def test_categories_are_the_evaluators() -> None:
    by_category: dict[str, set[str]] = {}
    for kind in GTA_ATOMIC:
        by_category.setdefault(kind.category, set()).add(kind.meta.name)
    assert by_category == {
        "perception": {"OCR", "ImageDescription", "RegionAttributeDescription", "TextToBbox"},
        "operation": {"DrawBox", "AddText", "GoogleSearch"},
        "logic": {"Calculator", "Solver", "Plot", "MathOCR", "CountGivenObject"},
        "creativity": {"TextToImage", "ImageStylization"},
    }


SIGNATURES = {
    "OCR": ["image: image"],
    "ImageDescription": ["image: image"],
    "RegionAttributeDescription": ["image: image", "bbox: text", "attribute: text"],
    "TextToBbox": ["image: image", "text: text", "top1: bool = True"],
    "DrawBox": ["image: image", "bbox: text", "annotation: text = None"],
    "AddText": ["image: image", "text: text", "position: text", "color: text = red"],
    "GoogleSearch": ["query: text", "k: int = 10"],
    "Calculator": ["expression: text"],
    "Plot": ["command: text"],
    "Solver": ["command: text"],
    "MathOCR": ["image: image"],
    "CountGivenObject": ["image: image", "text: text", "bbox: text = None"],
    "TextToImage": ["keywords: text"],
    "ImageStylization": ["image: image", "instruction: text"],
}


@pytest.mark.parametrize(("name", "signature"), SIGNATURES.items())
def test_inputs_are_the_released_ones(name: str, signature: list[str]) -> None:
    """GTA spec 2: names, order, types and defaults are part of the benchmark."""
    parameters: Any = TOOLS[name].meta.inputs
    assert [f"{p.name}: {p.type}" + (f" = {p.default}" if p.optional else "") for p in parameters] == signature
    outputs = {
        "DrawBox": "image",
        "AddText": "image",
        "Plot": "image",
        "TextToImage": "image",
        "ImageStylization": "image",
        "CountGivenObject": "int",
    }
    assert [output.type for output in TOOLS[name].meta.outputs] == [outputs.get(name, "text")]


def test_checking_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tool_impls.availability import check; from tool_impls.settings import ToolSettings;"
        "import tool_impls.client, tool_impls.server;"
        "check(ToolSettings(basic=True));"
        "print([m for m in ('PIL', 'numpy', 'openai', 'aiohttp', 'onnxruntime', 'sympy', 'matplotlib', 'rapidocr') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

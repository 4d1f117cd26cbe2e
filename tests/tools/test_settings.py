"""The ``[tools]`` table, and which tools can work under it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from agentgauge.core.errors import ToolUnavailable, UsageProblem
from tests.packages import absent
from tool_impls.availability import check, require
from tool_impls.operation.search import SERPER_KEY
from tool_impls.registry import GTA_ATOMIC, load, parse
from tool_impls.settings import Option, ToolSettings, read_table


def read(text: str, base: Path = Path()) -> ToolSettings:
    return parse(tomllib.loads(text).get("tools", {}), base)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (SERPER_KEY, "VISION_KEY", "MATHPIX_APP_ID", "MATHPIX_APP_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", ToolSettings()),
        ("[tools]\nbasic = true", ToolSettings(basic=True)),
        ('[tools]\nmissing = "disable"\ndevices = "cuda:1"', ToolSettings(missing="disable", devices="cuda:1")),
        ('[tools]\ndisable = ["OCR", "Plot"]', ToolSettings(disable=frozenset({"OCR", "Plot"}))),
        ("[tools.OCR]\nparagraphs = false", ToolSettings(tables={"OCR": {"paragraphs": False}})),
        (
            "[tools.Calculator]\nseconds = 3\nqueue = 9",
            ToolSettings(tables={"Calculator": {"seconds": 3.0, "queue": 9}}),
        ),
        (
            '[tools.vision]\nurl = "http://h/v1"\nmodel = "m"',
            ToolSettings(tables={"vision": {"url": "http://h/v1", "model": "m"}}),
        ),
        (
            '[tools.image]\nurl = "http://h"\nkey_env = "K"',
            ToolSettings(tables={"image": {"url": "http://h", "key_env": "K"}}),
        ),
    ],
)
def test_table_is_read(text: str, settings: ToolSettings) -> None:
    assert read(text) == settings


def test_paths_start_from_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[tools.GoogleSearch]\nfolder = "texts"\n[other]\nx = 1')
    assert load(tmp_path / "a.toml").tables == {"GoogleSearch": {"folder": str(tmp_path / "texts")}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tools = 3", "must be a table"),
        ("[tools]\nbasics = true", "does not know basics; accepted are AddText, "),
        ('[tools]\nbasic = "yes"', "basic in [tools] must be true or false; got 'yes'"),
        ('[tools]\nmissing = "ignore"', "missing in [tools] must be one of refuse, disable; got 'ignore'"),
        ('[tools]\ndisable = "OCR"', "must be a list"),
        ('[tools]\ndisable = ["Ocr"]', "unknown tools: Ocr; known are AddText, "),
        ("[tools]\nvision = 3", "[tools.vision] in the settings must be a table; got 3"),
        ('[tools.vision]\nkey = "sk"', "[tools.vision] in the settings does not know key; accepted are "),
        ('[tools.vision]\nurl = ""', "url in [tools.vision] must be a text; got ''"),
        (
            "[tools.OCR]\nmerge = true",
            "does not know merge; accepted are cpus, device, gpus, paragraphs, queue, replicas, seconds",
        ),
        (
            '[tools.OCR]\ndevice = "gpu"',
            "device in [tools.OCR]: the device 'gpu' is none; accepted are auto, cpu and cuda:N",
        ),
        ('[tools]\ndevices = "cpu,cuda"', "devices in [tools]: the device 'cuda' is none"),
        ('[tools.Plot]\ndevice = "cpu"', "[tools.Plot] in the settings does not know device"),
        ("[tools.OCR]\nseconds = 0", "seconds in [tools.OCR] must be at least 0.1; got 0"),
        ("[tools.OCR]\nqueue = 1.5", "queue in [tools.OCR] must be a whole number; got 1.5"),
        ("[tools.OCR]\nqueue = true", "queue in [tools.OCR] must be a whole number; got True"),
        ("[tools.GoogleSearch]\nfolder = 3", "folder in [tools.GoogleSearch] must be a path as a text; got 3"),
    ],
)
def test_wrong_table_is_refused_with_what_is_accepted(text: str, told: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        read(text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"), [(None, "cannot be read"), (b"[tools", "not valid TOML"), (b"\xff", "not valid TOML")]
)
def test_wrong_file_is_refused(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageProblem, match=told):
        load(path)


SERVICE = {"url": "http://h", "model": "m"}
PLAIN = ("ImageDescription", "RegionAttributeDescription", "CountGivenObject", "TextToBbox")  # have a stand-in
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
            dict.fromkeys((*PLAIN, "TextToImage", "ImageStylization"), "basic"),
        ),
        (
            ToolSettings(tables={"vision": SERVICE}),
            {
                **dict.fromkeys(("ImageDescription", "RegionAttributeDescription", "CountGivenObject"), "ready"),
                "MathOCR": "substitute",
            },
        ),
        (ToolSettings(tables={"image": SERVICE}), dict.fromkeys(("TextToImage", "ImageStylization"), "ready")),
        (ToolSettings(basic=True, tables={"image": SERVICE}, disable=frozenset({"TextToImage"})), {
            **dict.fromkeys(PLAIN, "basic"), "ImageStylization": "ready", "TextToImage": "disabled",
        }),
        (ToolSettings(tables={"GoogleSearch": {"folder": "."}}), {"GoogleSearch": "substitute"}),
    ],
)  # fmt: skip
def test_states(settings: ToolSettings, changed: dict[str, str]) -> None:
    states = check(settings, [kind.meta.name for kind in GTA_ATOMIC])
    expected = {name: "unavailable" if name in NEEDS_MODEL | {"GoogleSearch"} else "ready" for name in states} | changed
    assert {name: state.partition(":")[0] for name, state in states.items()} == expected


def test_key_makes_the_web_search_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERPER_KEY, "k")
    assert check(ToolSettings(), ["GoogleSearch"]) == {"GoogleSearch": "ready"}


def test_endpoint_without_its_key_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ToolSettings(basic=True, tables={"vision": {**SERVICE, "key_env": "VISION_KEY"}})
    assert "VISION_KEY, which is not set" in check(settings, ["ImageDescription"])["ImageDescription"]
    monkeypatch.setenv("VISION_KEY", "k")
    assert check(settings, ["ImageDescription"]) == {"ImageDescription": "ready"}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (
            ["MathOCR"],
            "MathOCR is needed but unavailable: set the environment variables MATHPIX_APP_ID and MATHPIX_APP_KEY",
        ),
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
    absent(monkeypatch, "PIL")
    assert (
        check(ToolSettings(), ["DrawBox"])["DrawBox"]
        == "unavailable: the Python package PIL is missing; install agentgauge[tools]"
    )


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"url": "h:80", "model": "m"}, "url in [tools.vision] must start with http:// or https://; got 'h:80'"),
        ({"url": "http://h"}, "[tools.vision] has a url but no model"),
    ],
)
def test_endpoint_that_cannot_work_is_unavailable(table: dict[str, str], told: str) -> None:
    assert told in check(ToolSettings(tables={"vision": table}), ["ImageDescription"])["ImageDescription"]


def test_search_folder_that_is_not_there_is_unavailable() -> None:
    settings = ToolSettings(tables={"GoogleSearch": {"folder": "/nowhere"}})
    assert (
        check(settings, ["GoogleSearch"])["GoogleSearch"]
        == "unavailable: [tools.GoogleSearch] names no folder: /nowhere"
    )


def test_missing_tools_can_be_switched_off_and_keep_their_reason() -> None:
    states = require(ToolSettings(missing="disable"), ["MathOCR", "OCR"])
    assert (
        states["OCR"] == "ready"
        and states["MathOCR"].startswith("disabled: ")
        and "[tools.vision]" in states["MathOCR"]
    )


def test_options_take_the_released_value_under_parity() -> None:
    option = Option("sound", "bool", True, "", released=False)
    assert ToolSettings().value("VideoClip", option) is False
    assert ToolSettings(released=False).value("VideoClip", option) is True
    assert ToolSettings(tables={"VideoClip": {"sound": True}}).value("VideoClip", option) is True


def test_weights_are_a_path_where_one_is_there_and_else_a_name(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    option = Option("weights", "weights", None, "")
    assert read_table({"weights": "model"}, "t", [option], tmp_path) == {"weights": str(tmp_path / "model")}
    assert read_table({"weights": "org/model"}, "t", [option], tmp_path) == {"weights": "org/model"}


def test_unknown_name_is_refused() -> None:
    with pytest.raises(UsageProblem, match="no tool 'Ocr'"):
        check(ToolSettings(), ["Ocr"])


HEAVY = (
    "PIL",
    "numpy",
    "openai",
    "aiohttp",
    "onnxruntime",
    "sympy",
    "matplotlib",
    "rapidocr",
    "torch",
    "av",
    "docx",
    "scipy",
    "z3",
)


def test_checking_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tool_impls.availability import check; from tool_impls.settings import ToolSettings;"
        "import tool_impls.server.client, tool_impls.server.command;"
        "check(ToolSettings(basic=True));"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

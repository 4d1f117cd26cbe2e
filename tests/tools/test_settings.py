"""The lists of tools, the ``[tools]`` table, and which tools can work under it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path

import pytest

from agentgauge.core.errors import ToolUnavailable, UsageProblem
from agentgauge.core.tools import REAL_TOOLS, Parameter, by_state
from tests.packages import absent
from tool_impls import registry
from tool_impls.availability import check, require
from tool_impls.operation.search import SERPER_KEY
from tool_impls.registry import GTA_ATOMIC, GTA_WORKFLOW, OURS, load, parse
from tool_impls.settings import Option, ToolSettings, read_table

# -- the lists: names, categories, inputs and outputs are part of the benchmarks (docs/benchmarks/tools.md)


CATEGORIES = {
    "perception": (
        "OCR ImageDescription RegionAttributeDescription TextToBbox "
        "ImageQualityTest SoundCharacteristicExtraction VideoDescription VideoObjectDetection VideoOCR SpeechToText"
    ),
    "operation": (
        "DrawBox AddText GoogleSearch CsvFileGenerator DocxFileGenerator PdfFileGenerator PptxFileGenerator"
        " XlsxFileGenerator HtmlFileGenerator ReadCSV ReadDOCX ReadPDF ReadPPTX ReadXLSX AudioClipTool NoiseReduction"
        " PitchShifting VideoClip AddTextVideoTool"
    ),
    "logic": "Calculator Solver Plot MathOCR CountGivenObject Prover",
    "creativity": "TextToImage ImageStylization TextToVideoTool",
}

OFFICE = "application/vnd.openxmlformats-officedocument"
SIGNATURES = {
    "OCR": "image: image -> text",
    "ImageDescription": "image: image -> text",
    "RegionAttributeDescription": "image: image, bbox: text, attribute: text -> text",
    "TextToBbox": "image: image, text: text, top1: bool = True -> text",
    "DrawBox": (
        "image: image, bbox: text, annotation: text = None, output_dir: text = None, filename: text = None -> image"
    ),
    "AddText": (
        "image: image, text: text, position: text, color: text = red, output_dir: text = None, filename: text = None ->"
        " image"
    ),
    "GoogleSearch": "query: text, k: int = 10 -> text",
    "Calculator": "expression: text -> text",
    "Plot": "command: text -> image",
    "Solver": "command: text -> text",
    "MathOCR": "image: image -> text",
    "CountGivenObject": "image: image, text: text, bbox: text = None -> int",
    "TextToImage": "keywords: text -> image",
    "ImageStylization": "image: image, instruction: text -> image",
    "CsvFileGenerator": "data_str: text, filename: text, output_dir: text = None -> text/csv",
    "XlsxFileGenerator": "data_str: text, filename: text, output_dir: text = None -> office/xlsx",
    "DocxFileGenerator": (
        "content: text@markdown, filename: text, image_paths: text@files = , render_markdown: bool = False, "
        f"output_dir: text = None -> {OFFICE}.wordprocessingml.document"
    ),
    "PdfFileGenerator": (
        "content: text@markdown, filename: text, image_paths: text@files = , render_markdown: bool = False, "
        "output_dir: text = None -> application/pdf"
    ),
    "PptxFileGenerator": (
        "slides_content_str: text, filename: text, image_paths: text@files = , "
        f"output_dir: text = None -> {OFFICE}.presentationml.presentation"
    ),
    "HtmlFileGenerator": "html_code: text, filename: text, output_dir: text = None -> text/html",
    "ReadCSV": "csv_file: file -> text",
    "ReadXLSX": "file: file -> text",
    "ReadDOCX": "file: file -> text",
    "ReadPDF": "file: file -> text",
    "ReadPPTX": "file: file -> text",
    "AudioClipTool": (
        "audio: text@file, start_time: float = None, end_time: float = None, output_dir: text = None, "
        "filename: text = None -> audio"
    ),
    "NoiseReduction": "audio: text@file, output_dir: text = None -> audio",
    "PitchShifting": "audio: text@file, output_dir: text = None -> audio",
    "SoundCharacteristicExtraction": "audio: text@file, output_dir: text = None -> text",
    "SpeechToText": "audio: text@file -> text",
    "ImageQualityTest": "image: image -> text",
    "VideoClip": (
        "video: text@file, start_time: float = None, end_time: float = None, filename: text = None, "
        "output_dir: text = None -> video"
    ),
    "AddTextVideoTool": (
        "video: text@file, output_dir: text = None, text: text = None, position: text = None, font: int = None, "
        "font_scale: float = None, color: text = None, thickness: int = None, filename: text = None -> video"
    ),
    "TextToVideoTool": (
        "description: text, output_dir: text = None, num_frames: int = 8, resolution: text = 128,128, fps: int = 8, "
        "filename: text = None -> video"
    ),
    "VideoDescription": "video: text@file, frame_skip: int = None -> text",
    "VideoObjectDetection": "video: text@file, frame_skip: int = None -> text",
    "VideoOCR": "video: text@file, frame_skip: int = None -> text",
    "Prover": "theorem: text -> text",
}


def written(parameter: Parameter) -> str:
    attach = f"@{parameter.attach}" if parameter.attach else ""
    return f"{parameter.name}: {parameter.type}{attach}" + (f" = {parameter.default}" if parameter.optional else "")


@pytest.mark.parametrize(("name", "signature"), SIGNATURES.items())
def test_inputs_and_outputs_are_the_released_ones(name: str, signature: str) -> None:
    tool = OURS[name].offered(ToolSettings())
    (output,) = tool.outputs
    assert f"{', '.join(map(written, tool.inputs))} -> {output.filetype or output.type}" == signature


def test_categories_are_the_evaluators() -> None:
    found: dict[str, set[str]] = {}
    for kind in OURS.values():
        found.setdefault(kind.category, set()).add(kind.meta.name)
    assert found == {category: set(names.split()) for category, names in CATEGORIES.items()}


def test_both_lists_are_whole() -> None:
    assert (len(GTA_ATOMIC), len(GTA_WORKFLOW), len(OURS)) == (14, 24, 38)


@pytest.mark.parametrize("kind", OURS.values(), ids=lambda kind: kind.meta.name)
def test_every_tool_tells_what_it_is(kind: type) -> None:
    """A description for each tool, its inputs and options; no two options of one name."""
    assert kind.meta.description.endswith(".")
    for parameter in kind.meta.inputs:
        assert parameter.description or parameter.name == "image", parameter.name
    names = [option.name for option in kind.known_options()]
    assert len(set(names)) == len(names) and all(option.help for option in kind.known_options())
    assert kind.backend(ToolSettings(basic=True))


def test_extra_file_brings_tools_and_replaces_ours(tmp_path: Path) -> None:
    """In a process of its own: the registry is the process's."""
    (tmp_path / "mine.py").write_text(
        "from tool_impls import base\n"
        "class Calculator(base.BenchTool):\n"
        "    meta = base.tool('Calculator', 'Mine.', (), base.TEXT_OUT)\n"
        "    category = 'logic'\n"
        "    def apply(self, folder, /): return '42'\n"
    )
    code = (
        "import sys; from pathlib import Path; from tool_impls import registry;"
        "registry.add(Path(sys.argv[1])); print(registry.TOOLS['Calculator'].meta.description)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "mine.py")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Mine.\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "names no Python file"), ("1/0", "cannot be loaded: ZeroDivisionError"), ("x = 1", "defines no tool")],
)
def test_extra_file_that_is_no_use_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / "mine.py").write_text(content)
    with pytest.raises(UsageProblem, match=told):
        registry.add(tmp_path / "mine.py")


def test_tools_that_are_not_simply_ready_are_told_by_state_with_the_reason_behind_them() -> None:
    states = {
        "B": "disabled: no key; or no address",
        "A": "basic",
        "C": "disabled",
        "D": "substitute: local texts",
        "E": "disabled: no key; or no address",
    }
    for_real = "pip install 'agentgauge[generate,speech,vision]' and name weights"
    basic = f"tools basic: A - plain stand-ins; for the real ones {for_real} in [tools], see docs/tools.md"
    enabled = f" - to enable them {for_real} or keys in [tools], see docs/tools.md"
    assert by_state(states) == [
        basic,
        f"tools disabled: C; B, E (no key){enabled}",
        "tools substitute: D (local texts)",
    ]
    assert by_state(states, reasons=False) == [
        basic,
        f"tools disabled: B, C, E{enabled}",
        "tools substitute: D (local texts)",
    ]
    missing = {
        name: f"disabled: the Python package {package} is missing; install agentgauge[{extra}]"
        for name, package, extra in (("F", "PIL", "tools"), ("G", "docx", "tools"), ("H", "torch", "vision"))
    }
    assert by_state(missing) == [
        f"tools disabled: F, G (install agentgauge[tools]); H (install agentgauge[vision]){enabled}"
    ]
    assert by_state({"C": "disabled"}) == ["tools disabled: C"]  # by the settings
    assert by_state({}) == []


def test_the_command_for_real_tools_names_extras_that_there_are() -> None:
    named = REAL_TOOLS.partition("[")[2].partition("]")[0].split(",")
    assert set(named) <= set(metadata("agentgauge").get_all("Provides-Extra") or ())


# -- the table, and the states of tools


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
        ('[tools.vision]\nurl = ""', "url in [tools.vision] must be a string; got ''"),
        (
            "[tools.OCR]\nmerge = true",
            "does not know merge; accepted are device, paragraphs, queue, seconds",
        ),
        (
            '[tools.OCR]\ndevice = "gpu"',
            "device in [tools.OCR]: the device 'gpu' is none; accepted are auto, cpu and cuda:N",
        ),
        ('[tools]\ndevices = "cpu,cuda"', "devices in [tools]: the device 'cuda' is none"),
        ('[tools.Plot]\ndevice = "cpu"', "[tools.Plot] in the settings does not know device"),
        (
            "[tools]\nreplicas = 2",
            "replicas in [tools] was for tools on Ray Serve, which are no more; leave it out",
        ),
        ("[tools.OCR]\ncpus = 2", "cpus in [tools.OCR] was for tools on Ray Serve"),
        ("[tools.vision]\ngpus = 0.5", "gpus in [tools.vision] was for tools on Ray Serve"),
        ("[tools.OCR]\nseconds = 0", "seconds in [tools.OCR] must be at least 0.1; got 0"),
        ("[tools.OCR]\nqueue = 1.5", "queue in [tools.OCR] must be an integer; got 1.5"),
        ("[tools.OCR]\nqueue = true", "queue in [tools.OCR] must be an integer; got True"),
        ("[tools.GoogleSearch]\nfolder = 3", "folder in [tools.GoogleSearch] must be a path as a string; got 3"),
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
        pytest.param(
            ToolSettings(basic=True),
            dict.fromkeys((*PLAIN, "TextToImage", "ImageStylization"), "basic"),
            marks=pytest.mark.heavy,  # one of the stand-ins needs torch
        ),
        (
            ToolSettings(tables={"vision": SERVICE}),
            {
                **dict.fromkeys(("ImageDescription", "RegionAttributeDescription", "CountGivenObject"), "ready"),
                "MathOCR": "substitute",
            },
        ),
        (ToolSettings(tables={"image": SERVICE}), dict.fromkeys(("TextToImage", "ImageStylization"), "ready")),
        pytest.param(ToolSettings(basic=True, tables={"image": SERVICE}, disable=frozenset({"TextToImage"})), {
            **dict.fromkeys(PLAIN, "basic"), "ImageStylization": "ready", "TextToImage": "disabled",
        }, marks=pytest.mark.heavy),
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

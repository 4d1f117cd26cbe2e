"""The two lists of tools: names, categories, inputs and outputs are part of the benchmarks (GTA tools spec 1, 4 and
5)."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tools import REAL_TOOLS, Parameter, by_state
from tool_impls import registry
from tool_impls.registry import GTA_ATOMIC, GTA_WORKFLOW, OURS
from tool_impls.settings import ToolSettings

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

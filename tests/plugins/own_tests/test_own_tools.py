"""Real tools in a project's own tests: names of files, failed calls, and what the screen says of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugin.project import records
from tests.plugin.test_installed import forked_in

pytestmark = pytest.mark.slow  # each runs pytest


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


SCRIPT = {
    "tests.tools/test_own.py::test_scripted*": [
        call("DrawBox", image="receipt.png", bbox="1, 1, 9, 9", filename="b"),
        call("ImageQualityTest", image="b.png"),
        call("OCR", image="0001.png"),
        call("OCR", picture="b.png"),
        call("Calculator", expression="1 +"),
        "done",
    ],
    "tests/test_own.py::test_scripted[1]": ["never"],
}

TESTS = """
import wave
import pytest
from PIL import Image
from agentgauge import ToolError

@pytest.fixture
def receipt(tmp_path):
    Image.new("RGB", (60, 30), "white").save(tmp_path / "receipt.png")
    return tmp_path / "receipt.png"

@pytest.mark.parametrize("number", [1])
def test_scripted(model, tools, receipt, number):
    offered = [tools.DrawBox, tools.ImageQualityTest, tools.OCR, tools.Calculator]
    reply = model.ask("go", tools=offered, files=[receipt])
    drawn, tested, *failed = reply.calls
    (path,) = drawn.files
    assert path.name == "b.png" and path.is_file() and drawn.result == f"[image]({path})"
    assert tested.files == () and "error" not in tested.result and tested.error is None
    assert [(call.files, call.result) for call in failed] == [((), None)] * 3

def test_direct(tools, receipt, tmp_path):
    with wave.open(str(tmp_path / "a.wav"), "wb") as sound:
        sound.setparams((1, 2, 16000, 16000, "NONE", ""))
        sound.writeframes(bytes(32000))
    cut = tools.AudioClipTool(audio=tmp_path / "a.wav", end_time=0.5)  # its input is a text that names a file
    assert "mfcc" in tools.SoundCharacteristicExtraction(audio=cut.name)
    assert tools.ImageQualityTest(image=receipt.name if tools.DrawBox(image=receipt, bbox="1, 1, 9, 9") else "")

def test_descriptions(tools):
    schema = tools.OCR.schema["function"]
    assert (schema["name"], schema["parameters"]["required"]) == ("OCR", ["image"])
    assert tools.DrawBox.__doc__.startswith("DrawBox(image: image, bbox: text, annotation: text = …")
    assert "bbox: The box" in tools.DrawBox.__doc__
    with pytest.raises(TypeError, match=r"OCR takes its inputs by name: OCR\\(image: image\\) -> text"):
        tools.OCR("a.png")
    with pytest.raises(ToolError, match="^Calculator: SyntaxError: invalid syntax$"):
        tools.Calculator(expression="1 +")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_own.py").write_text(TESTS)
    (tmp_path / "script.json").write_text(json.dumps({"replies": SCRIPT}))
    return tmp_path


def test_files_are_found_by_name_and_failed_calls_are_in_the_record(project: Path) -> None:
    result = forked_in(project, "--model=scripted:script.json", "--run-dir=run", "--attempts=3")
    assert result.status == 0 and "3 passed" in result.output, result.output
    (scripted,) = (record for record in records(project / "run") if "test_scripted" in record["sample"])
    events = [event for event in scripted["transcript"]["events"] if event["kind"] == "tool"]
    missing = "image: there is no file '0001.png'"
    assert [(event["name"], event["detail"]["arguments"], event["error"]) for event in events[2:]] == [
        ("OCR", {"image": "0001.png"}, f"{missing} in {{ROOT}}; files of this test: b.png, receipt.png"),
        ("OCR", {"picture": "b.png"}, "unknown arguments: {'picture'}"),
        ("Calculator", {"expression": "1 +"}, "Calculator: SyntaxError: invalid syntax"),
    ]  # fmt: skip
    assert [event["error"] for event in events[:2]] == [None, None]
    screen = " ".join(result.output.split())
    assert "--attempts=3 has no effect on tests of your own; pytest-repeat repeats them: --count=3" in screen
    assert (
        "of this run, such as tests.tools/test_own.py::test_scripted[1]: tests/test_own.py::test_scripted[1]" in screen
    )
    assert "no run folder" not in screen


@pytest.mark.parametrize(("words", "said"), [((), True), (("--run-dir=run",), False)])
def test_a_run_that_leaves_no_folder_says_so(project: Path, words: tuple[str, ...], said: bool) -> None:
    (project / "test_own.py").write_text("def test_it(model):\n    assert model.complete('hello')\n")
    result = forked_in(project, *words)
    assert "1 passed" in result.output
    assert ("agentgauge: no run folder; --run-dir=DIR keeps records and transcripts" in result.output) == said
    assert (project / "run").exists() == (not said) and not (project / "runs").exists()


def test_a_project_without_our_fixtures_sees_nothing_of_us(project: Path) -> None:
    (project / "test_own.py").write_text("def test_it():\n    pass\n")
    assert "agentgauge:" not in forked_in(project).output

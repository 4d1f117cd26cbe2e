"""A package of somebody else's brings tools, a provider and a dialect: those of the docs. Copy what you need.

The package is a folder with what an installer writes beside it (``tests/made_up.py``). Its tools run in the real
server, its provider is asked over HTTP, its dialect carries a whole run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.tools import Parameter
from agentgauge.model.providers import known_providers
from tests.docs.pages import block, text
from tests.made_up import install
from tests.model.fault_server import FaultServer, answer
from tests.plugin.project import PYTEST, ROOT, WILD, Project, records, summary
from tool_impls.functions import tool
from tool_impls.registry import installed_tools

FUNCTIONS = block(text("docs/tools.md"), "def CountWords")
PROVIDER = block(text("docs/models.md"), "Provider(")
DIALECT = block(text("docs/models.md"), "class Lines")

SHOUT = """
from agentgauge.tools import Meta, Option, Parameter, Tool

class Shout(Tool):
    meta = Meta("Shout", "Says it louder.", (Parameter("text", "text", "What to say."),), (Parameter("text"),))
    category = "creativity"
    options = (Option("marks", "int", 1, "exclamation marks", least=0),)

    def setup(self, device="cpu"):
        self.marks = self.option("marks") * "!"

    def apply(self, folder, /, text):
        return text.upper() + self.marks
"""

TESTS = """
from pathlib import Path
from PIL import Image

def test_tools(tools, tmp_path):
    assert tools.CountWords(text="one two three") == "3"
    clear = Image.new("RGBA", (9, 9), (0, 0, 0, 0))
    clear.paste((10, 20, 30, 255), (0, 0, 5, 5))
    clear.save(tmp_path / "dot.png")
    assert tools.Corner(picture=tmp_path / "dot.png") == ("10", "20", "30")
    assert Path(tools.Note(text="remember")).read_text() == "remember"
    assert tools.Shout(text="hello") == "HELLO!!!"

def test_provider(model):
    assert model.complete("hello").text == "good morning"
"""

SETTINGS = """
[tools]
missing = "disable"
[tools.Shout]
marks = 3
"""

PLUGIN = """
def pytest_agentgauge_tools():
    from made_up.tools import Corner, CountWords, Note, Shout
    return [CountWords, Corner, Note, Shout]

def pytest_agentgauge_providers():
    from made_up.provider import ACME
    return [ACME]

def pytest_agentgauge_dialects():
    from made_up.dialect import Lines
    return {"lines": Lines}
"""


def package(folder: Path, url: str = "https://api.acme.example/v1") -> Path:
    modules = {
        "made_up.tools": FUNCTIONS + SHOUT,
        "made_up.provider": PROVIDER.replace("https://api.acme.example/v1", url),
        "made_up.dialect": DIALECT,
        "made_up.plugin": PLUGIN,
    }
    return install(folder, modules, "made_up.plugin")


def with_it(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}", "ACME_API_KEY": "acme-secret"}


@pytest.mark.uses("own_tests")
def test_its_tools_run_in_the_server_and_its_provider_is_asked(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.path.mkdir()
    (project.path / "pytest.ini").write_text("[pytest]\n")
    (project.path / "test_it.py").write_text(TESTS)
    (project.path / "agentgauge.toml").write_text(SETTINGS)
    with FaultServer(choose=lambda seen: answer("good morning")) as server:
        folder = package(tmp_path / "installed", server.url)
        result = project.run_process("--model=acme/large", "--run-dir=run", data="auto", env=with_it(folder))
        assert result.status == 0, result.output
        assert server.requests[0].headers["authorization"] == "Bearer acme-secret"
    found = {record["sample"].partition("::")[2]: record["status"] for record in records(project.path / "run")}
    assert found == {"test_tools": "passed", "test_provider": "passed"}
    tools = json.loads((project.path / "run" / "run.json").read_text())["settings"]["tools"]
    assert tools["Corner"]["packages"]["made-up"] == "1.0"
    assert tools["Shout"]["options"] == {"marks": 3}


def test_its_dialect_carries_a_run(tmp_path: Path) -> None:
    project = Project(tmp_path)
    folder = package(tmp_path / "installed")
    words = (*WILD, "--dialect=lines", "--model=oracle", "--limit=12", "--run-dir=run")
    result = project.run_process(*words, data="mini", env=with_it(folder))
    assert result.status == 0, result.output
    part = summary(tmp_path / "run")["tasks"]["wild"]
    assert (part["passed"], part["planned"]) == (12, 12)


def test_our_own_tests_pass_beside_it(tmp_path: Path) -> None:
    """Those that list all tools, providers and dialects list ours."""
    files = ("tools/test_settings.py", "docs/test_reference.py", "model/test_docs.py", "dialects/test_tool_lists.py")
    words = [sys.executable, *PYTEST, "-q", "-n", "0", *(f"tests/{file}" for file in files)]
    environment = {**os.environ, **with_it(package(tmp_path))}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Installs a plugin ``odd_one`` in this process."""

    def make(module: str) -> None:
        monkeypatch.syspath_prepend(install(tmp_path, {"odd_one": module}, "odd_one"))

    yield make
    sys.modules.pop("odd_one", None)
    known_providers.cache_clear()


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("1 / 0", "fails (ZeroDivisionError: division by zero); correct its package, or uninstall it"),
        ("return len", "returns <built-in function len>; accepted is a list or tuple; correct its package"),
        ("return [len]", "names <built-in function len>; accepted is a function below @tool, or a class that"),
        (
            "from agentgauge.tools import Tool\n    class Odd(Tool): pass\n    return [Odd]",
            "names Odd, which lacks meta, c",
        ),
    ],
)
def test_what_is_no_tool_is_told(installed, module: str, why: str) -> None:
    installed(f"def pytest_agentgauge_tools():\n    {module}")
    with pytest.raises(UsageProblem) as told:
        installed_tools({})
    assert f"pytest_agentgauge_tools of the plugin odd_one = odd_one {why}" in str(told.value)


def test_a_name_of_ours_stays_ours(installed) -> None:
    module = "from agentgauge.tools import tool\n@tool(category='logic')\ndef OCR(text: str) -> str:\n    'Reads.'\n"
    installed(f"{module}def pytest_agentgauge_tools():\n    return [OCR]")
    with pytest.warns(UserWarning, match="the tool OCR of made-up is left out: there is one of that name"):
        assert installed_tools({"OCR"}) == {}


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("return ['acme']", "names 'acme'; accepted is an agentgauge.authoring.Provider"),
        (
            "from agentgauge.authoring import Provider\n    return [Provider('groq', 'G', None, 'G_KEY')]",
            "names a second provider 'groq'; give it another name",
        ),
    ],
)
def test_a_provider_that_is_none_is_told(installed, module: str, why: str) -> None:
    installed(f"def pytest_agentgauge_providers():\n    {module}")
    known_providers.cache_clear()
    with pytest.raises(UsageProblem, match=f"pytest_agentgauge_providers of the plugin odd_one = odd_one {why}"):
        known_providers()


DIALECTS = "def pytest_agentgauge_dialects():\n    return {'lines': Lines}"


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("Lines = 5", "odd_one = odd_one names a dialect lines that cannot be made (TypeError: 'int' object is"),
        (
            "Lines = dict",
            "names a dialect lines that makes {}; accepted is a class that inherits agentgauge.dialects.F",
        ),
        (
            "from agentgauge.dialects import Format\nclass Lines(Format):\n    request = written = None\n"
            "    def read(self, text, *, tolerant): ...",
            "a method read that cannot be called (got an unexpected keyword argument 'tools'); "
            "declare it as read(self, text, *, tolerant, tools=())",
        ),
        (
            "from agentgauge.dialects import Format\nclass Lines(Format):\n    request = written = None\n"
            "    def read(self, text, other, *, tolerant, tools): ...",
            "a method read that cannot be called (missing a required argument: 'other')",
        ),
    ],
)
def test_a_dialect_that_is_none_is_told(module: str, why: str, tmp_path: Path) -> None:
    """In a process of its own: the names of dialects are read once."""
    folder = install(tmp_path, {"odd_one": f"{module}\n{DIALECTS}"}, "odd_one")
    code = "from agentgauge.agent.dialects.registry import format_of; format_of('lines')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **with_it(folder)}, capture_output=True, text=True, check=False
    )
    assert why in done.stderr


def test_a_dialect_may_take_any_options(tmp_path: Path) -> None:
    module = (
        "from agentgauge.dialects import Format\nclass Lines(Format):\n    request = written = None\n"
        "    def read(self, text, *, tolerant, **options): ..."
    )
    folder = install(tmp_path, {"odd_one": f"{module}\n{DIALECTS}"}, "odd_one")
    code = "from agentgauge.agent.dialects.registry import format_of; format_of('lines')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **with_it(folder)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def no_docstring(text: str) -> str:
    raise NotImplementedError


def no_type(text) -> str:
    """Has no type."""


def strange_type(words: list[str]) -> str:
    """Takes a list."""


def no_result(text: str):
    """Returns something."""


def stars(*words: str) -> str:
    """Takes some words."""


@pytest.mark.parametrize(
    ("function", "more", "why"),
    [
        (no_docstring, {}, "the tool no_docstring lacks a docstring"),
        (no_type, {}, "the tool no_type: its parameter text must have a type; accepted are str, int"),
        (strange_type, {}, "its parameter words must have a type"),
        (no_result, {}, "the tool no_result: what it returns must have a type"),
        (stars, {}, "a model gives arguments by name, so *words: 'str' cannot"),
        (no_docstring, {"category": "magic"}, "has the category 'magic'; accepted are perception, operation, logic"),
        (no_docstring, {"second": 5}, "a tool has no attribute second; see"),
    ],
)
def test_a_function_that_makes_no_tool_is_told(function, more, why) -> None:
    with pytest.raises(UsageProblem) as told:
        tool(**{"category": "logic", **more})(function)
    assert why in str(told.value)


def test_a_function_can_be_called_as_it_is() -> None:
    @tool(category="logic")
    def Twice(number: int = 1) -> int:
        """Twice a number."""
        return 2 * number

    assert Twice.function(number=21) == 42
    assert Twice.meta.inputs == (Parameter("int", "number", optional=True, default=1),)

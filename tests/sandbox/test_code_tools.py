"""Solver and Plot: what the agent gets back (docs/benchmarks/tools.md#code)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentgauge.core.errors import ToolError
from tool_impls.logic.code_tools import Plot, extract_code, plot, solve
from tool_impls.settings import ToolSettings

from .conftest import SECRET


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("x = 1", "x = 1"),
        ("```python\nx = 1\n```", "\nx = 1\n"),
        ("Text.\n```\na\n```\nmore\n```python\nb\n```", "\nb\n"),
        ("```\na\n```\n```\nb\n```", "\na\n"),
        ("```py\na\n```", "py\na\n"),
        ("```python3\na\n```", "3\na\n"),
        ("```python\nnever closed", "```python\nnever closed"),
        ("```python a = 1```", " a = 1"),
        ("", ""),
    ],
)
def test_which_part_is_the_code(command: str, code: str) -> None:
    assert extract_code(command) == code


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("```python\ndef solution():\n    x = symbols('x')\n    return solve(Eq(x**2, 4), x)\n```", "[-2, 2]"),
        ("from sympy import *\ndef solution():\n    return integrate(symbols('x'))", "x**2/2"),
        ("def solution():\n    print('noise')\n    return 0.1 + 0.2", "0.30000000000000004"),
        ("def solution():\n    pass", "None"),
        ("def solution():\n    return '\\x1b[31mrot\\u20ac'", "\x1b[31mrot€"),
        (
            "import os\ndef solution():\n    return sorted(os.environ)[:3], 'OPENAI_API_KEY' in os.environ",
            "(['HOME', 'LANG', 'MPLBACKEND'], False)",
        ),
    ],
)
def test_the_solver_gives_the_text_of_the_value(
    command: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert solve(command, folder=tmp_path) == text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("x = 1", "the code defines no function solution()"),
        ("solution = 1", "the code defines no function solution()"),
        ("def solution():\n    y = 1\n    return 1/0", "ZeroDivisionError: division by zero (line 3: return 1/0)"),
        ("def solution(:\n    pass", "SyntaxError: invalid syntax (line 1: def solution(:)"),
        (
            "def solution():\n    return undefined",
            "NameError: name 'undefined' is not defined (line 2: return undefined)",
        ),
        ("def solution(x):\n    return x", "TypeError: solution() missing 1 required positional argument: 'x'"),
        (
            "def solution():\n    return solve(1, 2, 3, 4, wrong=None) + symbols('')",
            "ValueError: no symbols given (line 2:",
        ),
        ("raise KeyError", "KeyError (line 1: raise KeyError)"),
        ("exit = 1\nraise SystemExit('bye')", "SystemExit: bye (line 2: raise SystemExit('bye'))"),
        ("import os\nos._exit(0)", "the code ended before solution() had returned"),
        ("def solution():\n    return 'x' * (2 << 20)", "the code was ended: it printed more than 1048576 bytes"),
        ("def solution():\n    return len(bytearray(8 << 30))", "MemoryError (line 2: return len(bytearray(8 << 30)))"),
        (
            "def solution():\n    return open('/etc/passwd').read()",
            "FileNotFoundError: [Errno 2] No such file or directory: '/etc/passwd'",
        ),
    ],
)
def test_the_solver_says_what_is_wrong_with_the_code(command: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        solve(command, folder=tmp_path)
    assert str(caught.value).startswith(message)
    assert str(tmp_path) not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_path_of_this_machine_is_in_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        solve("import os\ndef solution():\n    return open(os.path.join(os.getcwd(), 'none'))", folder=tmp_path)
    assert "'./none'" in str(caught.value)


def test_the_solver_keeps_its_time_limit(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="it ran longer than 1 s"):
        solve("def solution():\n    while True: pass", folder=tmp_path, seconds=1)


BARS = """
def solution():
    figure = plt.figure(figsize=(4, 3), dpi=50)
    plt.bar([1, 2], [3, 4])
    plt.title('Umsatz €')
    return figure
"""


def test_the_plot_is_a_picture_in_the_folder(tmp_path: Path) -> None:
    from PIL import Image

    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    first, second = (plot(BARS, folder=folder) for folder in folders)
    with Image.open(first) as picture:
        assert picture.size == (200, 150)
        assert len(picture.convert("RGB").getcolors(100_000) or []) > 2
    assert [*folders[0].iterdir(), *folders[1].iterdir()] == [first, second]
    assert first.read_bytes() == second.read_bytes()


TITLED = """
def solution():
    figure, axes = plt.subplots()
    axes.set_title('TITLE')
    return figure
"""


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("Umsatz € ∑ ½ Ж", ""),
        ("\U00012000 and \U00012001", "\U00012000, \U00012001"),
        ("\U00012000\U00012000", "\U00012000"),
    ],
)
def test_characters_that_no_font_has_are_named_beside_the_plot(title: str, named: str, tmp_path: Path) -> None:
    result = Plot(ToolSettings()).apply(tmp_path, command=TITLED.replace("TITLE", title))
    if not named:
        assert result == tmp_path / "plot.png"
        return
    path, note = result
    assert path == tmp_path / "plot.png" and path.is_file()
    assert note == f"The picture shows boxes in place of characters that no font of this machine has: {named}."


def test_characters_are_taken_from_a_font_that_has_them(tmp_path: Path) -> None:
    """The figure asks for a font that has no letters."""
    code = """
def solution():
    plt.rcParams["font.family"] = ["STIXSizeOneSym"]
    figure, axes = plt.subplots()
    axes.set_title('Ж')
    return figure
"""
    assert Plot(ToolSettings()).apply(tmp_path, command=code) == tmp_path / "plot.png"


def test_a_cache_that_cannot_be_read_or_written_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tool_impls.logic import code_tools

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    (tmp_path / "out").mkdir()
    code_tools._script.cache_clear()
    code_tools._font_list.cache_clear()
    assert plot("def solution():\n    return plt.figure()", folder=tmp_path / "out").is_file()
    code_tools._script.cache_clear()
    code_tools._font_list.cache_clear()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("def solution():\n    return 3", "solution() must return a matplotlib figure, not int"),
        ("def solution():\n    return plt", "solution() must return a matplotlib figure, not module"),
        ("def solution():\n    return plt.figure(figsize=(1e4, 1e4))", ""),
        ("def solution():\n    plt.plot([1], [1, 2])", "ValueError: x and y must have same first dimension"),
    ],
)
def test_the_plot_says_what_is_wrong(command: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        plot(command, folder=tmp_path)
    assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_the_code_leaves_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / "out").mkdir()
    command = f"import os\nos.symlink({os.fspath(target)!r}, 'plot.png')\ndef solution():\n    return plt.figure()"
    plot(command, folder=tmp_path / "out")
    assert target.read_text() == "kept"

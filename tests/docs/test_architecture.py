"""The page on the architecture says what the code does."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.docs.pages import ROOT, of_all_plugins, rows, text

PAGE = text("docs/architecture.md")
PACKAGES = ("agentgauge", "agentgauge_reports", "bench_gta", "bench_wild", "bench_mmau", "tool_impls")
DRAWING = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))

UNSEEN = {
    "tool_impls/audio/faster_whisper_model.py",
    "tool_impls/perception/ocr_engine.py",
}
"""The exceptions that no private name shows: they read or replace what belongs to an object of the package."""

OFFERED = {
    "os._exit",
    "os.environ",
    "sys.path",
    "sys.modules",
    "sys.stdin",
    "tempfile.tempdir",
    "Image.MAX_IMAGE_PIXELS",
    "torch.backends.cudnn.allow_tf32",
}
"""What their packages document for use, or for assignment."""


@of_all_plugins
def test_the_picture_is_the_one_that_the_code_draws() -> None:
    """Else ``make docs`` draws it anew."""
    assert DRAWING["PICTURE"].read_text(encoding="utf-8") == DRAWING["draw"]()


def test_the_layers_are_those_that_are_checked() -> None:
    section = PAGE.partition("## The layers")[2].partition("\n## ")[0]
    listed = [
        re.findall(r"`([a-z_.]+)`", line.partition(": ")[0].partition(":\n")[0])
        for line in re.findall(r"^\d+\. (.*)$", section, flags=re.MULTILINE)
    ]
    layers, _ = DRAWING["read_layers"]()
    assert listed == layers


def test_each_walk_says_how_many_files_it_has() -> None:
    walks = re.findall(r"^### .*: (\d+) files\n\n((?:\d+\. .*\n)+)", PAGE, flags=re.MULTILINE)
    assert len(walks) == 3
    assert [int(said) for said, _ in walks] == [len(files.splitlines()) for _, files in walks]


def test_no_other_file_reaches_into_another_package() -> None:
    excepted = {cells[0].strip("`") for cells in rows(PAGE, "where", "what", "why")}
    found = {
        str(file.relative_to(ROOT))
        for package in PACKAGES
        for file in DRAWING["folder_of"](package).rglob("*.py")
        if reaches(file)
    }
    assert found | UNSEEN == excepted


def test_reaching_into_a_package_is_found(tmp_path: Path) -> None:
    for number, (code, expected) in enumerate(
        (
            ("import os\nos._exit(0)", []),
            ("import other\nother._hidden", ["other._hidden"]),
            ("from other._inner import thing", ["other._inner"]),
            ("from other import thing\nthing().made._part", ["thing().made._part"]),
            ("import other.inner\nother.inner.name = 1", ["other.inner.name"]),
            ("from other import thing\nvars(thing)['NAME'] = 1", ["vars(thing)['NAME']"]),
            ("class A:\n  def __init__(self, b):\n    self._c = b._c", []),
            ("from agentgauge import core\ncore.name = 1", []),
            ("from other import thing\nthing = {}\nthing[1] = 2", []),
        )
    ):
        file = tmp_path / f"{number}.py"
        file.write_text(code, encoding="utf-8")
        assert list(reaches(file)) == expected, code


def reaches(file: Path) -> list[str]:
    """Where a module uses private names that are not its own, or assigns to names of other packages."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    return [place for place in (*_private(nodes), *_assigned(nodes)) if place not in OFFERED]


def _private(nodes: Sequence[ast.AST]) -> Iterator[str]:
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    own = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")}
    for node in attributes:
        if re.match(r"_[a-z]", node.attr) and node.attr not in {*own, "_replace"}:  # that of named tuples is public
            yield ast.unparse(node)
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and re.search(r"\._[a-z]", f".{node.module or ''}"):
            yield str(node.module)


def _assigned(nodes: Sequence[ast.AST]) -> Iterator[str]:
    others = {
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] not in PACKAGES
    }
    local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    targets = (target for node in nodes if isinstance(node, ast.Assign) for target in node.targets)
    for target in targets:
        if isinstance(target, ast.Attribute | ast.Subscript):
            place: ast.AST = target.value
            while isinstance(place, ast.Attribute | ast.Subscript):
                place = place.value
            if isinstance(place, ast.Call) and isinstance(place.func, ast.Name) and place.func.id == "vars":
                place = place.args[0]
            if isinstance(place, ast.Name) and place.id in others - local:
                whole = target if isinstance(target, ast.Attribute) else target.value
                if ast.unparse(whole) not in OFFERED:
                    yield ast.unparse(target)

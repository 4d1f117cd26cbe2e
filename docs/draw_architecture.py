"""Draws ``docs/pictures/architecture.svg`` from the code: ``make docs``.

Layers are those that import-linter checks (``pyproject.toml``), a box's words are the first sentence of its package's
docstring, arrows are imports. An arrow is left out where longer ways of arrows lead to the same package. The tooltip of
a box has all imports of its package.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import permutations
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
SHOWN_INSIDE = "tool_impls"
"""The package whose folders are drawn too."""

WIDTH, MARGIN, CORRIDOR, GAP, BETWEEN = 920, 12, 58, 26, 26
"""Pixels: of the picture, around it, at its right for arrows that pass a layer, between boxes, between layers."""
LINE, LETTER, PADDING = 14, 6.4, 9
"""Pixels: of a line of text, of a letter in the widest of the fonts, around text in a box."""

STYLE = """
  .ground { fill: #ffffff } .layer { fill: #eef1f5 } .box { fill: #ffffff; stroke: #6b7a90 }
  .arrow { fill: none; stroke: #2f6299; stroke-width: 1.4 } .head { fill: #2f6299 }
  text { font: 11px Arial, Helvetica, sans-serif; fill: #1b2430 } .name { font-weight: bold }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .layer { fill: #1c232c } .box { fill: #2b3440; stroke: #8595aa }
    .arrow { stroke: #8ab8ec } .head { fill: #8ab8ec } text { fill: #e8edf3 }
  }
"""

Imports = Mapping[str, frozenset[str]]
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    package: str
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def right(self) -> float:
        return self.x + self.width


def read_layers() -> tuple[list[list[str]], set[tuple[str, str]]]:
    """The packages of each layer, the highest first, and the imports that are let off."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    contract = next(one for one in tools["importlinter"]["contracts"] if one["type"] == "layers")
    layers = [line.replace("|", ":").replace(" ", "").split(":") for line in contract["layers"]]
    ignored = (line.split(" -> ") for line in contract["ignore_imports"])
    return layers, {(importer, imported) for importer, imported in ignored}


def read_imports(packages: Sequence[str], exempt: set[tuple[str, str]]) -> Imports:
    """Which of the packages each of them imports."""
    graph = grimp.build_graph(*dict.fromkeys(package.split(".")[0] for package in packages), cache_dir=None)

    def package_of(module: str) -> str | None:
        return next((one for one in packages if f"{module}.".startswith(f"{one}.")), None)

    found: dict[str, set[str]] = {package: set() for package in packages}
    for module in graph.modules:
        own = package_of(module)
        for imported in graph.find_modules_directly_imported_by(module):
            other = package_of(imported)
            if own and other and own != other and (module, imported) not in exempt:
                found[own].add(other)
    return {package: frozenset(others) for package, others in found.items()}


def thinned(imports: Imports) -> list[tuple[str, str]]:
    """The imports without those that follow from others. import-linter sees to it that there are no circles."""

    def reach(package: str) -> frozenset[str]:
        return imports[package].union(*(reach(other) for other in imports[package]))

    return [
        (package, other)
        for package, others in imports.items()
        for other in sorted(others)
        if not any(other in reach(between) for between in others)
    ]


def folder_of(package: str) -> Path:
    place = ROOT / package.replace(".", "/")
    return place if place.exists() else ROOT / "reports" / place.relative_to(ROOT)


def first_sentence(package: str) -> str:
    file = folder_of(package) / "__init__.py"
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not words:
        raise SystemExit(f"{package} has no docstring, whose first sentence the picture shows")
    return " ".join(words.split("\n\n")[0].split()).split(". ")[0].removesuffix(".").replace("``", "")


def folders_of(package: str) -> list[str]:
    return sorted(f"{package}.{file.parent.name}" for file in folder_of(package).glob("*/__init__.py"))


def in_best_order(layer: int, level: Mapping[str, int], arrows: Sequence[tuple[str, str]]) -> Sequence[str]:
    """The packages of a layer, so that those that import each other stand side by side. Below a layer with one box at
    the left, the packages that it imports stand left, and those that arrows past it lead to stand right."""
    packages = [package for package, own in level.items() if own == layer]

    def cost(order: Sequence[str]) -> tuple[int, int]:
        index = order.index
        apart = sum(abs(index(start) - index(end)) for start, end in arrows if level[start] == level[end] == layer)
        entering = [(layer - level[start], index(end)) for start, end in arrows if level[start] < layer == level[end]]
        return apart, sum(place if distance == 1 else -place for distance, place in entering)

    return min(permutations(packages), key=cost)


def words_of(package: str, width: float) -> list[str]:
    return textwrap.wrap(first_sentence(package), int((width - 2 * PADDING) / LETTER))


def place(packages: Sequence[str], x: float, y: float, width: float) -> list[Box]:
    """One row of boxes, as high as the longest text."""
    each = (width - GAP * (len(packages) - 1)) / len(packages)
    lines = max(len(words_of(package, each)) for package in packages)
    height = (1 + lines) * LINE + 2 * PADDING
    return [Box(package, x + number * (each + GAP), y, each, height) for number, package in enumerate(packages)]


def lay_out(layers: Sequence[Sequence[str]], arrows: Sequence[tuple[str, str]]) -> tuple[list[Box], list[Box]]:
    """Boxes of packages in the order of the layers, and those of the folders within one of them."""
    boxes: list[Box] = []
    inner: list[Box] = []
    y = float(MARGIN + PADDING)
    level = {package: number for number, layer in enumerate(layers) for package in layer}
    for number, layer in enumerate(layers):
        width = float(WIDTH - 2 * (MARGIN + PADDING) - CORRIDOR)
        passed = any(level[start] == number - 1 and level[end] == number + 1 for start, end in arrows)
        if len(layer) == 1 and passed and SHOWN_INSIDE not in layer:
            width *= 0.45
        row = place(in_best_order(number, level, arrows), MARGIN + PADDING, y, width)
        if SHOWN_INSIDE in layer:
            folders = folders_of(SHOWN_INSIDE)
            half = -(-len(folders) // 2)
            x, wide = row[0].x + PADDING, width - 2 * PADDING
            top = place(folders[:half], x, y + 2 * LINE + 2 * PADDING, wide)
            low = place(folders[half:], x, top[0].bottom + PADDING, wide)
            inner += [*top, *low]
            row = [Box(row[0].package, row[0].x, y, width, low[0].bottom + PADDING - y)]
        boxes += row
        inside = any(set(arrow) <= set(layer) for arrow in arrows)
        y = row[0].bottom + 2 * PADDING + BETWEEN + (PADDING if inside else 0)
    return boxes, inner


def drawn_box(box: Box, imports: Imports) -> str:
    lines = [f'<text class="name" x="{box.x + PADDING:g}" y="{box.y + PADDING + 10:g}">{box.package}</text>']
    for number, line in enumerate(words_of(box.package, box.width), 1):
        y = box.y + PADDING + 10 + number * LINE
        lines.append(f'<text x="{box.x + PADDING:g}" y="{y:g}">{escape(line)}</text>')
    others = ", ".join(sorted(imports[box.package])) if box.package in imports else ""
    title = f"<title>{box.package} imports {others or 'no other package'}</title>" if box.package in imports else ""
    shape = f'<rect class="box" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}" rx="4"/>'
    return "\n".join([f"<g>{title}{shape}", *lines, "</g>"])


def drawn_arrow(points: Sequence[Point]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    (x0, y0), (x, y) = points[-2:]
    dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
    wings = [(x - 7 * dx - 4 * dy, y - 7 * dy - 4 * dx), (x - 7 * dx + 4 * dy, y - 7 * dy + 4 * dx)]
    head = " ".join(f"{a:g},{b:g}" for a, b in [(x, y), *wings])
    return f'<polyline class="arrow" points="{path}"/><polygon class="head" points="{head}"/>'


class Router:
    """Finds ways for arrows, from the bottom of a box to the top of one below, between the boxes on the way."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self._boxes = boxes
        self._taken: list[tuple[float, float, float, str]] = []  # x, from y, to y, target

    def way(self, start: Box, end: Box) -> list[Point]:
        if start.y == end.y:
            return self._beside(start, end)
        x = self._column(start, end)
        first, last = _door(start, x), _door(end, x)
        leave, arrive = start.bottom + 2 * PADDING + 6, end.y - 2 * PADDING
        self._taken.append((x, start.bottom, end.y, end.package))
        corners = [(first, start.bottom), (first, leave), (x, leave), (x, arrive), (last, arrive), (last, end.y)]
        return [point for number, point in enumerate(corners) if not self._straight(corners, number)]

    def _beside(self, start: Box, end: Box) -> list[Point]:
        """To a box of the same layer: across the gap, or below the boxes between."""
        left, right = sorted((start, end), key=lambda box: box.x)
        if not any(left.x < box.x < right.x for box in self._boxes if box.y == start.y):
            y = start.y + start.height / 2
            return [(start.right, y), (end.x, y)] if start is left else [(start.x, y), (end.right, y)]
        side = 1 if start is left else -1
        first, last = start.middle + side * start.width / 4, end.middle - side * end.width / 4
        y = start.bottom + PADDING
        return [(first, start.bottom), (first, y), (last, y), (last, end.bottom)]

    def _column(self, start: Box, end: Box) -> float:
        """Where an arrow goes straight down: past every box on the way, and apart from arrows to other targets."""
        between = [box for box in self._boxes if start.bottom < box.y and box.bottom < end.y]
        narrower = min(start, end, key=lambda box: box.width)
        free = [
            float(x)
            for x in range(MARGIN + PADDING, WIDTH - MARGIN - PADDING, 2)
            if not any(box.x - 14 < x < box.right + 14 for box in between)
            and not self._is_taken(x, start.bottom, end.y, end.package)
        ]

        def detour(x: float) -> tuple[float, float]:
            return abs(x - _door(start, x)) + abs(x - _door(end, x)), abs(x - narrower.middle)

        return min(free, key=detour)

    def _is_taken(self, x: float, top: float, bottom: float, target: str) -> bool:
        return any(
            abs(x - other) < 14 and top < to and start < bottom and aim != target
            for other, start, to, aim in self._taken
        )

    @staticmethod
    def _straight(corners: Sequence[Point], number: int) -> bool:
        """Whether a corner is none: the way goes straight on there."""
        if number in (0, len(corners) - 1):
            return False
        return corners[number - 1][0] == corners[number][0] == corners[number + 1][0]


def _door(box: Box, x: float) -> float:
    """Where an arrow leaves or enters a box, as near to its column as can be."""
    return min(max(x, box.x + 16), box.right - 16)


def draw() -> str:
    layers, exempt = read_layers()
    packages = [package for layer in layers for package in layer]
    imports = read_imports(packages, exempt)
    arrows = thinned(imports)
    boxes, inner = lay_out(layers, arrows)
    by_name = {box.package: box for box in boxes}
    bands = {box.y: box.bottom for box in boxes}
    height = max(bands.values()) + PADDING + MARGIN
    router = Router(boxes)
    arrows.sort(key=lambda arrow: by_name[arrow[1]].y - by_name[arrow[0]].y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" role="img">',
        "<title>The layers of AgentGauge, its packages, and what they import</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height:g}"/>',
    ]
    for y, bottom in bands.items():
        below = any(by_name[a].y == by_name[b].y == y for a, b in arrows)
        tall = bottom - y + 2 * PADDING + (PADDING if below else 0)
        parts.append(
            f'<rect class="layer" x="{MARGIN}" y="{y - PADDING:g}" width="{WIDTH - 2 * MARGIN}" height="{tall:g}"/>'
        )
    parts += [drawn_box(box, imports) for box in [*boxes, *inner]]
    parts += [drawn_arrow(router.way(by_name[start], by_name[end])) for start, end in arrows]
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")

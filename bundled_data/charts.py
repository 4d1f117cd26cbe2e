"""Charts, a table and formulas, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bundled_data.canvas import Pen, Picture, paper, photo

if TYPE_CHECKING:
    from PIL import Image

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavuserif",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 13,
}


def _canvas(width: float, height: float) -> Any:
    """A new figure of ``width`` × ``height`` inches at 100 dots an inch, without pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(width, height), dpi=100, layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.15))
    FigureCanvasAgg(figure)
    return figure


def _image(figure: Any) -> Image.Image:
    import numpy as np
    from PIL import Image

    figure.canvas.draw()
    return Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")


def chart_rain() -> Picture:
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = _canvas(7.2, 4.4)
        axis = figure.add_subplot()
        bars = axis.bar(
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug"],
            [64, 48, 51, 39, 57, 71, 83, 76],
            color="#3b7ea1",
            width=0.7,
        )
        axis.bar_label(bars, padding=3, fontsize=14)
        axis.set_title("Rainfall in Eastmere in mm", fontweight="bold")
        axis.set_ylim(0, 95)
        return Picture(_image(figure))


def chart_visitors() -> Picture:
    import matplotlib

    years, values = [2018, 2019, 2020, 2021, 2022, 2023, 2024], [112, 125, 41, 58, 97, 121, 134]
    with matplotlib.rc_context(STYLE):
        figure = _canvas(7.2, 4.2)
        axis = figure.add_subplot()
        axis.plot(years, values, marker="o", color="#a1503b", linewidth=2.5)
        for year, value in zip(years, values, strict=True):
            below = value == min(values)  # above the lowest point the line itself is in the way
            offset = (0, -22 if below else 11)
            axis.annotate(
                str(value), (year, value), xytext=offset, textcoords="offset points", ha="center", fontsize=14
            )
        axis.set_ylim(0, 160)
        axis.grid(axis="y", alpha=0.3)
        axis.set_title("Town museum: visitors a year, in thousands", fontweight="bold")
        return Picture(_image(figure))


def table_bakery() -> Picture:
    pen = Pen(600, 340, "white")
    pen.text(300, 34, "Bakery: turnover in thousand euros", 22, (60, 44, 30), "Sans-Bold", "mm")
    rows = [
        ("Product", "2023", "2024"),
        ("Bread", "18.4", "21.0"),
        ("Rolls", "12.6", "11.9"),
        ("Cakes", "9.3", "12.2"),
        ("Coffee", "7.7", "10.5"),
    ]
    for number, (name, *values) in enumerate(rows):
        y = 88 + number * 50
        pen.rect(
            (30, y - 25, 570, y + 25),
            (120, 84, 52) if number == 0 else (250, 244, 236) if number % 2 else "white",
            (196, 180, 164),
            1,
        )
        colour, face = ("white", "Sans-Bold") if number == 0 else ((40, 36, 34), "Sans")
        pen.text(50, y, name, 21, colour, face, "lm")
        for x, value in zip((370, 540), values, strict=True):
            pen.text(x, y, value, 21, colour, face, "rm")
    return Picture(photo(pen.done(), 41, noise=0.8, light=0.04))


def _formula(lines: list[str], note: str, seed: int) -> Picture:
    """Formulas on squared paper under a short note."""
    import matplotlib
    from PIL import ImageChops

    height = 150 + 74 * len(lines)
    pen = Pen(560, height, paper(560, height, (252, 252, 248), seed))
    for x in range(0, 560, 20):
        pen.line([(x, 0), (x, height)], (214, 224, 236), 0.5)
    for y in range(0, height, 20):
        pen.line([(0, y), (560, y)], (214, 224, 236), 0.5)
    pen.line([(60, 0), (60, height)], (226, 150, 150), 1)
    pen.text(84, 24, note, 22, (40, 50, 110), "Sans-Oblique")
    with matplotlib.rc_context(STYLE):
        figure = _canvas(5.6, height / 100)
        for number, line in enumerate(lines):
            figure.text(
                0.5,
                1 - (128 + 74 * number) / height,
                f"${line}$",
                fontsize=27,
                ha="center",
                va="center",
                color="#28326e",
            )
        return Picture(photo(ImageChops.multiply(pen.done(), _image(figure)), seed))


def formula_pair() -> Picture:
    return _formula([r"3x + 2y = 41", r"5x - y = 25"], "Exercise 4: find x and y", 42)


def formula_quadratic() -> Picture:
    return _formula([r"2t^2 - 9t - 56 = 0"], "Time until the ball lands (t in s)", 43)


def formula_curve() -> Picture:
    return _formula([r"f(x) = x^3 - 4x"], "Exercise 7: sketch the graph of f", 44)


def formula_area() -> Picture:
    return _formula([r"A = \int_0^3 (x^2 + 2x)\,dx"], "Exercise 9: the area under the curve", 45)

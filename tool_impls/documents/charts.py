"""Charts and diagrams of Office as lines of text: what their program last showed."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from typing import NamedTuple
from xml.etree.ElementTree import Element

from tool_impls.documents.package import child, children, local, number, plain, value

BETWEEN = " | "  # cells
MEDIA_TYPES = ("drawingml.chart+xml", "ms-office.chartex+xml")  # the ends of those of charts
MOST = 255  # series of a chart in Excel
NUMBERS = ("numCache", "numLit", "numDim")
AXES = ("catAx", "valAx", "dateAx", "serAx", "axis")
EXACT = re.compile(r'"[^"]*"|\\.|\[[^]]*\]')  # of a number format, what stands for itself, and conditions
EPOCHS = {False: datetime.datetime(1899, 12, 30), True: datetime.datetime(1904, 1, 1)}


class ChartSeries(NamedTuple):
    """A series of a chart: by place, what each value belongs to, and the values."""

    name: str
    places: Mapping[int, str]
    values: Mapping[int, str]


def chart(root: Element) -> Iterator[str]:
    """Title, axes, and the values as a table; several where series have places of their own."""
    is_1904 = value(child(root, "date1904"), default="0") in ("1", "true", "on")
    yield f"Chart: {plain(child(root, 'chart', 'title'))}".rstrip()
    area = child(root, "chart", "plotArea")
    axes = [title for one in children(area) if local(one) in AXES and (title := plain(child(one, "title")))]
    if axes:
        yield f"Axes: {', '.join(axes)}"
    found = _columns(area, is_1904) if child(root, "chartData") is None else _new_form(root, area)
    columns = [column for column in islice(found, MOST) if column.places or column.values]
    if not columns:
        yield "[the file stores no values of this chart]"
    for places, group in groupby(columns, key=lambda column: column.places):
        same = list(group)
        yield BETWEEN.join(["", *(column.name for column in same)])
        for place in sorted({*places, *(place for column in same for place in column.values)}):
            label = places.get(place, "") if places else str(place + 1)
            yield BETWEEN.join([label, *(column.values.get(place, "") for column in same)])


def _columns(area: Element | None, is_1904: bool) -> Iterator[ChartSeries]:
    for series in (series for kind in children(area) for series in children(kind, "ser")):
        held = {local(one): one for one in series}
        places = _points(held.get("cat", held.get("xVal")), is_1904)
        name = plain(held.get("tx"))
        yield ChartSeries(name, places, _points(held.get("val", held.get("yVal")), is_1904))
        if sizes := _points(held.get("bubbleSize"), is_1904):
            yield ChartSeries(f"{name} (size)", places, sizes)


def _new_form(root: Element, area: Element | None) -> Iterator[ChartSeries]:
    """Series of the kinds of charts that came with Office 2016: waterfall, sunburst, box plots and others."""
    data = {value(one, "id"): one for one in children(child(root, "chartData"), "data")}
    for series in children(child(area, "plotAreaRegion"), "series"):
        of_series = data.get(value(child(series, "dataId")))
        places = _points(child(of_series, "strDim"), False)
        yield ChartSeries(plain(child(series, "tx")), places, _points(child(of_series, "numDim"), False))


def _points(element: Element | None, is_1904: bool) -> dict[int, str]:
    """What a series holds, by place; labels in several levels with the upper ones before: ``2026 / May``."""
    if element is None:
        return {}
    is_number = any(local(one) in NUMBERS for one in element.iter())
    levels = [one for one in element.iter() if local(one) == "lvl"] or [element]
    points, *upper_levels = (_level(one, is_number, is_1904) for one in levels)
    for upper in upper_levels:
        label = ""
        for place in sorted({*points, *upper}):
            label = upper.get(place, label)
            points[place] = f"{label} / {points.get(place, '')}"
    return points


def _level(element: Element, is_number: bool, is_1904: bool) -> dict[int, str]:
    points, form = {}, value(element, "formatCode")
    for one in element.iter():
        if local(one) == "formatCode":
            form = one.text or ""
        elif local(one) == "pt" and (place := number(value(one, "idx"))) is not None:
            text = plain(one) or (one.text or "").strip()
            points[place] = _shown(text, value(one, "formatCode", form), is_1904) if is_number else text
    return points


def _shown(text: str, form: str, is_1904: bool) -> str:
    """A number as its format shows it, as far as percentages and dates go."""
    try:
        amount = float(text)
    except ValueError:
        return text
    form = EXACT.sub("", form)
    if "%" in form:
        return f"{amount * 100:.15g}%"
    if re.search(r"[yd]", form, re.IGNORECASE):
        try:
            moment = EPOCHS[is_1904] + datetime.timedelta(days=amount)
        except (OverflowError, ValueError):
            return text
        return moment.date().isoformat() if amount.is_integer() else moment.isoformat(" ", "seconds")
    return f"{amount:.15g}"


def diagram(root: Element) -> Iterator[str]:
    """The texts of a SmartArt diagram, each before those below it."""
    points = {value(one, "modelId"): one for one in root.iter() if local(one) == "pt" and value(one, "type") != "pres"}
    below: dict[str, list[tuple[int, str]]] = {}
    for one in (one for one in root.iter() if local(one) == "cxn" and value(one, "type", "parOf") == "parOf"):
        below.setdefault(value(one, "srcId"), []).append((number(value(one, "srcOrd")) or 0, value(one, "destId")))
    waiting = [*reversed(points), *(id_ for id_, point in points.items() if value(point, "type") == "doc")]
    while waiting:
        id_ = waiting.pop()
        point = points.pop(id_, None)
        if point is None:
            continue
        text = " ".join(filter(None, map(plain, children(point, "t"))))
        if text:
            yield text
        waiting += [inner for _, inner in sorted(below.get(id_, ()), reverse=True)]

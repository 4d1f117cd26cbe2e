"""The bundled notebook turns: every answer is computed again from the tables, without the cells and without pandas."""

from __future__ import annotations

import base64
import csv
import json
import statistics
from collections import Counter
from functools import lru_cache

import pytest

pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from bundled_data.mmau.notebook_tables import TABLES
from bundled_data.mmau.notebooks import files, write_more

CODE = "code"


@lru_cache(maxsize=1)
def records():
    ((name, found),) = files().items()
    assert name == "code_kaggle_20240712.jsonl"
    return {record["id"]: record for record in found}


def plain(value):
    """Without the bytes of pictures."""
    if isinstance(value, dict):
        return {key: "a picture" if key == "image/png" else plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@lru_cache(maxsize=1)
def tables(folder):
    found = {}
    for path in write_more(folder):
        with path.open(newline="", encoding="utf-8") as stream:
            found[path.stem] = list(csv.DictReader(stream))
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The right options of each turn, as texts."""
    found = tables(tmp_path_factory.mktemp("data"))
    rides = list({row["ride"]: row for row in found["rides"]}.values())
    return {
        **_stations(rides),
        **_rain(rides, found["weather"]),
        **_tomatoes(found["tomatoes"]),
        **_warmth(found["weather"]),
    } | _cleaning(found["rides"], rides)


def _top(numbers):
    """The name with the largest number, which no other has."""
    (first, largest), (_, second) = sorted(numbers.items(), key=lambda item: -item[1])[:2]
    assert largest > second
    return first


def _bottom(numbers):
    return _top({name: -number for name, number in numbers.items()})


def _means(rows, name, value):
    groups = {}
    for row in rows:
        groups.setdefault(row[name], []).append(float(row[value]))
    return {group: statistics.mean(values) for group, values in groups.items()}


def _stations(rides):
    starts = Counter(row["station"] for row in rides)
    minutes = _means(rides, "station", "minutes")
    pairs = Counter((row["station"], row["bike"]) for row in rides)
    hours = Counter(int(row["hour"]) for row in rides)
    return {
        "notebook-stations-1": [_top(starts), starts["University"], max(starts.values()) - min(starts.values())],
        "notebook-stations-2": [
            _top(minutes),
            sum(mean > 20 for mean in minutes.values()),
            " and ".join(sorted(sorted(minutes, key=minutes.__getitem__)[:2])),
        ],
        "notebook-stations-3": [
            sum(row["bike"] == "electric" for row in rides),
            _top({station: number for (station, bike), number in pairs.items() if bike == "cargo"}),
            pairs["Lakeside", "city"],
        ],
        "notebook-stations-4": [_top(hours), _bottom(hours)],
    }


def _rain(rides, weather):
    count = Counter(row["date"] for row in rides)
    assert set(count) <= {row["date"] for row in weather}
    number = [count[row["date"]] for row in weather]
    dry = [row for row in weather if float(row["rain_mm"]) == 0]
    wet = [row for row in weather if float(row["rain_mm"]) > 0]
    on_dry, on_wet = (statistics.mean(count[row["date"]] for row in some) for some in (dry, wet))
    assert on_dry > 4 * on_wet
    slope = statistics.linear_regression(
        [float(row["temp_max"]) for row in dry], [count[row["date"]] for row in dry]
    ).slope
    best = {row["date"]: row for row in weather}[_top(count)]
    kind = ("wet" if float(best["rain_mm"]) else "dry", "warmer" if float(best["temp_max"]) > 20 else "colder")
    measured = {name: [float(row[name]) for row in weather] for name in ("temp_max", "rain_mm", "wind_kmh")}
    close = {name: abs(statistics.correlation(number, values)) for name, values in measured.items()}
    by_month = {
        month: [row for row in weather if row["date"].startswith(start)]
        for month, start in (("May", "2023-05"), ("June", "2023-06"))
    }
    ridden = {month: sum(count[row["date"]] for row in rows) for month, rows in by_month.items()}
    fallen = {month: sum(float(row["rain_mm"]) for row in rows) for month, rows in by_month.items()}
    return {
        "notebook-rain-1": [
            number.count(0),
            f"{on_wet:.2f}",
            "on dry days more than four times as many rides as on wet ones",
        ],
        "notebook-rain-2": ["it rises" if slope > 0.1 else "it does not", f"{kind[0]} and {kind[1]} than 20 degrees"],
        "notebook-rain-3": [_top(close), f"{statistics.correlation(measured['rain_mm'], measured['wind_kmh']):.2f}"],
        "notebook-rain-4": [
            f"{fallen['May']:.1f} mm",
            f"{_top(ridden)} had more rides, {_top(fallen)} more rain",
            _top({row["date"]: float(row["rain_mm"]) for row in weather}),
        ],
    }


def _tomatoes(plants):
    varieties = Counter(row["variety"] for row in plants)
    (size,) = set(varieties.values())
    fruits = _means(plants, "variety", "fruits")
    heights = {
        feed: statistics.median(float(row["height_w8"]) for row in plants if row["feed"] == feed)
        for feed in ("none", "mineral")
    }
    heights["compost"] = statistics.median(float(row["height_w8"]) for row in plants if row["feed"] == "compost")
    growth = {row["plant"]: round(float(row["height_w8"]) - float(row["height_w4"]), 1) for row in plants}
    best = sorted(growth, key=lambda plant: -growth[plant])[:6]
    assert len({growth[plant] for plant in best}) == 6
    five = [row for row in plants if row["plant"] in best[:5]]
    (feed,) = {row["feed"] for row in five}
    total = {variety: fruits_of * size for variety, fruits_of in _means(plants, "variety", "yield_g").items()}
    (heavy,) = (variety for variety, grams in total.items() if grams > 17_000)
    largest = _top({row["plant"]: float(row["yield_g"]) for row in plants})
    return {
        "notebook-tomatoes-1": [size, _top(fruits), f"{fruits['Bellona']:.1f}"],
        "notebook-tomatoes-2": [_top(heights), f"{5 * round(heights['mineral'] / 5)} cm", len(heights)],
        "notebook-tomatoes-3": [
            best[0],
            feed,
            sum(row["variety"] == "Dorothea" for row in five),
            f"{growth[best[4]]:.1f} cm",
        ],
        "notebook-tomatoes-4": [
            _bottom(total),
            f"only {heavy}",
            10 * round(max(int(row["fruits"]) for row in plants) / 10),
            next(row["variety"] for row in plants if row["plant"] == largest),
        ],
    }


def _warmth(weather):
    warm = {row["date"]: float(row["temp_max"]) for row in weather}
    spells = "".join("w" if float(row["rain_mm"]) else "d" for row in weather).split("w")
    degrees = list(warm.values())
    smooth = [statistics.mean(degrees[end - 7 : end]) for end in range(7, len(degrees) + 1)]
    highest = smooth.index(max(smooth)) + 7
    assert all(mean < 25 for mean in smooth[:-10]) and max(smooth) > 25
    middle = [row for row in weather if 15 <= int(row["wind_kmh"]) < 25]
    return {
        "notebook-warmth-1": [max(degrees), _top(warm), max(map(len, spells))],
        "notebook-warmth-2": [
            7,
            "in the last ten days" if highest > len(degrees) - 10 else "earlier",
            "yes, at the end",
        ],
        "notebook-warmth-3": [
            sum(int(row["wind_kmh"]) < 15 for row in weather),
            f"{100 * statistics.mean(float(row['rain_mm']) > 0 for row in middle):.0f} %",
        ],
    }


def _cleaning(rows, rides):
    assert len({tuple(row.values()) for row in rows}) == len(rides), "rows of the same ride are the same"
    known = [row for row in rides if row["km"]]
    speed = {
        bike: statistics.median(float(row["km"]) / (int(row["minutes"]) / 60) for row in known if row["bike"] == bike)
        for bike in ("cargo", "city", "electric")
    }
    before = sum(float(row["km"]) for row in known)
    filled = {
        row["ride"]: float(row["km"]) if row["km"] else round(int(row["minutes"]) / 60 * speed[row["bike"]], 1)
        for row in rides
    }
    members = Counter(row["member"] for row in rides)
    for member in members:
        assert 4 < statistics.mean(filled[row["ride"]] for row in rides if row["member"] == member) < 8
    after = sum(filled.values())
    return {
        "notebook-cleaning-1": [len(rows) - len(rides), len(rides)],
        "notebook-cleaning-2": [f"{speed['cargo']:.1f} km/h", _top(speed), f"{after - before:.1f}", f"{after:.1f} km"],
        "notebook-cleaning-3": ["members" if _top(members) == "yes" else "others", 4, "4 and 8 km"],
    }


def _options(question):
    text, *lines = question.split("\n")
    assert text.endswith("?")
    options = dict(line.split(". ", 1) for line in lines)
    assert list(options) == list("ABCDE"[: len(lines)]) and len(set(options.values())) == len(lines) >= 3
    return options


def test_every_answer_is_right(answers):
    assert set(answers) == set(records())
    for name, record in records().items():
        right = [
            _options(question)[letter]
            for question, letter in zip(record["questions"], record["gt_answers"], strict=True)
        ]
        assert right == list(map(str, answers[name])), name


def test_counts():
    turns = records().values()
    assert len(turns) == 18 and len({record["id"].split("-")[1] for record in turns}) == 5
    assert Counter(record["image_expected"] for record in turns) == {False: 11, True: 7}
    assert all(1 <= len(record["questions"]) <= 4 for record in turns)
    letters = Counter(letter for record in turns for letter in record["gt_answers"])
    assert letters.total() == 52
    assert all(letters[letter] >= letters.total() / 7 for letter in "ABCD"), letters
    assert sum(len(json.dumps(record, ensure_ascii=False)) + 1 for record in turns) < 1_500_000


def test_a_second_build_is_the_same():
    assert json.dumps(plain(next(iter(files().values())))) == json.dumps(plain(list(records().values())))


def test_tables(tmp_path):
    written = write_more(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        f"code_kaggle_source/input/{name}.csv" for name in ("rides", "weather", "tomatoes")
    ]
    assert [path.read_text("utf-8").count("\n") - 1 for path in written] == [200, 61, 96]
    assert {name: table() for name, table in TABLES.items()} == {name: table() for name, table in TABLES.items()}


def test_shapes():
    for name, record in records().items():
        assert ":" not in name
        (message,) = record["messages"]
        assert message["role"] == "user"
        for part in (
            "# Data files\n../input/",
            "# Notebook so far\n[",
            "# Request\n",
            "JSON list of the notebook cells",
        ):
            assert part in message["content"], (name, part)
        notebook = record["notebook"]
        assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
        cells = [*notebook["cells"], record["last_cell"]]
        assert len({cell["id"] for cell in cells}) == len(cells)
        for cell in cells:
            keys = {"cell_type", "metadata", "source", "id"} | (
                {"outputs", "execution_count"} if cell["cell_type"] == CODE else set()
            )
            assert set(cell) == keys
        for cell in record["oracle_response"]:
            assert set(cell) == {"cell_type", "metadata", "source"}
            assert all(line.endswith("\n") and line.count("\n") == 1 for line in cell["source"])


def test_the_notebook_so_far_is_in_the_message_and_grows():
    before = {}
    for name, record in records().items():
        conversation = name.rpartition("-")[0]
        told = record["messages"][0]["content"].partition("# Notebook so far\n")[2].partition("\n\n# Request")[0]
        given = record["notebook"]["cells"]
        assert [cell["source"] for cell in json.loads(told)] == [cell["source"] for cell in given]
        counts = [cell["execution_count"] for cell in given if cell["cell_type"] == CODE]
        assert counts == list(range(1, len(counts) + 1))
        if conversation in before:
            earlier = before[conversation]
            cells = earlier["notebook"]["cells"]
            assert given[: len(cells)] == cells
            added = ["".join(cell["source"]).rstrip("\n") for cell in given[len(cells) :]]
            assert added == ["".join(cell["source"]).rstrip("\n") for cell in earlier["oracle_response"]]
        before[conversation] = record
    assert any(not record["notebook"]["cells"] for record in records().values()), (
        "one conversation begins with an empty notebook"
    )


def test_outputs_are_those_of_a_notebook():
    kinds = Counter()
    for name, record in records().items():
        last = record["last_cell"]
        shown = ["".join(cell["source"]).rstrip("\n") for cell in record["oracle_response"]]
        assert "".join(last["source"]).rstrip("\n") in shown
        pictures = 0
        for output in last["outputs"]:
            kinds[output["output_type"]] += 1
            if output["output_type"] == "stream":
                assert output["name"] == "stdout" and output["text"].endswith("\n")
                continue
            assert output["data"]["text/plain"] and output["metadata"] == {}
            if output["output_type"] == "execute_result":
                assert output["execution_count"] == last["execution_count"]
            elif picture := output["data"].get("image/png"):
                pictures += 1
                assert base64.b64decode(picture, validate=True).startswith(b"\x89PNG\r\n")
        assert (pictures > 0) == record["image_expected"], name
        assert "image/png" not in json.dumps(record["notebook"])
    assert set(kinds) == {"stream", "execute_result", "display_data"}
    assert (
        len([1 for output in records()["notebook-tomatoes-4"]["last_cell"]["outputs"] if "image/png" in output["data"]])
        == 2
    )


def test_what_is_asked_can_be_read_from_texts():
    """The right numbers of text turns stand in the output, where they are no differences or counts of what is
    listed."""
    worked_out = {("notebook-stations-1", 2), ("notebook-cleaning-2", 2), ("notebook-tomatoes-3", 2)}
    for name, record in records().items():
        outputs = json.dumps(record["last_cell"]["outputs"])
        for place, (question, letter) in enumerate(zip(record["questions"], record["gt_answers"], strict=True)):
            number = _options(question)[letter].split(" ")[0]
            if not record["image_expected"] and number[:1].isdigit() and (name, place) not in worked_out:
                assert number in outputs, (name, place)

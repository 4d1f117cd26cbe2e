"""The small tables that the notebook turns work on: rides of a bike hire, the weather of the same days, and a trial
with tomatoes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from random import Random

Row = dict[str, object]

_FIRST = date(2023, 5, 1)
_DAYS = 61
_STATIONS = {"Harbour": 8, "Lakeside": 5, "Market Hall": 10, "Old Mill": 3, "University": 7}  # and how busy they are
_LONGER = {"Harbour": 6, "Lakeside": 17, "Market Hall": 0, "Old Mill": 11, "University": -5}  # minutes
_BIKES = {"cargo": (2, 11.0), "city": (6, 14.5), "electric": (4, 19.5)}  # how frequent, km/h
_BUSY = {7: 5, 8: 9, 9: 5, 10: 4, 11: 4, 12: 6, 13: 5, 14: 4, 15: 5, 16: 8, 17: 15, 18: 9, 19: 5, 20: 3}  # hours
_VARIETIES = {
    "Amber": (9, 62.0),
    "Bellona": (15, 41.0),
    "Corvo": (22, 18.0),
    "Dorothea": (12, 55.0),
}  # fruits, grams of one
_FEEDS = {"none": 0.0, "compost": 14.0, "mineral": 27.0}  # cm more in week 8


def weather() -> list[Row]:
    """61 days, warmer towards the end; rain comes in spells."""
    random = Random("weather of two months")
    rows: list[Row] = []
    wet = False
    for number in range(_DAYS):
        wet = random.random() < (0.62 if wet else 0.24)
        rain = round(random.uniform(0.4, 18.0), 1) if wet else 0.0
        warmth = 13.5 + 0.19 * number + random.uniform(-4.0, 4.5) - (2.5 if wet else 0.0)
        day = _FIRST + timedelta(days=number)
        wind = random.randint(4, 24) + (random.randint(4, 22) if wet else 0)
        rows.append({"date": day.isoformat(), "temp_max": round(warmth, 1), "rain_mm": rain, "wind_kmh": wind})
    return rows


def rides() -> list[Row]:
    """194 rides on those days, fewer in the rain; six of them are there twice, and for some the distance is missing."""
    random = Random("rides of two months")
    days = weather()
    liked = [_liked(row) for row in days]
    rows: list[Row] = []
    for row in sorted(random.choices(days, liked, k=194), key=lambda one: str(one["date"])):
        station = random.choices(list(_STATIONS), list(_STATIONS.values()))[0]
        bike = random.choices(list(_BIKES), [frequent for frequent, _ in _BIKES.values()])[0]
        minutes = random.randint(8, 30) + _LONGER[station]
        distance = round(minutes / 60 * _BIKES[bike][1] * random.uniform(0.8, 1.2), 1)
        rows.append(
            {
                "ride": f"R{len(rows) + 1001}",
                "date": row["date"],
                "hour": random.choices(list(_BUSY), list(_BUSY.values()))[0],
                "station": station,
                "bike": bike,
                "minutes": minutes,
                "km": "" if random.random() < 0.07 else distance,
                "member": random.choices(("yes", "no"), (3, 2))[0],
            }
        )
    for place in sorted(random.sample(range(len(rows)), 6), reverse=True):
        rows.insert(place + 1, dict(rows[place]))
    return rows


def _liked(row: Row) -> float:
    """How many ride on such a day."""
    return max(0.3, float(str(row["temp_max"])) - 9) * (0.35 if row["rain_mm"] else 1.0)


def tomatoes() -> list[Row]:
    """96 plants: four varieties, three feeds, six beds."""
    random = Random("a trial with tomatoes")
    rows: list[Row] = []
    for number in range(96):
        variety = list(_VARIETIES)[number % 4]
        feed = list(_FEEDS)[number // 4 % 3]
        early = random.uniform(22, 38)
        late = early * 2.4 + _FEEDS[feed] + random.uniform(-9, 9)
        usual, grams = _VARIETIES[variety]
        fruits = max(2, round((usual + _FEEDS[feed] / 9) * random.uniform(0.7, 1.3)))
        rows.append(
            {
                "plant": f"T{number + 1:02d}",
                "bed": number // 16 + 1,
                "variety": variety,
                "feed": feed,
                "height_w4": round(early, 1),
                "height_w8": round(late, 1),
                "fruits": fruits,
                "yield_g": round(fruits * grams * random.uniform(0.85, 1.15)),
            }
        )
    return rows


TABLES: dict[str, Callable[[], list[Row]]] = {"rides": rides, "weather": weather, "tomatoes": tomatoes}
"""The rows of each file by its name without ending."""

"""Conversations in which a tool failed for a while, or was called wrongly: the right call is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bundled_data.mmau.tool_use.words import ANY_DATE_FORM, Call, Json, Rule, Talk, call, choices, regex, rule

TODAY = "2025-03-14"
_ENCOURAGEMENT = (
    "Tools may fail for a while, and a call may turn out to be wrong. When a result is an error, or cannot be what was"
    " asked for, do not give up and do not apologise: issue the right call, which may be the same one again.\n\n"
)


def self_correct() -> list[Json]:
    return [*_failures(), *_mistakes()]


def _talk(name: str, domains: Sequence[str], says: str) -> Talk:
    return Talk(f"retry-{name}", domains, _ENCOURAGEMENT + says, TODAY)


# -- failures that pass


def _failed(
    name: str, domains: Sequence[str], says: str, failure: str, *right: Call, rules: Sequence[Rule] | None = None
) -> Json:
    """The calls were right and came back with the failure; they are to be repeated."""
    talk = _talk(f"failure-{name}", domains, says)
    talk.turn(right, [failure] * len(right))
    return talk.target(*right, rules=rules)


def _failures() -> list[Json]:
    return [
        _failed(
            "rail",
            ["rail"],
            "Which trains go from Hamburg to Kassel on 2025-03-24?",
            "HTTP 429 Too Many Requests: the rate limit of this service is used up. Retry after 2 seconds.",
            call("rail_search", origin="Hamburg", destination="Kassel", date="2025-03-24"),
            rules=[rule(date=ANY_DATE_FORM)],
        ),
        _failed(
            "weather",
            ["weather"],
            "Forecast for Nairobi on 2025-03-19, in celsius?",
            "504 Gateway Timeout",
            call("weather_forecast", city="Nairobi", date="2025-03-19", unit="celsius"),
        ),
        _failed(
            "bank",
            ["bank"],
            "What is the balance of AC-2?",
            '{"error": {"code": 503, "message": "Service Unavailable, please try again later"}}',
            call("bank_balance", account_id="AC-2"),
        ),
        _failed(
            "parcel",
            ["parcel"],
            "Wo ist mein Paket QX-4519?",
            "ConnectionResetError: the connection was closed by the other side",
            call("parcel_track", number="QX-4519"),
            rules=[rule(number=regex("QX-4519$"))],
        ),
        _failed(
            "stock",
            ["stock"],
            "How many NUT-8 are there in Graz, and how many in Linz?",
            "Error 502: bad gateway",
            call("stock_level", article="NUT-8", site="Graz"),
            call("stock_level", article="NUT-8", site="Linz"),
        ),
        _failed(
            "library",
            ["library"],
            "Renew my loans L-77 and L-81, in this order, by three weeks.",
            "Request timed out after 30 s. No loan was changed.",
            call("library_renew", loan_ids=["L-77", "L-81"], weeks=3),
        ),
        _failed(
            "maps",
            ["maps"],
            "清水寺(京都)の座標を調べてください。場所の名前は「清水寺, 京都」です。",
            "429: quota exceeded for this minute",
            call("maps_geocode", place="清水寺, 京都"),
        ),
        _failed(
            "home",
            ["home"],
            "Dim the living room to 15 percent, warm white: red 255, green 214, blue 170.",
            "The hub does not answer at present (temporary failure in name resolution).",
            call(
                "home_lights",
                room="living room",
                on=True,
                brightness=15,
                colour={"red": 255, "green": 214, "blue": 170},
            ),
            rules=[{}],
        ),
        _failed(
            "issues",
            ["issues"],
            "Take issue 44 away from whoever has it: the assignee is null.",
            '{"status": 500, "detail": "deadlock detected, transaction rolled back"}',
            call("issues_assign", issue=44, assignee=None),
        ),
        _failed(
            "music",
            ["music"],
            "Start playlist p-3 in the kitchen, volume 25.",
            "Temporary error: the loudspeaker is busy, try again.",
            call("music_play", playlist_id="p-3", speaker="kitchen", volume=25),
        ),
        _failed(
            "museum",
            ["museum"],
            "What can we see in Sevilla on 3 May 2025?",
            "504: upstream request timeout",
            call("museum_exhibitions", city="Sevilla", date="2025-05-03"),
            rules=[rule(city=choices("Sevilla", "Seville"), date=ANY_DATE_FORM)],
        ),
    ]


# -- calls that were wrong


def _changed(right: Call, **arguments: Any) -> Call:
    return Call(right.name, right.arguments | arguments)


def _without(right: Call, name: str) -> Call:
    return Call(right.name, {key: value for key, value in right.arguments.items() if key != name})


def _renamed(right: Call, name: str, wrong: str) -> Call:
    return Call(right.name, {wrong if key == name else key: value for key, value in right.arguments.items()})


def _swapped(right: Call, one: str, other: str) -> Call:
    return _changed(right, **{one: right.arguments[other], other: right.arguments[one]})


def _as_text(right: Call, name: str) -> Call:
    return _changed(right, **{name: str(right.arguments[name])})


def _wrong(
    name: str,
    domains: Sequence[str],
    says: str,
    right: Call,
    wrong: Call,
    *,
    odd: bool = False,
    rules: Sequence[Rule] | None = None,
) -> Json:
    """The wrong call came back with the tool's complaint or, if ``odd``, with a result that cannot be meant."""
    assert wrong != right
    talk = _talk(f"mistake-{name}", domains, says)
    if odd:
        assert talk.step(wrong) != [right.run()]
    else:
        talk.fails(wrong)
    return talk.target(right, rules=rules)


def _mistakes() -> list[Json]:
    search = call("rail_search", origin="Zürich", destination="Milano", date="2025-04-02")
    book = call("rail_book", train_id="EC 317", date="2025-04-02", passengers=2, seat_class="first")
    forecast = call("weather_forecast", city="Lisboa", date="2025-03-16")
    doctor = call("clinic_times", doctor_id="D-07", date="2025-03-20")
    quote = call("parcel_quote", country="AT", weight_kg=0.8, size={"length_cm": 25, "width_cm": 18, "height_cm": 6})
    heating = call("home_heating", room="bathroom", celsius=22.5)
    money = call("convert_money", amount=5000, source="JPY", target="EUR")
    mass = call("convert_unit", value=120, source="lb", target="kg")
    rooms = call("hotel_rooms", check_in="2025-08-08", check_out="2025-08-10", guests=2)
    tickets = call("museum_tickets", exhibition_id="ex-21", date="2025-04-19", adults=2, children=1)
    return [
        _wrong(
            "swapped",
            ["rail"],
            "Trains from Zürich to Milano on 2025-04-02, please. There must be some.",
            search,
            _swapped(search, "origin", "destination"),
            odd=True,
            rules=[rule(origin=choices("Zürich", "Zurich"), date=ANY_DATE_FORM)],
        ),
        _wrong(
            "enum",
            ["rail"],
            "Book the EC 317 on 2025-04-02 for two people in first class.",
            book,
            _changed(book, seat_class="1st"),
            rules=[rule(seat_class=regex("first$"), date=ANY_DATE_FORM)],
        ),
        _wrong(
            "date",
            ["weather"],
            "What will the weather be like in Lisboa on Sunday, 16 March 2025? The unit does not matter, leave it out.",
            forecast,
            _changed(forecast, date="16.03.2025"),
        ),
        _wrong(
            "missing",
            ["clinic"],
            "When has doctor D-07 time on 2025-03-20?",
            doctor,
            _without(doctor, "date"),
            rules=[{}],
        ),
        _wrong(
            "nested",
            ["parcel"],
            "What does a parcel of 0.8 kg, 25 cm long, 18 wide and 6 high, cost within Austria (AT)?",
            quote,
            _changed(quote, size={"length_cm": 25, "width_cm": 18}),
        ),
        _wrong(
            "type",
            ["home"],
            "Heat the bathroom to 22.5 degrees.",
            heating,
            _as_text(heating, "celsius"),
            rules=[rule(celsius=choices(22.5))],
        ),
        _wrong("name", ["convert"], "How many euros are 5000 yen?", money, _renamed(money, "source", "from_currency")),
        _wrong(
            "direction",
            ["convert"],
            "What are 120 pounds (lb) in kg? Careful, they must come out as fewer kilograms.",
            mass,
            _swapped(mass, "source", "target"),
            odd=True,
        ),
        _wrong(
            "tool",
            ["library"],
            "Show the loans of my card 40551.",
            call("library_loans", card=40551),
            call("library_search", title="40551"),
            odd=True,
        ),
        _wrong(
            "nights",
            ["hotel"],
            "What is free at the Miramar from 2025-08-08 to 2025-08-10 for two?",
            rooms,
            _swapped(rooms, "check_in", "check_out"),
        ),
        _wrong(
            "id",
            ["museum"],
            "Two adults and a child want tickets for exhibition ex-21 on 2025-04-19.",
            tickets,
            _changed(tickets, exhibition_id="ex-12x"),
            rules=[rule(exhibition_id=regex("ex-21$"), date=ANY_DATE_FORM)],
        ),
    ]

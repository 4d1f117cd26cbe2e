"""Conversations with two steps of tools behind them. Their targets hold the arguments as JSON text."""

from __future__ import annotations

from collections.abc import Sequence

from bundled_data.mmau.tool_use.words import ANY_DATE_FORM, SAME_DATE_TEXT, Json, Talk, call, choices, regex, rule

TODAY = "2025-03-14"
_IBAN = "PL61 0000 1111 2222 3333 4444 5555"


def triple() -> list[Json]:
    return [
        _rail(),
        _weather(),
        _maps(),
        _parcel(),
        _museum(),
        _clinic(),
        _hotel(),
        _calendar(),
        _bank(),
        _library(),
        _home(),
        _music(),
        _stock(),
        _message(),
    ]


def _talk(name: str, domains: Sequence[str], says: str) -> Talk:
    return Talk(f"triple-{name}", domains, says, TODAY, as_text=True)


def _rail() -> Json:
    talk = _talk(
        "rail",
        ["rail", "convert"],
        "I am Polish and pay in złoty: find the quickest train from Łódź to Kraków on 2025-04-11, tell me its price in"
        " PLN, and then book it for one person in first class.",
    )
    (trains,) = talk.step(call("rail_search", origin="Łódź", destination="Kraków", date="2025-04-11"))
    quickest = min(trains, key=lambda one: _minutes(one["arrives"]) - _minutes(one["departs"]))
    (price,) = talk.step(call("convert_money", amount=quickest["price_eur"], source="EUR", target="PLN"))
    talk.assistant(
        f"{quickest['train_id']} is the quickest and costs {price['amount']} PLN in second class. Shall I book it in"
        " first class?"
    )
    talk.user("Tak, please.")
    return talk.target(
        call("rail_book", train_id=quickest["train_id"], date="2025-04-11", passengers=1, seat_class="first"),
        rules=[rule(date=ANY_DATE_FORM)],
    )


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return 60 * int(hours) + int(minutes)


def _weather() -> Json:
    talk = _talk(
        "weather",
        ["weather"],
        "What is the forecast for 東京 on 2025-03-22, and on the next day? How many degrees Celsius does the high"
        " change from the first day to the second? In the end answer with the signed whole number alone, such as +9 or"
        " -9 (0 without a sign).",
    )
    (first,) = talk.step(call("weather_forecast", city="東京", date="2025-03-22", unit="celsius"))
    (second,) = talk.step(call("weather_forecast", city="東京", date="2025-03-23", unit="celsius"))
    change = second["high"] - first["high"]
    return talk.answer(f"{change:+}" if change else "0")


def _maps() -> Json:
    talk = _talk(
        "maps",
        ["maps"],
        "Which is nearer to the Alhambra in Granada as the crow flies, the Mezquita in Córdoba or the Plaza de España"
        " in Sevilla? Compare in km and save the nearer one as 'day trip', not private.",
    )
    here, *others = talk.step(
        *(
            call("maps_geocode", place=place)
            for place in ("Alhambra, Granada", "Mezquita, Córdoba", "Plaza de España, Sevilla")
        )
    )
    far = talk.step(*(call("maps_distance", start=here, end=place, unit="km") for place in others))
    nearer = min(range(len(others)), key=lambda place: far[place]["distance"])
    return talk.target(
        call("maps_save", name="day trip", point=others[nearer], private=False),
        rules=[rule(name=regex("day[ -]trip$"), private=choices(False))],
    )


def _parcel() -> Json:
    talk = _talk(
        "parcel",
        ["parcel", "convert"],
        "Quote a parcel of 1.5 kg, 40 by 30 by 10 cm, to Switzerland (CH). Convert the price of the cheapest service to"
        " CHF. Then send it with that service, without insurance (null), to Zoë Bühler, Rämistrasse 12, Zürich.",
    )
    size = {"length_cm": 40, "width_cm": 30, "height_cm": 10}
    (quotes,) = talk.step(call("parcel_quote", country="CH", weight_kg=1.5, size=size))
    cheapest = min(quotes, key=lambda one: one["price_eur"])
    talk.step(call("convert_money", amount=cheapest["price_eur"], source="EUR", target="CHF"))
    recipient = {"name": "Zoë Bühler", "street": "Rämistrasse 12", "city": "Zürich", "country": "CH"}
    return talk.target(
        call("parcel_send", service_id=cheapest["service_id"], weight_kg=1.5, recipient=recipient, insured_eur=None)
    )


def _museum() -> Json:
    talk = _talk(
        "museum",
        ["museum", "weather"],
        "On 2025-03-29 or 2025-03-30 we want to see something in København. Take the day with the lower chance of rain"
        " in Oslo, whose weather is the same, find the cheapest exhibition for adults on that day and buy tickets for"
        " four adults with audio guides.",
    )
    days = talk.step(*(call("weather_forecast", city="Oslo", date=date) for date in ("2025-03-29", "2025-03-30")))
    best = min(days, key=lambda one: one["rain_percent"])["date"]
    (shows,) = talk.step(call("museum_exhibitions", city="København", date=best))
    cheapest = min(shows, key=lambda one: one["adult_eur"])
    return talk.target(
        call(
            "museum_tickets", exhibition_id=cheapest["exhibition_id"], date=best, adults=4, children=0, audio_guide=True
        ),
        rules=[rule(date=ANY_DATE_FORM, audio_guide=choices(True))],
    )


def _clinic() -> Json:
    talk = _talk(
        "clinic",
        ["clinic"],
        "Book the latest time that a cardiologist in Porto has on 2025-03-18 for Márcia Gonçalves, born 1961-11-30, who"
        " was there before. No note: null.",
    )
    (doctors,) = talk.step(call("clinic_doctors", speciality="cardiology", town="Porto"))
    doctor = doctors[0]["doctor_id"]
    (times,) = talk.step(call("clinic_times", doctor_id=doctor, date="2025-03-18"))
    return talk.target(
        call(
            "clinic_book",
            doctor_id=doctor,
            date="2025-03-18",
            time=max(times),
            patient={"name": "Márcia Gonçalves", "born": "1961-11-30"},
            first_visit=False,
            note=None,
        ),
        rules=[rule(date=ANY_DATE_FORM, time=regex(f"{max(times)}(:00)?$"))],
    )


def _hotel() -> Json:
    talk = _talk(
        "hotel",
        ["hotel", "convert"],
        "I am alone and stay at the Miramar from 2025-09-01 to 2025-09-05. What does the cheapest room cost per night"
        " in CHF? Ask for the rooms and convert the total first. Answer with the amount per night alone, rounded to two"
        " decimals.",
    )
    (rooms,) = talk.step(call("hotel_rooms", check_in="2025-09-01", check_out="2025-09-05", guests=1))
    total = min(one["total_eur"] for one in rooms)
    (francs,) = talk.step(call("convert_money", amount=total, source="EUR", target="CHF"))
    return talk.answer(f"{francs['amount'] / 4:.2f}")


def _calendar() -> Json:
    talk = _talk(
        "calendar",
        ["calendar"],
        "When is Tomáš free on 19 March 2025? If never, look at 18 March and put 'Übergabe' into his first free hour:"
        " one hour, with Tomáš alone, no reminder (null).",
    )
    (never,) = talk.step(call("calendar_free_hours", person="Tomáš", date="2025-03-19"))
    assert not never
    (hours,) = talk.step(call("calendar_free_hours", person="Tomáš", date="2025-03-18"))
    return talk.target(
        call(
            "calendar_add",
            title="Übergabe",
            start=f"2025-03-18T{hours[0]}",
            minutes=60,
            attendees=["Tomáš"],
            reminder_minutes=None,
        ),
        rules=[rule(start=ANY_DATE_FORM, minutes=choices(60))],
    )


def _bank() -> Json:
    talk = _talk(
        "bank",
        ["bank"],
        f"Pay 900 from whichever of my euro accounts has the lower balance that still suffices, to {_IBAN}, reference"
        " 'Świdnica 03/25', on 2025-03-20.",
    )
    (accounts,) = talk.step(call("bank_accounts"))
    euros = [one["account_id"] for one in accounts if one["currency"] == "EUR"]
    balances = talk.step(*(call("bank_balance", account_id=account) for account in euros))
    account = min((one["balance"], name) for one, name in zip(balances, euros, strict=True) if one["balance"] >= 900)[1]
    return talk.target(
        call("bank_transfer", account_id=account, iban=_IBAN, amount=900, reference="Świdnica 03/25", on="2025-03-20"),
        rules=[rule(iban=regex(_IBAN.replace(" ", r"\s?") + "$"), on=SAME_DATE_TEXT)],
    )


def _library() -> Json:
    talk = _talk(
        "library",
        ["library"],
        "Which of my loans (card 40551) end within the next seven days, today included? Renew those, in the order of"
        " the list, by two weeks. Before that, look whether 'Salt Maps' is still on the shelf somewhere.",
    )
    (loans,) = talk.step(call("library_loans", card=40551))
    talk.step(call("library_search", title="Salt Maps"))
    soon = [one["loan_id"] for one in loans if "2025-03-14" <= one["due"] <= "2025-03-21"]
    return talk.target(call("library_renew", loan_ids=soon, weeks=2))


def _home() -> Json:
    talk = _talk(
        "home",
        ["home", "weather"],
        "First look up how cold it gets in Zürich today. If the low is under 10 degrees, look at the study and the"
        " nursery and heat the colder one to 21 until 22:30.",
    )
    (night,) = talk.step(call("weather_forecast", city="Zürich", date=TODAY))
    assert night["low"] < 10
    rooms = talk.step(call("home_climate", room="study"), call("home_climate", room="nursery"))
    colder = min(rooms, key=lambda one: one["celsius"])
    return talk.target(
        call("home_heating", room=colder["room"], celsius=21, until="22:30"),
        rules=[rule(celsius=choices(21), until=regex("22:30"))],
    )


def _music() -> Json:
    talk = _talk(
        "music",
        ["music"],
        "Look up Río Claro and the Sund Trio, make a private playlist 'Mañana' of everything, longest track first, and"
        " play it in the kitchen at volume 18.",
    )
    found = talk.step(call("music_tracks", artist="Río Claro"), call("music_tracks", artist="Sund Trio"))
    order = [one["track_id"] for one in sorted((*found[0], *found[1]), key=lambda one: -one["seconds"])]
    (made,) = talk.step(call("music_playlist", name="Mañana", track_ids=order, public=False))
    return talk.target(call("music_play", playlist_id=made["playlist_id"], speaker="kitchen", volume=18))


def _stock() -> Json:
    talk = _talk(
        "stock",
        ["stock"],
        "We need 150 of NUT-8 in Linz. What Linz lacks shall be moved from Graz; and if BR-35 has run out in Graz,"
        " order 40 of it from its supplier, express. Check the levels, then the supplier, then do both at once.",
    )
    nuts, brackets = talk.step(
        call("stock_level", article="NUT-8", site="Linz"), call("stock_level", article="BR-35", site="Graz")
    )
    assert not brackets["pieces"]
    (suppliers,) = talk.step(call("stock_supplier", article="BR-35"))
    return talk.target(
        call("stock_move", article="NUT-8", source="Graz", target="Linz", pieces=150 - nuts["pieces"]),
        call(
            "stock_order",
            supplier_id=suppliers[0]["supplier_id"],
            lines=[{"article": "BR-35", "pieces": 40}],
            express=True,
        ),
        rules=[{}, rule(express=choices(True))],
    )


def _message() -> Json:
    talk = _talk(
        "message",
        ["message", "calendar"],
        "When is Zoé free on 18 March? Look that up, then find Aiko in my contacts and plan a message to her for 17"
        " March 2025 at 16:00 that names Zoé's last free hour of that day, as HH:MM.",
    )
    (hours,) = talk.step(call("calendar_free_hours", person="Zoé", date="2025-03-18"))
    (people,) = talk.step(call("message_contacts", name="Aiko"))
    return talk.target(
        call(
            "message_later",
            contact_id=people[0]["contact_id"],
            body=f"Zoé's last free hour on 18 March is {hours[-1]}.",
            at="2025-03-17T16:00",
        ),
        rules=[rule(body=regex(rf"[\s\S]*\b{hours[-1]}"), at=ANY_DATE_FORM)],
    )

"""Conversations with one step of tools behind them."""

from __future__ import annotations

from bundled_data.mmau.tool_use.words import ANY_DATE_FORM, SAME_DATE_TEXT, Json, Talk, call, choices, regex, rule

TODAY = "2025-03-14"


def double() -> list[Json]:
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
        _recipe(),
        _message(),
        _issues(),
    ]


def _rail() -> Json:
    talk = Talk(
        "double-rail",
        ["rail"],
        "Book the cheapest train from Hamburg to Kassel on 2025-03-28 that needs no change: two people, second class,"
        " with a bicycle.",
        TODAY,
    )
    (trains,) = talk.step(call("rail_search", origin="Hamburg", destination="Kassel", date="2025-03-28"))
    cheapest = min((one for one in trains if not one["changes"]), key=lambda one: one["price_eur"])
    return talk.target(
        call(
            "rail_book",
            train_id=cheapest["train_id"],
            date="2025-03-28",
            passengers=2,
            seat_class="second",
            bicycle=True,
        ),
        rules=[rule(date=ANY_DATE_FORM, train_id=regex(f"{cheapest['train_id']}$"))],
    )


def _weather() -> Json:
    talk = Talk(
        "double-weather",
        ["weather", "rail"],
        "Where is rain less likely on 2025-03-20, in Zürich or in Łódź? Answer with the city's name as I spelled it and"
        " nothing else.",
        TODAY,
    )
    forecasts = talk.step(*(call("weather_forecast", city=city, date="2025-03-20") for city in ("Zürich", "Łódź")))
    zurich, lodz = forecasts
    return talk.answer("Zürich" if zurich["rain_percent"] < lodz["rain_percent"] else "Łódź")


def _maps() -> Json:
    talk = Talk(
        "double-maps",
        ["maps", "convert"],
        "How many miles is it, as the crow flies, from the Alhambra in Granada to the Mezquita in Córdoba?",
    )
    start, end = talk.step(
        call("maps_geocode", place="Alhambra, Granada"), call("maps_geocode", place="Mezquita, Córdoba")
    )
    return talk.target(call("maps_distance", start=start, end=end, unit="miles"))


def _parcel() -> Json:
    talk = Talk(
        "double-parcel",
        ["parcel"],
        "A parcel of 4 kg, 30 by 20 by 15 cm, has to reach Νίκος Δήμου, Οδός Ερμού 9, Αθήνα, Greece (GR) within three"
        " days. Take the cheapest service that is quick enough and insure it for 150 euros.",
    )
    size = {"length_cm": 30, "width_cm": 20, "height_cm": 15}
    (quotes,) = talk.step(call("parcel_quote", country="GR", weight_kg=4, size=size))
    best = min((one for one in quotes if one["days"] <= 3), key=lambda one: one["price_eur"])
    recipient = {"name": "Νίκος Δήμου", "street": "Οδός Ερμού 9", "city": "Αθήνα", "country": "GR"}
    return talk.target(
        call("parcel_send", service_id=best["service_id"], weight_kg=4, recipient=recipient, insured_eur=150)
    )


def _museum() -> Json:
    talk = Talk(
        "double-museum",
        ["museum"],
        "What would two adults and a child pay, in all, for the dearest exhibition in København on 2025-04-10? "
        "Answer with the amount alone, with two decimals and without a currency.",
    )
    (shows,) = talk.step(call("museum_exhibitions", city="København", date="2025-04-10"))
    dearest = max(shows, key=lambda one: one["adult_eur"])
    return talk.answer(f"{2 * dearest['adult_eur'] + dearest['child_eur']:.2f}")


def _clinic() -> Json:
    talk = Talk(
        "double-clinic",
        ["clinic"],
        "I need a cardiologist in Braga. When is the first one you find free on 17 March 2025?",
        TODAY,
    )
    (doctors,) = talk.step(call("clinic_doctors", speciality="cardiology", town="Braga"))
    return talk.target(
        call("clinic_times", doctor_id=doctors[0]["doctor_id"], date="2025-03-17"),
        rules=[rule(doctor_id=choices(doctors[0]["doctor_id"]), date=ANY_DATE_FORM)],
    )


def _hotel() -> Json:
    talk = Talk(
        "double-hotel",
        ["hotel"],
        "We are two and arrive at the Miramar on 2025-07-04 for a week. Take the cheapest room with a view of the sea,"
        " in the name of Chloé Lefèvre. We come before 18:00, so late_arrival is null. Ask them for a cot.",
    )
    (rooms,) = talk.step(call("hotel_rooms", check_in="2025-07-04", check_out="2025-07-11", guests=2))
    room = min((one for one in rooms if one["view"] == "sea"), key=lambda one: one["total_eur"])
    return talk.target(
        call(
            "hotel_reserve",
            room_id=room["room_id"],
            check_in="2025-07-04",
            check_out="2025-07-11",
            guest="Chloé Lefèvre",
            requests="A cot",
            late_arrival=None,
        ),
        rules=[rule(check_in=ANY_DATE_FORM, check_out=SAME_DATE_TEXT, requests=regex(r".*\bcot\b"))],
    )


def _calendar() -> Json:
    talk = Talk(
        "double-calendar",
        ["calendar"],
        "Find the first hour on 18 March 2025 at which both Mira and Zoé are free and plan 'Schichtübergabe' there for"
        " them, in this order: 30 minutes, reminder 10 minutes before.",
        TODAY,
    )
    mira, zoe = talk.step(
        *(call("calendar_free_hours", person=person, date="2025-03-18") for person in ("Mira", "Zoé"))
    )
    first = next(hour for hour in mira if hour in zoe)
    return talk.target(
        call(
            "calendar_add",
            title="Schichtübergabe",
            start=f"2025-03-18T{first}",
            minutes=30,
            attendees=["Mira", "Zoé"],
            reminder_minutes=10,
        ),
        rules=[rule(start=ANY_DATE_FORM)],
    )


def _bank() -> Json:
    talk = Talk("double-bank", ["bank", "convert"], "Which of my accounts is kept in francs, and what is its balance?")
    (accounts,) = talk.step(call("bank_accounts"))
    (francs,) = (one["account_id"] for one in accounts if one["currency"] == "CHF")
    return talk.target(call("bank_balance", account_id=francs))


def _library() -> Json:
    talk = Talk(
        "double-library",
        ["library"],
        "Reserve Lena Vogt's book in German for card 40551, at the branch that has a copy on the shelf.",
    )
    (books,) = talk.step(call("library_search", author="Lena Vogt"))
    book = next(one for one in books if one["language"] == "de")
    branch = next(name for name, copies in book["copies"].items() if copies)
    return talk.target(call("library_reserve", book_id=book["book_id"], branch=branch, card=40551), rules=[{}])


def _home() -> Json:
    talk = Talk(
        "double-home",
        ["home"],
        "Check kitchen, nursery and bathroom. Heat every room below 20 degrees to 20.5, and run the fan for 25 minutes"
        " wherever the humidity is above 60 percent.",
    )
    rooms = talk.step(*(call("home_climate", room=room) for room in ("kitchen", "nursery", "bathroom")))
    heat = [call("home_heating", room=one["room"], celsius=20.5) for one in rooms if one["celsius"] < 20]
    fans = [call("home_fan", room=one["room"], minutes=25) for one in rooms if one["humidity_percent"] > 60]
    return talk.target(*heat, *fans)


def _music() -> Json:
    talk = Talk(
        "double-music", ["music"], "Make a public playlist 'Tender' of all tracks by Kazehikō, the shortest first."
    )
    (tracks,) = talk.step(call("music_tracks", artist="Kazehikō"))
    order = [one["track_id"] for one in sorted(tracks, key=lambda one: one["seconds"])]
    return talk.target(
        call("music_playlist", name="Tender", track_ids=order, public=True), rules=[rule(name=regex("tender$"))]
    )


def _stock() -> Json:
    talk = Talk(
        "double-stock",
        ["stock"],
        "Graz needs 100 pieces of BR-20. If it has fewer, move exactly what is lacking from Linz.",
    )
    (level,) = talk.step(call("stock_level", article="BR-20", site="Graz"))
    return talk.target(call("stock_move", article="BR-20", source="Linz", target="Graz", pieces=100 - level["pieces"]))


def _recipe() -> Json:
    talk = Talk(
        "double-recipe",
        ["recipe"],
        "How many grams of flour do Käsespätzle (r-8) for seven people take? Answer with the whole number alone.",
    )
    (parts,) = talk.step(call("recipe_scale", recipe_id="r-8", servings=7))
    return talk.answer(f"{parts['flour_g']:.0f}")


def _message() -> Json:
    talk = Talk("double-message", ["message"], "Tell José that I arrive at 19:40.")
    (found,) = talk.step(call("message_contacts", name="José"))
    talk.assistant(
        f"There are {len(found)} contacts: " + " and ".join(one["name"] for one in found) + ". Which one do you mean?"
    )
    talk.user("The one from the family.")
    (family,) = (one["contact_id"] for one in found if one["group"] == "family")
    return talk.target(
        call("message_send", contact_ids=[family], body="I arrive at 19:40."),
        rules=[rule(body=regex(r".*\barriv\w+ at 19[:.]40"))],
    )


def _issues() -> Json:
    talk = Talk("double-issues", ["issues"], "Give every open bug that nobody works on to login noa.")
    (found,) = talk.step(call("issues_list", state="open", label="bug", unassigned_only=True))
    return talk.target(
        *(call("issues_assign", issue=one["issue"], assignee="noa") for one in found), rules=[{} for _ in found]
    )

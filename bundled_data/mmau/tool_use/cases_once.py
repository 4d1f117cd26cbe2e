"""Conversations whose first answer is asked for: one call, or several at once."""

from __future__ import annotations

from bundled_data.mmau.tool_use.words import ANY_DATE_FORM, SAME_DATE_TEXT, Json, Talk, call, choices, regex, rule

TODAY = "2025-03-14"  # a Friday
_IBAN = "AT02 9999 0000 0012 3456"


def single() -> list[Json]:
    return [
        Talk(
            "single-rail",
            ["rail"],
            "Which trains run from Zürich to Milano on 21 March 2025? I can leave at 10:30 at the earliest.",
            TODAY,
        ).target(
            call("rail_search", origin="Zürich", destination="Milano", date="2025-03-21", after="10:30"),
            rules=[rule(date=ANY_DATE_FORM, after=regex(r"10:30(:00)?$"))],
        ),
        Talk(
            "single-weather",
            ["weather", "convert"],
            "How warm will it get in Reykjavík tomorrow, in Fahrenheit please?",
            TODAY,
        ).target(
            call("weather_forecast", city="Reykjavík", date="2025-03-15", unit="fahrenheit"),
            rules=[rule(city=choices("Reykjavík", "Reykjavik"), date=ANY_DATE_FORM)],
        ),
        Talk("single-air", ["weather"], "大気の状態が心配です。東京の空気質指数を調べてください。").target(
            call("weather_air_quality", city="東京"), rules=[rule(city=regex("東京"))]
        ),
        Talk(
            "single-maps", ["maps"], "Save the point 37.1761 north, 3.5881 west as 'Granada trip'. Only I may see it."
        ).target(
            call("maps_save", name="Granada trip", point={"latitude": 37.1761, "longitude": -3.5881}, private=True)
        ),
        Talk(
            "single-parcel",
            ["parcel"],
            "Please order the STD service for a parcel of 2.5 kg to Björn Åkesson, Storgatan 4, Malmö, country code SE."
            " No insurance: set the insured value to null.",
        ).target(
            call(
                "parcel_send",
                service_id="STD",
                weight_kg=2.5,
                recipient={"name": "Björn Åkesson", "street": "Storgatan 4", "city": "Malmö", "country": "SE"},
                insured_eur=None,
            ),
            rules=[{}],
        ),
        Talk(
            "single-museum",
            ["museum"],
            "Three adults and two children want to see exhibition ex-15 next Saturday, 22 March.",
            TODAY,
        ).target(
            call("museum_tickets", exhibition_id="ex-15", date="2025-03-22", adults=3, children=2),
            rules=[rule(date=ANY_DATE_FORM)],
        ),
        Talk("single-clinic", ["clinic"], "Who treats hearts in Porto? I am looking for a cardiologist there.").target(
            call("clinic_doctors", speciality="cardiology", town="Porto")
        ),
        Talk(
            "single-hotel",
            ["hotel", "rail"],
            "What rooms does the Miramar have for two of us from 2 May 2025, for three nights?",
        ).target(
            call("hotel_rooms", check_in="2025-05-02", check_out="2025-05-05", guests=2),
            rules=[rule(check_in=ANY_DATE_FORM, check_out=ANY_DATE_FORM)],
        ),
        Talk("single-convert", ["convert"], "How many pounds (lb) are 12.5 kg?").target(
            call("convert_unit", value=12.5, source="kg", target="lb")
        ),
        Talk(
            "single-calendar",
            ["calendar"],
            "Put 'Budget review' into the calendar for 18 March 2025, 13:00, 45 minutes, with Mira and Zoé, as a video"
            " call. Leave out any reminder.",
            TODAY,
        ).target(
            call(
                "calendar_add",
                title="Budget review",
                start="2025-03-18T13:00",
                minutes=45,
                attendees=["Mira", "Zoé"],
                video_call=True,
            ),
            rules=[rule(title=regex(r"budget\s+review$"), start=ANY_DATE_FORM)],
        ),
        Talk(
            "single-bank",
            ["bank"],
            f"Set up a monthly payment of 62.40 from AC-1 to {_IBAN}, first on 2025-04-01, with no end.",
            TODAY,
        ).target(
            call("bank_monthly", account_id="AC-1", iban=_IBAN, amount=62.4, first="2025-04-01", last=None),
            rules=[rule(first=SAME_DATE_TEXT)],
        ),
        Talk(
            "single-library",
            ["library"],
            "Έχετε βιβλία της Ελένης Ράλλη; (The author's name in the catalogue is Ελένη Ράλλη.)",
        ).target(call("library_search", author="Ελένη Ράλλη")),
        Talk("single-home", ["home"], "Turn the study's lights on at 40 percent, in pure red.").target(
            call("home_lights", room="study", on=True, brightness=40, colour={"red": 255, "green": 0, "blue": 0})
        ),
        Talk(
            "single-music",
            ["music"],
            "Make a playlist named Noche of t-3, t-1 and t-5, in this order. Nobody but me should see it.",
        ).target(call("music_playlist", name="Noche", track_ids=["t-3", "t-1", "t-5"], public=False)),
        Talk(
            "single-stock",
            ["stock"],
            "Order 200 of BR-35 and 80 of BR-20 from supplier S-4, in this order. There is no hurry, so no express.",
        ).target(
            call(
                "stock_order",
                supplier_id="S-4",
                lines=[{"article": "BR-35", "pieces": 200}, {"article": "BR-20", "pieces": 80}],
                express=False,
            )
        ),
        Talk(
            "single-issues",
            ["issues"],
            "Open a bug, labels bug and i18n, titled \"Dates show as 'NaN'\", high priority. The estimate is unknown as"
            " yet: null. It must stay confidential.",
        ).target(
            call(
                "issues_open",
                title="Dates show as 'NaN'",
                labels=["bug", "i18n"],
                priority="high",
                estimate_hours=None,
                confidential=True,
            ),
            rules=[rule(title=regex("dates show as ['\"‘“]?nan"))],
        ),
        Talk("single-recipe", ["recipe"], "I have carrots and 20 minutes at most. Anything vegetarian to cook?").target(
            call("recipe_find", ingredient="carrots", max_minutes=20, vegetarian=True),
            rules=[rule(ingredient=choices("carrots", "carrot"))],
        ),
        Talk(
            "single-message",
            ["message"],
            "Send c-2 and c-3, in this order, the urgent message: Delivery gate closed until noon!",
        ).target(
            call("message_send", contact_ids=["c-2", "c-3"], body="Delivery gate closed until noon!", urgent=True),
            rules=[rule(body=regex(r"delivery gate closed until noon"))],
        ),
        Talk(
            "single-small-talk",
            ["bank"],
            "Do not look anything up. Which currency code do bank transfers inside the euro area use? "
            "Answer with the three capital letters and nothing else.",
        ).answer("EUR"),
    ]


def parallel() -> list[Json]:
    return [
        Talk(
            "parallel-weather",
            ["weather"],
            "Compare tomorrow's weather in Oslo, Lisboa and Nairobi for me. No wishes about the unit.",
            TODAY,
        ).target(
            *(call("weather_forecast", city=city, date="2025-03-15") for city in ("Oslo", "Lisboa", "Nairobi")),
            rules=[
                rule(date=ANY_DATE_FORM),
                rule(city=choices("Lisboa", "Lisbon"), date=ANY_DATE_FORM),
                rule(date=ANY_DATE_FORM),
            ],
        ),
        Talk("parallel-maps", ["maps"], "Look up where 清水寺, 京都 and 奈良公園, 奈良 are.").target(
            call("maps_geocode", place="清水寺, 京都"), call("maps_geocode", place="奈良公園, 奈良")
        ),
        Talk("parallel-parcel", ["parcel"], "Where are my parcels QX-4471, QX-4502 and QX-4519?").target(
            *(call("parcel_track", number=number) for number in ("QX-4471", "QX-4502", "QX-4519")),
            rules=[rule(number=regex("qx-?4471$")), {}, {}],
        ),
        Talk(
            "parallel-home",
            ["home"],
            "Good night! Lights off in the kitchen and in the living room, and heat the nursery to 18.5.",
        ).target(
            call("home_lights", room="kitchen", on=False),
            call("home_lights", room="living room", on=False),
            call("home_heating", room="nursery", celsius=18.5),
        ),
        Talk("parallel-stock", ["stock"], "How many BR-20 do Graz and Linz have, and who supplies it?").target(
            call("stock_level", article="BR-20", site="Graz"),
            call("stock_level", article="BR-20", site="Linz"),
            call("stock_supplier", article="BR-20"),
        ),
        Talk("parallel-bank", ["bank"], "Tell me the balances of AC-1, AC-2 and AC-3.").target(
            *(call("bank_balance", account_id=f"AC-{number}") for number in (1, 2, 3))
        ),
        Talk(
            "parallel-calendar",
            ["calendar"],
            "When are Mira and Tomáš free on 18 March, and Mira on the day after?",
            TODAY,
        ).target(
            call("calendar_free_hours", person="Mira", date="2025-03-18"),
            call("calendar_free_hours", person="Tomáš", date="2025-03-18"),
            call("calendar_free_hours", person="Mira", date="2025-03-19"),
            rules=[
                rule(date=ANY_DATE_FORM),
                rule(person=choices("Tomáš", "Tomas"), date=ANY_DATE_FORM),
                rule(date=ANY_DATE_FORM),
            ],
        ),
        Talk(
            "parallel-convert", ["convert"], "I need three figures: 250 CHF in EUR, 30 ft in m, and 250 CHF in PLN."
        ).target(
            call("convert_money", amount=250, source="CHF", target="EUR"),
            call("convert_unit", value=30, source="ft", target="m"),
            call("convert_money", amount=250, source="CHF", target="PLN"),
        ),
        Talk(
            "parallel-library",
            ["library"],
            "My card is 40551. Reserve b-102 at North and b-101 at Harbour, and show what I have borrowed.",
        ).target(
            call("library_reserve", book_id="b-102", branch="North", card=40551),
            call("library_reserve", book_id="b-101", branch="Harbour", card=40551),
            call("library_loans", card=40551),
        ),
        Talk(
            "parallel-music", ["music"], "Which tracks are there by Río Claro, by Kazehikō and by the Sund Trio?"
        ).target(
            *(call("music_tracks", artist=artist) for artist in ("Río Claro", "Kazehikō", "Sund Trio")),
            rules=[rule(artist=regex("r[ií]o claro$")), rule(artist=choices("Kazehikō", "Kazehiko")), {}],
        ),
        Talk(
            "parallel-rail",
            ["rail", "hotel"],
            "Trains from Łódź to Kraków on 2025-04-04, direct ones only, and the same back on 2025-04-06?",
        ).target(
            call("rail_search", origin="Łódź", destination="Kraków", date="2025-04-04", direct_only=True),
            call("rail_search", origin="Kraków", destination="Łódź", date="2025-04-06", direct_only=True),
            rules=[rule(date=SAME_DATE_TEXT), rule(date=SAME_DATE_TEXT)],
        ),
        Talk(
            "parallel-issues",
            ["issues"],
            "Give issue 41 to noa, issue 47 to ravi, and take issue 44 away from everybody (null).",
        ).target(
            call("issues_assign", issue=41, assignee="noa"),
            call("issues_assign", issue=47, assignee="ravi"),
            call("issues_assign", issue=44, assignee=None),
        ),
        Talk(
            "parallel-recipe",
            ["recipe"],
            "For Sunday: r-5 for 6 servings and r-9 for 6 servings, how much of everything? "
            "And put bread and sparkling water on the list, in this order.",
        ).target(
            call("recipe_scale", recipe_id="r-5", servings=6),
            call("recipe_scale", recipe_id="r-9", servings=6),
            call("recipe_shop", items=["bread", "sparkling water"]),
        ),
        Talk(
            "parallel-museum",
            ["museum", "weather"],
            "On 5 April 2025, what exhibitions are there in København, and which in Sevilla?",
        ).target(
            call("museum_exhibitions", city="København", date="2025-04-05"),
            call("museum_exhibitions", city="Sevilla", date="2025-04-05"),
            rules=[
                rule(city=choices("København", "Copenhagen"), date=ANY_DATE_FORM),
                rule(city=regex("sevill[ae]$"), date=ANY_DATE_FORM),
            ],
        ),
        Talk(
            "parallel-message",
            ["message", "clinic"],
            "Text c-1 'Estoy en casa' right away, nothing urgent (set urgent to false), and plan the message 'Happy"
            " birthday!' to c-3 for 2 April 2025 at 08:00.",
        ).target(
            call("message_send", contact_ids=["c-1"], body="Estoy en casa", urgent=False),
            call("message_later", contact_id="c-3", body="Happy birthday!", at="2025-04-02T08:00"),
            rules=[rule(body=regex("estoy en casa")), rule(body=regex("happy birthday"), at=ANY_DATE_FORM)],
        ),
        Talk(
            "parallel-hotel",
            ["hotel", "clinic"],
            "For 10 to 12 June 2025 show me the Miramar's rooms for one guest and, to compare, for four. "
            "And when is doctor D-11 free on 11 June 2025?",
            TODAY,
        ).target(
            call("hotel_rooms", check_in="2025-06-10", check_out="2025-06-12", guests=1),
            call("hotel_rooms", check_in="2025-06-10", check_out="2025-06-12", guests=4),
            call("clinic_times", doctor_id="D-11", date="2025-06-11"),
            rules=[{}, rule(check_in=ANY_DATE_FORM, check_out=ANY_DATE_FORM), rule(date=ANY_DATE_FORM)],
        ),
    ]

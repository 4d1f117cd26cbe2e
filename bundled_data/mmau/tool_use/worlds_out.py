"""Tools for being out and about: trains, weather, maps, parcels, museums, doctors and hotels."""

from __future__ import annotations

from datetime import timedelta
from math import asin, cos, radians, sin, sqrt

from bundled_data.mmau.tool_use.words import Json, ToolError, day, group, number, of, or_null, text, tool, whole, yes_no

DATE = "Date as YYYY-MM-DD."

# -- trains

_TRAINS: dict[str, tuple[str, str, str, str, float, int]] = {
    "IC 204": ("Zürich", "Milano", "07:33", "11:10", 54.0, 0),
    "EC 317": ("Zürich", "Milano", "11:33", "14:50", 69.0, 0),
    "RE 1402": ("Zürich", "Milano", "12:05", "17:20", 31.5, 2),
    "TLK 38": ("Łódź", "Kraków", "08:12", "11:02", 14.2, 0),
    "IC 5310": ("Łódź", "Kraków", "13:40", "16:05", 19.9, 0),
    "ICE 71": ("Hamburg", "Kassel", "09:24", "11:36", 62.4, 0),
    "ICE 73": ("Hamburg", "Kassel", "11:24", "13:36", 48.9, 0),
    "RB 81": ("Hamburg", "Kassel", "10:02", "14:41", 29.0, 1),
}


def _train(number: str) -> Json:
    origin, destination, departs, arrives, price, changes = of(_TRAINS, number, "train")
    return {
        "train_id": number,
        "origin": origin,
        "destination": destination,
        "departs": departs,
        "arrives": arrives,
        "price_eur": price,
        "changes": changes,
    }


@tool(
    "List the trains between two stations on a day.",
    {"origin": text("Station of departure."), "destination": text("Station of arrival."), "date": text(DATE)},
    {
        "after": text("Only trains that leave at or after this time, HH:MM."),
        "direct_only": yes_no("Leave out trains with changes."),
    },
)
def rail_search(
    origin: str, destination: str, date: str, after: str = "00:00", direct_only: bool = False
) -> list[Json]:
    day(date)
    found = [_train(name) for name in _TRAINS]
    return [
        one
        for one in found
        if (one["origin"], one["destination"]) == (origin, destination)
        and one["departs"] >= after
        and not (direct_only and one["changes"])
    ]


@tool(
    "Book seats on a train.",
    {
        "train_id": text("Number of the train, such as IC 1."),
        "date": text(DATE),
        "passengers": whole("Number of people."),
        "seat_class": text("Class.", "first", "second"),
    },
    {"bicycle": yes_no("Whether a bicycle comes along.")},
)
def rail_book(train_id: str, date: str, passengers: int, seat_class: str, bicycle: bool = False) -> Json:
    price = _train(train_id)["price_eur"] * passengers * (1.6 if seat_class == "first" else 1) + 9 * bicycle
    return {"booking": f"R{day(date):%m%d}{passengers}", "total_eur": round(price, 2)}


# -- weather

_CLIMATE = {"Oslo": 2, "Lisboa": 15, "Zürich": 7, "東京": 12, "Reykjavík": 1, "Nairobi": 21, "Łódź": 5}


@tool(
    "Forecast for a city on one day.",
    {"city": text("City, spelled as people there do."), "date": text(DATE)},
    {"unit": text("Unit of temperatures.", "celsius", "fahrenheit")},
)
def weather_forecast(city: str, date: str, unit: str = "celsius") -> Json:
    turn = day(date).toordinal()
    low = of(_CLIMATE, city, "city") + turn % 5 - 2
    high = low + 4 + turn % 3
    low, high = (round(degrees * 9 / 5 + 32) if unit == "fahrenheit" else degrees for degrees in (low, high))
    return {
        "city": city,
        "date": date,
        "low": low,
        "high": high,
        "unit": unit,
        "rain_percent": (turn * 7 + 3 * _CLIMATE[city]) % 10 * 10,
    }


@tool("Present air quality index of a city (0 is best).", {"city": text("City, spelled as people there do.")})
def weather_air_quality(city: str) -> Json:
    return {"city": city, "index": 20 + 3 * of(_CLIMATE, city, "city")}


# -- maps

_PLACES = {
    "Alhambra, Granada": (37.1761, -3.5881),
    "Mezquita, Córdoba": (37.8789, -4.7794),
    "Plaza de España, Sevilla": (37.3772, -5.9869),
    "清水寺, 京都": (34.9949, 135.785),
    "奈良公園, 奈良": (34.6851, 135.843),
}
_POINT: Json = {"latitude": number("Degrees north."), "longitude": number("Degrees east.")}


@tool("Coordinates of a place.", {"place": text("Name and town, separated by a comma.")})
def maps_geocode(place: str) -> Json:
    latitude, longitude = of(_PLACES, place, "place")
    return {"latitude": latitude, "longitude": longitude}


@tool(
    "Distance between two points as the crow flies.",
    {"start": group("From here.", _POINT), "end": group("To here.", _POINT), "unit": text("Unit.", "km", "miles")},
)
def maps_distance(start: Json, end: Json, unit: str) -> Json:
    north, south = radians(start["latitude"]), radians(end["latitude"])
    east = radians(end["longitude"] - start["longitude"])
    bow = sin((south - north) / 2) ** 2 + cos(north) * cos(south) * sin(east / 2) ** 2
    kilometres = 2 * 6371 * asin(sqrt(bow))
    return {"distance": round(kilometres / (1.609344 if unit == "miles" else 1), 1), "unit": unit}


@tool(
    "Save a place under a name.",
    {
        "name": text("The name to save it under."),
        "point": group("Where it is.", _POINT),
        "private": yes_no("Seen by the user alone."),
    },
)
def maps_save(name: str, point: Json, private: bool) -> Json:
    return {"saved": name, "private": private}


# -- parcels

_RATES = {"SLOW": (3.2, 1.1, 6), "STD": (4.9, 1.6, 3), "EXP": (11.5, 2.4, 1)}
_SIZE: Json = {"length_cm": whole("Length."), "width_cm": whole("Width."), "height_cm": whole("Height.")}
_STATES = {"QX-4471": ("in transit", "Graz"), "QX-4502": ("delivered", "Linz"), "QX-4519": ("held at customs", "Basel")}


@tool(
    "Prices and days of every service for a parcel.",
    {
        "country": text("Two-letter code of the country it goes to."),
        "weight_kg": number("Weight."),
        "size": group("Outer size.", _SIZE),
    },
)
def parcel_quote(country: str, weight_kg: float, size: Json) -> list[Json]:
    if len(country) != 2 or not country.isupper():
        raise ToolError(f"country: expected two capital letters, got '{country}'")
    bulky = 5 if sum(size.values()) > 150 else 0
    abroad = 1 if country == "AT" else 2
    return [
        {"service_id": name, "price_eur": round((base + each * weight_kg) * abroad + bulky, 2), "days": days * abroad}
        for name, (base, each, days) in _RATES.items()
    ]


@tool(
    "Order a parcel to be collected.",
    {
        "service_id": text("Service from a quote.", *_RATES),
        "weight_kg": number("Weight."),
        "recipient": group(
            "Who gets it.",
            {
                "name": text("Name."),
                "street": text("Street and number."),
                "city": text("City."),
                "country": text("Two-letter code."),
            },
        ),
    },
    {"insured_eur": or_null(number("Insured value; null for no insurance."))},
)
def parcel_send(service_id: str, weight_kg: float, recipient: Json, insured_eur: float | None = None) -> Json:
    return {"number": f"QX-{4600 + len(recipient['name'])}", "insured": insured_eur is not None}


@tool("Where a parcel is.", {"number": text("Number of the parcel, such as QX-1000.")})
def parcel_track(number: str) -> Json:
    state, place = of(_STATES, number, "parcel")
    return {"number": number, "state": state, "place": place}


# -- museums

_SHOWS = {
    "ex-12": ("Glass and Light", "København", 14.0, 0.0, "2025-01-10", "2025-06-29"),
    "ex-15": ("Sølv – Nordic Silver", "København", 9.5, 4.0, "2025-03-01", "2025-04-13"),
    "ex-21": ("Los mapas del mar", "Sevilla", 8.0, 3.0, "2025-02-14", "2025-05-18"),
}


@tool(
    "Exhibitions that are open in a city on a day.",
    {"city": text("City, spelled as people there do."), "date": text(DATE)},
)
def museum_exhibitions(city: str, date: str) -> list[Json]:
    day(date)
    return [
        {"exhibition_id": key, "title": title, "adult_eur": adult, "child_eur": child, "until": until}
        for key, (title, place, adult, child, since, until) in _SHOWS.items()
        if place == city and since <= date <= until
    ]


@tool(
    "Buy tickets for an exhibition.",
    {
        "exhibition_id": text("From the list of exhibitions."),
        "date": text(DATE),
        "adults": whole("Adults."),
        "children": whole("Children."),
    },
    {"audio_guide": yes_no("Audio guides for all.")},
)
def museum_tickets(exhibition_id: str, date: str, adults: int, children: int, audio_guide: bool = False) -> Json:
    _, _, adult, child, since, until = of(_SHOWS, exhibition_id, "exhibition")
    if not since <= day(date).isoformat() <= until:
        raise ToolError(f"exhibition '{exhibition_id}' is not open on {date}")
    return {
        "tickets": adults + children,
        "total_eur": adults * adult + children * child + 3 * audio_guide * (adults + children),
    }


# -- doctors

_DOCTORS = {
    "D-03": ("Dr. Ana Sousa", "dermatology", "Porto", ("09:00", "10:30")),
    "D-07": ("Dr. João Brandão", "cardiology", "Porto", ("08:15", "14:45")),
    "D-11": ("Dr. Inês Faria", "cardiology", "Braga", ("11:00", "16:20")),
}


@tool(
    "Doctors of a speciality in a town.",
    {"speciality": text("Speciality.", "cardiology", "dermatology", "paediatrics"), "town": text("Town.")},
)
def clinic_doctors(speciality: str, town: str) -> list[Json]:
    return [
        {"doctor_id": key, "name": name}
        for key, (name, field, place, _) in _DOCTORS.items()
        if (field, place) == (speciality, town)
    ]


@tool("Free times of a doctor on a day.", {"doctor_id": text("Number of the doctor."), "date": text(DATE)})
def clinic_times(doctor_id: str, date: str) -> list[str]:
    times: tuple[str, ...] = of(_DOCTORS, doctor_id, "doctor")[3]
    return list(times) if day(date).weekday() < 5 else []


@tool(
    "Book an appointment with a doctor.",
    {
        "doctor_id": text("Number of the doctor."),
        "date": text(DATE),
        "time": text("HH:MM."),
        "patient": group("The patient.", {"name": text("Name."), "born": text("Date of birth as YYYY-MM-DD.")}),
        "first_visit": yes_no("Whether the patient is new."),
    },
    {"note": or_null(text("Reason for the visit; null for none."))},
)
def clinic_book(
    doctor_id: str, date: str, time: str, patient: Json, first_visit: bool, note: str | None = None
) -> Json:
    if time not in clinic_times(doctor_id, date):
        raise ToolError(f"{doctor_id} is not free on {date} at {time}")
    return {"appointment": f"A{day(date):%m%d}-{doctor_id}", "with": _DOCTORS[doctor_id][0]}


# -- hotels

_ROOMS = {
    "single-garden": (1, 71.0, "garden"),
    "double-sea": (2, 118.0, "sea"),
    "double-garden": (2, 96.0, "garden"),
    "family-sea": (4, 164.0, "sea"),
}


def _nights(check_in: str, check_out: str) -> int:
    nights = (day(check_out) - day(check_in)) // timedelta(days=1)
    if nights < 1:
        raise ToolError("check_out must be after check_in")
    return nights


@tool(
    "Free rooms of the hotel Miramar and their price for the whole stay.",
    {"check_in": text(DATE), "check_out": text(DATE), "guests": whole("Number of guests.")},
)
def hotel_rooms(check_in: str, check_out: str, guests: int) -> list[Json]:
    nights = _nights(check_in, check_out)
    return [
        {"room_id": key, "view": view, "total_eur": price * nights}
        for key, (beds, price, view) in _ROOMS.items()
        if beds >= guests
    ]


@tool(
    "Reserve a room of the hotel Miramar.",
    {
        "room_id": text("From the list of rooms.", *_ROOMS),
        "check_in": text(DATE),
        "check_out": text(DATE),
        "guest": text("Name of the guest."),
    },
    {
        "requests": text("Wishes of the guest."),
        "late_arrival": or_null(text("HH:MM, or null where the guest comes before 18:00.")),
    },
)
def hotel_reserve(
    room_id: str, check_in: str, check_out: str, guest: str, requests: str = "", late_arrival: str | None = None
) -> Json:
    return {
        "reservation": f"H{day(check_in):%m%d}",
        "room_id": room_id,
        "total_eur": _ROOMS[room_id][1] * _nights(check_in, check_out),
    }

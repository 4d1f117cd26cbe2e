"""Tools for the home: calendar, bank, library, rooms and music."""

from __future__ import annotations

from datetime import datetime, timedelta

from bundled_data.mmau.tool_use.words import (
    Json,
    ToolError,
    day,
    group,
    many,
    number,
    of,
    or_null,
    text,
    tool,
    whole,
    yes_no,
)

DATE = "Date as YYYY-MM-DD."

# -- calendar

_BUSY = {
    "Mira": {"2025-03-18": ((9, 11), (14, 15)), "2025-03-19": ((10, 12),)},
    "Tomáš": {"2025-03-18": ((9, 10), (13, 16)), "2025-03-19": ((9, 17),)},
    "Zoé": {"2025-03-18": ((11, 12),), "2025-03-19": ((9, 10), (15, 17))},
}


@tool(
    "Full hours between 09:00 and 17:00 at which a person is free on a day.",
    {"person": text("First name."), "date": text(DATE)},
)
def calendar_free_hours(person: str, date: str) -> list[str]:
    busy = of(_BUSY, person, "person").get(day(date).isoformat(), ())
    return [f"{hour:02}:00" for hour in range(9, 17) if not any(start <= hour < end for start, end in busy)]


@tool(
    "Add an event to the calendar.",
    {
        "title": text("Title."),
        "start": text("Start, date and time without time zone."),
        "minutes": whole("Length in minutes."),
        "attendees": many(
            "First names of everybody invited, in the order in which they were named.", {"type": "string"}
        ),
    },
    {
        "reminder_minutes": or_null(whole("How long before the start to remind; null for no reminder.")),
        "video_call": yes_no("Whether to add a link."),
    },
)
def calendar_add(
    title: str,
    start: str,
    minutes: int,
    attendees: list[str],
    reminder_minutes: int | None = None,
    video_call: bool = False,
) -> Json:
    try:
        begin = datetime.fromisoformat(start)
    except ValueError:
        raise ToolError(f"'{start}' is not a valid start, expected YYYY-MM-DDTHH:MM") from None
    return {
        "event_id": f"ev-{begin:%m%d%H%M}",
        "end": (begin + timedelta(minutes=minutes)).isoformat(timespec="minutes"),
    }


@tool(
    "Remove an event from the calendar.",
    {"event_id": text("Number of the event.")},
    {"tell_attendees": yes_no("Whether to notify them.")},
)
def calendar_remove(event_id: str, tell_attendees: bool = False) -> Json:
    return {"removed": event_id}


# -- bank

_ACCOUNTS = {"AC-1": ("Everyday", 1840.55, "EUR"), "AC-2": ("Savings", 12300.0, "EUR"), "AC-3": ("Reise", 615.2, "CHF")}


@tool("List the user's accounts.", {})
def bank_accounts() -> list[Json]:
    return [{"account_id": key, "name": name, "currency": currency} for key, (name, _, currency) in _ACCOUNTS.items()]


@tool("Balance of an account.", {"account_id": text("Number of the account.")})
def bank_balance(account_id: str) -> Json:
    _, balance, currency = of(_ACCOUNTS, account_id, "account")
    return {"balance": balance, "currency": currency}


@tool(
    "Transfer money once.",
    {
        "account_id": text("Account to pay from."),
        "iban": text("Account to pay to."),
        "amount": number("How much, in the currency of the account."),
        "reference": text("What the recipient reads."),
    },
    {"on": text("Date of the payment as YYYY-MM-DD; left out for today.")},
)
def bank_transfer(account_id: str, iban: str, amount: float, reference: str, on: str | None = None) -> Json:
    balance = of(_ACCOUNTS, account_id, "account")[1]
    if amount > balance:
        raise ToolError(f"the balance of {account_id} is {balance}, less than {amount}")
    if on is not None:
        day(on)
    return {"state": "accepted", "left": round(balance - amount, 2)}


@tool(
    "Set up a monthly payment.",
    {
        "account_id": text("Account to pay from."),
        "iban": text("Account to pay to."),
        "amount": number("How much each time."),
        "first": text("Date of the first payment as YYYY-MM-DD."),
        "last": or_null(text("Date of the last payment as YYYY-MM-DD; null for no end.")),
    },
)
def bank_monthly(account_id: str, iban: str, amount: float, first: str, last: str | None) -> Json:
    return {"order": f"M-{day(first):%y%m}", "until": None if last is None else day(last).isoformat()}


# -- library

_BOOKS = {
    "b-101": ("The Quiet Orchard", "Lena Vogt", "en", {"North": 0, "Harbour": 2}),
    "b-102": ("Der stille Obstgarten", "Lena Vogt", "de", {"North": 1, "Harbour": 0}),
    "b-103": ("Ζωή στο νησί", "Ελένη Ράλλη", "el", {"North": 1, "Harbour": 1}),
    "b-104": ("Salt Maps", "Imre Kovács", "en", {"North": 3, "Harbour": 1}),
}
_LOANS = {"L-77": ("b-101", "2025-03-20"), "L-78": ("b-104", "2025-03-14"), "L-81": ("b-103", "2025-04-02")}


@tool(
    "Search the catalogue. Of what is given everything has to fit.",
    {},
    {"author": text("Full name."), "title": text("Full title."), "language": text("Two-letter code.")},
)
def library_search(author: str | None = None, title: str | None = None, language: str | None = None) -> list[Json]:
    return [
        {"book_id": key, "title": name, "author": writer, "language": code, "copies": copies}
        for key, (name, writer, code, copies) in _BOOKS.items()
        if author in (None, writer) and title in (None, name) and language in (None, code)
    ]


@tool(
    "Reserve a copy of a book.",
    {
        "book_id": text("Number of the book."),
        "branch": text("Where to fetch it.", "North", "Harbour"),
        "card": whole("Number of the library card."),
    },
)
def library_reserve(book_id: str, branch: str, card: int) -> Json:
    return {"waiting": of(_BOOKS, book_id, "book")[3][branch] == 0, "fetch_at": branch}


@tool("Loans of a library card with their last day.", {"card": whole("Number of the library card.")})
def library_loans(card: int) -> list[Json]:
    return [{"loan_id": key, "title": _BOOKS[book][0], "due": due} for key, (book, due) in _LOANS.items()]


@tool(
    "Renew loans.",
    {
        "loan_ids": many("Numbers of the loans, in the order of the list.", {"type": "string"}),
        "weeks": whole("For how many weeks."),
    },
)
def library_renew(loan_ids: list[str], weeks: int) -> Json:
    return {loan: (day(of(_LOANS, loan, "loan")[1]) + timedelta(weeks=weeks)).isoformat() for loan in loan_ids}


# -- rooms at home

_ROOMS = {
    "kitchen": (19.5, 48),
    "nursery": (17.0, 55),
    "study": (22.5, 39),
    "bathroom": (21.0, 71),
    "living room": (20.0, 45),
}


@tool("Temperature and humidity of a room.", {"room": text("Room.", *_ROOMS)})
def home_climate(room: str) -> Json:
    celsius, humidity = _ROOMS[room]
    return {"room": room, "celsius": celsius, "humidity_percent": humidity}


@tool(
    "Set the heating of a room.",
    {"room": text("Room.", *_ROOMS), "celsius": number("Temperature wanted.")},
    {"until": text("HH:MM; left out for no end.")},
)
def home_heating(room: str, celsius: float, until: str | None = None) -> Json:
    if not 5 <= celsius <= 28:
        raise ToolError(f"celsius: {celsius} is out of range 5 to 28")
    return {"room": room, "target": celsius}


@tool(
    "Switch or dim the lights of a room.",
    {"room": text("Room.", *_ROOMS), "on": yes_no("On or off.")},
    {
        "brightness": whole("Percent."),
        "colour": group(
            "Colour, each part 0 to 255.", {"red": whole("Red."), "green": whole("Green."), "blue": whole("Blue.")}
        ),
    },
)
def home_lights(room: str, on: bool, brightness: int | None = None, colour: Json | None = None) -> Json:
    return {"room": room, "on": on}


@tool("Run the fan of a room.", {"room": text("Room.", *_ROOMS), "minutes": whole("How long.")})
def home_fan(room: str, minutes: int) -> Json:
    return {"room": room, "minutes": minutes}


# -- music

_TRACKS = {
    "t-1": ("Sinfonía del agua", "Río Claro", 312),
    "t-2": ("Paper Boats", "Río Claro", 205),
    "t-3": ("夜の橋", "Kazehikō", 268),
    "t-4": ("Lanterns", "Kazehikō", 187),
    "t-5": ("Møllehjul", "Sund Trio", 241),
}


@tool("Tracks of an artist.", {"artist": text("Name, spelled as the artist does.")})
def music_tracks(artist: str) -> list[Json]:
    return [
        {"track_id": key, "title": title, "seconds": length}
        for key, (title, name, length) in _TRACKS.items()
        if name == artist
    ]


@tool(
    "Make a playlist.",
    {
        "name": text("Name."),
        "track_ids": many("Tracks in the order of playing.", {"type": "string"}),
        "public": yes_no("Seen by everybody."),
    },
)
def music_playlist(name: str, track_ids: list[str], public: bool) -> Json:
    return {"playlist_id": f"p-{len(track_ids)}", "seconds": sum(of(_TRACKS, track, "track")[2] for track in track_ids)}


@tool(
    "Start playing.",
    {"playlist_id": text("Number of the playlist."), "speaker": text("Room of the loudspeaker.")},
    {"volume": whole("0 to 100.")},
)
def music_play(playlist_id: str, speaker: str, volume: int = 30) -> Json:
    return {"playing": playlist_id, "speaker": speaker}

"""Queries with one right answer that is found by looking or by looking up."""

from __future__ import annotations

from bundled_data.gta_atomic.dialog import Book, Dialog, Objective, box_text

READING = Book()


@READING.sample(
    "chart_rain.png",
    gold=Objective([["April", "Apr"], ["44", "forty-four"]], [["July was the driest"]]),
    extra=("Solver",),
)
def driest_month(d: Dialog) -> None:
    d.user("In which month did it rain least in Eastmere, and how many millimetres less than in the wettest one?")
    d.call("The values stand above the bars.", "OCR", image="image/chart_rain.png", shows=("39", "83", "Apr"))
    d.call("Wettest less driest.", "Calculator", expression="83 - 39", returns="44")
    d.answer("April was the driest month, with 44 mm less than July.")


@READING.sample(
    "boarding_pass.jpg",
    gold=Objective([["Icelandic króna", "Icelandic krona", "ISK", "króna", "krona"]], [["euro", "euros"]]),
)
def which_money(d: Dialog) -> None:
    d.user("Which money should I get before this flight so that I can pay when I land?")
    d.call("Where does the flight go?", "OCR", image="image/boarding_pass.jpg", shows=("REYKJAVIK",))
    d.call(
        "What is paid with there?", "GoogleSearch", query="currency of Iceland Reykjavik", shows=("Icelandic króna",)
    )
    d.answer("You land in Reykjavik, where one pays with the Icelandic króna.")


@READING.sample("opening_hours.jpg", gold=Objective([["closed", "not open", "shut"]], [["is open", "open until"]]))
def book_shop(d: Dialog) -> None:
    d.user("Can I still pick up my book there on Wednesday at 5 in the afternoon?")
    d.call(
        "When do they open on Wednesdays?",
        "OCR",
        image="image/opening_hours.jpg",
        shows=("Wednesday", "10:00 to 14:00"),
    )
    d.answer("No. On Wednesdays the shop shuts at 14:00, so at 5 it is closed.")


@READING.sample("street.jpg", gold=Objective([["green"]], [["red", "blue", "yellow"]]))
def door_of_seven(d: Dialog) -> None:
    d.user("I am to meet someone at number 7. What colour is the front door I have to look for?")
    d.call("Where is number 7?", "OCR", image="image/street.jpg", shows=("7",))
    door = box_text(d.truth["street"].boxes["door 7"])
    d.call(
        "The door is left of the sign.",
        "RegionAttributeDescription",
        image="image/street.jpg",
        bbox=door,
        attribute="colour of the door",
        shows=("green",),
    )
    d.answer("Look for the green door.")


@READING.sample("harbour.jpg", gold=Objective([["left"]], [["right"]]))
def lighthouse_side(d: Dialog) -> None:
    d.user("Seen from here, on which side of the setting sun does the lighthouse stand?")
    for thing in ("lighthouse", "sun"):
        box = box_text(d.truth["harbour"].boxes[thing])
        d.call(
            f"Where is the {thing}?",
            "TextToBbox",
            image="image/harbour.jpg",
            text=thing,
            returns=f"{box}, score {93 if thing == 'sun' else 96}",
        )
    d.answer("The lighthouse stands to the left of the sun.")


@READING.sample("parking.jpg", gold=Objective([["green"]], [["blue", "red"]]), extra=("ImageDescription",))
def last_car(d: Dialog) -> None:
    d.user("A neighbour says the car at the far right has its lights on. What colour is it?")
    boxes = d.truth["parking"].boxes
    found = "\n".join(
        f"{box_text(boxes[name])}, score {score}"
        for name, score in (("red car", 95), ("green car", 92), ("blue car", 90))
    )
    d.call("Find all the cars.", "TextToBbox", image="image/parking.jpg", text="car", top1=False, returns=found)
    d.call(
        "The last one.",
        "RegionAttributeDescription",
        image="image/parking.jpg",
        bbox=box_text(boxes["green car"]),
        attribute="colour of the car",
        shows=("green",),
    )
    d.answer("The car at the far right is green.")

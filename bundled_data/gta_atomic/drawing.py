"""Queries that ask for a picture. Most dialogs end on the call that makes it, as the official ones do."""

from __future__ import annotations

from bundled_data.gta_atomic.dialog import Book, Dialog, box_text, row_box

DRAWING = Book()


@DRAWING.sample("opening_hours.jpg", gold=None)
def mark_wednesday(d: Dialog) -> None:
    d.user("I want to send this to my mother. Please mark the line with Wednesday's hours so that she can't miss it.")
    text = d.call("Where is that line?", "OCR", image="image/opening_hours.jpg", shows=("Wednesday", "10:00 to 14:00"))
    bbox = box_text(row_box(text, "Wednesday"))
    d.call("Frame it.", "DrawBox", image="image/opening_hours.jpg", bbox=bbox, saves="image/opening_hours_marked.jpg")


@DRAWING.sample("parking.jpg", gold=None)
def sold_car(d: Dialog) -> None:
    d.user(
        "I sold the red one today. Put a frame around it, labelled 'red car', and write SOLD "
        "in blue into the upper left corner of the photo."
    )
    box = box_text(d.truth["parking"].boxes["red car"])
    d.call("Find the car.", "TextToBbox", image="image/parking.jpg", text="red car", returns=f"{box}, score 95")
    d.call(
        "Frame it.",
        "DrawBox",
        image="image/parking.jpg",
        bbox=box,
        annotation="red car",
        saves="image/parking_framed.jpg",
    )
    d.call(
        "Add the word.",
        "AddText",
        image="image/parking_framed.jpg",
        text="SOLD",
        position="lt",
        color="blue",
        saves="image/parking_sold.jpg",
    )


@DRAWING.sample("birthday_card.jpg", gold=None)
def card_for_mia(d: Dialog) -> None:
    d.user("Could you write 'Happy Birthday, Mia!' in dark blue under the cake on this card?")
    d.call("What is on the card?", "ImageDescription", image="image/birthday_card.jpg")
    d.call(
        "There is room under the cake.",
        "AddText",
        image="image/birthday_card.jpg",
        text="Happy Birthday, Mia!",
        position="(190, 366)",
        color="darkblue",
        saves="image/birthday_card_mia.jpg",
    )


@DRAWING.sample("harbour.jpg", gold=None)
def number_of_boats(d: Dialog) -> None:
    d.user(
        "How many sailing boats are out? Write the number followed by 'boats' in black at the top right of the picture"
        " for our quiz."
    )
    count = d.truth["harbour"].counts["sailing boat"]
    d.call("Count them.", "CountGivenObject", image="image/harbour.jpg", text="sailing boat", returns=str(count))
    d.call(
        "Write it down.",
        "AddText",
        image="image/harbour.jpg",
        text=f"{count} boats",
        position="rt",
        color="black",
        saves="image/harbour_boats.jpg",
    )


@DRAWING.sample("harbour.jpg", gold=None)
def old_postcard(d: Dialog) -> None:
    d.user("Make this look like a brown, faded old photograph and put 'Harbour, 1925' at the bottom left in white.")
    d.call(
        "Give it the old look.",
        "ImageStylization",
        image="image/harbour.jpg",
        instruction="turn it into an old sepia photograph",
        saves="image/harbour_sepia.jpg",
    )
    d.call(
        "Add the caption.",
        "AddText",
        image="image/harbour_sepia.jpg",
        text="Harbour, 1925",
        position="lb",
        color="white",
        saves="image/harbour_1925.jpg",
    )


@DRAWING.sample("street.jpg", gold=None, extra=("TextToImage",))
def colouring_page(d: Dialog) -> None:
    d.user(
        "My little one would love a drawing of our street, just in pencil, without any colours. What do you make of"
        " this?"
    )
    d.call("What is in the picture?", "ImageDescription", image="image/street.jpg")
    d.call(
        "Make it a drawing.",
        "ImageStylization",
        image="image/street.jpg",
        instruction="make it a pencil sketch",
        saves="image/street_sketch.jpg",
    )


@DRAWING.sample("chalkboard.jpg", gold=None, extra=("ImageStylization",))
def soup_poster(d: Dialog) -> None:
    d.user("We need an appetising picture of today's soup for our window. Can you come up with one?")
    d.call("Which soup is it?", "OCR", image="image/chalkboard.jpg", shows=("Pumpkin soup", "ginger"))
    d.call(
        "Make the picture.",
        "TextToImage",
        keywords="bowl of pumpkin soup with ginger, rustic wooden table, warm light",
        saves="image/soup.jpg",
    )


@DRAWING.sample("boarding_pass.jpg", gold=None)
def landmark_picture(d: Dialog) -> None:
    d.user(
        "I'm flying there with my wife as a surprise. Make me a picture of that city's best "
        "known landmark on a winter evening for the gift card."
    )
    d.call("Which city?", "OCR", image="image/boarding_pass.jpg", shows=("REYKJAVIK",))
    d.call(
        "What is its landmark?",
        "GoogleSearch",
        query="best known landmark of Reykjavik",
        k=3,
        shows=("Hallgrimskirkja",),
    )
    d.call(
        "Draw it.",
        "TextToImage",
        keywords="Hallgrimskirkja church in Reykjavik, winter evening, snow, northern lights",
        saves="image/reykjavik.jpg",
    )


@DRAWING.sample("invitation.jpg", gold=None)
def birthday_cake(d: Dialog) -> None:
    d.user(
        "Please make a picture of a birthday cake for her, with candles in the shape of the age she turns at this"
        " party."
    )
    d.call("When was she born, when is the party?", "OCR", image="image/invitation.jpg", shows=("1946", "2026"))
    d.call("How old does she get?", "Calculator", expression="2026 - 1946", returns="80")
    d.call(
        "Make the cake.",
        "TextToImage",
        keywords="birthday cake, number candles 80, flowers, festive table",
        saves="image/cake.jpg",
    )


@DRAWING.sample("formula_curve.jpg", gold=None)
def sketch_curve(d: Dialog) -> None:
    d.user("Could you do exercise 7 for me, for x from -3 to 3?")
    d.call("Which function?", "MathOCR", image="image/formula_curve.jpg", returns="f(x) = x^{3} - 4x")
    code = """import matplotlib.pyplot as plt
import numpy as np

def solution():
    x = np.linspace(-3, 3, 200)
    figure, axis = plt.subplots()
    axis.plot(x, x**3 - 4*x)
    axis.axhline(0, color='black', linewidth=0.8)
    axis.axvline(0, color='black', linewidth=0.8)
    axis.set_xlabel('x')
    axis.set_ylabel('f(x)')
    axis.grid(alpha=0.3)
    return figure"""
    d.call("Draw it.", "Plot", command=f"```python\n{code}\n```", saves="image/curve.png")


@DRAWING.sample("table_bakery.jpg", gold=None)
def bakery_bars(d: Dialog) -> None:
    d.user(
        "Can you make a bar chart of this for the owners' meeting, with the two years side by side for each product?"
    )
    d.call(
        "Read the table.",
        "OCR",
        image="image/table_bakery.jpg",
        shows=("18.4", "21.0", "12.6", "11.9", "9.3", "12.2", "7.7", "10.5"),
    )
    code = """import matplotlib.pyplot as plt

def solution():
    products = ['Bread', 'Rolls', 'Cakes', 'Coffee']
    first, second = [18.4, 12.6, 9.3, 7.7], [21.0, 11.9, 12.2, 10.5]
    places = range(len(products))
    figure, axis = plt.subplots()
    axis.bar([p - 0.2 for p in places], first, 0.4, label='2023')
    axis.bar([p + 0.2 for p in places], second, 0.4, label='2024')
    axis.set_xticks(list(places), products)
    axis.set_ylabel('Turnover in thousand euros')
    axis.legend()
    return figure"""
    d.call("Draw grouped bars.", "Plot", command=f"```python\n{code}\n```", saves="image/bakery_bars.png")


@DRAWING.sample("table_bakery.jpg", gold=None)
def bakery_pie(d: Dialog) -> None:
    d.user(
        "Show me as a pie what each product brought in last in this table, and put the total of that year into the"
        " heading."
    )
    d.call("Read the table.", "OCR", image="image/table_bakery.jpg", shows=("2024", "21.0", "11.9", "12.2", "10.5"))
    d.call("Total of 2024.", "Calculator", expression="round(21.0 + 11.9 + 12.2 + 10.5, 1)", returns="55.6")
    code = """import matplotlib.pyplot as plt

def solution():
    figure, axis = plt.subplots()
    axis.pie([21.0, 11.9, 12.2, 10.5], labels=['Bread', 'Rolls', 'Cakes', 'Coffee'], autopct='%.0f %%')
    axis.set_title('Turnover 2024: 55.6 thousand euros')
    return figure"""
    d.call("Draw the pie.", "Plot", command=f"```python\n{code}\n```", saves="image/bakery_pie.png")

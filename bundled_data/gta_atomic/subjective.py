"""Queries that can be answered well in many words."""

from __future__ import annotations

from bundled_data.gta_atomic.dialog import Book, Dialog, Subjective

SUBJECTIVE = Book()


@SUBJECTIVE.sample(
    "chart_visitors.png",
    gold=Subjective(
        "Visitor numbers fell from 125 thousand in 2019 to only 41 thousand in 2020 and have grown "
        "every year since, to a new high of 134 thousand in 2024.",
        "After a steep drop in 2020 the museum has recovered step by step, and with 134 thousand guests 2024 was its"
        " best year so far.",
    ),
)
def museum_newsletter(d: Dialog) -> None:
    d.user("Please write one or two sentences for our newsletter on how the museum has been doing over these years.")
    d.call(
        "The values stand beside the points.",
        "OCR",
        image="image/chart_visitors.png",
        shows=("125", "41", "134", "2024"),
    )
    d.answer(
        "The museum drew 125 thousand visitors in 2019 and only 41 thousand in 2020. Since then it has "
        "grown every year, and 2024 was a record with 134 thousand."
    )


@SUBJECTIVE.sample(
    "label_granola.jpg",
    "label_muesli.jpg",
    gold=Subjective(
        "Choose the fruit muesli: it contains much less sugar and fat than the granola, fewer calories, and more fibre"
        " and protein.",
        "The muesli is healthier. Per 100 g it has 9.5 g of sugars instead of 24 g, 5.2 g of fat instead of 18 g, and"
        " more fibre.",
    ),
)
def better_breakfast(d: Dialog) -> None:
    d.user("Which of these two would be the better breakfast for my kids, and why?")
    d.call("Read the first pack.", "OCR", image="image/label_granola.jpg", shows=("24.0 g", "462 kcal"))
    d.call("Read the second pack.", "OCR", image="image/label_muesli.jpg", shows=("9.5 g", "358 kcal"))
    d.answer(
        "The fruit muesli is the better breakfast: with 9.5 g of sugars per 100 g instead of 24 g it is far "
        "less sweet, it has less fat, and it brings more fibre and protein."
    )


@SUBJECTIVE.sample(
    "beach_sign.jpg",
    gold=Subjective(
        "Swimming is forbidden there because of strong currents and because there is no lifeguard. Go to Cove Bay, 2 km"
        " further on.",
        "It is dangerous: the currents are strong and nobody is watching. The next safe beach is Cove Bay, two"
        " kilometres away.",
    ),
)
def no_swimming(d: Dialog) -> None:
    d.user(
        "My kids don't see why they can't go into the water here. What do I tell them, and where could we go instead?"
    )
    d.call("I read the sign.", "OCR", image="image/beach_sign.jpg", shows=("Strong currents", "Cove Bay"))
    d.answer(
        "Tell them that the currents are strong here and that no lifeguard is on duty. They "
        "can swim safely at Cove Bay, which is 2 km away."
    )


@SUBJECTIVE.sample(
    "birthday_card.jpg",
    gold=Subjective(
        "The card is done in soft, warm colours, mostly cream and orange tones, which makes it look gentle and"
        " cheerful.",
        "It is a bright card in cream and warm pastel shades and gives a friendly, happy impression.",
    ),
)
def card_colours(d: Dialog) -> None:
    d.user(
        "My mother can't see well any more. Could you tell her in a sentence which colours this card has and what mood"
        " it gives?"
    )
    d.call("What is to be seen?", "ImageDescription", image="image/birthday_card.jpg")
    d.answer(
        "The card is kept in warm, light colours, above all a soft cream, and makes a friendly and cheerful impression."
    )

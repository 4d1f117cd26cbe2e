"""Queries with one right answer that takes some working out: shopping, travel, homework."""

from __future__ import annotations

from bundled_data.gta_atomic.dialog import Book, Dialog, Objective, box_text

OBJECTIVE = Book()


@OBJECTIVE.sample("receipt_market.jpg", gold=Objective([["7.60", "7.6"]]))
def shared_shopping(d: Dialog) -> None:
    d.user(
        "Three of us share this shopping equally, only the wine is entirely mine. How much does each of the other two"
        " owe me, in euros?"
    )
    d.call(
        "First I need the items and prices.",
        "OCR",
        image="image/receipt_market.jpg",
        shows=("Red wine", "6.40", "29.19"),
    )
    d.call("Without the wine, a third each.", "Calculator", expression="round((29.19 - 6.40) / 3, 2)", returns="7.6")
    d.answer("Each of the other two owes you 7.60 euros.")


@OBJECTIVE.sample("menu_bistro.jpg", gold=Objective([["42,50", "42.50", "42,5", "42.5"]]))
def french_bill(d: Dialog) -> None:
    d.user(
        "Nous sommes deux : chacun prend une quiche et une crème brûlée, et on partage une soupe à l'oignon. À combien"
        " revient l'addition ?"
    )
    d.call(
        "I read the prices on the menu.",
        "OCR",
        image="image/menu_bistro.jpg",
        shows=("Quiche", "11,00", "6,50", "7,50"),
    )
    d.call("Two quiches, two desserts, one soup.", "Calculator", expression="2 * (11.00 + 6.50) + 7.50", returns="42.5")
    d.answer("L'addition revient à 42,50 euros.")


@OBJECTIVE.sample("receipt_cafe.jpg", gold=Objective([["13.20", "13.2"]], [["23.00"]]))
def chinese_drinks(d: Dialog) -> None:
    d.user("这张小票上的饮料一共多少欧元？糕点不用算。")
    d.call(
        "Which lines are drinks, and what do they cost?",
        "OCR",
        image="image/receipt_cafe.jpg",
        shows=("7.20", "3.10", "2.90"),
    )
    d.call("Cappuccino, apple juice and tea.", "Calculator", expression="round(7.20 + 3.10 + 2.90, 2)", returns="13.2")
    d.answer("饮料一共 13.20 欧元。")


@OBJECTIVE.sample("timetable.jpg", gold=Objective([["10:14", "10.14"], ["34", "thirty-four"]], [["10:51"]]))
def train_ride(d: Dialog) -> None:
    d.user(
        "On a Tuesday I reach the station in Millbrook at half past nine in the morning. When am I in "
        "Ashford at the earliest, and how many minutes is the ride?"
    )
    d.call("I look up the trains after 9:30.", "OCR", image="image/timetable.jpg", shows=("09:40", "10:14", "10:51"))
    d.call("From 9:40 to 10:14.", "Calculator", expression="(10 * 60 + 14) - (9 * 60 + 40)", returns="34")
    d.answer("Take the 09:40 train: you are in Ashford at 10:14, after 34 minutes.")


@OBJECTIVE.sample("floor_plan.jpg", gold=Objective([["1071", "1,071"]]))
def oak_floor(d: Dialog) -> None:
    d.user(
        "We want oak boards in both bedrooms of this flat. The shop asks 45 euros per square metre. What will the"
        " boards cost us?"
    )
    d.call("The plan gives the sizes.", "OCR", image="image/floor_plan.jpg", shows=("3.8 m", "3.0 m"))
    d.call("Area of both bedrooms.", "Calculator", expression="round(3.8 * 3.5 + 3.0 * 3.5, 1)", returns="23.8")
    d.call("Times the price.", "Calculator", expression="round(23.8 * 45)", returns="1071")
    d.answer("The boards for both bedrooms cost 1071 euros.")


@OBJECTIVE.sample("label_granola.jpg", gold=Objective([["139", "138.6"]]), extra=("ImageDescription",))
def granola_run(d: Dialog) -> None:
    d.user(
        "I ate this whole bag over the weekend. I weigh 70 kg and run at 10 km/h. For how many "
        "minutes must I run to burn it off? Round to whole minutes."
    )
    d.call("How much energy is in the bag?", "OCR", image="image/label_granola.jpg", shows=("462 kcal", "350 g"))
    d.call(
        "How much does running use?",
        "GoogleSearch",
        query="kilocalories used by running at 10 km/h per hour, person of 70 kilograms",
        k=3,
        shows=("700 kilocalories",),
    )
    d.call("Energy of 350 g.", "Calculator", expression="462 * 350 / 100", returns="1617.0")
    d.call("Minutes at 700 kcal an hour.", "Calculator", expression="round(1617 / 700 * 60)", returns="139")
    d.answer("You would have to run for about 139 minutes.")


@OBJECTIVE.sample("weather_station.jpg", gold=Objective([["5", "five", "5.0"]]))
def warm_cheese(d: Dialog) -> None:
    d.user(
        "The cheese in this room should not get warmer than 20 degrees Celsius. By how many degrees Celsius is it too"
        " warm for it now?"
    )
    room = box_text(d.truth["weather_station"].boxes["room"])
    d.call(
        "I need the reading of the room.",
        "RegionAttributeDescription",
        image="image/weather_station.jpg",
        bbox=room,
        attribute="temperature",
        shows=("77.0",),
    )
    d.call("Fahrenheit to Celsius, less 20.", "Calculator", expression="(77.0 - 32) * 5 / 9 - 20", returns="5.0")
    d.answer("The room is at 25 degrees Celsius, which is 5 degrees too warm.")


@OBJECTIVE.sample("calendar.jpg", gold=Objective([["Monday"], ["30", "30th", "thirtieth"]], [["Tuesday", "Sunday"]]))
def vet_again(d: Dialog) -> None:
    d.user(
        "The vet wants to see the dog again exactly 18 days after the appointment noted here. Which day of the week and"
        " which date is that?"
    )
    d.call("When is the appointment?", "OCR", image="image/calendar.jpg", shows=("MARCH 2026", "Vet 15:30", "12"))
    code = (
        "from datetime import date, timedelta\n\ndef solution():\n    return (date(2026, 3, 12) +"
        " timedelta(days=18)).strftime('%A %d %B')"
    )
    d.call(
        "It is on Thursday the 12th. Add 18 days.",
        "Solver",
        command=f"```python\n{code}\n```",
        returns="Monday 30 March",
    )
    d.answer("That is Monday, the 30 March 2026.")


@OBJECTIVE.sample("formula_pair.jpg", gold=Objective([["7", "seven"], ["10", "ten"]]))
def homework_pair(d: Dialog) -> None:
    d.user("My daughter is stuck on this one. Can you tell her what x and y are?")
    d.call(
        "I read the equations.",
        "MathOCR",
        image="image/formula_pair.jpg",
        returns=r"\begin{cases} 3x + 2y = 41 \\ 5x - y = 25 \end{cases}",
    )
    code = "def solution():\n    x, y = symbols('x y')\n    return solve([Eq(3*x + 2*y, 41), Eq(5*x - y, 25)], [x, y])"
    d.call("Two equations, two unknowns.", "Solver", command=f"```python\n{code}\n```", returns="{x: 7, y: 10}")
    d.answer("x is 7 and y is 10.")


@OBJECTIVE.sample(
    "formula_quadratic.jpg", gold=Objective([["8", "eight"]], [["3.5 seconds", "7/2"]]), extra=("Calculator",)
)
def falling_ball(d: Dialog) -> None:
    d.user("After how many seconds does the ball in my notes land? Time can't be negative, of course.")
    d.call("What is the equation?", "MathOCR", image="image/formula_quadratic.jpg", returns="2t^{2} - 9t - 56 = 0")
    code = "def solution():\n    t = symbols('t', positive=True)\n    return solve(Eq(2*t**2 - 9*t - 56, 0), t)"
    d.call("Only the positive root counts.", "Solver", command=f"```python\n{code}\n```", returns="[8]")
    d.answer("The ball lands after 8 seconds.")


@OBJECTIVE.sample("formula_area.jpg", gold=Objective([["18", "eighteen"]]))
def curve_area(d: Dialog) -> None:
    d.user("Does anybody know what comes out of exercise 9? I keep getting different numbers.")
    d.call(
        "I read the integral.",
        "MathOCR",
        image="image/formula_area.jpg",
        returns=r"A = \int_{0}^{3} (x^{2} + 2x) \, dx",
    )
    code = "import sympy\n\ndef solution():\n    x = symbols('x')\n    return sympy.integrate(x**2 + 2*x, (x, 0, 3))"
    d.call("Integrate from 0 to 3.", "Solver", command=f"```python\n{code}\n```", returns="18")
    d.answer("The area is 18.")


@OBJECTIVE.sample("shapes.jpg", gold=Objective([["2", "two"]]))
def more_triangles(d: Dialog) -> None:
    d.user("My son bets there are more triangles than circles on this sheet. By how many is he right?")
    counts = d.truth["shapes"].counts
    for kind in ("triangle", "circle"):
        d.call(f"How many {kind}s?", "CountGivenObject", image="image/shapes.jpg", text=kind, returns=str(counts[kind]))
    d.call("The difference.", "Calculator", expression=f"{counts['triangle']} - {counts['circle']}", returns="2")
    d.answer("He is right: there are 2 more triangles than circles.")


@OBJECTIVE.sample("fruit_crates.jpg", gold=Objective([["3.60", "3.6"]], [["2.25", "5.85"]]))
def left_crate(d: Dialog) -> None:
    d.user("If I take every orange from the crate on the left, what do I have to pay in euros?")
    truth, image = d.truth["fruit_crates"], "image/fruit_crates.jpg"
    box = box_text(truth.boxes["left crate"])
    d.call("Where is that crate?", "TextToBbox", image=image, text="left crate", returns=f"{box}, score 91")
    d.call(
        "Count the oranges in it.",
        "CountGivenObject",
        image=image,
        text="orange",
        bbox=box,
        returns=str(truth.counts["orange in left crate"]),
    )
    d.call("What does one cost?", "OCR", image=image, shows=("Oranges 0.45 each",))
    d.call(
        "Number times price.", "Calculator", expression=f"{truth.counts['orange in left crate']} * 0.45", returns="3.6"
    )
    d.answer("The oranges of the left crate cost 3.60 euros.")


@OBJECTIVE.sample("speed_sign.jpg", gold=Objective([["72"]], [["45 km", "73"]]))
def speed_in_km(d: Dialog) -> None:
    d.user(
        "We are driving through the US, but the dial of our car only has km/h. What may it show "
        "at most after this sign? A whole number, please."
    )
    d.call("What does the sign say?", "OCR", image="image/speed_sign.jpg", shows=("45",))
    d.call("How long is a mile?", "GoogleSearch", query="one mile in kilometres", shows=("1.609",))
    d.call("Miles to kilometres, cut to a whole number.", "Calculator", expression="floor(45 * 1.609)", returns="72")
    d.answer("The dial may show at most 72 km/h.")


@OBJECTIVE.sample("ticket_concert.jpg", "price_board.jpg", gold=Objective([["160.50", "160.5"]]))
def three_more_seats(d: Dialog) -> None:
    d.user(
        "I'd like three more seats of the same kind as mine, all in one order. How many euros will that be altogether?"
    )
    d.call("What kind of seat is it?", "OCR", image="image/ticket_concert.jpg", shows=("Category B",))
    d.call("What do they cost?", "OCR", image="image/price_board.jpg", shows=("Category B", "52.00", "4.50"))
    d.call("Three seats and one fee.", "Calculator", expression="3 * 52.00 + 4.50", returns="160.5")
    d.answer("Three more seats in category B come to 160.50 euros with the booking fee.")


@OBJECTIVE.sample("island_map.jpg", gold=Objective([["3", "three", "3.0"]]), extra=("GoogleSearch",))
def island_walk(d: Dialog) -> None:
    d.user(
        "We want to walk from Port Anna to the lighthouse, on to the chapel and straight back. With "
        "the kids we manage 3.5 km an hour. How many hours is that?"
    )
    d.call("The map shows the distances.", "OCR", image="image/island_map.jpg", shows=("3.2 km", "2.7 km", "4.6 km"))
    d.call("Length of the loop.", "Calculator", expression="round(3.2 + 2.7 + 4.6, 1)", returns="10.5")
    d.call("Time at that pace.", "Calculator", expression="10.5 / 3.5", returns="3.0")
    d.answer("The loop is 10.5 km long, so you will walk for 3 hours.")


@OBJECTIVE.sample(
    "fuel_harbour.jpg",
    "fuel_ring.jpg",
    "fuel_coastal.jpg",
    gold=Objective([["Coastal Fuel", "Coastal"], ["5.50", "5.5"]]),
)
def cheapest_fuel(d: Dialog) -> None:
    d.user(
        "Where did I get the cheapest litre, and how many euros would a full tank of 50 litres be cheaper there than at"
        " the dearest place?"
    )
    d.call("First receipt.", "OCR", image="image/fuel_harbour.jpg", shows=("41.20", "71.69"))
    d.call("Second receipt.", "OCR", image="image/fuel_ring.jpg", shows=("38.50", "69.30"))
    d.call("Third receipt.", "OCR", image="image/fuel_coastal.jpg", shows=("44.00", "74.36"))
    d.call("Price of a litre at Harbour Fuel.", "Calculator", expression="round(71.69 / 41.20, 2)", returns="1.74")
    d.call("At Ring Road Fuel.", "Calculator", expression="round(69.30 / 38.50, 2)", returns="1.8")
    d.call("At Coastal Fuel.", "Calculator", expression="round(74.36 / 44.00, 2)", returns="1.69")
    d.call(
        "Dearest less cheapest, for 50 litres.", "Calculator", expression="round((1.80 - 1.69) * 50, 2)", returns="5.5"
    )
    d.answer("Coastal Fuel was the cheapest; a tank of 50 litres costs 5.50 euros less there than at Ring Road Fuel.")


@OBJECTIVE.sample(
    "scale_blue.jpg",
    "scale_red.jpg",
    "scale_green.jpg",
    gold=Objective([["59.9"], ["yes", "allowed", "within"]], [["too heavy"]]),
)
def three_suitcases(d: Dialog) -> None:
    d.user(
        "Our three suitcases together may weigh 60 kg. Are we within that, and what is the exact total in kilograms, to"
        " one decimal?"
    )
    d.call("The blue one.", "OCR", image="image/scale_blue.jpg", shows=("41.5",))
    d.call("The red one.", "OCR", image="image/scale_red.jpg", shows=("38.0",))
    d.call("The green one.", "OCR", image="image/scale_green.jpg", shows=("52.5",))
    d.call("They are in pounds.", "GoogleSearch", query="one pound in kilograms", k=2, shows=("0.4536",))
    d.call("Sum in pounds.", "Calculator", expression="41.5 + 38.0 + 52.5", returns="132.0")
    d.call("In kilograms.", "Calculator", expression="round(132.0 * 0.4536, 1)", returns="59.9")
    d.answer("Yes, you are just within the limit: the suitcases weigh 59.9 kg together.")


@OBJECTIVE.sample("table_guests.jpg", "set_menu.jpg", gold=Objective([["360.80", "360.8"]]))
def dinner_party(d: Dialog) -> None:
    d.user(
        "Every place at this table gets the menu with the fish, we order four bottles of water, and "
        "I add ten percent for the staff. How much do I pay?"
    )
    guests = d.truth["table_guests"].counts["plate"]
    d.call(
        "How many places are laid?",
        "CountGivenObject",
        image="image/table_guests.jpg",
        text="plate",
        returns=str(guests),
    )
    d.call("What does the menu cost?", "OCR", image="image/set_menu.jpg", shows=("Sea menu", "34.00", "5.50"))
    d.call("The menus.", "Calculator", expression=f"{guests} * 34.00", returns="306.0")
    d.call("With the water.", "Calculator", expression="306.0 + 4 * 5.50", returns="328.0")
    d.call("With ten percent on top.", "Calculator", expression="round(328.0 * 1.1, 2)", returns="360.8")
    d.answer("You pay 360.80 euros.")

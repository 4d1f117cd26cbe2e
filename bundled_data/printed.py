"""Pictures of printed things: receipts, menus, labels, tickets, a timetable, a calendar, signs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from bundled_data.canvas import Pen, Picture, lay, paper, photo, table_top

INK = (38, 36, 40)
Rows = Sequence[tuple[str, str]]


def _receipt(
    head: Sequence[str], rows: Rows, sums: Rows, foot: str, seed: int, angle: float, tint: tuple[int, int, int]
) -> Picture:
    """A till receipt on a table: heading lines, items with prices, sums, and a closing line."""
    width, step = 380, 33
    pen = Pen(width, 122 + step * (len(head) + len(rows) + len(sums)), paper(width, 600, (252, 251, 248), seed))
    y = 28.0
    for number, line in enumerate(head):
        pen.text(
            width / 2, y, line, 23 if number == 0 else 15, INK, "SansMono-Bold" if number == 0 else "SansMono", "ma"
        )
        y += 36 if number == 0 else 25
    for block, face in ((rows, "SansMono"), (sums, "SansMono-Bold")):
        pen.dashes((24, y + 8), (width - 24, y + 8), INK, 1.2)
        y += 20
        for name, price in block:
            pen.text(28, y, name, 18, INK, face)
            pen.text(width - 28, y, price, 18, INK, face, "ra")
            y += step
    pen.text(width / 2, y + 10, foot, 14, INK, "SansMono", "ma")
    sheet = pen.done()
    return Picture(photo(lay(sheet, table_top(540, sheet.height + 90, tint, seed), angle), seed))


def receipt_market() -> Picture:
    rows = [
        ("Whole milk 1 l", "1.35"),
        ("Rye bread", "2.80"),
        ("Tomatoes", "2.34"),
        ("Eggs, ten", "3.20"),
        ("Olive oil", "7.95"),
    ]
    rows += [("Red wine", "6.40"), ("Dish soap", "2.15"), ("Kitchen roll", "3.00")]
    head = ["GREEN BASKET", "Mill Lane 14", "Sat 11 April, 10:42"]
    return _receipt(head, rows, [("TOTAL EUR", "29.19")], "Thank you and good bye", 1, -1.6, (139, 108, 78))


def receipt_cafe() -> Picture:
    rows = [
        ("2 Cappuccino", "7.20"),
        ("1 Apple juice", "3.10"),
        ("1 Cheesecake", "4.80"),
        ("2 Croissant", "5.00"),
        ("1 Mint tea", "2.90"),
    ]
    return _receipt(
        ["CAFE LINDEN", "Table 6"], rows, [("TOTAL EUR", "23.00")], "Wifi: lindenguest", 2, 1.2, (92, 98, 104)
    )


def _fuel(name: str, litres: str, total: str, seed: int, angle: float) -> Picture:
    rows = [("Pump", str(seed % 7 + 1)), ("Fuel", "Super 95"), ("Litres", litres)]
    return _receipt([name, "Self service"], rows, [("PAID EUR", total)], "Drive safely", seed, angle, (120, 116, 108))


def fuel_harbour() -> Picture:
    return _fuel("HARBOUR FUEL", "41.20", "71.69", 23, 0.8)


def fuel_ring() -> Picture:
    return _fuel("RING ROAD FUEL", "38.50", "69.30", 24, -1.1)


def fuel_coastal() -> Picture:
    return _fuel("COASTAL FUEL", "44.00", "74.36", 25, 1.5)


def menu_bistro() -> Picture:
    """A French menu with accents and decimal commas."""
    pen = Pen(560, 720, paper(560, 720, (248, 240, 222), 3))
    pen.rect((18, 18, 542, 702), None, (122, 42, 38), 2)
    pen.rect((25, 25, 535, 695), None, (122, 42, 38), 1)
    pen.text(280, 46, "Le Petit Moulin", 38, (122, 42, 38), "Serif-Bold", "ma")
    blocks = [
        ("Entrées", [("Soupe à l'oignon", "7,50"), ("Salade verte", "6,00")]),
        ("Plats", [("Quiche lorraine", "11,00"), ("Steak frites", "17,50"), ("Moules marinières", "15,00")]),
        ("Desserts", [("Crème brûlée", "6,50"), ("Tarte aux pommes", "6,00")]),
    ]
    y = 122
    for title, rows in blocks:
        pen.text(280, y, title, 25, (122, 42, 38), "Serif-Italic", "ma")
        y += 46
        for name, price in rows:
            pen.text(70, y, name, 23, INK, "Serif")
            pen.text(490, y, price, 23, INK, "Serif", "ra")
            y += 42
        y += 18
    pen.text(280, 655, "Prix en euros, service compris", 16, (110, 100, 90), "Serif-Italic", "ma")
    return Picture(photo(lay(pen.done(), table_top(640, 800, (70, 52, 40), 3)), 3))


def set_menu() -> Picture:
    pen = Pen(520, 560, paper(520, 560, (238, 244, 240), 4))
    pen.text(260, 34, "SET MENUS", 32, (24, 76, 92), "Sans-Bold", "ma")
    pen.text(260, 78, "three courses, price per person", 18, (70, 90, 96), "Sans", "ma")
    rows = [("Sea", "fish soup, cod, lemon tart", "34.00"), ("Field", "beef broth, roast, plums", "29.00")]
    rows += [("Garden", "beetroot, risotto, pears", "26.00")]
    for number, (name, text, price) in enumerate(rows):
        y = 130 + number * 104
        pen.line([(40, y - 10), (480, y - 10)], (160, 184, 180), 1)
        pen.text(40, y + 4, f"{name} menu", 26, (24, 76, 92), "Sans-Bold")
        pen.text(480, y + 4, price, 26, INK, "Sans-Bold", "ra")
        pen.text(40, y + 46, text, 19, (70, 80, 84))
    pen.line([(40, 432), (480, 432)], (160, 184, 180), 1)
    pen.text(40, 456, "Carafe of house wine", 22, INK)
    pen.text(480, 456, "12.50", 22, INK, "Sans", "ra")
    pen.text(40, 496, "Bottle of water", 22, INK)
    pen.text(480, 496, "5.50", 22, INK, "Sans", "ra")
    return Picture(photo(lay(pen.done(), table_top(620, 650, (150, 124, 92), 4), 0.7), 4))


def _nutrition(title: str, weight: str, rows: Rows, tint: tuple[int, int, int], seed: int) -> Picture:
    pen = Pen(430, 560, paper(430, 560, tint, seed))
    pen.text(215, 24, title, 30, INK, "Sans-Bold", "ma")
    pen.text(215, 68, weight, 20, INK, "Sans", "ma")
    pen.rect((30, 108, 400, 530), "white", INK, 3)
    pen.text(46, 120, "Nutrition per 100 g", 23, INK, "Sans-Bold")
    pen.rect((30, 156, 400, 162), INK)
    for number, (name, value) in enumerate(rows):
        y = 176 + number * 50
        pen.text(46, y, name, 21, INK, "Sans-Bold" if number == 0 else "Sans")
        pen.text(384, y, value, 21, INK, "Sans-Bold" if number == 0 else "Sans", "ra")
        pen.line([(30, y + 38), (400, y + 38)], (120, 120, 120), 1)
    return Picture(photo(pen.done(), seed, light=0.16))


def label_granola() -> Picture:
    rows = [
        ("Energy", "462 kcal"),
        ("Fat", "18.0 g"),
        ("Carbohydrates", "61.0 g"),
        ("Sugars", "24.0 g"),
        ("Fibre", "6.5 g"),
    ]
    rows += [("Protein", "9.0 g"), ("Salt", "0.4 g")]
    return _nutrition("HONEY GRANOLA", "Net weight 350 g", rows, (240, 206, 140), 7)


def label_muesli() -> Picture:
    rows = [
        ("Energy", "358 kcal"),
        ("Fat", "5.2 g"),
        ("Carbohydrates", "60.0 g"),
        ("Sugars", "9.5 g"),
        ("Fibre", "9.8 g"),
    ]
    rows += [("Protein", "11.0 g"), ("Salt", "0.1 g")]
    return _nutrition("FRUIT MUESLI", "Net weight 500 g", rows, (190, 214, 170), 8)


def timetable() -> Picture:
    pen = Pen(680, 400, (250, 250, 246))
    pen.rect((0, 0, 680, 62), (16, 72, 120))
    pen.text(24, 31, "Vale Line", 28, "white", "Sans-Bold", "lm")
    pen.text(656, 31, "Monday to Friday", 20, "white", "Sans", "rm")
    columns = [250, 365, 480, 595]
    for x, train in zip(columns, ("R 501", "R 503", "X 21", "R 505"), strict=True):
        pen.text(x, 92, train, 20, (16, 72, 120), "Sans-Bold", "mm")
    rows = [("Millbrook", "08:10", "09:10", "09:40", "10:10"), ("Oakhurst", "08:22", "09:22", "-", "10:22")]
    rows += [("Larkfield", "08:35", "09:35", "10:01", "10:35"), ("Stonebridge", "08:43", "09:43", "-", "10:43")]
    rows += [("Ashford", "08:51", "09:51", "10:14", "10:51")]
    for number, (stop, *times) in enumerate(rows):
        y = 138 + number * 46
        if number % 2 == 0:
            pen.rect((12, y - 23, 668, y + 23), (228, 236, 243))
        pen.text(24, y, stop, 21, INK, "Sans-Bold" if number in (0, 4) else "Sans", "lm")
        for x, time in zip(columns, times, strict=True):
            pen.text(x, y, time, 21, INK, "Sans", "mm")
    pen.text(24, 368, "X trains do not stop everywhere.", 17, (90, 90, 90), "Sans", "lm")
    return Picture(photo(pen.done(), 9, light=0.12))


def calendar() -> Picture:
    """March 2026, weeks from Monday, with two notes."""
    pen = Pen(700, 560, paper(700, 560, (252, 252, 250), 10))
    pen.rect((0, 0, 700, 76), (176, 58, 46))
    pen.text(350, 38, "MARCH 2026", 36, "white", "Sans-Bold", "mm")
    for column, name in enumerate(("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")):
        pen.text(50 + column * 100, 98, name, 20, (176, 58, 46) if column == 6 else INK, "Sans-Bold", "mm")
    day, notes = date(2026, 3, 1), {12: "Vet 15:30", 21: "Market"}
    while day.month == 3:
        column, row = day.weekday(), (day.day + date(2026, 3, 1).weekday() - 1) // 7
        x, y = column * 100, 118 + row * 72
        pen.rect((x + 3, y + 3, x + 97, y + 69), None, (200, 198, 192), 1)
        pen.text(x + 10, y + 8, str(day.day), 20, (176, 58, 46) if column == 6 else INK, "Sans-Bold")
        if day.day in notes:
            pen.text(x + 50, y + 52, notes[day.day], 16, (30, 60, 150), "Sans-Oblique", "mm")
        day += timedelta(days=1)
    return Picture(photo(pen.done(), 10))


def ticket_concert() -> Picture:
    pen = Pen(600, 260, paper(600, 260, (236, 226, 240), 11))
    pen.rect((0, 0, 26, 260), (84, 40, 110))
    pen.dashes((452, 8), (452, 252), (84, 40, 110), 2)
    pen.text(48, 30, "RIVERSIDE HALL", 30, (84, 40, 110), "Sans-Bold")
    pen.text(48, 76, "Summer Night Strings", 25, INK, "Serif-BoldItalic")
    pen.text(48, 124, "Friday 12 June, 19:30", 21, INK)
    pen.text(48, 172, "Row 14", 23, INK, "Sans-Bold")
    pen.text(168, 172, "Seat 9", 23, INK, "Sans-Bold")
    pen.text(282, 172, "Category B", 23, INK, "Sans-Bold")
    pen.text(48, 218, "No. 0083417", 16, (90, 84, 96), "SansMono")
    x = 478
    for width in (4, 2, 6, 3, 2, 7, 2, 4, 3, 6, 2, 3, 5, 2, 4):
        pen.rect((x, 40, x + width, 220), INK)
        x += width + 3
    return Picture(photo(lay(pen.done(), table_top(700, 360, (110, 84, 62), 11), 2.0), 11))


def price_board() -> Picture:
    pen = Pen(560, 420, (30, 36, 48))
    pen.text(280, 46, "BOX OFFICE", 36, (255, 206, 92), "Sans-Bold", "mm")
    pen.text(280, 92, "Summer Night Strings", 22, "white", "Serif-Italic", "mm")
    for number, (name, price) in enumerate([("Category A", "68.00"), ("Category B", "52.00"), ("Category C", "35.00")]):
        y = 156 + number * 62
        pen.rect((40, y - 25, 520, y + 25), (48, 58, 76), radius=6)
        pen.text(60, y, name, 25, "white", "Sans", "lm")
        pen.text(500, y, price, 25, (255, 206, 92), "Sans-Bold", "rm")
    pen.text(280, 356, "Booking fee per order 4.50", 21, "white", "Sans", "mm")
    pen.text(280, 392, "All prices in euros", 17, (180, 186, 198), "Sans", "mm")
    return Picture(photo(pen.done(), 12))


def boarding_pass() -> Picture:
    pen = Pen(640, 280, paper(640, 280, (250, 250, 252), 13))
    pen.rect((0, 0, 640, 56), (0, 90, 110))
    pen.text(24, 28, "BOARDING PASS", 25, "white", "Sans-Bold", "lm")
    pen.text(616, 28, "Northwind Air", 20, "white", "Sans-Oblique", "rm")
    for x, small, big in ((24, "FROM", "HAMBURG"), (300, "TO", "REYKJAVIK")):
        pen.text(x, 76, small, 16, (110, 116, 124))
        pen.text(x, 100, big, 34, INK, "Sans-Bold")
    pen.polygon([(236, 112), (236, 132), (262, 122)], (0, 90, 110))
    for x, small, big in (
        (24, "PASSENGER", "J. KELLER"),
        (240, "FLIGHT", "NW 374"),
        (380, "GATE", "B 12"),
        (500, "SEAT", "21 F"),
    ):
        pen.text(x, 172, small, 16, (110, 116, 124))
        pen.text(x, 196, big, 24, INK, "Sans-Bold")
    pen.text(24, 244, "Boarding closes 15 minutes before departure", 16, (90, 96, 104))
    return Picture(photo(lay(pen.done(), table_top(740, 380, (58, 66, 76), 13), -1.4), 13))


def invitation() -> Picture:
    pen = Pen(520, 400, paper(520, 400, (252, 238, 232), 14))
    pen.rect((14, 14, 506, 386), None, (190, 90, 100), 2, 14)
    for x, colour in ((70, (214, 84, 90)), (104, (240, 180, 70)), (452, (90, 150, 200))):
        pen.line([(x, 96), (x + 6, 150)], (150, 130, 130), 1)
        pen.oval((x - 17, 46, x + 17, 96), colour)
    pen.text(270, 62, "You are invited!", 30, (160, 52, 70), "Serif-BoldItalic", "mm")
    lines = ["Grandma Greta celebrates", "born 14 May 1946", "Party: 16 May 2026, 3 pm", "Orchard Road 5"]
    for number, line in enumerate(lines):
        pen.text(260, 176 + number * 52, line, 25, INK, "Serif-Bold" if number == 0 else "Serif", "mm")
    return Picture(photo(lay(pen.done(), table_top(600, 480, (168, 148, 124), 14), 1.1), 14))


def chalkboard() -> Picture:
    pen = Pen(520, 600, paper(520, 600, (44, 52, 48), 15))
    pen.rect((0, 0, 519, 599), None, (150, 104, 60), 16)
    chalk = (236, 234, 224)
    pen.text(260, 84, "TODAY", 52, (246, 214, 120), "Sans-Bold", "mm")
    pen.line([(130, 122), (390, 124)], chalk, 3)
    for y, text in ((192, "Pumpkin soup"), (244, "with ginger"), (322, "Mushroom pie"), (400, "Plum cake")):
        pen.text(260, y, text, 36, chalk, "Serif-Italic", "mm")
    pen.text(260, 500, "served from 11:30", 24, (190, 196, 190), "Sans", "mm")
    return Picture(photo(pen.done(), 15, noise=3.0, light=0.2))


def beach_sign() -> Picture:
    pen = Pen(600, 460, (150, 196, 226))
    pen.rect((0, 330, 600, 460), (226, 206, 160))
    pen.rect((0, 290, 600, 340), (70, 130, 160))
    for x in (176, 412):
        pen.rect((x, 300, x + 14, 440), (110, 84, 60))
    pen.rect((80, 50, 520, 330), "white", (186, 26, 36), 10, 12)
    pen.text(300, 96, "NO SWIMMING", 44, (186, 26, 36), "Sans-Bold", "mm")
    for y, text in ((158, "Strong currents"), (206, "No lifeguard on duty"), (254, "Next safe beach: Cove Bay, 2 km")):
        pen.text(300, y, text, 24, INK, "Sans", "mm")
    pen.text(300, 300, "Town of Eastmere", 18, (90, 90, 96), "Sans-Oblique", "mm")
    return Picture(photo(pen.done(), 16))


def speed_sign() -> Picture:
    pen = Pen(420, 520, (176, 206, 232))
    pen.polygon([(0, 360), (120, 290), (260, 350), (420, 280), (420, 520), (0, 520)], (120, 148, 96))
    pen.polygon([(300, 330), (330, 330), (420, 520), (220, 520)], (110, 110, 112))
    pen.rect((172, 330, 188, 520), (140, 144, 148))
    pen.rect((70, 40, 290, 340), "white", (30, 30, 30), 6, 16)
    pen.text(180, 92, "SPEED", 44, "black", "Sans-Bold", "mm")
    pen.text(180, 146, "LIMIT", 44, "black", "Sans-Bold", "mm")
    pen.text(180, 246, "45", 116, "black", "Sans-Bold", "mm")
    return Picture(photo(pen.done(), 17))


def opening_hours() -> Picture:
    pen = Pen(480, 560, (244, 246, 244))
    pen.rect((0, 0, 480, 96), (28, 92, 74))
    pen.text(240, 36, "PETERSEN BOOKS", 30, "white", "Sans-Bold", "mm")
    pen.text(240, 72, "Opening hours", 20, (206, 230, 220), "Sans", "mm")
    days = [
        ("Monday", "closed"),
        ("Tuesday", "10:00 to 18:30"),
        ("Wednesday", "10:00 to 14:00"),
        ("Thursday", "10:00 to 18:30"),
    ]
    days += [("Friday", "10:00 to 20:00"), ("Saturday", "09:00 to 16:00"), ("Sunday", "closed")]
    for number, (day, hours) in enumerate(days):
        y = 134 + number * 56
        pen.text(36, y, day, 24, INK, "Sans-Bold", "lm")
        pen.text(444, y, hours, 24, (168, 40, 40) if hours == "closed" else INK, "Sans", "rm")
        pen.line([(30, y + 28), (450, y + 28)], (206, 212, 208), 1)
    pen.text(240, 532, "Closed on public holidays", 17, (90, 100, 96), "Sans-Oblique", "mm")
    return Picture(photo(pen.done(), 18, light=0.14))


def _scale(reading: str, colour: tuple[int, int, int], seed: int) -> Picture:
    """A suitcase that hangs from a luggage scale with a lit display."""
    pen = Pen(400, 480, paper(400, 480, (206, 204, 198), seed))
    pen.rect((0, 420, 400, 480), (150, 140, 128))
    pen.line([(200, 150), (200, 210)], (70, 70, 74), 6)
    pen.rect((90, 30, 310, 156), (52, 54, 60), radius=18)
    pen.rect((112, 50, 288, 120), (188, 210, 176), (30, 30, 30), 2, 4)
    pen.text(200, 86, reading, 36, (26, 34, 26), "SansMono-Bold", "mm")
    pen.text(200, 138, "HOLD", 13, (200, 200, 204), "Sans-Bold", "mm")
    pen.rect((160, 200, 240, 232), None, (60, 56, 52), 7, 10)
    pen.rect((84, 228, 316, 420), colour, (40, 36, 36), 3, 16)
    for x in (130, 200, 270):
        pen.line([(x, 244), (x, 404)], tuple(max(0, v - 26) for v in colour), 4)  # type: ignore[arg-type]
    return Picture(photo(pen.done(), seed))


def scale_blue() -> Picture:
    return _scale("41.5 lb", (62, 96, 150), 19)


def scale_red() -> Picture:
    return _scale("38.0 lb", (170, 62, 58), 20)


def scale_green() -> Picture:
    return _scale("52.5 lb", (72, 122, 86), 21)


def weather_station() -> Picture:
    pen = Pen(520, 420, table_top(520, 420, (176, 154, 124), 22))
    pen.rect((70, 50, 450, 370), (236, 236, 232), (150, 150, 146), 2, 22)
    pen.rect((100, 84, 420, 208), (198, 212, 190), (80, 84, 80), 2, 6)
    pen.rect((100, 222, 420, 338), (198, 212, 190), (80, 84, 80), 2, 6)
    for y, name, value in ((84, "ROOM", "77.0 °F"), (222, "GARDEN", "48.2 °F")):
        pen.text(116, y + 12, name, 18, (40, 50, 40), "Sans-Bold")
        pen.text(396, y + 74, value, 46, (26, 32, 26), "SansMono-Bold", "rm")
    return Picture(photo(pen.done(), 22), boxes={"room": (98, 82, 422, 210), "garden": (98, 220, 422, 340)})

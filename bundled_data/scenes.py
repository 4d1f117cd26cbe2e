"""Drawn scenes and plans, whose boxes and counts are exact."""

from __future__ import annotations

from bundled_data.canvas import Box, Colour, Pen, Picture, paper, photo, table_top

INK = (38, 36, 40)


def shapes() -> Picture:
    """Seven triangles, five circles and four squares, spread over a sheet without touching."""
    import math
    import random

    rng = random.Random(31)
    kinds = ["triangle"] * 7 + ["circle"] * 5 + ["square"] * 4
    cells = [(column, row) for row in range(4) for column in range(5)]
    colours = [(214, 76, 70), (66, 122, 190), (84, 160, 96), (236, 176, 60), (138, 92, 170)]
    pen = Pen(640, 520, paper(640, 520, seed=31))
    for kind, (column, row) in zip(kinds, rng.sample(cells, len(kinds)), strict=True):
        x, y = 76 + column * 122 + rng.randint(-14, 14), 76 + row * 122 + rng.randint(-14, 14)
        size, turn, colour = rng.randint(28, 42), rng.uniform(0, 2 * math.pi), rng.choice(colours)
        if kind == "circle":
            pen.oval((x - size, y - size, x + size, y + size), colour, INK, 2)
            continue
        corners = 3 if kind == "triangle" else 4
        angles = [turn + 2 * math.pi * k / corners for k in range(corners)]
        pen.polygon([(x + size * math.cos(a), y + size * math.sin(a)) for a in angles], colour, INK, 2)
    return Picture(photo(pen.done(), 31), counts={kind: kinds.count(kind) for kind in set(kinds)})


def fruit_crates() -> Picture:
    """Two crates with oranges and apples, and a price tag between them."""
    import random

    rng = random.Random(32)
    pen = Pen(720, 460, table_top(720, 460, (120, 134, 116), 32))
    crates: dict[str, Box] = {"left crate": (36, 130, 336, 430), "right crate": (384, 130, 684, 430)}
    fruit = {"left crate": ["orange"] * 8 + ["apple"] * 3, "right crate": ["orange"] * 5 + ["apple"] * 6}
    for name, (left, top, right, bottom) in crates.items():
        pen.rect((left, top, right, bottom), (196, 156, 104), (110, 78, 44), 5)
        pen.rect((left + 16, top + 16, right - 16, bottom - 16), (122, 92, 60))
        places = [(left + 66 + c * 84 + (r % 2) * 4, top + 56 + r * 63) for r in range(4) for c in range(3)]
        for kind, (x, y) in zip(fruit[name], rng.sample(places, len(fruit[name])), strict=True):
            fill: Colour = (240, 146, 36) if kind == "orange" else (188, 34, 40)
            pen.oval((x - 28, y - 28, x + 28, y + 28), fill, (90, 50, 20), 2)
            pen.oval((x - 14, y - 19, x - 3, y - 9), (255, 204, 130) if kind == "orange" else (236, 130, 130))
            if kind == "apple":
                pen.line([(x, y - 24), (x + 6, y - 36)], (80, 56, 30), 3)
    pen.rect((210, 22, 510, 104), "white", (60, 60, 60), 2, 8)
    pen.text(360, 46, "Oranges 0.45 each", 23, INK, "Sans-Bold", "mm")
    pen.text(360, 80, "Apples 0.60 each", 23, INK, "Sans-Bold", "mm")
    counts = {f"{kind} in {name}": kinds.count(kind) for name, kinds in fruit.items() for kind in ("orange", "apple")}
    return Picture(photo(pen.done(), 32), crates, counts)


def _car(pen: Pen, box: Box, colour: Colour) -> None:
    """A car seen from the side that fills the box."""
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    roof = [(left + width * 0.2, top + height * 0.45), (left + width * 0.32, top), (left + width * 0.68, top)]
    pen.polygon([*roof, (left + width * 0.84, top + height * 0.45)], colour)
    glass = [
        (left + width * 0.27, top + height * 0.42),
        (left + width * 0.35, top + height * 0.09),
        (left + width * 0.65, top + height * 0.09),
    ]
    pen.polygon([*glass, (left + width * 0.76, top + height * 0.42)], (206, 226, 236))
    pen.rect((left + width * 0.49, top + height * 0.05, left + width * 0.52, top + height * 0.5), colour)
    pen.rect((left, top + height * 0.42, right, top + height * 0.82), colour, radius=height * 0.14)
    for share in (0.22, 0.78):
        x, y, r = left + width * share, top + height * 0.8, height * 0.2
        pen.oval((x - r, y - r, x + r, y + r), (34, 34, 38))
        pen.oval((x - r / 2, y - r / 2, x + r / 2, y + r / 2), (190, 192, 196))


def parking() -> Picture:
    """Three parked cars: blue, red, green from left to right."""
    pen = Pen(760, 420, (196, 218, 236))
    for left, right, top, tint in (
        (0, 190, 90, (206, 186, 160)),
        (190, 420, 50, (214, 200, 182)),
        (420, 760, 110, (196, 172, 150)),
    ):
        pen.rect((left, top, right, 300), tint)
        for x in range(left + 26, right - 30, 62):
            for y in range(top + 24, 200, 58):
                pen.rect((x, y, x + 30, y + 36), (120, 142, 160))
    pen.rect((0, 236, 760, 300), (168, 166, 162))
    pen.rect((0, 300, 760, 420), (104, 106, 110))
    boxes: dict[str, Box] = {
        "blue car": (30, 244, 240, 346),
        "red car": (278, 240, 496, 348),
        "green car": (530, 246, 736, 346),
    }
    for x in (14, 258, 512, 750):
        pen.line([(x, 318), (x - 18, 400)], "white", 4)
    for name, colour in (("blue car", (44, 92, 176)), ("red car", (200, 30, 34)), ("green car", (30, 130, 60))):
        _car(pen, boxes[name], colour)
    return Picture(photo(pen.done(), 33), boxes, {"car": 3})


def birthday_card() -> Picture:
    pen = Pen(600, 420, paper(600, 420, (250, 240, 214), 34))
    pen.rect((12, 12, 588, 408), None, (226, 150, 90), 3, 16)
    pen.rect((190, 196, 410, 300), (244, 214, 178), (150, 100, 70), 3, 10)
    pen.rect((190, 196, 410, 228), (232, 120, 140), (150, 100, 70), 3, 10)
    for x in (240, 300, 360):
        pen.rect((x - 5, 138, x + 5, 196), (110, 170, 210))
        pen.polygon([(x - 8, 132), (x, 104), (x + 8, 132)], (246, 178, 50))
    pen.oval((160, 292, 440, 322), (206, 206, 210))
    for x, y, colour in (
        (70, 90, (224, 80, 90)),
        (118, 60, (90, 160, 120)),
        (520, 80, (84, 130, 200)),
        (474, 54, (240, 180, 60)),
    ):
        pen.line([(x, y + 36), (x + 5, y + 120)], (140, 130, 120), 1)
        pen.oval((x - 26, y - 34, x + 26, y + 36), colour)
    return Picture(photo(pen.done(), 34))


def harbour() -> Picture:
    """Six sailing boats, a lighthouse on the left and the sun on the right."""
    pen = Pen(760, 480, (250, 206, 150))
    for y in range(0, 240, 6):
        share = y / 240
        pen.rect((0, y, 760, y + 6), (round(120 + 130 * share), round(160 + 50 * share), round(206 - 50 * share)))
    sun: Box = (590, 130, 680, 220)
    pen.oval(sun, (255, 232, 150))
    pen.rect((0, 240, 760, 480), (60, 112, 146))
    for y in range(250, 480, 18):
        pen.line([((y * 37) % 300, y), ((y * 37) % 300 + 120, y), ((y * 37) % 300 + 130, y + 1)], (84, 138, 168), 2)
        pen.line([((y * 53) % 340 + 380, y + 8), ((y * 53) % 340 + 470, y + 8)], (84, 138, 168), 2)
    pen.polygon([(0, 300), (40, 262), (190, 258), (236, 300)], (110, 96, 84))
    lighthouse: Box = (96, 84, 152, 266)
    pen.polygon([(104, 266), (112, 122), (136, 122), (144, 266)], (244, 240, 232))
    for y in (150, 200):
        pen.polygon(
            [
                (111 - (y - 122) / 18, y),
                (137 + (y - 122) / 18, y),
                (138 + (y - 98) / 18, y + 24),
                (110 - (y - 98) / 18, y + 24),
            ],
            (196, 50, 46),
        )
    pen.rect((106, 102, 142, 122), (250, 226, 130), (60, 60, 60), 2)
    pen.polygon([(100, 102), (124, 84), (148, 102)], (196, 50, 46))
    boats = [(300, 290, 1.0), (410, 270, 0.7), (520, 320, 1.1), (660, 300, 0.8), (250, 400, 1.3), (600, 420, 1.3)]
    for x, y, size in boats:
        pen.polygon(
            [(x - 34 * size, y), (x + 34 * size, y), (x + 22 * size, y + 16 * size), (x - 24 * size, y + 16 * size)],
            (104, 62, 40),
        )
        pen.line([(x, y), (x, y - 66 * size)], (70, 50, 40), 2)
        pen.polygon([(x + 3, y - 64 * size), (x + 3, y - 6), (x + 30 * size, y - 6)], (250, 246, 238))
        pen.polygon([(x - 3, y - 56 * size), (x - 3, y - 6), (x - 22 * size, y - 6)], (232, 222, 206))
    return Picture(photo(pen.done(), 35), {"lighthouse": lighthouse, "sun": sun}, {"sailing boat": len(boats)})


def street() -> Picture:
    """Four houses, numbers 3 to 9, with doors of different colours."""
    pen = Pen(760, 420, (186, 214, 236))
    pen.rect((0, 350, 760, 420), (150, 150, 150))
    boxes: dict[str, Box] = {}
    houses = [("3", (196, 34, 34), (232, 214, 186)), ("5", (36, 80, 190), (218, 196, 180))]
    houses += [("7", (24, 136, 54), (238, 226, 206)), ("9", (236, 196, 40), (210, 200, 190))]
    for place, (number, door, wall) in enumerate(houses):
        left = 20 + place * 183
        pen.rect((left, 120, left + 170, 350), wall, (120, 104, 90), 2)
        pen.polygon([(left - 8, 122), (left + 85, 46), (left + 178, 122)], (128, 70, 56))
        for x in (left + 18, left + 108):
            pen.rect((x, 142, x + 44, 192), (160, 190, 208), "white", 4)
        boxes[f"door {number}"] = (left + 56, 226, left + 116, 350)
        pen.rect((left + 52, 222, left + 120, 350), "white")
        pen.rect(boxes[f"door {number}"], door)
        pen.oval((left + 102, 286, left + 110, 294), (240, 230, 200))
        pen.rect((left + 126, 236, left + 162, 272), (28, 40, 70), radius=4)
        pen.text(left + 144, 254, number, 26, "white", "Sans-Bold", "mm")
    return Picture(photo(pen.done(), 36), boxes)


def table_guests() -> Picture:
    """A laid table from above with nine plates."""
    pen = Pen(760, 400, table_top(760, 400, (116, 92, 70), 37))
    pen.rect((60, 60, 700, 340), (246, 242, 234), (210, 204, 192), 3, 14)
    places = [(x, 112) for x in (140, 260, 380, 500, 620)] + [(x, 288) for x in (170, 310, 450, 590)]
    for x, y in places:
        pen.oval((x - 36, y - 36, x + 36, y + 36), "white", (150, 160, 176), 3)
        pen.oval((x - 23, y - 23, x + 23, y + 23), None, (196, 204, 214), 2)
        pen.line([(x - 46, y - 26), (x - 46, y + 26)], (140, 140, 146), 3)
        pen.line([(x + 46, y - 26), (x + 46, y + 26)], (140, 140, 146), 3)
    for x in (220, 540):
        pen.oval((x - 14, 186, x + 14, 214), (232, 180, 70))
        pen.oval((x - 6, 194, x + 6, 206), (255, 240, 190))
    pen.oval((352, 172, 408, 228), (120, 160, 110))
    for x, y in ((370, 190), (390, 188), (380, 206), (396, 208), (366, 210)):
        pen.oval((x - 7, y - 7, x + 7, y + 7), (214, 96, 130))
    return Picture(photo(pen.done(), 37), counts={"plate": len(places)})


def floor_plan() -> Picture:
    """A flat of four rooms, 80 pixels a metre; every side is labelled as it is drawn."""
    pen, wall = Pen(640, 700, (252, 252, 250)), (50, 54, 60)
    pen.text(320, 30, "Flat 2B, first floor", 24, INK, "Sans-Bold", "mm")
    rooms = {
        "Bedroom 1": (48, 60, 352, 340, "3.8 m x 3.5 m"),
        "Bedroom 2": (352, 60, 592, 340, "3.0 m x 3.5 m"),
        "Living room": (48, 340, 416, 660, "4.6 m x 4.0 m"),
        "Kitchen": (416, 340, 592, 660, "2.2 m x 4.0 m"),
    }
    tints: tuple[Colour, ...] = ((232, 240, 248), (232, 240, 248), (248, 242, 228), (234, 244, 232))
    for (name, (left, top, right, bottom, size)), tint in zip(rooms.items(), tints, strict=True):
        pen.rect((left, top, right, bottom), tint, wall, 5)
        x, y = (left + right) / 2, (top + bottom) / 2
        pen.text(x, y - 16, name, 24, INK, "Sans-Bold", "mm")
        pen.text(x, y + 18, size, 20, INK, "Sans", "mm")
    for left, top, right, bottom in (
        (250, 334, 310, 346),
        (380, 334, 408, 346),
        (410, 420, 422, 480),
        (200, 654, 270, 666),
    ):
        pen.rect((left, top, right, bottom), "white")
    for left, top, right, bottom in ((140, 58, 260, 66), (420, 58, 520, 66), (46, 450, 54, 560), (586, 450, 594, 560)):
        pen.rect((left, top, right, bottom), (130, 180, 220))
    return Picture(photo(pen.done(), 38, noise=1.0, light=0.06))


def island_map() -> Picture:
    pen = Pen(680, 520, (158, 200, 222))
    coast = [
        (90, 250),
        (120, 150),
        (230, 80),
        (350, 90),
        (470, 60),
        (590, 130),
        (620, 260),
        (560, 380),
        (430, 450),
        (280, 440),
        (150, 400),
    ]
    pen.polygon(coast, (222, 226, 186), (150, 160, 110), 3)
    pen.polygon([(360, 150), (470, 120), (540, 190), (450, 230)], (190, 206, 150))
    pen.text(340, 28, "Gull Island walks", 26, INK, "Serif-Bold", "mm")
    spots = {"Port Anna": (170, 290), "Lighthouse": (300, 140), "Chapel": (470, 300), "Seal Bay": (570, 210)}
    paths = [
        ("Port Anna", "Lighthouse", "3.2 km"),
        ("Lighthouse", "Chapel", "2.7 km"),
        ("Chapel", "Port Anna", "4.6 km"),
        ("Chapel", "Seal Bay", "1.9 km"),
    ]
    for start, end, length in paths:
        pen.dashes(spots[start], spots[end], (176, 60, 40), 3, 9)
        x, y = ((a + b) / 2 for a, b in zip(spots[start], spots[end], strict=True))
        pen.rect((x - 40, y - 16, x + 40, y + 16), (250, 248, 236), (176, 60, 40), 1, 6)
        pen.text(x, y, length, 19, INK, "Sans-Bold", "mm")
    for name, (x, y) in spots.items():
        pen.oval((x - 8, y - 8, x + 8, y + 8), (176, 60, 40), "white", 2)
        pen.text(x, y + (26 if name in ("Port Anna", "Chapel") else -24), name, 20, INK, "Sans-Bold", "mm")
    pen.polygon([(640, 400), (650, 440), (640, 432), (630, 440)], INK)
    pen.text(640, 458, "N", 20, INK, "Sans-Bold", "mm")
    return Picture(photo(pen.done(), 39))

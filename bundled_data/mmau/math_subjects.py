"""The subjects of the bundled mathematics: each draws a problem and computes its answer exactly."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

Made = tuple[str, str]
"""A problem and its answer."""
Told = tuple[str, str, str]
"""A problem in plain words, the same told in a more complicated way, and the answer of both."""

Draw = random.Random


def _plus(number: int) -> str:
    """The number as a further summand: + 3, - 3."""
    return f"+ {number}" if number >= 0 else f"- {-number}"


def polynomial(coefficients: Sequence[int]) -> str:
    """As text in x, the highest power first: 3*x**2 - x + 4. ``coefficients`` begin with the constant."""
    text = ""
    for power in range(len(coefficients) - 1, -1, -1):
        factor = coefficients[power]
        if not factor:
            continue
        variable = {0: "", 1: "x"}.get(power, f"x**{power}")
        size = str(abs(factor)) if not variable else variable if abs(factor) == 1 else f"{abs(factor)}*{variable}"
        sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
        text += sign + size
    return text or "0"


def _other(draw: Draw, low: int, high: int, *but: int) -> int:
    return draw.choice([number for number in range(low, high + 1) if number not in but])


def _primes(number: int) -> list[int]:
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _linear_1d(draw: Draw) -> Made:
    x, a, c = draw.randint(-12, 12), draw.randint(5, 12), draw.randint(1, 4)
    b = _other(draw, -20, 20, 0)
    d = (a - c) * x + b
    return f"Solve {a}*x {_plus(b)} = {c}*x {_plus(d)} for x.", str(x)


def _linear_2d(draw: Draw) -> Made:
    x, y, a, b = draw.randint(-8, 8), draw.randint(-8, 8), draw.randint(2, 6), draw.randint(2, 6)
    return f"Solve {a}*x + y = {a * x + y} and x - {b}*y = {x - b * y} for x.", str(x)


def _roots(draw: Draw) -> Made:
    low, high = sorted(draw.sample([n for n in range(-9, 10) if n], 2))
    return (
        f"Solve {polynomial([low * high, -low - high, 1])} = 0. Give both solutions, the smaller first, "
        "separated by a comma.",
        f"{low}, {high}",
    )


def _next_term(draw: Draw) -> Made:
    a, b, c = draw.randint(1, 4), draw.randint(-5, 5), draw.randint(-9, 9)
    terms = [a * n * n + b * n + c for n in range(1, 6)]
    return (
        f"The terms {', '.join(map(str, terms[:4]))} are values of one quadratic polynomial at 1, 2, 3, 4. "
        "What is its value at 5?",
        str(terms[4]),
    )


def _geometric_sum(draw: Draw) -> Made:
    first, ratio, count = draw.randint(1, 9), draw.randint(2, 4), draw.randint(4, 7)
    return (
        f"Add the first {count} terms of the geometric sequence that begins with {first} and has the ratio {ratio}.",
        str(sum(first * ratio**n for n in range(count))),
    )


def _decimals(draw: Draw) -> Made:
    a, b = Decimal(draw.randint(1001, 9999)) / 100, Decimal(draw.randint(101, 999)) / 1000
    return f"Work out {a} - {b}.", str(a - b)


def _mixed(draw: Draw) -> Made:
    a, b, c, d = (draw.randint(2, 15) for _ in range(4))
    return f"Work out ({a} - {b}/{c}) / {d}. Give an integer or a fraction in lowest terms.", str(
        (a - Fraction(b, c)) / d
    )


def _root(draw: Draw) -> Made:
    number = draw.randint(200, 9999)
    low = math.isqrt(number)
    return f"What is the square root of {number} to the nearest integer?", str(
        low if number - low * low <= low else low + 1
    )


def _surd(draw: Draw) -> Made:
    outer, inner = draw.randint(2, 12), draw.choice((2, 3, 5, 6, 7, 10, 11))
    return (
        f"Write sqrt({outer * outer * inner}) as a*sqrt(b) with integers a and b and the least b.",
        f"{outer}*sqrt({inner})",
    )


def _percent(draw: Draw) -> Made:
    rate, base = 5 * draw.randint(1, 19), 20 * draw.randint(3, 60)
    return f"What is {rate} % of {base}?", str(rate * base // 100)


def _derivative(draw: Draw) -> Made:
    a = [draw.randint(-9, 9), _other(draw, -9, 9, 0), _other(draw, -9, 9, 0), draw.randint(1, 9)]
    return f"Find the derivative of {polynomial(a)} with respect to x.", polynomial(
        [n * factor for n, factor in enumerate(a)][1:]
    )


def _integral(draw: Draw) -> Made:
    a, b, end = draw.randint(1, 9), _other(draw, -9, 9, 0), draw.randint(1, 5)
    value = Fraction(a * end**3, 3) + Fraction(b * end**2, 2)
    return (
        f"Integrate {polynomial([0, b, a])} over x from 0 to {end}. Give an integer or a fraction in lowest terms.",
        str(value),
    )


def _closest(draw: Draw) -> Made:
    goal = draw.randint(-20, 20)
    values = [
        goal + sign * away
        for sign, away in zip((draw.choice((-1, 1)) for _ in range(4)), draw.sample(range(2, 30), 4), strict=True)
    ]
    return f"Which of {', '.join(map(str, values))} is closest to {goal}?", str(
        min(values, key=lambda value: abs(value - goal))
    )


def _kth_biggest(draw: Draw) -> Made:
    place, word = draw.choice(((2, "second"), (3, "third"), (4, "fourth")))
    values = draw.sample(range(-60, 61), 6)
    return f"Which is the {word} biggest of {', '.join(map(str, values))}?", str(
        sorted(values, reverse=True)[place - 1]
    )


def _sort(draw: Draw) -> Made:
    values = draw.sample(sorted({Fraction(a, b) for a in range(-9, 10) for b in range(2, 8)}), 5)
    return f"Sort {', '.join(map(str, values))} in rising order.", ", ".join(map(str, sorted(values)))


def _pair(draw: Draw) -> Made:
    a, b = draw.randint(5, 19), draw.randint(20, 40)
    c, d = a + draw.randint(1, 3), b + draw.randint(1, 9)
    return f"Is {a}/{b} less than {c}/{d}? Answer True or False.", str(Fraction(a, b) < Fraction(c, d))


def _conversion(draw: Draw) -> Made:
    (small, big, size), amount = (
        draw.choice((("grams", "kilograms", 1000), ("centimetres", "metres", 100), ("millilitres", "litres", 1000))),
        draw.randint(11, 9999),
    )
    return f"How many {big} are {amount} {small}?", str(Decimal(amount) / size)


def _time(draw: Draw) -> Made:
    start = draw.randrange(24 * 60)
    away = draw.randint(45, 900)
    return f"How many minutes are there from {_clock(start)} until the next {_clock((start + away) % (24 * 60))}?", str(
        away
    )


def _base(draw: Draw) -> Made:
    number, base, digits = draw.randint(60, 900), draw.randint(3, 9), ""
    rest = number
    while rest:
        digits, rest = str(rest % base) + digits, rest // base
    return f"Write {number} (base 10) in base {base}.", digits


def _remainder(draw: Draw) -> Made:
    number, divisor = draw.randint(1000, 99999), draw.randint(11, 97)
    return f"What is the remainder when {number} is divided by {divisor}?", str(number % divisor)


def _gcd(draw: Draw) -> Made:
    common, (a, b) = draw.randint(6, 36), draw.sample(range(2, 30), 2)
    return f"What is the greatest common divisor of {common * a} and {common * b}?", str(
        math.gcd(common * a, common * b)
    )


def _lcm(draw: Draw) -> Made:
    a, b = draw.sample(range(12, 90), 2)
    return f"What is the least common multiple of {a} and {b}?", str(math.lcm(a, b))


def _is_factor(draw: Draw) -> Made:
    factor = draw.randint(7, 39)
    number = factor * draw.randint(20, 90) + draw.choice((0, draw.randint(1, factor - 1)))
    return f"Is {factor} a factor of {number}? Answer True or False.", str(number % factor == 0)


def _is_prime(draw: Draw) -> Made:
    number = draw.choice([n for n in range(201, 2000) if min(_primes(n)) > 5])
    return f"Is {number} a prime number? Answer True or False.", str(_primes(number) == [number])


def _prime_factors(draw: Draw) -> Made:
    number = math.prod(draw.choice((2, 3, 5, 7, 11, 13)) for _ in range(4))
    return f"List the prime factors of {number}, each once, in rising order, separated by commas.", ", ".join(
        map(str, sorted(set(_primes(number))))
    )


def _place_value(draw: Draw) -> Made:
    place, name = draw.choice(((1, "tens"), (2, "hundreds"), (3, "thousands"), (4, "ten thousands")))
    number = draw.randint(100_000, 999_999)
    return f"What is the {name} digit of {number}?", str(number // 10**place % 10)


def _rounding(draw: Draw) -> Made:
    step, name = draw.choice(((100, "hundred"), (1000, "thousand")))
    number = step * draw.randint(10, 99) + draw.choice([rest for rest in range(1, step) if rest != step // 2])
    return f"Round {number} to the nearest {name}.", str((number + step // 2) // step * step)


def _add_polynomials(draw: Draw) -> Made:
    a, b = ([draw.randint(-9, 9), _other(draw, -9, 9, 0), draw.randint(1, 9)] for _ in range(2))
    return f"Simplify ({polynomial(a)}) + ({polynomial(b)}).", polynomial([m + n for m, n in zip(a, b, strict=True)])


def _evaluate(draw: Draw) -> Made:
    a, x = [draw.randint(-9, 9), draw.randint(-9, 9), _other(draw, -5, 5, 0)], draw.randint(-6, 6)
    return f"Let p(x) = {polynomial(a)}. What is p({x})?", str(sum(factor * x**n for n, factor in enumerate(a)))


def _compose(draw: Draw) -> Made:
    a, b = draw.randint(2, 9), _other(draw, -9, 9, 0)
    c, d = draw.randint(2, 9), _other(draw, -9, 9, 0)
    return (
        f"Let f(x) = {polynomial([b, a])} and g(x) = {polynomial([d, c])}. Write f(g(x)) without brackets.",
        polynomial([a * d + b, a * c]),
    )


def _expand(draw: Draw) -> Made:
    a, b, c, d = draw.randint(1, 6), _other(draw, -9, 9, 0), draw.randint(1, 6), _other(draw, -9, 9, 0)
    return f"Expand ({polynomial([b, a])})*({polynomial([d, c])}).", polynomial([b * d, a * d + b * c, a * c])


def _powers(draw: Draw) -> Made:
    a, b, c = draw.randint(2, 6), draw.randint(3, 6), draw.randint(1, 5)
    return f"Simplify (x**{a})**{b} / x**{c} for x > 0.", f"x**{a * b - c}"


def _letters(draw: Draw) -> Made:
    letters = [letter for letter in "kmrsz" for _ in range(draw.randint(1, 3))]
    draw.shuffle(letters)
    (letter, count), total = (
        draw.choice([entry for entry in sorted(Counter(letters).items()) if entry[1] > 1] or [(letters[0], 1)]),
        len(letters),
    )
    chance = Fraction(count * (count - 1), total * (total - 1))
    return (
        f"Two letters are picked without replacement from {''.join(letters)}. What is the probability that "
        f"both are {letter}? Give 0 or a fraction in lowest terms.",
        str(chance),
    )


def _dice(draw: Draw) -> Made:
    goal = draw.randint(3, 11)
    chance = Fraction(sum(a + b == goal for a in range(1, 7) for b in range(1, 7)), 36)
    return (
        f"Two fair dice are thrown. What is the probability that they show {goal} together? Give a fraction "
        "in lowest terms.",
        str(chance),
    )


def _arrangements(draw: Draw) -> Made:
    word = draw.choice(("pepper", "banana", "level", "cocoa", "kayak", "needle"))
    ways = math.factorial(len(word)) // math.prod(map(math.factorial, Counter(word).values()))
    return f"In how many different orders can the letters of {word} be written?", str(ways)


def _choices(draw: Draw) -> Made:
    people, chosen = draw.randint(7, 14), draw.randint(2, 5)
    return f"In how many ways can {chosen} of {people} people be chosen, if their order does not matter?", str(
        math.comb(people, chosen)
    )


def _right_triangle(draw: Draw) -> Made:
    (a, b, c), scale = draw.choice(((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29))), draw.randint(1, 6)
    return f"The legs of a right triangle are {a * scale} and {b * scale}. How long is the hypotenuse?", str(c * scale)


def _angles(draw: Draw) -> Made:
    corners = draw.randint(5, 20)
    return f"How many degrees are the inner angles of a polygon with {corners} corners together?", str(
        180 * (corners - 2)
    )


SUBJECTS: dict[str, Callable[[Draw], Made]] = {
    "algebra__linear_1d": _linear_1d,
    "algebra__linear_2d": _linear_2d,
    "algebra__polynomial_roots": _roots,
    "algebra__sequence_next_term": _next_term,
    "algebra__geometric_sum": _geometric_sum,
    "arithmetic__add_or_sub_decimals": _decimals,
    "arithmetic__mixed": _mixed,
    "arithmetic__nearest_integer_root": _root,
    "arithmetic__simplify_surd": _surd,
    "arithmetic__percent": _percent,
    "calculus__differentiate": _derivative,
    "calculus__definite_integral": _integral,
    "comparison__closest": _closest,
    "comparison__kth_biggest": _kth_biggest,
    "comparison__sort": _sort,
    "comparison__pair": _pair,
    "measurement__conversion": _conversion,
    "measurement__time": _time,
    "numbers__base_conversion": _base,
    "numbers__div_remainder": _remainder,
    "numbers__gcd": _gcd,
    "numbers__lcm": _lcm,
    "numbers__is_factor": _is_factor,
    "numbers__is_prime": _is_prime,
    "numbers__list_prime_factors": _prime_factors,
    "numbers__place_value": _place_value,
    "numbers__round_number": _rounding,
    "polynomials__add": _add_polynomials,
    "polynomials__evaluate": _evaluate,
    "polynomials__compose": _compose,
    "polynomials__expand": _expand,
    "polynomials__simplify_power": _powers,
    "probability__without_replacement": _letters,
    "probability__two_dice": _dice,
    "counting__arrangements": _arrangements,
    "counting__choices": _choices,
    "geometry__right_triangle": _right_triangle,
    "geometry__polygon_angles": _angles,
}


def _told_linear(draw: Draw) -> Told:
    x, a, b = draw.randint(3, 15), draw.randint(2, 9), draw.randint(2, 30)
    plain = f"Solve {a}*x + {b} = {a * x + b} for x."
    told = (
        f"A gardener packs the same number of bulbs into each of {a} crates. When she adds the {b} bulbs that lay "
        f"on the bench, and counts all of them twice to be sure, she gets to {a * x + b} both times. How many "
        "bulbs does one crate hold?"
    )
    return plain, told, str(x)


def _told_product(draw: Draw) -> Told:
    a, b = draw.randint(12, 40), draw.randint(12, 40)
    told = (
        f"A hall has {a} rows. Every row has one seat less than {b + 1}, and every seat is taken. How many people "
        "sit in the hall?"
    )
    return f"What is {a} * {b}?", told, str(a * b)


def _told_gcd(draw: Draw) -> Told:
    common, (a, b) = draw.randint(4, 12), draw.sample((5, 6, 7, 8, 9), 2)
    m, n = common * a, common * b
    told = (
        f"A florist has {m} tulips and {n} ferns and wants to make as many bunches as possible. All bunches are "
        "alike, nothing is left over, and no flower is cut in two. How many bunches does she make?"
    )
    return f"What is the greatest common divisor of {m} and {n}?", told, str(math.gcd(m, n))


def _told_lcm(draw: Draw) -> Told:
    a, b = draw.sample(range(6, 20), 2)
    told = (
        f"Two lighthouses flash together at midnight. From then on the northern one flashes every {a} seconds, "
        f"and the southern one, which is older and painted red, every {b} seconds. After how many seconds do they "
        "flash together for the next time?"
    )
    return f"What is the least common multiple of {a} and {b}?", told, str(math.lcm(a, b))


def _told_remainder(draw: Draw) -> Told:
    a, b = draw.randint(200, 900), draw.randint(11, 24)
    told = (
        f"A baker puts {a} rolls on trays of {b}, one tray after the other, and starts no tray that she cannot "
        "fill. The rolls that remain go to the neighbours. How many rolls do the neighbours get?"
    )
    return f"What is the remainder when {a} is divided by {b}?", told, str(a % b)


def _told_percent(draw: Draw) -> Told:
    rate, base = 5 * draw.randint(2, 15), 20 * draw.randint(5, 40)
    told = (
        f"Of the {base} books in a small library, out of every hundred {rate} are in a foreign language, spread "
        f"evenly. The librarian knows how many books are not foreign, and takes that number away from {base}. "
        "What does she get?"
    )
    return f"What is {rate} % of {base}?", told, str(rate * base // 100)


def _told_difference(draw: Draw) -> Told:
    high, low = draw.randint(2, 15), -draw.randint(3, 20)
    told = (
        f"At noon the thermometer on the roof reads {high} degrees. By midnight it reads {-low} degrees below "
        "zero. In between it rose and fell several times, which nobody wrote down. By how many degrees is noon "
        "warmer than midnight?"
    )
    return f"What is {high} - ({low})?", told, str(high - low)


def _told_fraction(draw: Draw) -> Told:
    (a, b), amount = draw.sample((3, 4, 5, 6, 8), 2), draw.randint(2, 9)
    total = a * b * amount
    told = (
        f"A tank holds {total} litres when it is full. On Monday one part in {a} of it is drawn off for the "
        f"roses. On Tuesday, as the rest is to last, only one part in {b} of what is left goes to the beans. How "
        "many litres do the beans get?"
    )
    answer = (total - Fraction(total, a)) / b
    return (
        f"What is ({total} - {total}/{a}) / {b}? Give an integer or a fraction in lowest terms.",
        f"{told} Give an integer or a fraction in lowest terms.",
        str(answer),
    )


def _told_sequence(draw: Draw) -> Told:
    a, d, n = draw.randint(3, 20), draw.randint(2, 9), draw.randint(10, 30)
    told = (
        f"In the first week a walker covers {a} kilometres. In each further week she covers {d} more than in the "
        f"week before, and she never rests. How many kilometres does she cover in week {n} alone?"
    )
    return (
        f"An arithmetic sequence begins with {a} and rises by {d}. What is its term number {n}?",
        told,
        str(a + (n - 1) * d),
    )


def _told_system(draw: Draw) -> Told:
    x, y = draw.randint(4, 20), draw.randint(3, 15)
    total, legs = x + y, 2 * x + 4 * y
    told = (
        "In a yard there are hens, each on two legs, and goats, each on four; the farmer looks down from the "
        f"roof. Without telling them apart he counts {total} heads, and his daughter, from under the fence, "
        f"counts {legs} legs. Neither counts anybody twice. How many goats are there?"
    )
    return f"Solve x + y = {total} and 2*x + 4*y = {legs} for y.", told, str(y)


def _told_conversion(draw: Draw) -> Told:
    amount = draw.randint(1001, 9000)
    told = (
        f"A parcel is put on a scale that shows {amount}, and the small print on its side says that it shows "
        "grams. The form at the counter has a box for the weight, and over the box it says kilograms. Which "
        "number goes into the box?"
    )
    return f"How many kilograms are {amount} grams?", told, str(Decimal(amount) / 1000)


def _told_time(draw: Draw) -> Told:
    start, ride = draw.randint(5 * 60, 22 * 60), draw.randint(70, 500)
    told = (
        f"A train leaves at {_clock(start)}. It stops {draw.randint(3, 9)} times on its way, and the stops are "
        f"already counted in the {ride} minutes that the whole ride takes. What does the station clock show when "
        "it arrives? Answer as HH:MM."
    )
    return (
        f"What time is it {ride} minutes after {_clock(start)}? Answer as HH:MM.",
        told,
        _clock((start + ride) % (24 * 60)),
    )


def _told_probability(draw: Draw) -> Told:
    red, blue = draw.randint(3, 8), draw.randint(3, 8)
    total = red + blue
    chance = Fraction(red * (red - 1), total * (total - 1))
    plain = (
        f"Two balls are drawn without replacement from {red} red and {blue} blue ones. What is the probability "
        "that both are red? Give a fraction in lowest terms."
    )
    told = (
        f"A drawer holds {red} red and {blue} blue socks, all loose and alike to the touch. In the dark Ida takes "
        "one, keeps it in her hand, and takes another. What is the probability that, once the light is on, she "
        "sees no blue? Give a fraction in lowest terms."
    )
    return plain, told, str(chance)


def _told_choices(draw: Draw) -> Told:
    n = draw.randint(6, 15)
    told = (
        f"At the end of a meeting all {n} guests say goodbye. Everybody shakes the hand of everybody else exactly "
        "once, and nobody shakes his own. How many handshakes are there?"
    )
    return (
        f"In how many ways can 2 of {n} people be chosen, if their order does not matter?",
        told,
        str(math.comb(n, 2)),
    )


def _told_triangle(draw: Draw) -> Told:
    (a, b, c), scale = draw.choice(((3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29))), draw.randint(1, 4)
    told = (
        f"A boat sails {a * scale} kilometres due north, and then, after lunch, {b * scale} kilometres due east. "
        "A gull starts with it and flies straight to the same place. How many kilometres does the gull fly, if "
        "the sea is taken as flat?"
    )
    return (
        f"The legs of a right triangle are {a * scale} and {b * scale}. How long is the hypotenuse?",
        told,
        str(c * scale),
    )


def _told_factor(draw: Draw) -> Told:
    size = draw.randint(7, 18)
    number = size * draw.randint(9, 30) + draw.choice((0, draw.randint(1, size - 1)))
    told = (
        f"A club of {number} people wants to play in teams of {size}, nobody left out and nobody in two teams. "
        "The chair says that this works out. Is the chair right? Answer True or False."
    )
    return f"Is {size} a factor of {number}? Answer True or False.", told, str(number % size == 0)


TOLD: dict[str, Callable[[Draw], Told]] = {
    "algebra__linear_1d": _told_linear,
    "arithmetic__mul": _told_product,
    "numbers__gcd": _told_gcd,
    "numbers__lcm": _told_lcm,
    "numbers__div_remainder": _told_remainder,
    "arithmetic__percent": _told_percent,
    "arithmetic__add_or_sub": _told_difference,
    "arithmetic__mixed": _told_fraction,
    "algebra__sequence_nth_term": _told_sequence,
    "algebra__linear_2d": _told_system,
    "measurement__conversion": _told_conversion,
    "measurement__time": _told_time,
    "probability__without_replacement": _told_probability,
    "counting__choices": _told_choices,
    "geometry__right_triangle": _told_triangle,
    "numbers__is_factor": _told_factor,
}

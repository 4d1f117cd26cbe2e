"""JSON with any value anywhere, for tests of what reads it."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

RAW = {
    "@nan": "NaN",
    "@inf": "-Infinity",
    "@large": "9" * 4299,
    "@larger": "9" * 4301,
    "@float": "1e400",
    "@half": '"\\ud800"',
    **{f"@list{depth}": "[" * depth + "]" * depth for depth in (90, 400, 700, 960, 5000)},
    **{f"@object{depth}": '{"a":' * depth + "1" + "}" * depth for depth in (90, 400, 700, 960, 5000)},
}
"""What cannot be written by ``json.dumps``, or not so."""

VALUES = (
    *(None, True, False, 0, -1, 1, 5, 10**18, 0.5, -0.0, 1e308, "", "x", "\0", " \u2028\x0b", "null", "9" * 4301),
    *([], {}, [[]], [None], [{}], {"": None}, {"text": 5}, ["a", {"text": "b"}], *RAW),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def mutated(chance: random.Random, body: Any) -> Any:
    body = copy.deepcopy(body)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        found = [path for path in places(body) if "usage" not in path] or [()]
        if chance.random() < 0.1:
            found = list(places(body)) or [()]
        path = chance.choice(found)
        if not path or chance.random() < 0.02:
            return chance.choice(VALUES)
        holder = body
        for key in path[:-1]:
            holder = holder[key]
        match chance.randrange(7):
            case 0:
                del holder[path[-1]]
            case 1:
                holder[path[-1]] = [holder[path[-1]]]
            case 2:
                holder[path[-1]] = {"a": holder[path[-1]]}
            case 3 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[path[-1]]))
            case 4 if isinstance(holder, dict):
                holder[chance.choice(("error", "code", "type", "index", "message", "delta", "x"))] = value(chance)
            case _:
                holder[path[-1]] = value(chance)
    return body


def value(chance: random.Random) -> Any:
    return copy.deepcopy(chance.choice(VALUES))


def written(body: Any) -> str:
    text = json.dumps(body)
    for name, raw in RAW.items():
        text = text.replace(json.dumps(name), raw)
    return text

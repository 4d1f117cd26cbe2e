"""Maps the words for an object to the classes of a detector with a fixed list of classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentgauge.core.errors import ToolError
from tool_impls.perception.detection.hues import COLOURS

SYNONYMS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split("|"))
    for group in (
        "person|human|man|woman|boy|girl|child|kid|pedestrian|people",
        "bicycle|bike|cycle",
        "motorcycle|motorbike",
        "car|automobile",
        "airplane|aeroplane|plane|aircraft",
        "boat|ship|sailing boat|sailboat",
        "tv|television|monitor|screen",
        "cell phone|mobile phone|phone|smartphone|mobile",
        "laptop|notebook computer",
        "couch|sofa",
        "dining table|table",
        "potted plant|plant",
        "donut|doughnut",
        "handbag|bag",
        "sports ball|ball",
        "refrigerator|fridge",
        "mouse|computer mouse",
        "remote|remote control",
        "teddy bear|teddy",
        "circle|disc|disk|dot|ball|round shape",
        "square|box|rotated square|diamond",
        "triangle",
    )
)
"""Words for the same thing. A word may stand in several groups; what counts is which class the detector has."""

KINDS_OF: Mapping[str, frozenset[str]] = {
    "vehicle": frozenset({"bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"}),
    "animal": frozenset({"bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"}),
    "fruit": frozenset({"banana", "apple", "orange"}),
    "shape": frozenset({"circle", "square", "triangle"}),
}
"""Words for several classes."""

ANYTHING = frozenset({"object", "thing", "item", "everything"})
IRREGULAR: Mapping[str, str] = {
    "people": "person", "persons": "person", "men": "man", "women": "woman", "children": "child", "mice": "mouse",
    "knives": "knife", "geese": "goose", "teeth": "tooth", "feet": "foot", "leaves": "leaf", "loaves": "loaf",
    "shelves": "shelf", "buses": "bus",
}  # fmt: skip
SINGULAR = frozenset({"glass", "bus", "tennis", "scissors", "skis", "grass", "dress", "chess", "cross"})
AFTER = re.compile(
    r"\b(?:of|with|in|on|at|near|next|beside|behind|under|above|that|which|who|wearing|holding|from|to|left|right)\b"
)
PORTIONS = "numbers?|amount|pictures?|images?|pieces?|slices?|bunch|groups?|pairs?|kinds?"
COUNTED = re.compile(rf"^(?:an? |the |all )*(?:total )?(?:{PORTIONS}) of ")
LISTED = 20  # classes named in an error


@dataclass(frozen=True, slots=True)
class DetectionQuery:
    """The definition of a hit: one of the classes and, if there are any, one of the colours."""

    classes: frozenset[str]
    colours: frozenset[str] = frozenset()


def wanted(text: str, classes: Sequence[str]) -> tuple[DetectionQuery, ...]:
    """The meaning of words for a detector of these classes; several if the words join objects by ``and``.

    The last words of the phrase name the class, a synonym of it or a kind of thing (``vehicle``); what follows a word
    such as ``with`` or ``on`` is left out. A colour before it narrows the hits, other words before it do not. Raises
    ToolError, with the classes, if the words mean none of them, because another class would be a wrong answer.
    """
    parts = [part for part in re.split(r",|\b(?:and|or)\b", text.lower()) if part.strip()]
    each = [_one(part, classes) for part in parts]
    found = tuple(one for one in each if one)
    if len(found) < len(each):  # red and blue circles
        whole = _one(text.lower(), classes)
        are_colours = all(one or set(_words(part)) & COLOURS for part, one in zip(parts, each, strict=True))
        found = (whole,) if whole and are_colours else ()
    if not found:
        raise ToolError(f"this detector cannot look for {text!r}: it only knows {_listed(classes)}")
    return found


def _one(text: str, classes: Sequence[str]) -> DetectionQuery | None:
    words = COUNTED.sub("", " ".join(_words(text))).split()
    if words and (whole := _meant(words, classes)):
        return DetectionQuery(whole)
    head = AFTER.split(" ".join(words[1:]), maxsplit=1)[0].split()  # the first word may be one of place: left car
    words = [*words[:1], *head]
    for start in range(len(words)):
        if found := _meant(words[start:], classes):
            return DetectionQuery(found, frozenset(words[:start]) & COLOURS)
    return None


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9'-]+", text)


def _meant(words: Sequence[str], classes: Sequence[str]) -> frozenset[str]:
    """The classes that a phrase names, with its last word in the singular or as it stands."""
    phrases = {" ".join(words), " ".join([*words[:-1], singular(words[-1])])}
    if phrases & ANYTHING:
        return frozenset(classes)
    same = phrases.union(*(group for group in SYNONYMS if group & phrases))
    exact = frozenset(name for name in classes if name.lower() in phrases)
    kinds: Iterable[frozenset[str]] = (KINDS_OF[phrase] for phrase in phrases if phrase in KINDS_OF)
    members = frozenset().union(*kinds)
    return exact or frozenset(name for name in classes if name.lower() in same or name.lower() in members)


def singular(word: str) -> str:
    """The singular of a word, by the usual rules."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in SINGULAR or not word.endswith("s") or len(word) < 4:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if re.search(r"(?:ss|x|ch|sh|z)es$", word) else word[:-1]


def _listed(classes: Sequence[str]) -> str:
    more = len(classes) - LISTED
    return ", ".join(classes[:LISTED]) + (f" and {more} more" if more > 0 else "")

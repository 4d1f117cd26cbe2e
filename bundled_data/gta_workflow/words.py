"""Words by which the conditions of the tasks know what a sentence is about."""

from __future__ import annotations


def _words(listed: str) -> list[str]:
    """Between commas."""
    return [word.strip() for word in listed.split(",")]


MORE = _words(
    "offer, promote, advertise, push, recommend, suggest, sell, focus, more, extend, bundle, combine, package,"
    " discount, remind"
)
"""Ideas to do more of what pays best."""

DEARER = _words(
    "more, raise, increase, price, charge, dearer, surcharge, faster, quicker, minimum, bundle, combine, stop, reduce,"
    " train, review"
)
"""Ideas to be paid better, or to be quicker, where little comes in."""

DANGER = _words(
    "burst, bursts, bursting, explode, explodes, blow, damage, damaged, injury, injure, injuries, hurt, maximum,"
    " exceed, limit, sidewall"
)
"""What too much pressure does to a tyre, and where the limit stands."""

DECIDED = _words(
    "order, take, choose, chose, buy, pick, go with, going with, recommend, recommended, recommendation, decision,"
    " decide, decided, select, selected, choice, prefer, accept, award, purchase"
)
"""A decision for something."""

SOURCES = _words(
    "according to, source, sources, search result, search results, the search, the entry, article, website, web page,"
    " energy used by cycling, google, http, https, www"
)
"""Where a figure may be from."""

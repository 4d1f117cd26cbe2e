"""The sessions, one a module, in the order of the file."""

from __future__ import annotations

from bundled_data.wild.sessions import (
    bakery,
    cars,
    football,
    home,
    huts,
    interviews,
    invoices,
    languages,
    library,
    museum,
    music,
    parcels,
    servers,
    telescope,
    trains,
    vet,
)
from bundled_data.wild.words import Talk

TALKS: tuple[Talk, ...] = (
    library.TALK,
    vet.TALK,
    bakery.TALK,
    home.TALK,
    trains.TALK,
    huts.TALK,
    cars.TALK,
    museum.TALK,
    parcels.TALK,
    interviews.TALK,
    servers.TALK,
    invoices.TALK,
    music.TALK,
    telescope.TALK,
    football.TALK,
    languages.TALK,
)
"""New ones go to the end: a line's number is part of its session's id."""

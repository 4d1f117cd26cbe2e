"""What tests of faults share."""

from __future__ import annotations

from tests.fetch.conftest import Place
from tests.fetch.site import Site

REPO, NAME = "open-compass/GTA", "gta_dataset.zip"
BLOB = f"/blob/{REPO}/releases/download/v0.1.0/{NAME}"
"""Where GTA-Atomic's archive is given out."""

FEW = 20
"""Sessions of WildToolBench where only the way matters: the published 256 take half a second to be checked."""
WHOLE_BUT_FEW = 1
"""Exit status of a fetch whose files came whole, but hold fewer samples than are published."""


def fetch(site: Site, place: Place, *more: str) -> tuple[int, str, str]:
    return place.run("fetch", "gta-atomic", "--mirror", site.url, *more)


def one_sentence(err: str) -> str:
    assert err.startswith("agentgauge: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def nothing_is_seen(place: Place) -> bool:
    return not (place.base / "gta_atomic").exists()

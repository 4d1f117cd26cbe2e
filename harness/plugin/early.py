"""The transcripts of a run's page, written while its cases run: at the end it would take a tenth of a millisecond a case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.store.folder import CaseId
from harness.store.lines import decoded

if TYPE_CHECKING:
    from reports.page.chunks import Transcripts

AT_ONCE = 4
"""Cases that are told when one has ended: many may have waited for a slow one, and nothing may wait for all of these."""


class RecordPlace(NamedTuple):
    file: str
    start: int  # bytes
    size: int


class EarlyPage:
    """Takes cases in any order, and tells them in that of the plan, as far as it goes without a gap."""

    def __init__(self, run: Path, about: dict[str, Any], plan: Sequence[CaseId]) -> None:
        """``about``: run.json."""
        self._run = run
        self._about = about
        self._plan = plan
        self._waiting: dict[CaseId, RecordPlace] = {}
        self._transcripts: Transcripts | None = None
        self._failed = False

    def add(self, case: CaseId, place: RecordPlace) -> None:
        """A case has ended."""
        if self._failed:
            return
        self._waiting[case] = place
        try:
            self._tell()
        except Exception:  # whatever it is, the end of the run, which tells all anew, meets it again and says so
            self._give_up()
        except BaseException:  # Ctrl-C, in the midst of a case
            self._give_up()
            raise

    def _give_up(self) -> None:
        self._failed = True
        self._waiting.clear()

    def begun(self) -> Transcripts | None:
        """For ``write_page``."""
        return None if self._failed else self._transcripts

    def _tell(self) -> None:
        from reports.page import begin_page

        if self._transcripts is None:
            self._transcripts = begin_page(self._run, self._about, self._about["settings"]["scoring"], self._run / "report.html")
        for _ in range(AT_ONCE):
            told = len(self._transcripts)
            if told == len(self._plan) or (place := self._waiting.pop(self._plan[told], None)) is None:
                return
            with Path(place.file).open("rb") as file:
                file.seek(place.start)
                self._transcripts.add(decoded(file.read(place.size)))

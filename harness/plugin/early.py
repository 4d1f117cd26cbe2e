"""The transcripts of a run's page, written while its cases run: at the end it would take a tenth of a millisecond a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.store.folder import CaseId
from harness.store.lines import decoded

if TYPE_CHECKING:
    from reports.page.chunks import Transcripts

AT_ONCE = 4
"""Steps that are taken when a case has ended: many may have waited for a slow one, and nothing may wait for all of these."""


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
        if not self._failed:
            self._waiting[case] = place

    def step(self) -> Callable[[], None] | None:
        """What there is to do next: begin, as early as can be, since it takes some imports, or tell the next case. None where that
        has not ended, or all are told."""
        if self._failed or (self._transcripts is not None and not self._can_tell(self._transcripts)):
            return None
        return self._take

    def catch_up(self) -> None:
        """Tell some of those that can be told."""
        for _ in range(AT_ONCE):
            if take := self.step():
                take()

    def begun(self) -> Transcripts | None:
        """For ``write_page``."""
        return None if self._failed else self._transcripts

    def _can_tell(self, transcripts: Transcripts) -> bool:
        told = len(transcripts)
        return told < len(self._plan) and self._plan[told] in self._waiting

    def _take(self) -> None:
        try:
            if self._transcripts is None:
                self._begin()
            else:
                self._tell(self._transcripts)
        except Exception:  # whatever it is, the end of the run, which tells all anew, meets it again and says so
            self._give_up()
        except BaseException:  # Ctrl-C, in the midst of a case
            self._give_up()
            raise

    def _begin(self) -> None:
        from reports.page import begin_page

        self._transcripts = begin_page(self._run, self._about, self._about["settings"]["scoring"], self._run / "report.html")

    def _tell(self, transcripts: Transcripts) -> None:
        place = self._waiting.pop(self._plan[len(transcripts)])
        with Path(place.file).open("rb") as file:
            file.seek(place.start)
            transcripts.add(decoded(file.read(place.size)))

    def _give_up(self) -> None:
        self._failed = True
        self._waiting.clear()

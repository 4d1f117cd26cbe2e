"""What the end of a run would do, done while its cases run: at the end it would take a tenth of a millisecond a
case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId, decoded
from agentgauge.store.outline import CaseOutline
from agentgauge.store.record_merge import RecordMerge

if TYPE_CHECKING:
    from reports.page.chunks import Transcripts

AT_ONCE = 4
"""Steps that are taken when a case has ended: many may have waited for a slow one, and nothing may wait for all of
these."""

LINES = 4
"""Records that are read in one step: each step opens a file, and nothing may wait long for it."""


WAITING = 10_000
"""Cases that may wait for one before them, 0.3 KB each. With more, the rest of the page is left to the end."""


class RecordPlace(NamedTuple):
    file: str
    start: int  # bytes
    size: int


class Early(ABC):
    """A part of the end, in short steps. What fails on the way, or is interrupted, is left to the end."""

    def __init__(self) -> None:
        self._failed = False

    def add(self, case: CaseId, place: RecordPlace) -> None:
        """A case has ended."""
        if not self._failed:
            self._add(case, place)

    def step(self) -> Callable[[], None] | None:
        """What there is to do next, if there is something."""
        piece = None if self._failed else self._next()
        return None if piece is None else partial(self._do, piece)

    def catch_up(self) -> None:
        """Some of what there is to do."""
        for _ in range(AT_ONCE):
            if step := self.step():
                step()

    def _do(self, piece: Callable[[], None]) -> None:
        try:
            piece()
        except Exception:  # whatever it is, the end of the run, which does all anew, meets it again and says so
            self._give_up()
        except BaseException:  # Ctrl-C, in the midst of a case
            self._give_up()
            raise

    def _give_up(self) -> None:
        self._failed = True
        self._forget()

    @abstractmethod
    def _add(self, case: CaseId, place: RecordPlace) -> None: ...

    @abstractmethod
    def _next(self) -> Callable[[], None] | None: ...

    @abstractmethod
    def _forget(self) -> None:
        """What has been done so far."""


class EarlyRecords(Early):
    """Finds out which records there are, in the order in which they are written."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        self._gathered: RecordMerge[CaseOutline] | None = folder.record_merge()
        self._waiting: Counter[Path] = Counter()  # file → lines
        self._path = cache(Path)  # one for each file, not for each record

    def gathered(self) -> RecordMerge[CaseOutline] | None:
        """For ``merge_records``."""
        return self._gathered

    def _add(self, case: CaseId, place: RecordPlace) -> None:
        self._waiting[self._path(place.file)] += 1

    def _next(self) -> Callable[[], None] | None:
        file = next((file for file, lines in self._waiting.items() if lines >= LINES), None)
        return None if file is None else partial(self._take, file)

    def _take(self, file: Path) -> None:
        assert self._gathered is not None
        self._waiting[file] -= LINES
        self._gathered.take(file, LINES)

    def _forget(self) -> None:
        self._gathered = None
        self._waiting.clear()


class EarlyPage(Early):
    """Writes transcripts of the page: takes cases in any order, and tells them in that of the plan, as far as it
    goes without a gap."""

    def __init__(self, run: Path, about: dict[str, Any], plan: Sequence[CaseId]) -> None:
        """``about``: run.json."""
        super().__init__()
        self._run = run
        self._about = about
        self._plan = plan
        self._waiting: dict[CaseId, RecordPlace] = {}
        self._transcripts: Transcripts | None = None

    def begun(self) -> Transcripts | None:
        """For ``write_page``."""
        return self._transcripts

    def _add(self, case: CaseId, place: RecordPlace) -> None:
        self._waiting[case] = place
        if len(self._waiting) > WAITING:
            self._failed = True
            self._waiting.clear()

    def _next(self) -> Callable[[], None] | None:
        if (transcripts := self._transcripts) is None:
            return self._begin  # as early as can be, since it takes some imports
        told = len(transcripts)
        if told < len(self._plan) and self._plan[told] in self._waiting:
            return partial(self._tell, transcripts)
        return None

    def _begin(self) -> None:
        from reports.page import begin_page

        self._transcripts = begin_page(
            self._run, self._about, self._about["settings"]["scoring"], self._run / "report.html"
        )

    def _tell(self, transcripts: Transcripts) -> None:
        place = self._waiting.pop(self._plan[len(transcripts)])
        with Path(place.file).open("rb") as file:
            file.seek(place.start)
            transcripts.add(decoded(file.read(place.size)))

    def _forget(self) -> None:
        self._transcripts = None
        self._waiting.clear()

"""The transcripts of a page, many cases in each file."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

from agentgauge.core.types import Scoring
from agentgauge_reports.load import CaseOutline, Reader
from agentgauge_reports.page.facts import CaseFacts, PageFacts
from agentgauge_reports.page.files import Files
from agentgauge_reports.page.transcript import transcript
from agentgauge_reports.unshown import Unshown

CHUNK = 400_000
"""Characters of JSON after which a new file of transcripts begins; compressed it is about a tenth."""


class Transcripts:
    """Collects cases in the order of the page into chunks of about ``CHUNK`` characters; each chunk is base64 of gzip
    of JSON.

    With ``beside`` a full chunk is written to that folder, ``0.js`` first; files of an earlier page are removed. With
    None all chunks are in ``embedded``. ``facts``: facts for the page's lists, collected on the way. ``unshown``
    collects cases that could not be shown.
    """

    def __init__(self, files: Files, scoring: Scoring, beside: Path | None, unshown: Unshown) -> None:
        self.facts = PageFacts()
        self.embedded: list[str] = []
        self._files, self._scoring, self._unshown = files, scoring, unshown
        self._beside = beside
        self._parts: list[str] = []
        self._size = 0
        for file in beside.glob("*") if beside else ():  # what an earlier page left, and nothing else
            if file.is_file() and ((file.stem.isdecimal() and file.suffix == ".js") or file.name.startswith("file-")):
                file.unlink()

    def add(self, case: CaseOutline, read: Reader) -> None:
        """Take the next case. Raises OSError where the disk is full."""
        try:
            record = read(case) if case.start >= 0 else None
            content, seconds = transcript(record, self._files, self._scoring) if record else ({}, [])
            text, times = json.dumps(content, separators=(",", ":")), json.dumps(seconds)
            case_facts = CaseFacts.of(record, content) if record else CaseFacts()
        except Exception as error:  # whatever is in a record, the others are shown
            content = {"unshown": self._unshown.add(f"{case.task} {case.sample}", error)}
            text, times, case_facts = json.dumps(content, separators=(",", ":")), "[]", CaseFacts()
        self.facts.add(case.task, case.sample, case_facts)
        self._parts.append(f'{{"said":{text},"seconds":{times}}}')
        # what times a case took does not decide where a chunk ends, so that equal runs have equal chunks
        self._size += len(text)
        if self._size >= CHUNK:
            self.close()

    def close(self) -> None:
        """Write the remaining cases."""
        if not self._parts:
            return
        text = base64.b64encode(gzip.compress(f"[{','.join(self._parts)}]".encode("ascii"), 5, mtime=0)).decode("ascii")
        if self._beside is None:
            self.embedded.append(text)
        else:
            self._beside.mkdir(parents=True, exist_ok=True)
            number = self.facts.chunks
            (self._beside / f"{number}.js").write_text(f'agentgaugeChunk({number}, "{text}");\n', encoding="ascii")
        self._parts, self._size = [], 0
        self.facts.chunks += 1

"""What the processes of a sandbox report to the harness, line by line (see ``inner.confine.Report``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentgauge.sandbox.result import Answer


@dataclass(slots=True)
class Report:
    """What the processes have reported."""

    layers: list[str] = field(default_factory=lambda: ["process"])
    answers: list[Answer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: bool = False
    ready: bool = False
    fault: str = ""
    lost: str = ""
    cause: str = ""
    end: str | None = None


def read_report(content: bytes) -> Report:
    """Once the program has started, no end of the processes that hold it is a fault: it may have brought it about."""
    report = Report()
    while content:
        line, _, content = content.partition(b"\n")
        kind, _, text = line.decode("utf-8", "replace").partition(" ")
        if kind == "answer":
            size, busy = int(text.split()[0]), float(text.split()[1])
            if len(content) >= size:
                report.answers.append(Answer(content[:size], busy))
            content = content[size:]
        elif kind == "layer":
            report.layers.append(text)
        elif kind == "start":
            report.started = True
        elif kind == "ready":
            report.ready = True
        elif kind == "refused" or (kind == "fault" and not report.started):
            report.fault = report.fault or text
        elif kind == "note":
            report.notes.append(text)
        elif kind == "lost":
            report.lost = text
        elif kind == "cause":
            report.cause = text
        elif kind == "end":
            report.end = text
    return report

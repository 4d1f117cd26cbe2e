"""Parses the reports of a sandbox's processes, line by line (see ``inner.confine.Report``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentgauge.sandbox.result import Answer


@dataclass(slots=True)
class Report:
    layers: list[str] = field(default_factory=lambda: ["process"])
    answers: list[Answer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    started: bool = False
    ready: bool = False
    fault: str = ""
    lost: str = ""
    cause: str = ""
    end: str | None = None


def read_report(content: bytes | bytearray) -> Report:
    """After the program has started, an early end of the processes that hold it does not count as a fault, because the
    program may have caused it.
    """
    report, at = Report(), 0
    while at < len(content):
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        kind, _, text = content[at:end].decode("utf-8", "replace").partition(" ")
        at = end + 1
        match kind:
            case "answer":
                size, busy = int(text.split()[0]), float(text.split()[1])
                if len(content) >= at + size:
                    report.answers.append(Answer(bytes(content[at : at + size]), busy))
                at += size
            case "layer":
                report.layers.append(text)
            case "note":
                report.notes.append(text)
            case "start":
                report.started = True
            case "ready":
                report.ready = True
            case "lost" | "cause" | "end":
                setattr(report, kind, text)
            case "fault" if report.started:
                pass
            case "fault" | "refused":
                report.fault = report.fault or text
    return report

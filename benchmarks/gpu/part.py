"""One part of the measurement in a process of its own: ``python -m benchmarks.gpu.part NAME ...``.

Its exit status is 0 where all was measured, NOT_THERE where something is missing, which its last line names.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.gpu import answers, detectors, run, server, texts_and_pictures
from benchmarks.gpu.notes import NOT_THERE, Load, Notes, NotThere, Rate
from benchmarks.gpu.rates import rate, together
from benchmarks.gpu.subject import BATCH, INPUTS, Subject
from tool_impls.devices import CPU

CALLERS = (1, 8, 32)
SECONDS = 1.5  # that calls of so many callers are counted for
SMALL_CALLERS, SMALL_SECONDS = (1, 2, 3), 0.05

SUBJECTS: Mapping[str, Callable[[Path, bool], Subject]] = {
    "detection": detectors.Shapes,
    "open-detection": detectors.OpenDetector,
    "fixed-detection": detectors.FixedDetector,
    "vision": answers.Vision,
    "speech": answers.Speech,
    "similarity": texts_and_pictures.Embeddings,
    "pictures": texts_and_pictures.Painter,
    "ocr": answers.Ocr,
}


def measure(subject: Subject, device: str, small: bool, notes: Notes) -> None:
    """Load it on the processor and on the device, compare the answers, count calls."""
    with all_threads():
        subject.make()
    callers, seconds = (SMALL_CALLERS, SMALL_SECONDS) if small else (CALLERS, SECONDS)
    with ExitStack() as open_tools:

        def load(place: str, batch: int) -> Any:
            start = time.perf_counter()
            tool = open_tools.enter_context(subject.loaded(place, batch))
            notes.add(Load(subject.name, place, batch, time.perf_counter() - start))
            return tool

        ours = load(CPU, 1)
        alone = load(device, 1)
        for check in subject.compare(ours, alone):
            notes.add(check)
        notes.add(Rate(subject.name, CPU, 1, 1, rate(lambda number: subject.call(ours, number), 1, seconds)))
        if not subject.rated:
            notes.add(Rate(subject.name, device, 1, 1, rate(lambda number: subject.call(alone, number), 1, seconds)))
            return
        batched = load(device, BATCH)
        numbers = range(INPUTS if small else 2 * BATCH)
        singly = [subject.call(alone, number) for number in numbers]
        notes.add(subject.alike(singly, together(lambda number: subject.call(batched, number), numbers)))
        for count in callers:
            for tool, batch in ((alone, 1), (batched, BATCH)):
                found = rate(lambda number, tool=tool: subject.call(tool, number), count, seconds)  # type: ignore[misc]
                notes.add(Rate(subject.name, device, count, batch, found))


@contextmanager
def all_threads() -> Iterator[None]:
    """Afterwards torch works with as many threads as before: models are made with one, as those of the tests are."""
    import torch

    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.part")
    parser.add_argument("part", choices=[*SUBJECTS, "server", "run"])
    parser.add_argument("--device", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    folder = options.folder / options.part
    folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(options.notes)
    try:
        if options.part == "server":
            server.measure(options.folder, options.device, options.small, notes)
        elif options.part == "run":
            run.measure(options.folder, options.device, options.small, notes)
        else:
            measure(SUBJECTS[options.part](folder, not options.small), options.device, options.small, notes)
    except NotThere as missing:
        print(missing)
        return NOT_THERE
    return 0


if __name__ == "__main__":
    sys.exit(main())

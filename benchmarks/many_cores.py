"""How many programs a second a machine judges that has more processors than this one, by simulation.

Each program takes a worker's time, which does one thing at a time, then its turn in the machine's queue for a slot,
then a slot. Each case takes the controller's time at its end.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass


@dataclass(frozen=True)
class Service:
    """Seconds of processor time, as measured."""

    program: float  # of the sandbox and the program, in a slot
    worker: float  # of the process that asks for it, beside that
    turn: float  # of the queue, for each program: one look at all slots
    pause: float  # of the queue between two looks, not of a processor
    case: float  # of the controller
    programs: int  # of a case

    def of(self, processors: int, workers: int, cases: int = 400) -> float:
        """Seconds for so many cases in which all is known from the start. Work of workers and controller takes
        processors, too: it lengthens what stands in the slots."""
        shared = self.worker + self.case / self.programs
        slots, asking = [0.0] * processors, [0.0] * workers
        queue = controller = 0.0
        for case in range(cases):
            worker, end = case % workers, 0.0
            for _ in range(self.programs):
                asking[worker] += self.worker
                queue = max(queue, asking[worker]) + self.turn
                while queue < slots[0]:
                    queue += self.pause + self.turn
                done = queue + self.program + shared
                heapq.heapreplace(slots, done)
                end = max(end, done)
            controller = max(controller, end) + self.case
        return controller

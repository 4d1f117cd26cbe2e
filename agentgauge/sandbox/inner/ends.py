"""What connects process L and the processes that it starts: pipes for the end, the program's steps and a descriptor."""

from __future__ import annotations

import os
import socket

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from .steps import Steps


class Ends:
    """What connects process L and those that it starts."""

    def __init__(self, steps: Steps | None) -> None:
        self.steps = steps
        self.ended, self.ending = os.pipe()
        """How the program has ended, from process I."""
        self._ours, self._theirs = socket.socketpair()

    def hand_over(self, proc: int | None) -> None:
        """Process I sends its /proc, or says that it has none."""
        if proc is None:
            self._theirs.send(b".")
        else:
            socket.send_fds(self._theirs, [b"."], [proc])

    def take_proc(self) -> int | None:
        """The /proc of the sandbox; None where there is none, and if process I has ended before."""
        self._theirs.close()
        os.close(self.ending)
        _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        return descriptors[0] if descriptors else None

    def leave_to_program(self) -> None:
        """Close this process's copies of what the program alone holds."""
        if self.steps:
            for descriptor in self.steps.program:
                os.close(descriptor)

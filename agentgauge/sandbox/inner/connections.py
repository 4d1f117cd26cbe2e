"""The connections between process L and the processes that it starts: pipes for the end and for the program's steps,
and descriptors that the processes pass to each other."""

from __future__ import annotations

import os
import socket


class Connections:
    """The connections between process L and the processes that it starts."""

    def __init__(self, *, steps: bool) -> None:
        """``steps``: the program gets messages and answers them, see ``steps``."""
        self.ended, self.ending = os.pipe()
        """How the program has ended, from process I."""
        self._ours, self._theirs = socket.socketpair()
        self.feed = self.reading = -1
        """The other ends of the program's standard input and output, where it has steps."""
        self.program: tuple[int, ...] = ()
        if steps:
            stdin, self.feed = os.pipe()
            self.reading, stdout = os.pipe()
            self.program = stdin, stdout

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

    def give_stdin(self, descriptor: int) -> None:
        """Process L sends what the program reads."""
        socket.send_fds(self._ours, [b"."], [descriptor])
        os.close(descriptor)

    def take_stdin(self) -> int:
        """Process I takes what the program reads."""
        _, descriptors, _, _ = socket.recv_fds(self._theirs, 1, 1)
        return descriptors[0]

    def leave_to_program(self) -> None:
        """Close this process's copies of descriptors that only the program may hold."""
        for descriptor in self.program:
            os.close(descriptor)

    def close(self) -> None:
        """Close all connections, in the program's own process."""
        self._ours.close()
        self._theirs.close()

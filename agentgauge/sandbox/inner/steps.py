"""Work that the program gets piece by piece: the next piece only when the last one has been answered.

Every message is 8 bytes of length, little-endian, and a body; pieces come through standard input, answers go to
standard output. The first answer, empty, says that the program is ready. The pieces are held back here, outside of the
program's reach, so the program cannot falsify the time between a piece and its answer.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .connections import Connections
    from .usage import Clock

_HEAD = 8  # bytes that give a message's length
_CHUNK = 1 << 16


class Steps:
    """The pieces of one run, and the time that they take."""

    def __init__(
        self, spec: Mapping[str, Any], first: bytes, most: int, send: Callable[[bytes], None], connections: Connections
    ) -> None:
        """``spec``: ``result.Steps`` as a dict. ``most``: bytes of all answers."""
        self._waiting = [first, *spec["inputs"]]
        self._busy, self._total, self._wall = spec["busy_seconds"], spec["total_seconds"], spec["wall_seconds"]
        self._left = most
        self._send = send
        self._out = b""
        self._in = bytearray()
        self._spent = 0.0
        self._timed = False
        self._feed, self.reading = connections.feed, connections.reading
        for descriptor in (self._feed, self.reading):
            os.set_blocking(descriptor, False)
        self._next()

    def _next(self) -> None:
        piece = self._waiting.pop(0)
        self._out = len(piece).to_bytes(_HEAD, "little") + piece

    @property
    def writing(self) -> int | None:
        """The descriptor that takes more of a piece, None if nothing is to be written."""
        return self._feed if self._out else None

    def write(self) -> None:
        """Write what fits; nothing more if the program has closed its end."""
        try:
            self._out = self._out[os.write(self._feed, self._out[:_CHUNK]) :]
        except BlockingIOError:
            pass
        except OSError:
            self._out = b""

    def read(self, clock: Clock) -> str | None:
        """Take in what has been answered. ``done`` after the last answer, ``output`` if it is too much, ``closed``
        if no more can come."""
        try:
            part = os.read(self.reading, _CHUNK)
        except BlockingIOError:
            return None
        if not part:
            return "closed"
        self._in += part
        if len(self._in) < _HEAD:
            return None
        size = int.from_bytes(self._in[:_HEAD], "little")
        if size > self._left:
            return "output"
        if len(self._in) < _HEAD + size:
            return None
        if len(self._in) > _HEAD + size:
            return "closed"  # more than was asked for: these are no answers
        return self._answered(bytes(self._in[_HEAD:]), clock)

    def _answered(self, answer: bytes, clock: Clock) -> str | None:
        self._in.clear()
        self._left -= len(answer)
        if self._timed:
            if over := self.over(clock):
                return over
            busy = clock.read()[1]
            self._spent += busy
            self._send(b"answer %d %.3f\n" % (len(answer), busy) + answer)
        else:
            self._send(b"ready \n")
        if not self._waiting:
            return "done"
        self._timed = True
        clock.start()
        self._next()
        return None

    def over(self, clock: Clock) -> str | None:
        """``step`` if the present step has taken too long, ``steps`` if all of them together have."""
        if not self._timed:
            return None
        wall, busy = clock.read()
        if wall > self._wall or (self._busy is not None and busy > self._busy):
            return "step"
        if self._total is not None and self._spent + busy > self._total:
            return "steps"
        return None

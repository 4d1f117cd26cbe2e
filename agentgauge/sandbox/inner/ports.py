"""Listening sockets in the program's own network, which AgentGauge answers from outside.

A socket stays in the network in which it was made. So a connection to one of these ports inside arrives at AgentGauge,
and the program needs no other network and no forwarding process.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing has it; importing that module would cost 8 ms
if TYPE_CHECKING:
    from collections.abc import Sequence

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1  # of a network interface
_BACKLOG = 128


def hand_out(ports: Sequence[int], sending: int) -> None:
    """Listen at these ports of 127.0.0.1, and send the sockets to AgentGauge. Call in a network of its own. Raises
    OSError."""
    import socket  # 4 ms, for programs with ports only

    listening = []
    _start_loopback()
    for port in ports:
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.append(opened)
        opened.bind(("127.0.0.1", port))
        opened.listen(_BACKLOG)
    with socket.socket(fileno=sending) as link:
        socket.send_fds(link, [b"."], [opened.fileno() for opened in listening])
    for opened in listening:  # the program gets none
        opened.close()


def _start_loopback() -> None:
    """A new network has an interface lo, which is down."""
    import fcntl
    import socket
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        found = fcntl.ioctl(any_socket, _GET_FLAGS, struct.pack("16s24x", b"lo"))
        flags = struct.unpack_from("h", found, 16)[0]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh22x", b"lo", flags | _UP))

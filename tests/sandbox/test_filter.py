"""What the seccomp filter decides, by a machine that reads its program."""

from __future__ import annotations

import pytest

from agentgauge.sandbox.inner import linux


def _decide(steps: list[tuple[int, int, int, int]], machine: int, number: int, argument: int, fourth: int = 0) -> int:
    """A BPF machine for the four instructions that the filter uses."""
    data = {0: number, 4: machine, 16: argument, 40: fourth}
    accumulator = at = 0
    while True:
        code, true, false, value = steps[at]
        at += 1
        if code == 0x20:
            accumulator = data[value]
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += true if holds else false


ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
X86, ARM = 0xC000003E, 0xC00000B7


@pytest.mark.parametrize(
    ("machine", "alone", "audit", "number", "argument", "decision"),
    [
        ("x86_64", False, X86, 0, 0, ALLOW),  # read
        ("x86_64", False, X86, 41, 2, EPERM),  # socket
        ("x86_64", False, X86, 53, 1, ALLOW),  # socketpair
        ("x86_64", False, ARM, 0, 0, KILL),  # another architecture's numbers
        ("x86_64", False, X86, 0x40000000 + 41, 0, EPERM),  # x32
        ("x86_64", False, X86, 56, 17, ALLOW),  # clone as fork does
        ("x86_64", False, X86, 56, 0x10000000, EPERM),  # clone with a user namespace
        ("x86_64", False, X86, 435, 0, ENOSYS),  # clone3
        ("x86_64", False, X86, 57, 0, ALLOW),  # fork
        ("x86_64", False, X86, 62, 1, ALLOW),  # kill
        ("x86_64", True, X86, 57, 0, EPERM),
        ("x86_64", True, X86, 56, 17, EPERM),
        ("x86_64", True, X86, 56, 0x3D0F00, ALLOW),  # clone as a thread does
        ("x86_64", True, X86, 56, 0x10000000 | 0x10000, EPERM),
        ("x86_64", True, X86, 62, 77, ALLOW),  # kill itself
        ("x86_64", True, X86, 62, 0xFFFFFFFF, EPERM),  # kill everything
        ("x86_64", True, X86, 234, 77, ALLOW),  # tgkill, as abort does
        ("x86_64", True, X86, 234, 1, EPERM),
        ("x86_64", True, X86, 302, 0, ALLOW),  # prlimit64 of itself
        ("x86_64", True, X86, 302, 1, EPERM),
        ("x86_64", False, X86, 302, 0, ALLOW),
        ("x86_64", False, X86, 302, 1, EPERM),  # limits of another process
        ("x86_64", False, X86, 319, 0, EPERM),  # memfd_create
        ("x86_64", False, X86, 29, 0, EPERM),  # shmget
        ("x86_64", False, X86, 46, 0, ALLOW),  # sendmsg
        ("x86_64", True, X86, 46, 0, EPERM),
        ("x86_64", True, X86, 157, 15, ALLOW),  # prctl, a name
        ("x86_64", True, X86, 157, 4, EPERM),  # prctl, not dumpable
        ("aarch64", False, ARM, 198, 2, EPERM),  # socket
        ("aarch64", True, ARM, 220, 17, EPERM),  # clone as fork does
        ("aarch64", True, ARM, 129, 77, ALLOW),  # kill itself
        ("aarch64", False, X86, 0, 0, KILL),
    ],
)
def test_the_filter_decides(machine: str, alone: bool, audit: int, number: int, argument: int, decision: int) -> None:
    assert _decide(linux.filter_program(machine, alone=alone, pid=77), audit, number, argument) == decision


@pytest.mark.parametrize(("machine", "audit", "number"), [("x86_64", X86, 9), ("aarch64", ARM, 222)])
@pytest.mark.parametrize(
    ("flags", "decision", "counted"),
    [
        (0x22, ALLOW, ALLOW),  # private, anonymous
        (0x21, EPERM, ALLOW),  # shared, anonymous
        (0x01, ALLOW, ALLOW),  # shared, of a file
        (0x02, ALLOW, ALLOW),
        (0x40022, EPERM, EPERM),  # huge pages
        (0x40021, EPERM, EPERM),
    ],
)
def test_the_filter_decides_on_maps(
    machine: str, audit: int, number: int, flags: int, decision: int, counted: int
) -> None:
    for alone in (False, True):
        for wanted, given in ((decision, False), (counted, True)):
            steps = linux.filter_program(machine, alone=alone, pid=77, counted=given)
            assert _decide(steps, audit, number, 0, flags) == wanted


@pytest.mark.parametrize(
    ("machine", "audit", "number", "family", "decision"),
    [
        ("x86_64", X86, 41, 2, ALLOW),
        ("x86_64", X86, 41, 10, ALLOW),
        ("x86_64", X86, 41, 1, EPERM),  # UNIX
        ("x86_64", X86, 41, 16, EPERM),  # netlink
        ("x86_64", X86, 41, 17, EPERM),  # packets
        ("x86_64", X86, 41, 40, EPERM),  # of virtual machines
        ("x86_64", X86, 165, 2, EPERM),  # mount
        ("x86_64", X86, 0, 0, ALLOW),  # read
        ("aarch64", ARM, 198, 10, ALLOW),
        ("aarch64", ARM, 198, 1, EPERM),
    ],
)
@pytest.mark.parametrize("alone", [False, True])
def test_the_filter_decides_by_the_family_of_a_socket(
    machine: str, audit: int, number: int, family: int, decision: int, alone: bool
) -> None:
    steps = linux.filter_program(machine, alone=alone, pid=77, network=True)
    assert _decide(steps, audit, number, family) == decision


@pytest.mark.parametrize(("family", "decision"), [(1, ALLOW), (2, EPERM), (10, EPERM), (16, EPERM)])
def test_the_filter_lets_unix_sockets_alone_pass(family: int, decision: int) -> None:
    steps = linux.filter_program("x86_64", alone=False, pid=77, unix_sockets=True)
    assert _decide(steps, X86, 41, family) == decision

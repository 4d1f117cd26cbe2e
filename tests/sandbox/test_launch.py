"""The launcher's ordinary side: results, limits, layers, cancelling."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import pytest

from agentgauge import sandbox
from agentgauge.core.errors import SandboxFault, UsageProblem
from agentgauge.core.files import remove_tree
from agentgauge.sandbox import SandboxResult, protection
from agentgauge.sandbox.paths import view
from agentgauge.sandbox.processes import Setup
from agentgauge.sandbox.result import ended_from_outside, ending


def python(code: str, folder: Path, **rest: object) -> SandboxResult:
    return sandbox.run([sys.executable, "-I", "-c", code], folder=folder, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "status", "returncode", "stdout"),
    [
        ("print('é')", "ok", 0, "é\n"),
        ("import sys; print(sys.stdin.read())", "ok", 0, "\n"),
        ("raise SystemExit(7)", "error", 7, ""),
        ("import os; os.abort()", "killed", -signal.SIGABRT, ""),
        ("import os; print(os.getcwd() == os.environ['HOME'])", "ok", 0, "True\n"),
        ("open('a', 'w').write('b'); print(open('a').read())", "ok", 0, "b\n"),
        (
            (
                "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(1)'],"
                " capture_output=True).stdout)"
            ),
            "ok",
            0,
            "b'1\\n'\n",
        ),
        ("import asyncio; asyncio.run(asyncio.sleep(0)); print(1)", "ok", 0, "1\n"),
        ("import os; print(os.getuid() != 0)", "ok", 0, "True\n"),
    ],
)
def test_a_program_runs_and_its_end_is_told(
    code: str, status: str, returncode: int, stdout: str, tmp_path: Path
) -> None:
    result = python(code, tmp_path)
    assert (result.status, result.returncode, result.stdout) == (status, returncode, stdout), result
    assert bool(result.reason) == (status != "ok")


def test_standard_input_and_further_files_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "data").write_text("given")
    code = f"import sys; print(len(sys.stdin.read()), open({str(tmp_path / 'data')!r}).read())"
    result = python(code, tmp_path / "work", stdin=b"x" * 300_000, readable=[tmp_path / "data"])
    assert result.stdout == "300000 given\n", result
    refused = python(f"open({str(tmp_path / 'data')!r}, 'w')", tmp_path / "work", readable=[tmp_path / "data"])
    assert refused.status == "error"
    assert (tmp_path / "data").read_text() == "given"


def test_a_program_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(SandboxFault, match="FileNotFoundError"):
        sandbox.run(["/no/such/program"], folder=tmp_path)
    with pytest.raises(SandboxFault, match="absolute path, not 'python'"):
        sandbox.run(["python"], folder=tmp_path)
    with pytest.raises(SandboxFault, match="needs an existing folder"):
        sandbox.run([sys.executable], folder=tmp_path / "none")


def test_runs_side_by_side_without_blocking_the_loop(tmp_path: Path) -> None:
    folders = [tmp_path / str(n) for n in range(3)]

    async def all_of_them() -> list[SandboxResult]:
        for folder in folders:
            folder.mkdir()
        argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(0.5); print(1)"]
        return list(await asyncio.gather(*(sandbox.run_async(argv, folder=folder) for folder in folders)))

    sandbox.check_minimum(allow_unsafe=True)
    began = time.monotonic()
    results = asyncio.run(all_of_them())
    assert [result.stdout for result in results] == ["1\n"] * 3
    assert time.monotonic() - began < 1.4


def _marked(mark: str) -> bool:
    """Whether a process is alive whose command line ends with a word."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if process.read_bytes().endswith(b"\0" + mark.encode() + b"\0"):
                return True
    return False


def test_cancelling_ends_the_code(tmp_path: Path) -> None:
    mark = f"mark-{uuid.uuid4().hex}"

    async def cancelled() -> None:
        argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)", mark]
        task = asyncio.create_task(sandbox.run_async(argv, folder=tmp_path))
        while not _marked(mark):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 5
    _soon_gone(mark)


def _soon_gone(mark: str) -> None:
    until = time.monotonic() + 5
    while _marked(mark):
        assert time.monotonic() < until, "something still runs"
        time.sleep(0.02)


@pytest.mark.parametrize("refuse", [(), ("namespaces",)], ids=["all", "no-namespaces"])
def test_the_code_dies_with_its_parent(refuse: tuple[str, ...], tmp_path: Path) -> None:
    """Killed with -9, a worker leaves nothing behind."""
    mark = f"mark-{uuid.uuid4().hex}"
    parent = (
        "import sys; from pathlib import Path; from agentgauge.sandbox.launch import Job;"
        " from agentgauge.sandbox.processes import Setup; from"
        " agentgauge.sandbox import SandboxLimits\n"
        "argv = [sys.executable, '-I', '-S', '-c', 'import time; time.sleep(60)',"
        f" {mark!r}]\nJob(argv, Setup(refuse={refuse!r}), folder=Path({str(tmp_path)!r}),"
        " limits=SandboxLimits(wall_seconds=60)).run()"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], cwd=Path(__file__).parents[2])
    while not _marked(mark):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    _soon_gone(mark)


def test_the_layers_are_told_and_suffice_here() -> None:
    found = sandbox.layers()
    assert {"process", "rlimits", "no_new_privs"} <= set(found)
    assert protection.missing(found) == ()
    sandbox.check_minimum()


@pytest.mark.parametrize(
    ("found", "lacking"),
    [
        (("process", "rlimits", "mount_ns", "net_ns"), ()),
        (("process", "rlimits", "landlock", "landlock_tcp"), ()),
        (("process", "rlimits", "landlock", "seccomp"), ()),
        (("process", "rlimits", "landlock"), ("a closed network",)),
        (("process", "rlimits", "seccomp"), ("protection of files",)),
        (("process", "rlimits"), ("protection of files", "a closed network")),
        ((), ("a process with limits", "protection of files", "a closed network")),
    ],
)
def test_what_counts_as_the_minimum(found: tuple[str, ...], lacking: tuple[str, ...]) -> None:
    assert protection.missing(found) == lacking


def test_below_the_minimum_code_runs_only_if_the_user_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup(refuse=("namespaces", "landlock"))
    found = protection.probe(setup)
    monkeypatch.setattr(sandbox, "chosen", lambda: (setup, found, ""))
    monkeypatch.setattr(protection, "chosen", lambda: (setup, found, ""))
    with pytest.raises(UsageProblem, match=r"without protection of files .*--allow-unsafe-code"):
        python("print(1)", tmp_path)
    assert python("print(1)", tmp_path, allow_unsafe=True).stdout == "1\n"


def test_who_asks_while_somebody_else_looks_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    began, may_end, looked = threading.Event(), threading.Event(), []

    def probe(setup: Setup) -> tuple[str, ...]:
        looked.append(setup)
        began.set()
        assert may_end.wait(30)
        return ("process", "mount_ns")

    monkeypatch.setattr(protection, "probe", probe)
    monkeypatch.setattr(protection, "_look", lru_cache(protection._look.__wrapped__))
    sandbox.look_early()
    assert began.wait(30)
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(sandbox.layers)
        assert not asked.done()
        may_end.set()
        assert asked.result(30) == ("process", "mount_ns")
    assert len(looked) == 1


@pytest.mark.parametrize(
    "refuse", [("mount_ns",), ("namespaces",), ("namespaces", "seccomp"), ("landlock",), ("seccomp",)]
)
def test_a_layer_that_is_refused_is_not_reported(refuse: tuple[str, ...]) -> None:
    found = set(protection.probe(Setup(refuse=refuse)))
    absent = {"namespaces": {"pid_ns", "net_ns", "mount_ns", "ipc_ns"}}
    for name in refuse:
        assert not found & absent.get(name, {name})


def test_trees_are_removed_whatever_was_done_to_them(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    outside = tmp_path / "outside"
    outside.write_text("kept")
    tree.mkdir()
    (tree / "link").symlink_to(outside)
    (tree / "closed").mkdir()
    (tree / "closed" / "file").write_text("x")
    (tree / "closed").chmod(0)
    deep = os.open(tree, os.O_RDONLY)
    for _ in range(1100):  # more than Python's recursion limit, and paths longer than the system takes
        os.mkdir("deep", dir_fd=deep)
        below = os.open("deep", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    remove_tree(tree)
    assert not tree.exists()
    assert outside.read_text() == "kept"


def shown(readable: Iterable[str], below: Path) -> list[tuple[str, str]]:
    return [(source, target) for source, target in view(readable).mounts if target.startswith(f"{below}/")]


def test_paths_appear_where_they_are_named_and_where_they_are(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "inside").mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    named = [str(tmp_path / "link"), str(real / "inside"), str(tmp_path / "none")]
    assert shown(named, tmp_path) == [(str(real), str(tmp_path / "link")), (str(real), str(real))]
    targets = [target for _, target in view().mounts]
    assert not {"/", "/usr", "/etc", "/home", "/root"} & set(targets)


def test_a_link_in_a_readable_folder_may_lead_to_one_that_comes_later(tmp_path: Path) -> None:
    for name in ("a", "work", "z"):
        (tmp_path / name).mkdir()
    (tmp_path / "z" / "file").write_text("behind the link")
    (tmp_path / "a" / "link").symlink_to(tmp_path / "z" / "file")
    readable = [tmp_path / "a", tmp_path / "a" / "link"]
    assert (
        len(shown(map(str, readable), tmp_path)) == 2
    )  # the folder and the file itself; the link is seen in the folder
    for order in (readable, readable[::-1]):
        assert (
            python(f"print(open({str(readable[1])!r}).read())", tmp_path / "work", readable=order).stdout
            == "behind the link\n"
        )


STEPPED = """
import os, sys, time
def exactly(n):
    found = b''
    while len(found) < n:
        part = os.read(0, n - len(found))
        if not part: sys.exit(1)
        found += part
    return found
def receive(): return exactly(int.from_bytes(exactly(8), 'little'))
def answer(content):
    content = len(content).to_bytes(8, 'little') + content
    while content: content = content[os.write(1, content):]
order = receive()
answer(b'')
while True:
    piece = receive()
    WORK
"""


def stepped(
    work: str, inputs: tuple[bytes, ...], folder: Path, *, wall: float = 5.0, busy: float | None = None
) -> SandboxResult:
    code = STEPPED.replace("WORK", work)
    return python(
        code,
        folder,
        stdin=b"the order",
        steps=sandbox.Steps(inputs, wall, busy),
        limits=sandbox.SandboxLimits(wall_seconds=15),
    )


def test_work_is_handed_over_step_by_step(tmp_path: Path) -> None:
    large = bytes(range(256)) * 4000
    result = stepped("answer(order + piece)", (b"one", b"", large), tmp_path)
    assert (result.status, result.ready) == ("ok", True), result
    assert [answer.content for answer in result.answers] == [b"the orderone", b"the order", b"the order" + large]


@pytest.mark.parametrize(
    ("work", "status", "answers", "late"),
    [
        ("time.sleep(60) if piece == b'2' else answer(piece)", "timeout", {1}, True),
        ("sys.exit(3) if piece == b'2' else answer(piece)", "error", {1}, False),
        ("answer(bytes(70000)); sys.exit(3)", "error", {1}, False),
        ("os.write(1, b'x' * 100)", "output", {0}, False),  # the length of an absurd answer
        # More than was asked for. In one write: a second write may be read as the answer to the next piece.
        ("os.write(1, ((1).to_bytes(8, 'little') + piece) * 2); time.sleep(60)", "timeout", {0}, True),
        ("os.close(0); os.close(1); time.sleep(60)", "timeout", {0}, True),
    ],
)
def test_a_step_that_goes_wrong_ends_the_program(
    work: str, status: str, answers: set[int], late: bool, tmp_path: Path
) -> None:
    began = time.monotonic()
    result = stepped(work, (b"1", b"2", b"3"), tmp_path, wall=1)
    assert (result.status, result.late_step) == (status, late), result
    assert len(result.answers) in answers
    assert time.monotonic() - began < 8


def test_a_busy_step_counts_all_processes(tmp_path: Path) -> None:
    work = "for _ in range(3):\n        if os.fork() == 0:\n            while True: pass\n    time.sleep(60)"
    began = time.monotonic()
    result = stepped(work, (b"1",), tmp_path, wall=12, busy=1)
    assert (result.status, result.late_step) == ("timeout", True), result
    assert time.monotonic() - began < 8


def test_processor_time_is_that_of_all_processes(tmp_path: Path) -> None:
    code = (
        "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        while time.process_time() < 0.9: pass\n  "
        "      os._exit(0)\n"
    )
    result = python(
        code + "for _ in range(4): os.wait()", tmp_path, limits=sandbox.SandboxLimits(wall_seconds=15, cpu_seconds=1)
    )
    assert (result.status, result.reason) == ("timeout", "it used more than 1 s of processor time"), result


# -- a program that is killed from outside is run once more; one that kills itself has ended

WAITS = """
import ctypes, os, time
os.write(1, b"begun ")
ctypes.CDLL(None).prctl(15, b"sleeper")  # its name, by which the test sees that it has begun
time.sleep(0.7)
os.write(1, b"done")
"""
KILLS_ITSELF = "import os\nos.write(1, b'begun ')\nos.kill(os.getpid(), 9)\n"


def script(code: str) -> sandbox.Script:
    return sandbox.Script(f"def main():\n    exec({code!r})\nif __name__ == '__main__':\n    main()\n")


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def sleepers() -> Iterator[int]:
    """The program below this process, and the processes that hold it."""
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it has ended
            if comm.read_text() == "sleeper\n":
                chain = [int(comm.parent.name)]
                while chain[-1] > 1 and chain[-1] != os.getpid():
                    chain.append(parent(chain[-1]))
                if chain.pop() == os.getpid():
                    yield from chain


def kill_once(ended: threading.Event) -> None:
    while not ended.wait(0.01):
        if found := list(sleepers()):
            for pid in found:
                with contextlib.suppress(ProcessLookupError):  # one of them went with another
                    os.kill(pid, signal.SIGKILL)
            return


def test_a_program_that_is_killed_from_outside_is_run_once_more(tmp_path: Path) -> None:
    ended = threading.Event()
    killer = threading.Thread(target=kill_once, args=(ended,))
    killer.start()
    result = sandbox.run(script(WAITS), folder=tmp_path)
    ended.set()
    killer.join()
    assert (result.status, result.stdout) == ("ok", "begun done")


def test_one_that_kills_itself_has_ended(tmp_path: Path) -> None:
    result = sandbox.run(script(KILLS_ITSELF), folder=tmp_path)
    assert (result.status, result.reason, result.stdout) == ("killed", "it died of SIGKILL", "begun ")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (-9, "died of SIGKILL"),
        (-11, "died of SIGSEGV"),
        (-40, "died of signal 40"),
        (1, "ended with exit status 1"),
        (130, "ended with exit status 130, as a shell does when its program died of SIGINT"),
        (139, "ended with exit status 139"),
        (255, "ended with exit status 255"),
    ],
)
def test_how_a_process_ended_in_words(code: int, text: str) -> None:
    assert ending(code) == text


@pytest.mark.parametrize(
    ("status", "returncode", "expected"),
    [("killed", -9, True), ("killed", None, True), ("killed", -11, False), ("error", 137, False), ("ok", 0, False)],
)
def test_what_others_have_ended(status: str, returncode: int | None, expected: bool) -> None:
    assert ended_from_outside(status, returncode) is expected


PROCESSES = """
import os
print(sorted(name for name in os.listdir("/proc") if name.isdigit()) if os.path.isdir("/proc") else None)
for name in ("environ", "fd", "root", "mem"):
    try:
        path = "/proc/1/" + name
        os.listdir(path) if name in ("fd", "root") else open(path, "rb").read(1)
        print(name, "is open")
    except OSError:
        pass
try:
    open("/proc/self/mem", "wb")
    print("can be written")
except OSError:
    pass
"""


@pytest.mark.parametrize(("own_proc", "shows"), [(False, "None"), (True, "['1', '2']")])
def test_a_program_sees_its_own_processes_only_where_it_is_meant_to(own_proc: bool, shows: str, tmp_path: Path) -> None:
    """Process 1 is the sandbox's, and tells nothing: neither its files nor its variables."""
    if "mount_ns" not in sandbox.layers():
        pytest.skip("the sandbox has no files of its own here")
    seen = python(PROCESSES, tmp_path, own_proc=own_proc).stdout
    assert seen.splitlines() == [shows]

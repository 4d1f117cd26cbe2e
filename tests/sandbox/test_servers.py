"""A script's programs are forks of one process that stands ready: none sees anything of another, or of that process."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agentgauge import sandbox
from agentgauge.core.errors import SandboxFault
from agentgauge.sandbox import SandboxLimits, SandboxResult, Script
from agentgauge.sandbox.launch import Job
from agentgauge.sandbox.paths import package_folders
from agentgauge.sandbox.protection import chosen

from .conftest import REPOSITORY, Confined

pytestmark = pytest.mark.skipif(
    not {"pid_ns", "mount_ns"} <= {*sandbox.layers()}, reason="no process can stand ready without namespaces"
)
READS = Script("import sys\n\ndef main():\n    exec(compile(sys.stdin.read(), '<code>', 'exec'), {})\n")


def run(code: str, folder: Path, script: Script = READS, **rest: Any) -> SandboxResult:
    return sandbox.run(script, folder=folder, stdin=code.encode(), **rest)


def alive() -> set[int]:
    """The servers of this process, by their ids."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z" and b"inner.serve" in (process / "cmdline").read_bytes():
                found.add(int(process.name))
    return found


def end(pid: int) -> None:
    """It is noticed when the server is to be used."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it is left to who started it


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Each test has servers of its own."""
    for pid in alive():
        end(pid)


@pytest.mark.parametrize(
    ("code", "status", "returncode", "stdout"),
    [
        ("print('é')", "ok", 0, "é\n"),
        ("import sys; print(__import__('os').getcwd() == __import__('os').environ['HOME'])", "ok", 0, "True\n"),
        ("raise SystemExit(7)", "error", 7, ""),
        ("1 / 0", "error", 1, ""),
        ("import os; os.abort()", "killed", -signal.SIGABRT, ""),
        ("import atexit; atexit.register(print, 'end')", "ok", 0, "end\n"),
        ("import signal\ntry: signal.raise_signal(2)\nexcept KeyboardInterrupt: print(1)", "ok", 0, "1\n"),
        ("import threading; threading.Timer(0.1, print, ['late']).start()", "ok", 0, "late\n"),
        (
            "import sys; print(sys.modules['__main__'].__name__, [m for m in sys.modules if 'inner' in m])",
            "ok",
            0,
            None,
        ),
        ("import os; print(os.getpid(), os.getppid(), os.getuid() != 0)", "ok", 0, "2 1 True\n"),
        ("import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(1)']).returncode)", "ok", 0, None),
    ],
)
def test_a_program_begins_and_ends_as_one_that_is_executed(
    code: str, status: str, returncode: int, stdout: str | None, tmp_path: Path
) -> None:
    for _ in range(2):
        result = run(code, tmp_path)
        assert (result.status, result.returncode) == (status, returncode), result
        if stdout is not None:
            assert result.stdout == stdout
    executed = sandbox.run([sys.executable, "-I", "-S", "-c", "pass"], folder=tmp_path)
    assert {*result.layers} >= {*executed.layers} - {"no_capabilities"}


def test_the_folder_comes_and_goes_as_for_a_program_that_is_executed(tmp_path: Path) -> None:
    (tmp_path / "given").write_text("in")
    result = run("open('made', 'w').write(open('given').read())", tmp_path)
    assert result.status == "ok", result
    assert (tmp_path / "made").read_text() == "in"
    run("open('gone', 'w')", tmp_path, keep=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "made"]


LEAVES = """
import builtins, os, sys, random, threading
open('file', 'w').write('left'); open(os.path.expanduser('~/.hidden'), 'w')
os.environ['LEFT'] = 'left'; builtins.left = 'left'; sys.modules['left'] = sys; sys.path.append('left')
os.umask(0); random.seed(1); os.nice(5)
import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN); signal.setitimer(signal.ITIMER_REAL, 60)
import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
if os.fork() == 0:
    os.setsid()
    while True: pass
"""
FINDS = """
import builtins, os, sys, signal, resource, glob
print(os.listdir('.'), os.environ.get('LEFT'), hasattr(builtins, 'left'), 'left' in sys.modules, 'left' in sys.path,
    oct(os.umask(0)), signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL, signal.getitimer(signal.ITIMER_REAL)[0],
    resource.getrlimit(resource.RLIMIT_NOFILE), os.nice(0), glob.glob('/dev/shm/*'), glob.glob('/agentgauge-code/*'))
try: os.kill(3, 0)
except ProcessLookupError: print('alone')
"""


def test_nothing_of_a_program_is_left_for_the_next(tmp_path: Path) -> None:
    before = run(FINDS, tmp_path, keep=False).stdout
    assert "alone" in before
    run(LEAVES, tmp_path, keep=False)
    assert run(FINDS, tmp_path, keep=False).stdout == before


# A write of unmapped memory fails, so all that lies around the interpreter's objects can be looked through.
SEARCHES = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
read, write = os.pipe()
word, page, found, seen = 'GGGG'.replace('G', 'needle').encode()[:24], 4096, 0, 0
places = [id(object()), id(b'x' * 100), id(bytearray(9000)), id(word), ctypes.addressof(ctypes.create_string_buffer(9))]
places.append(ctypes.cast(libc.write, ctypes.c_void_p).value)
for base in {place >> 24 for place in places}:
    for at in range((base - 1) << 24, (base + 2) << 24, page):
        if libc.write(write, at, page) == page:
            seen += 1
            content = os.read(read, page)
            start = content.find(MARK)
            found += start >= 0
print(seen > 500, found)
"""


def test_what_one_program_was_given_is_nowhere_in_the_memory_of_the_next(tmp_path: Path) -> None:
    """Neither in that of the same process, as control, can it be missed."""
    mark = "'-'.join(['SECRET', str(6 * 7), 'X' * 9]).encode()"
    secret = "SECRET-42-" + "X" * 9
    own = run(f"kept = {mark} * 3\n" + SEARCHES.replace("MARK", mark), tmp_path, limits=SandboxLimits(wall_seconds=60))
    assert own.stdout.startswith("True "), own
    assert not own.stdout.endswith(" 0\n"), own
    for _ in range(3):
        run(f"text = {secret!r} * 1000; print(text)", tmp_path)
    steps = Script(
        "import os, sys\n\ndef main():\n"
        "    def read(): return os.read(0, int.from_bytes(os.read(0, 8), 'little'))\n"
        "    code = read(); os.write(1, bytes(8))\n    read()\n    names = {}\n    import io, contextlib\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out: exec(code, names)\n"
        "    text = out.getvalue().encode(); os.write(1, len(text).to_bytes(8, 'little') + text)\n    read()\n"
    )
    code = SEARCHES.replace("MARK", "bytes(reversed(b'XXXXXXXXX-24-TERCES'))")
    result = run(code, tmp_path, limits=SandboxLimits(wall_seconds=60))
    assert result.stdout == "True 0\n", result  # the former programs'
    later = sandbox.Steps((b"go", (secret * 50).encode()), wall_seconds=50)
    result = sandbox.run(
        steps, folder=tmp_path, stdin=code.encode(), steps=later, limits=SandboxLimits(wall_seconds=60)
    )
    assert result.answers[0].content == b"True 0\n", result  # its own next step


def test_random_numbers_are_new_in_each_program(tmp_path: Path) -> None:
    script = Script(
        f"import sys; sys.path += {[*package_folders()]!r}\nimport random, uuid, tempfile\n"
        "random.random(); tempfile._get_candidate_names()\n"
        "try: import numpy.random\nexcept ImportError: numpy = random\n"
        "def main(): print(random.random(), uuid.uuid4(), numpy.random.random(), tempfile.mktemp(), sep='\\n')\n"
    )
    first, second = (run("", tmp_path, script).stdout.split() for _ in range(2))
    assert len(first) == 4
    assert not {*first} & {*second}


def test_a_program_has_no_descriptor_but_its_streams(tmp_path: Path) -> None:
    code = "import os\nfor n in range(70000):\n    try: os.fstat(n); print(n)\n    except OSError: pass"
    assert run(code, tmp_path).stdout == "0\n1\n2\n"


ATTACKS = """
import os, signal, resource, ctypes, time, glob
libc = ctypes.CDLL(None, use_errno=True)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for pid in [1, *range(3, 400), *PIDS, -1]:
        for act in (
            lambda: os.kill(pid, signal.SIGKILL) if pid != -1 else None,
            lambda: os.killpg(pid, signal.SIGKILL) if pid > 2 else None,
            lambda: libc.ptrace(16, pid, None, None) == 0 and print('traced', pid),
            lambda: pid > 0 and resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)) and print('limited', pid),
            lambda: os.sched_setaffinity(pid, {0}) if pid > 2 else None,
            lambda: print('read', open(f'/proc/{pid}/mem', 'rb').read(1)),
            lambda: os.kill(pid, signal.SIGSTOP) if pid > 2 else None,
        ):
            try: act()
            except (OSError, ValueError): pass
    for name in glob.glob('/agentgauge-code/*') + glob.glob('/*/../*/*'):
        if name.endswith('beside'): print('found', name)
print('done')
"""
VICTIM = """
import os, time
open('beside', 'w').write('beside')
end, beats = time.monotonic() + 2.0, 0
while time.monotonic() < end:
    time.sleep(0.01); beats += 1
print(os.listdir('.'), open('beside').read(), beats > 20)
"""


def test_programs_side_by_side_and_their_servers_are_out_of_reach(tmp_path: Path) -> None:
    for name in ("attacker", "victim"):
        (tmp_path / name).mkdir()
    ready = [run("pass", tmp_path / "victim", keep=False)]
    with ThreadPoolExecutor(2) as pool:  # one has the server of before, the other a new one
        victim = pool.submit(run, VICTIM, tmp_path / "victim", limits=SandboxLimits(wall_seconds=20))
        time.sleep(0.3)
        known = alive()
        code = ATTACKS.replace("PIDS", repr([pid + more for pid in known for more in range(6)]))
        attacker = pool.submit(run, code, tmp_path / "attacker", limits=SandboxLimits(wall_seconds=20))
        assert attacker.result().stdout == "done\n", attacker.result()
        assert victim.result().stdout == "['beside'] beside True\n", victim.result()
    assert ready[0].status == "ok"
    assert known <= alive(), "a server has ended"
    assert run("print(1)", tmp_path / "victim").stdout == "1\n"


def test_a_script_that_leaves_a_thread_is_refused(tmp_path: Path) -> None:
    threads = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    with pytest.raises(SandboxFault, match="2 threads run"):
        run("", tmp_path, Script(threads + "def main(): pass\n"))
    with pytest.raises(SandboxFault, match="ModuleNotFoundError"):
        run("", tmp_path, Script("import no_such_module\n"))
    with pytest.raises(SandboxFault, match="defines no function main"):
        run("", tmp_path, Script("import sys; sys.stdin.read()\n"))


MANY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(b'x') * (60 << 20)
        time.sleep(9)
time.sleep(9)
"""


def test_one_process_serves_many_programs_and_ends_when_it_ran_out_of_memory(tmp_path: Path) -> None:
    for _ in range(5):
        run("pass", tmp_path)
    (server,) = alive()
    assert run(MANY, tmp_path, limits=SandboxLimits(memory_bytes=1 << 30, wall_seconds=0.5)).status == "timeout"
    assert alive() == {server}
    assert run(MANY, tmp_path, limits=SandboxLimits(memory_bytes=256 << 20)).status == "memory"
    assert server in alive()
    end(server)
    assert run("print(1)", tmp_path).stdout == "1\n"


HOSTS = {
    "max_net_namespaces": "net_ns",
    "max_uts_namespaces": "uts_ns",
    "max_ipc_namespaces": "ipc_ns",
}


@pytest.mark.parametrize("setting", HOSTS)
def test_a_host_without_one_of_the_namespaces_still_has_processes_that_stand_ready(
    setting: str, tmp_path: Path
) -> None:
    parent = (
        "from pathlib import Path\nfrom agentgauge import sandbox\n"
        "result = sandbox.run(sandbox.Script('def main(): print(1)'), folder=Path('.'))\n"
        "print(result.stdout, *result.layers)"
    )
    command = f'echo 0 > /proc/sys/user/{setting} && exec {sys.executable} -c "$CODE"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", command],
        env={**os.environ, "CODE": parent, "PYTHONPATH": str(REPOSITORY)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "proc/sys" in done.stderr:
        pytest.skip("no user namespace whose limits could be set")
    assert done.stdout.startswith("1\n"), done
    assert HOSTS[setting] not in done.stdout.split()


def test_a_folder_that_was_made_anew_is_seen_as_it_is(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.rmtree(tmp_path / "given", ignore_errors=True)
        (tmp_path / "given").mkdir(mode=0o755)
        (tmp_path / "given" / name).touch()
        (tmp_path / "work").mkdir(exist_ok=True)
        code = f"import os; print(os.listdir({str(tmp_path / 'given')!r}))"
        assert run(code, tmp_path / "work", readable=[tmp_path / "given"]).stdout == f"{[name]}\n"


def test_many_open_files_of_the_caller_do_not_matter(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert run("print(1)", tmp_path).stdout == "1\n"
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_descriptor_is_lost_where_there_are_too_few(tmp_path: Path) -> None:
    run("pass", tmp_path)
    before = {*Path("/proc/self/fd").iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for room in (1, 4, 7):
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        filling: list[int] = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    filling.append(os.open(os.devnull, os.O_RDONLY))
            for _ in range(room):
                os.close(filling.pop())
            with pytest.raises(SandboxFault, match="Too many open files"):
                run("pass", tmp_path)
        finally:
            for descriptor in filling:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert {*Path("/proc/self/fd").iterdir()} == before
    assert run("print(1)", tmp_path).stdout == "1\n"


def test_a_stop_ends_a_server_that_prepares_itself(tmp_path: Path) -> None:
    script = Script("import time; time.sleep(60)\n")
    job = Job(script, chosen()[0], folder=tmp_path)
    threading.Timer(0.3, job.stop).start()
    began = time.monotonic()
    with pytest.raises(SandboxFault):
        job.run()
    assert time.monotonic() - began < 10
    assert alive() == set()


def test_a_forked_process_has_servers_of_its_own(tmp_path: Path) -> None:
    assert run("print(1)", tmp_path).stdout == "1\n"
    before = alive()
    child = os.fork()
    if not child:
        os._exit(run("print(1)", tmp_path).stdout != "1\n")
    assert os.waitpid(child, 0)[1] == 0
    assert run("print(1)", tmp_path).stdout == "1\n"
    assert alive() == before


def test_a_program_is_ended_and_its_server_serves_on(tmp_path: Path) -> None:
    run("pass", tmp_path)
    job = Job(READS, chosen()[0], folder=tmp_path, stdin=b"import time; time.sleep(60)")
    threading.Timer(0.3, job.stop).start()
    began = time.monotonic()
    assert job.run().status == "killed"
    assert time.monotonic() - began < 10
    assert len(alive()) == 1
    assert run("print(1)", tmp_path).stdout == "1\n"


def test_more_is_prepared_while_no_program_waits(tmp_path: Path) -> None:
    script = Script(
        "import sys\nleft = ['json', 'decimal']\n\n"
        "def import_more():\n    __import__(left.pop(0))\n    return bool(left)\n\n"
        "def main(): print('decimal' in sys.modules)\n"
    )
    found = []
    for _ in range(20):
        found.append(run("", tmp_path, script).stdout)
        time.sleep(0.02)
    assert found[:2] == ["False\n"] * 2  # a run that needs few programs prepares no more
    assert found[-1] == "True\n"


@pytest.mark.parametrize(
    "spoils", ["raise ValueError", "__import__('threading').Thread(target=time.sleep, args=(60,), daemon=True).start()"]
)
def test_a_preparation_that_goes_wrong_is_as_if_it_had_not_begun(tmp_path: Path, spoils: str) -> None:
    script = Script(
        "import sys, time\nleft = [1, 2]\n\n"
        f"def import_more():\n    left.pop()\n    if len(left) == 0: {spoils}\n    return bool(left)\n\n"
        "def main(): print(left)\n"
    )
    found = []
    for _ in range(8):
        found.append(run("", tmp_path, script).stdout)
        time.sleep(0.05)
    assert found[0] == found[-1] == "[1, 2]\n"
    assert len(alive()) == 1


def test_as_another_user_the_same_holds(confined: Confined, place: Path, user: str) -> None:
    if user == "self":
        pytest.skip("the tests above")
    code = "import os; print(os.listdir('.')); open('left', 'w').write('x'); print(open('/etc/passwd').read())"
    for _ in range(2):
        answer = confined(code, script=True)
        assert answer["status"] == "error", answer
        assert answer["stdout"] == "[]\n"
        assert "/etc/passwd" in answer["stderr"]
        (place / "work" / "left").unlink()

"""Driving command-line agents: real processes, good ones and bad ones (docs/benchmarks/gta_workflow.md#packs)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import SandboxFault, UsageProblem
from bench_gta.pack.format import read_tasks
from bench_gta.pack.run import filled, read_command
from bench_gta.pack.task_folder import made_harmless
from tests.gta.pack_data import pack, stored, write_tasks
from tests.plugin.project import python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

WORKS = """
import json, sys
from pathlib import Path
prompt_file, files, inputs, number = sys.argv[1:]
prompt = Path(prompt_file).read_text()
Path(files, "report.md").write_text(prompt)
names = sorted(path.name for path in Path(inputs).iterdir())
Path("usage.json").write_text(json.dumps({"usd": 0.5, "prompt_tokens": 10, "completion_tokens": 2}))
print(f"task {number}: I wrote report.md from {names}")
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_tasks(tmp_path / "data")


class Agent:
    """An agent in a file, and its runs."""

    def __init__(self, tmp_path: Path, data: Path) -> None:
        self.script, self.out, self.data = tmp_path / "agent.py", tmp_path / "run", data

    def run(self, code: str, *more: str | Path, words: str = "") -> int:
        self.script.write_text(code)
        return pack(
            "run", "--command", f"{sys.executable} {self.script} {words}", "--out", self.out, "--data", self.data, *more
        )

    def record(self, task: int) -> Any:
        return stored(self.out / str(task) / "run.json")

    def final(self, task: int) -> str:
        return (self.out / str(task) / "final.txt").read_text()

    @property
    def tasks(self) -> dict[int, Any]:
        return {task["task_id"]: task for task in stored(self.out / "pack.json")["tasks"]}


@pytest.fixture
def agent(tmp_path: Path, data: Path) -> Agent:
    return Agent(tmp_path, data)


ONE = ("--task-ids", "ids")


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list with task 7 only, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids").write_text("7\n")


def test_an_agent_that_works_gives_a_pack(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    assert agent.run(WORKS, "--jobs", "2", words="{prompt_file} {output} {input} {task_id}") == 0
    assert list(agent.tasks) == [7, 8, 12]
    seven = agent.tasks[7]
    assert seven["assistant_outputs"][0][0]["content"] == "task 7: I wrote report.md from ['sales.csv']\n"
    assert seven["attached_files"] == ["7/files/report.md"]
    assert seven["origin_prompt"] == ["Add up files/sales.csv."]
    assert seven["meta"]["usd"] == 0.5 and seven["meta"]["elapsed_sec"] > 0
    assert seven["meta"]["status"] == "ok" and "landlock" in seven["meta"]["sandbox"]
    prompt = (agent.out / "7/files/report.md").read_text()
    assert prompt.startswith("Add up files/sales.csv.\n\nInput files:\n- input/sales.csv\n")
    assert "Input files" not in (agent.out / "8/files/report.md").read_text()
    assert "task 7: done" in capsys.readouterr().out
    assert pack("check", agent.out / "pack.json", "--data", agent.data) == 0


def test_final_txt_comes_before_what_is_printed(agent: Agent, one: None) -> None:
    assert agent.run("open('final.txt', 'w').write('from the file'); print('noise')", *ONE) == 0
    assert agent.final(7) == "from the file"
    assert (agent.out / "7/stdout.txt").read_text() == "noise\n"


def test_finished_tasks_are_not_run_again(agent: Agent, tmp_path: Path) -> None:
    code = "import time; print(time.time_ns())"
    assert agent.run(code, "--max-tasks", "2") == 0
    assert list(agent.tasks) == [7, 8]
    before = [agent.final(7), agent.final(8)]
    assert agent.run(code) == 0
    assert list(agent.tasks) == [7, 8, 12]
    assert [agent.final(7), agent.final(8)] == before


def test_failed_tasks_are_run_again_when_asked(agent: Agent) -> None:
    code = "import sys; open('usage.json', 'w').write('{\"usd\": 0.25}'); sys.exit(0 if sys.argv[1] == '7' else 3)"
    assert agent.run(code, words="{task_id}") == 1
    assert agent.run(code, words="{task_id}") == 0, "nothing was left to do"
    before = {number: agent.record(number) for number in (7, 8)}
    assert agent.run(code.replace("3)", "0)"), "--retry-failed", words="{task_id}") == 0
    assert [agent.record(number)["status"] for number in (7, 8, 12)] == ["ok"] * 3
    assert agent.record(7) == before[7]
    eight = agent.record(8)
    assert (eight["attempt"], eight["usd"], eight["usage"]["usd"], before[8]["attempt"]) == (2, 0.5, 0.25, 1)
    assert eight["elapsed_sec"] > before[8]["elapsed_sec"]
    assert agent.tasks[8]["meta"]["usd"] == 0.5
    assert sorted(path.name for path in agent.out.iterdir() if path.is_dir()) == ["12", "7", "8"]


def test_an_agent_that_was_killed_is_run_again(agent: Agent, one: None, capsys: pytest.CaptureFixture[str]) -> None:
    usage = "open('usage.json', 'w').write('{\"usd\": 0.25}'); "
    assert agent.run(f"{usage}import os; os.kill(os.getpid(), 9)", *ONE) == 1
    assert agent.tasks == {}  # it is no answer
    assert "it died of SIGKILL" in (said := capsys.readouterr().out)
    assert "the same command runs them again" in said
    assert agent.run(f"{usage}print('an answer')", *ONE) == 0
    assert (agent.final(7), agent.record(7)["attempt"], agent.record(7)["usd"]) == ("an answer\n", 2, 0.5)


@pytest.fixture
def sandbox_gone(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, no agent can be started."""

    async def none(*_: Any, **options: object) -> None:
        raise SandboxFault("the sandbox has gone")

    return lambda: monkeypatch.setattr("bench_gta.pack.run.run_program", none)


def test_an_attempt_that_cannot_be_made_leaves_the_earlier_one(
    agent: Agent, one: None, sandbox_gone: Callable[[], None]
) -> None:
    assert agent.run("open('files/half.txt', 'w').write('half'); raise SystemExit(3)", *ONE) == 1
    before = agent.record(7)
    sandbox_gone()
    assert agent.run("", "--retry-failed", *ONE) == 4
    assert agent.record(7) == before and agent.tasks[7]["attached_files"] == ["7/files/half.txt"]


def test_a_failure_says_why_and_how_to_go_on(agent: Agent, one: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert agent.run("raise RuntimeError('no \x1b[31mkey')", *ONE) == 1
    said = capsys.readouterr().out
    assert "  it said: RuntimeError: no \\x1b[31mkey\n" in said
    assert (
        f"their output: {agent.out}/7/stderr.txt and so on; the same command with --retry-failed runs them again"
        in said
    )


ESCAPES = """
from pathlib import Path
import os
for place in PLACES:
    try:
        with open(place, "a") as file:
            file.write("spoilt")
        print("wrote", place)
    except OSError as error:
        print("no", place, type(error).__name__)
for place in READS:
    try:
        print("read", place, len(open(place).read()))
    except OSError as error:
        print("no", place, type(error).__name__)
raise SystemExit(5)
"""


def test_an_agent_cannot_reach_outside_its_folder(agent: Agent, one: None, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    out = tmp_path / "run"
    writes = [
        tmp_path / "secret",
        tmp_path / "new",
        out / "7/run.json",
        out / "7/final.txt",
        out / "settings.json",
        "/usr/bin/x",
    ]
    reads = [
        tmp_path / "secret",
        "/etc/passwd",
        agent.data / "end.json",
        agent.data / "files/sales.csv",
        out / "settings.json",
        "/root",
    ]
    places = {"PLACES": [str(path) for path in writes], "READS": [str(path) for path in reads]}
    code = ESCAPES
    for word, value in places.items():
        code = code.replace(word, repr(value))
    assert agent.run(code, *ONE) == 1
    printed = (out / "7/stdout.txt").read_text().splitlines()
    assert len(printed) == len(writes) + len(reads) and all(line.startswith("no ") for line in printed), printed
    assert (tmp_path / "secret").read_text() == "secret" and not (tmp_path / "new").exists()
    assert agent.record(7)["status"] == "error"
    assert agent.final(7) == "(error) it ended with exit status 5"
    assert agent.tasks[7]["meta"]["error"] == "it ended with exit status 5"


def test_an_agent_that_hangs_is_ended(agent: Agent, one: None) -> None:
    began = time.monotonic()
    assert agent.run("print('begun', flush=True)\nimport time; time.sleep(600)", "--timeout", "1", *ONE) == 1
    assert time.monotonic() - began < 8
    assert agent.record(7)["status"] == "timeout"
    assert agent.final(7) == "(error) it ran longer than 1 s"
    assert (agent.out / "7/stdout.txt").read_text() == "begun\n"


LEAVES = """
import os, subprocess, sys, time
beat = "import time\\nwhile True:\\n    open('beat', 'a').write('x'); time.sleep(0.02)"
subprocess.Popen([sys.executable, "-c", beat], start_new_session=NEW, stdout=OUT)
while not os.path.exists("beat"):
    time.sleep(0.01)
print("done")
"""


@pytest.mark.parametrize(("sandbox", "new_session"), [((), "True"), ((), "False"), (("--no-sandbox",), "False")])
def test_children_that_are_left_behind_end(sandbox: tuple[str, ...], new_session: str, agent: Agent, one: None) -> None:
    code = LEAVES.replace("NEW", new_session).replace("OUT", "subprocess.DEVNULL")
    assert agent.run(code, *sandbox, *ONE) == 0
    size = (agent.out / "7/work/beat").stat().st_size
    time.sleep(0.15)
    assert (agent.out / "7/work/beat").stat().st_size == size
    assert agent.final(7) == "done\n"


@pytest.mark.parametrize("sandbox", [(), ("--no-sandbox",)])
def test_an_agent_that_prints_without_end_is_ended_and_little_is_kept(
    sandbox: tuple[str, ...], agent: Agent, one: None
) -> None:
    code = (
        "import sys\nfor _ in range(100):\n    sys.stdout.write('x' * 1_000_000)\nsys.stdout.flush()\nopen('files/all',"
        " 'w')"
    )
    assert agent.run(code, *sandbox, *ONE) == 1
    assert agent.record(7)["status"] == "output"
    assert (agent.out / "7/stdout.txt").stat().st_size <= 1 << 20
    assert agent.tasks[7]["attached_files"] == []
    assert agent.final(7).startswith("(error) it printed more than")


LINKS = """
import os
os.symlink("/etc/passwd", "files/passwd")
os.symlink("/etc", "files/etc")
os.symlink("/etc/passwd", "final.txt")
os.symlink("/etc/passwd", "usage.json")
open("files/good.txt", "w").write("good")
print("printed instead")
"""


@pytest.mark.parametrize("sandbox", [(), ("--no-sandbox",)])
def test_links_that_an_agent_leaves_are_never_followed(sandbox: tuple[str, ...], agent: Agent, one: None) -> None:
    assert agent.run(LINKS, *sandbox, *ONE) == 0
    task = agent.tasks[7]
    assert task["attached_files"] == ["7/files/good.txt"]
    assert agent.final(7) == "printed instead\n"
    notes = "\n".join(task["meta"]["notes"])
    for said in ("files/etc: is a link", "files/passwd: is a link", "final.txt is not read", "usage.json is not read"):
        assert said in notes
    assert "root:" not in json.dumps(task)
    assert task["meta"]["usd"] is None


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os; os.rmdir('files'); os.symlink('/etc', 'files')", "files is no longer a folder"),
        ("import os; os.rmdir('files'); open('files', 'w')", "files is no longer a folder"),
        ("open(b'files/\\xff.md', 'w')", "files/\\udcff.md: its name is not UTF-8"),
        ("open('usage.json', 'w').write('{\"usd\": -3}')", "usd must be a number"),
        ("open('usage.json', 'w').write('{\"usd\": 1e999}')", "usd must be a number"),
        ("open('usage.json', 'w').write('[' * 100000)", "it is not one small JSON object"),
        ("open('usage.json', 'wb').write(b'{}' + b' ' * 3_000_000)", "it is not one small JSON object"),
        ("import os; os.mkfifo('usage.json')", "usage.json is not a plain file"),
        ("import os; os.mkdir('final.txt')", "final.txt is not read"),
    ],
)
def test_odd_things_that_an_agent_leaves_are_noted(code: str, says: str, agent: Agent, one: None) -> None:
    assert agent.run(code, *ONE) == 0
    task = agent.tasks[7]
    assert says in "\n".join(task["meta"]["notes"])
    assert (task["meta"]["usd"], task["attached_files"]) == (None, [])


@pytest.mark.parametrize(
    ("mode", "left", "says"),
    [
        (0o4755, 0o755, "would have run with the rights of its owner"),
        (0o2755, 0o755, "would have run with the rights of its owner"),
        (0o1777, 0o777, None),
        (0, 0o600, None),
    ],
)
def test_special_bits_are_taken_away_and_rights_given_back(
    mode: int, left: int, says: str | None, tmp_path: Path
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    for file in (own / "file", other):
        file.write_text("x")
        file.chmod(mode)
    (own / "link").symlink_to(other)
    own.chmod(mode & 0o7000)
    notes = made_harmless(own)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (own, own / "file", other)] == [0o700, left, mode]
    assert len(notes) == (says is not None) and (says or "") in "".join(notes)


def test_special_files_are_removed_and_what_cannot_be_opened_is_noted(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert made_harmless(tmp_path) == ["pipe is not a plain file and is removed"]
    assert not (tmp_path / "pipe").exists()
    assert made_harmless(tmp_path / "nowhere") == [". cannot be opened again (No such file or directory)"]


def test_the_environment_is_what_was_named(agent: Agent, one: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_AGENT_KEY", "sk-very-secret-key")
    monkeypatch.setenv("OTHER_KEY", "sk-other-secret-key")
    code = "import os; print(os.environ.get('OTHER_KEY'), os.environ['MY_AGENT_KEY'][::-1], os.environ['MY_AGENT_KEY'])"
    assert agent.run(code, "--env", "MY_AGENT_KEY", *ONE) == 0
    assert agent.final(7) == f"None {'sk-very-secret-key'[::-1]} [MY_AGENT_KEY]\n"
    kept = "".join(path.read_text() for path in agent.out.rglob("*") if path.is_file())
    assert "sk-very-secret-key" not in kept and "sk-other" not in kept


@pytest.mark.parametrize("place", ["", "run", "run/old", "data", "data/files", "link"])
def test_what_an_agent_is_judged_by_cannot_be_opened(
    place: str, agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run/old").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path)
    assert agent.run("print(1)", "--readable", tmp_path / place) == 4
    assert "which holds the expected answers" in capsys.readouterr().out
    assert not (agent.out / "pack.json").exists()


@pytest.mark.parametrize(("network", "answer"), [((), "closed\n"), (("--network",), "welcome\n")])
def test_the_network_has_to_be_allowed(network: tuple[str, ...], answer: str, agent: Agent, one: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(20)

        def greet() -> None:
            try:
                with listening.accept()[0] as link:
                    link.sendall(b"welcome")
            except OSError:
                return

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        code = (
            "import socket\ntry:\n    print(socket.create_connection(('127.0.0.1',"
            f" {listening.getsockname()[1]})).recv(9).decode())\nexcept OSError:\n    print('closed')"
        )
        assert agent.run(code, *network, *ONE) == 0
        if not network:
            listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    assert agent.final(7) == answer
    assert agent.record(7)["network"] is bool(network)


def test_a_budget_stops_before_the_next_task(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    words = "{prompt_file} {output} {input} {task_id}"
    assert agent.run(WORKS, "--budget", "0.8usd", words=words) == 0
    assert list(agent.tasks) == [7, 8]
    assert "stopped: the budget of 0.8usd is used up" in capsys.readouterr().out
    assert agent.run(WORKS, "--budget", "0.8usd", words=words) == 0
    assert list(agent.tasks) == [7, 8, 12]


def test_without_the_sandbox_the_pack_says_so(agent: Agent, one: None) -> None:
    assert agent.run("print(open('/etc/passwd').read()[:4])", "--no-sandbox", *ONE) == 0
    assert agent.final(7) == "root\n"
    assert agent.record(7)["sandbox"] == "none"
    assert stored(agent.out / "pack.json")["generated_from"]["sandbox"] is False


def test_a_folder_of_another_run_is_refused(agent: Agent, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert agent.run("print(1)", "--max-tasks", "1") == 0
    assert agent.run("print(1)", words="more") == 4
    assert "holds a run of another command" in capsys.readouterr().out
    other = write_tasks(tmp_path / "other", {"7": {"dialogs": [{"role": "user", "content": "Other."}]}})
    agent.data = other
    assert agent.run("print(1)") == 4
    assert "holds a run of the task set 'data', not of 'other'" in capsys.readouterr().out
    agent.data = tmp_path / "data"
    for more, says in (
        (("--network",), "in the sandbox with the network"),
        (("--no-sandbox",), "without the sandbox with the network"),
    ):
        assert agent.run("print(1)", *more) == 4
        assert f"holds a run in the sandbox without the network, not {says}" in capsys.readouterr().out
    agent.out = other
    (tmp_path / "file").write_text("x")
    for agent.out in (other / "files", tmp_path / "file"):
        assert agent.run("print(1)", "--no-sandbox") == 4
        assert "is not empty" in capsys.readouterr().out
    assert (other / "end.json").exists()


def runs(argv: list[str]) -> bool:
    """Whether a process of this machine has this command line."""
    wanted = "\0".join([*argv, ""]).encode()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if process.read_bytes() == wanted:
                return True
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_an_interrupted_run_goes_on(number: int, agent: Agent, tmp_path: Path) -> None:
    """The signal ends the agents at once; finished tasks stay, the others are run by the next call."""
    agent.script.write_text(
        "import os, sys, time\nif sys.argv[1] == '8' and not os.path.exists(sys.argv[2]):\n   "
        " time.sleep(600)\nprint(time.time_ns())"
    )
    state = tmp_path / "state"
    state.mkdir()
    command = [
        sys.executable,
        "-m",
        "agentgauge.cli.main",
        "pack",
        "run",
        "--data",
        str(agent.data),
        "--out",
        str(agent.out),
    ]
    command += ["--command", f"{sys.executable} {agent.script} {{task_id}} {state / 'go'}", "--readable", str(state)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # tests may run under nohup
    ) as process:
        deadline = time.monotonic() + 60
        while not runs([sys.executable, str(agent.script), "8", str(state / "go")]):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and "the same command continues" in said
    assert list(agent.tasks) == [7] and not (agent.out / "8/run.json").exists()
    first = agent.final(7)
    (state / "go").write_text("")
    done = python(*command[1:], cwd=tmp_path)
    assert done.status == 0, done.output
    assert list(agent.tasks) == [7, 8, 12]
    assert agent.final(7) == first and agent.final(8) > first


def test_a_machine_that_cannot_confine_says_so(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("agentgauge.run.programs.process.sandbox.layers", lambda: ("process", "rlimits"))
    assert agent.run("print(1)") == 4
    assert "without protection of files and a closed network" in capsys.readouterr().out
    assert not agent.out.exists()
    assert agent.run("print(1)", "--no-sandbox", "--max-tasks", "1") == 0


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "is empty"),
        ("'unclosed", "cannot be read"),
        ("no-such-program-at-all x", "there is no program 'no-such-program-at-all'"),
        ("true {promt}", "{promt} is not a placeholder; known are {prompt}"),
    ],
)
def test_commands_that_are_refused(command: str, says: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        read_command(command)
    assert says in str(problem.value)


def test_placeholders_are_filled_once_and_no_shell_is_there(data: Path, tmp_path: Path) -> None:
    task = read_tasks(data).tasks[8]
    command = read_command("true --p={prompt} '{output}' {task_id} $HOME '{\"a\": 1}'")
    words = filled(command, task, "say {input}; rm -rf /", tmp_path)
    assert words[1:] == ["--p=say {input}; rm -rf /", str(tmp_path / "files"), "8", "$HOME", '{"a": 1}']


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--timeout", "0"), "--timeout must be a positive number"),
        (("--timeout", "nan"), "--timeout must be a positive number"),
        (("--timeout", "1e300"), "--timeout must be a positive number of seconds up to 2592000, not 1e+300"),
        (("--memory-mb", "99999999999999"), "up to 16777216, not 99999999999999"),
        (("--jobs", "1000000000"), "up to 256"),
        (("--max-tasks", "-1"), "--max-tasks must be 0 or more"),
        (("--jobs", "0"), "--jobs must be 1 or more"),
        (("--memory-mb", "1"), "--memory-mb must be 64 or more"),
        (("--env", "NO_SUCH_VARIABLE_HERE"), "--env NO_SUCH_VARIABLE_HERE"),
        (("--readable", "/no/such/place"), "there is no such file or folder"),
        (("--budget", "five"), "cannot be read"),
    ],
)
def test_options_that_are_refused(
    more: tuple[str, ...], says: str, agent: Agent, capsys: pytest.CaptureFixture[str]
) -> None:
    assert agent.run("print(1)", *more) == 4
    assert says in capsys.readouterr().out
    assert not agent.out.exists()

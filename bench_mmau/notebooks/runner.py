"""Runs inside the sandbox: the cells of a notebook, one after the other, in a Jupyter kernel
(docs/benchmarks/mmau.md#running-cells).

The kernel is ipykernel's, with its shell, its streams, its event loop and its messages; only its sockets are missing,
since the sandbox lets none be made, not even local ones. Requests are handed to it here, and ``Client`` makes outputs
of what it publishes, as nbclient does.

Cells come as messages, JSON, and each is answered with its outputs before the next one comes (see
``agentgauge.sandbox.Steps``). The packages that most notebooks use are imported before (see
``agentgauge.sandbox.Script``); a notebook's own import finds them loaded. Nothing here protects against the cells: they
can forge the answers of their own notebook, but printing the same text would have the same effect. Their time is
measured outside of this process. This file is read as text by ``execute``; it imports nothing of this project.
"""

# Next to descriptors and the working directory, pathlib would be of no help.
# ruff: noqa: PTH100, PTH103
from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib
import json
import logging
import math
import os
import re
import site
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass

_USUAL = [
    "numpy",
    "pandas",
    "matplotlib.font_manager",
    "matplotlib.figure",
    "scipy.stats",
    "sklearn.preprocessing",
    "sklearn.model_selection",
    "sklearn.linear_model",
    "sklearn.ensemble",
]
"""What most notebooks import, without a word from these packages. Not pyplot: it looks for the shell when it is
imported."""
_OFTEN = [
    "IPython.core.completerlib",
    "IPython.core.logger",
    "bdb",
    "pygments.formatters.terminal256",
    "stack_data",
    "tornado.platform.asyncio",
]
"""What the kernel itself imports only when a notebook runs, or fails."""
MOST_TEXT = 1_000_000  # characters of a stream's output that are kept, its beginning
WORK = "tmp"  # the working directory, as the published evaluator calls it
_TURNS = 10  # of the event loop between cells, for tasks that earlier ones have left
_REQUEST = {"silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": False}
_JSON = re.compile(r"application/(.*\+)?json$")  # the types of which an output may be any value
_BODY = b"<IDS|MSG>"  # what a message's parts begin with; header, parent, metadata and content are 2 to 5 places on


class Client:
    """The outputs of the cell that runs, of what the kernel publishes. Stands where the kernel's sockets would be."""

    def __init__(self) -> None:
        self._own = os.getpid()
        self._cell = ""  # the id of its request
        self.outputs: list[dict[str, Any]] = []
        self.count: int | None = None
        self.reply: dict[str, Any] = {}
        self.updated = False  # outputs of any cell since the present one began
        self.refused = ""  # why an output may not stand in a notebook (nbformat)
        self._shown: dict[str, list[dict[str, Any]]] = {}  # by display id
        self._clear_first = False
        self._left: dict[str, int] = {}

    def begin(self, cell: str) -> None:
        self._cell, self.outputs, self.count, self.reply = cell, [], None, {}
        self.updated, self._clear_first, self.refused = False, False, ""
        self._left = {"stdout": MOST_TEXT, "stderr": MOST_TEXT}

    def send_multipart(self, parts: list[Any], *args: Any, **kwargs: Any) -> None:
        at = parts.index(_BODY)
        kind, parent = (json.loads(parts[at + place]) for place in (2, 3))
        self._process(kind["msg_type"], parent, json.loads(parts[at + 5]))

    def _process(self, kind: str, parent: dict[str, Any], content: dict[str, Any]) -> None:
        if os.getpid() != self._own:  # a process that a cell has forked: its text goes where its descriptors lead
            if kind == "stream":
                os.write(1 if content["name"] == "stdout" else 2, content["text"].encode("utf-8", "replace"))
            return
        if parent.get("msg_id") != self._cell:
            return  # from an earlier cell, or from nowhere
        if kind == "execute_reply":
            self.reply = content
        self.count = content.get("execution_count", self.count)
        display_id = (content.get("transient") or {}).get("display_id")
        shown: dict[str, Any] = {name: content[name] for name in ("data", "metadata") if name in content}
        if display_id and kind in ("execute_result", "display_data", "update_display_data"):
            for output in self._shown.get(display_id, ()):
                output.update(shown)
                self.updated = True
        match kind:
            case "clear_output":
                self._clear_first = bool(content.get("wait"))
                if not self._clear_first:
                    self.outputs = []
            case "stream":
                name, text = content["name"], content["text"][: self._left[content["name"]]]
                self._left[name] -= len(text)
                if text:
                    self._add({"output_type": kind, "name": name, "text": text})
            case "display_data":
                self._add({"output_type": kind, **shown}, display_id)
            case "execute_result":
                self._add({"output_type": kind, "execution_count": content["execution_count"], **shown}, display_id)
            case "error":
                self._add({"output_type": kind, **{name: content[name] for name in ("ename", "evalue", "traceback")}})

    def _add(self, output: dict[str, Any], display_id: str | None = None) -> None:
        for kind, value in output.get("data", {}).items():
            lines = value if isinstance(value, list) else [value]
            if not _JSON.match(kind) and not all(isinstance(line, str) for line in lines):
                self.refused = f"NotebookValidationError: {value!r} is no output of the type {kind!r}, which is text"
        if self._clear_first:
            self.outputs, self._clear_first = [], False
        self.outputs.append(output)
        if display_id:
            self._shown.setdefault(display_id, []).append(output)


class Channel:
    """The messages, out of the way of the cells' own streams."""

    def __init__(self) -> None:
        self._in, self._out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)

    def receive(self) -> Any:
        content = self._in.read(int.from_bytes(self._in.read(8), "little"))
        return json.loads(content) if content else None

    def answer(self, value: Any) -> None:
        content = b"" if value is None else json.dumps(value).encode("ascii")
        self._out.write(len(content).to_bytes(8, "little") + content)
        self._out.flush()


def make_streams(kernel: Any, client: Client) -> None:
    """Publish what cells print, and what is written to their descriptors by child processes and libraries.

    A kernel has threads that publish what was printed 0.2 s ago. Here that is done before the next text is taken in:
    the messages are the same, and those of one run as those of another.
    """
    from ipykernel import iostream  # type: ignore[import-not-found,unused-ignore]
    from tornado.log import gen_log  # type: ignore[import-not-found,import-untyped,unused-ignore]

    publisher: Any = iostream.IOPubThread
    base: Any = iostream.OutStream

    class Publisher(publisher):  # type: ignore[misc,unused-ignore]
        def _setup_event_pipe(self) -> None:
            """It is never started, and then sends at once."""

    class OutStream(base):  # type: ignore[misc,unused-ignore]
        def __init__(self, name: str, number: int) -> None:
            super().__init__(kernel.session, thread, name, watchfd=False)
            self.due: float | None = None  # when what is here is to be published
            self._original_stdstream_copy = os.dup(number)  # the one that fileno() gives
            self._file, self._read, self._reading = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600), 0, threading.Lock()
            fcntl.fcntl(self._file, fcntl.F_SETFL, os.O_APPEND)
            os.dup2(self._file, number)

        def _take(self) -> None:
            """Take in what came through the descriptor."""
            with self._reading:
                found = os.fstat(self._file)
                content = os.pread(self._file, found.st_size - self._read, self._read)
                self._read += len(content)
                if content:
                    super().write(content.decode("utf-8", "replace"))
                    came = time.monotonic() - max(time.time() - found.st_mtime, 0)
                    self.due = min(self.due or math.inf, came + self.flush_interval)

        def write(self, text: str) -> int:
            catch_up()
            written: int = super().write(text)
            return written

        def flush(self) -> None:
            catch_up()
            super().flush()

        def _schedule_flush(self) -> None:
            self.due = self.due or time.monotonic() + self.flush_interval

        def _flush(self) -> None:
            self.due = None
            try:
                super()._flush()
            except Exception:
                gen_log.error("Uncaught exception in ZMQStream callback", exc_info=True)

    def catch_up() -> None:
        if os.getpid() != thread._master_pid:
            return
        waiting = [stream for stream in streams if not stream.closed]
        for stream in waiting:
            stream._take()
        for stream in sorted((one for one in waiting if one.due), key=lambda one: one.due):
            if stream.due <= time.monotonic():
                stream._flush()

    thread = Publisher(client)
    kernel.iopub_thread, kernel.iopub_socket = thread, thread.background_socket
    for hook in (kernel.shell.displayhook, kernel.shell.display_pub):
        hook.pub_socket = thread.background_socket
    streams: list[Any] = []
    streams += [OutStream("stdout", 1), OutStream("stderr", 2)]
    sys.stdout, sys.stderr = kernel._stdout, kernel._stderr = streams
    kernel._initialize_thread_hooks()


def make_kernel() -> Any:
    """A kernel that publishes nothing yet, with the settings and arguments that nbclient gives it."""
    sys.modules["debugpy"] = None  # type: ignore[assignment]  # it takes long, and would need a socket
    from ipykernel import ipkernel  # type: ignore[import-not-found,unused-ignore]
    from ipykernel.kernelapp import IPKernelApp  # type: ignore[import-not-found,unused-ignore]
    from ipykernel.zmqshell import ZMQInteractiveShell  # type: ignore[import-not-found,unused-ignore]
    from IPython.utils.text import LSString, SList  # type: ignore[import-not-found,unused-ignore]
    from traitlets.config import Config  # type: ignore[import-not-found,unused-ignore]

    def executed(shell: Any, command: str, depth: int) -> Any:
        return subprocess.run(
            shell.var_expand(command, depth=depth + 2), shell=True, stdin=subprocess.DEVNULL, stdout=-1, stderr=-2
        )

    class Shell(ZMQInteractiveShell):  # type: ignore[misc,unused-ignore]
        def system(self, cmd: str) -> None:
            """``!cmd``. A kernel gives the command a terminal, hence the line ends; there is none in the sandbox."""
            done = executed(self, cmd, 0)
            print(done.stdout.decode("utf-8", "replace").replace("\n", "\r\n"), end="")
            self.user_ns["_exit_code"] = done.returncode

        def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
            """``!!cmd`` and ``x = !cmd``."""
            text = executed(self, cmd, depth).stdout.decode("utf-8", "replace")
            return SList(text.splitlines()) if split else LSString(text)

    Shell.__name__ = Shell.__qualname__ = "ZMQInteractiveShell"
    Shell.__module__ = ZMQInteractiveShell.__module__
    launcher, connection = importlib.import_module("ipykernel").__path__[0], "/tmp/tmpk1v9x2ab.json"
    sys.argv = [f"{launcher}_launcher.py", "-f", connection, "--HistoryManager.hist_file=:memory:"]
    config = Config({"IPKernelApp": {"connection_file": connection}, "HistoryManager": {"hist_file": ":memory:"}})
    app: Any = IPKernelApp.instance(config=config)
    kernels: Any = ipkernel.IPythonKernel
    hooks = kernels._initialize_thread_hooks
    kernels._initialize_thread_hooks = lambda kernel: None  # they keep the streams, which are yet to come
    kernel = kernels.instance(parent=app, session=app.session, shell_class=Shell, log=app.log, user_ns=None)
    kernels._initialize_thread_hooks = hooks
    del sys.modules["debugpy"]
    app.kernel, app.shell = kernel, kernel.shell
    app.init_extensions()
    app.configure_tornado_logger()
    return kernel


def no_font_news(record: logging.LogRecord) -> bool:
    """Each notebook has an empty home, so matplotlib searches for fonts again and warns if that is slow; a kernel would
    not warn."""
    return not record.getMessage().startswith("Matplotlib is building the font cache")


def prepare() -> Any:
    """Make a kernel before any notebook is known, and before packages are imported, because some packages look for
    it.
    """
    site.main()  # for the path, and for the names that it adds to the builtins
    packages = [place for place, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(min(packages, default=0), "")  # as IPython does, after the standard library
    logging.getLogger("matplotlib.font_manager").addFilter(no_font_news)
    os.environ["IPYTHONDIR"] = os.path.abspath(".ipython")
    for name in _OFTEN:
        importlib.import_module(name)
    os.makedirs(WORK)
    os.chdir(WORK)  # the shell keeps where it began
    kernel = make_kernel()
    kernel.shell.run_cell("pass", silent=True, store_history=False)
    os.chdir("..")
    return kernel


def import_more() -> bool:
    """Import one more of the usual packages, as a cell does. Returns whether there are others."""
    with READY.shell.builtin_trap, contextlib.suppress(ImportError):
        importlib.import_module(_USUAL.pop(0))
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(1)  # a timer that matplotlib has cancelled
    return bool(_USUAL)


async def run_cells(kernel: Any, channel: Channel, client: Client) -> None:
    """Run one cell after the other; the sandbox ends this process after the last answer."""
    own = os.getpid()
    executed: list[list[Any]] = []
    while True:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        source, may_fail = channel.receive()
        request = kernel.session.msg("execute_request", {**_REQUEST, "code": source})
        client.begin(request["header"]["msg_id"])
        kernel.set_parent([], request, channel="shell")
        kernel.pre_handler_hook()
        await kernel.execute_request(client, [], request)
        if os.getpid() != own:
            os._exit(0)  # a child that a cell has forked and that did not end
        kernel.post_handler_hook()
        failed = client.refused or None
        if client.reply.get("status") == "error" and not may_fail:
            failed = failed or error_of(source, client)
        executed.append([len(executed), client.count, client.outputs])
        channel.answer({"failed": failed, "executed": executed if client.updated else executed[-1:]})
        if failed is not None:
            os._exit(0)  # threads of the cells need not be waited for


def error_of(source: str, client: Client) -> str:
    """The cell, what it printed, and its traceback."""
    parts = [f"This cell failed:\n{source.rstrip()}"]
    for output in client.outputs:
        if output["output_type"] == "stream":
            parts.append(f"Its {output['name']}:\n{output['text'].rstrip()}")
    reply = client.reply
    return "\n\n".join([*parts, "\n".join(reply["traceback"]) or f"{reply['ename']}: {reply['evalue']}"])


def main() -> None:
    from tornado.ioloop import IOLoop  # type: ignore[import-not-found,import-untyped,unused-ignore]

    channel = Channel()
    channel.receive()
    kernel = READY
    os.makedirs(WORK, exist_ok=True)
    os.chdir(WORK)
    os.makedirs(kernel.shell.profile_dir.location, exist_ok=True)
    kernel.shell.profile_dir.check_dirs()
    kernel.session.pid = os.getpid()
    client = Client()
    make_streams(kernel, client)
    kernel.io_loop = IOLoop.current()
    channel.answer(None)

    async def serve() -> None:
        try:
            await run_cells(kernel, channel, client)
        finally:
            os._exit(1)  # the kernel has failed

    kernel.io_loop.add_callback(serve)
    kernel.io_loop.start()
    os._exit(0)  # an earlier cell has left the kernel


READY = prepare()
if __name__ == "__main__":
    main()

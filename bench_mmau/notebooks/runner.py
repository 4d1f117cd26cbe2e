"""Runs inside the sandbox: the cells of a notebook, one after the other, as a Jupyter kernel would (MMAU spec 7.2).

A kernel proper talks to its client through sockets, and the sandbox lets none be made, not even local ones. So the
cells run in this process, in the shell that such a kernel has inside, and a few classes collect what it would send:
streams, displays, results and errors, as nbformat 4 has them.

Cells come as messages, JSON, and each is answered with its outputs before the next one comes (see
``agentgauge.sandbox.Steps``). The packages that most notebooks use are imported before (see
``agentgauge.sandbox.Script``); a notebook's own import finds them loaded. Nothing here protects against the cells: they
can forge the answers of their own notebook, but printing the same text would have the same effect. Their time is
measured outside of this process. This file is read as text by ``execute``; it imports nothing of this project.
"""

# Next to descriptors and the working directory, pathlib would be of no help.
# ruff: noqa: PTH100, PTH103
from __future__ import annotations

import base64
import contextlib
import importlib
import io
import json
import logging
import os
import site
import subprocess
import sys
import threading
from typing import Any

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
MOST_TEXT = 1_000_000  # characters of a stream's output that are kept, its beginning
WORK = "tmp"  # the working directory, as the published evaluator calls it


class Recorder:
    """The outputs of the cell that runs. Consecutive pieces of one stream are one output."""

    def __init__(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.count = 0  # the cell's number, from 1
        self.updated = False  # outputs of any cell since the present one began
        self._by_id: dict[str, list[dict[str, Any]]] = {}
        self._clear_first = False

    def begin(self) -> None:
        self.outputs, self.count, self._clear_first, self.updated = [], self.count + 1, False, False

    def add(self, output: dict[str, Any], display_id: str | None = None) -> None:
        if self._clear_first:
            self.outputs, self._clear_first = [], False
        last = self.outputs[-1] if self.outputs else {}
        if output["output_type"] == "stream" == last.get("output_type") and last["name"] == output["name"]:
            last["text"] += output["text"][: MOST_TEXT - len(last["text"])]
            return
        if output["output_type"] == "stream":
            output["text"] = output["text"][:MOST_TEXT]
        self.outputs.append(output)
        if display_id is not None:
            self._by_id.setdefault(display_id, []).append(output)

    def update(self, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None) -> None:
        for output in self._by_id.get(display_id or "", []):
            output.update(data=data, metadata=metadata)
            self.updated = True

    def clear(self, wait: bool) -> None:
        self._clear_first = wait
        if not wait:
            self.outputs = []


class Stream(io.TextIOBase):
    """``sys.stdout`` or ``sys.stderr`` of the cells."""

    encoding = "UTF-8"

    def __init__(self, recorder: Recorder, name: str, descriptor: int) -> None:
        self._recorder, self._stream, self._descriptor = recorder, name, descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        if text:
            self._recorder.add({"output_type": "stream", "name": self._stream, "text": text})
        return len(text)


class Descriptor:
    """The output that child processes and libraries write past ``sys``: the descriptor leads to a file, read after each
    cell.
    """

    def __init__(self, number: int, name: str, path: str) -> None:
        self._name, self._read = name, 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.dup2(self._file, number)

    def collect(self, recorder: Recorder) -> None:
        content = os.pread(self._file, max(os.fstat(self._file).st_size - self._read, 0), self._read)
        self._read += len(content)
        if content:
            recorder.add({"output_type": "stream", "name": self._name, "text": content.decode("utf-8", "replace")})


def encoded(data: dict[str, Any]) -> dict[str, Any]:
    """Pictures as base64 text; what is no JSON as its text."""
    plain = {
        kind: base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for kind, value in data.items()
    }
    found: dict[str, Any] = json.loads(json.dumps(plain, default=str))
    return found


def make_shell(recorder: Recorder) -> Any:
    """The shell. Its class has the name of the kernel's, and it has a ``kernel``: pandas shapes its tables by both.

    An error while a result is formatted does not fail the cell; so it is up to ipykernel 6, of the published
    evaluator's time.
    """
    from IPython.core.displayhook import DisplayHook  # type: ignore[import-not-found,unused-ignore]
    from IPython.core.displaypub import DisplayPublisher  # type: ignore[import-not-found,unused-ignore]
    from IPython.core.interactiveshell import InteractiveShell  # type: ignore[import-not-found,unused-ignore]
    from IPython.utils.text import LSString, SList  # type: ignore[import-not-found,unused-ignore]
    from traitlets.config import Config  # type: ignore[import-not-found,unused-ignore]

    class Results(DisplayHook):  # type: ignore[misc,unused-ignore]
        def write_output_prompt(self) -> None:
            pass

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            content = {"data": encoded(format_dict), "metadata": encoded(md_dict or {})}
            recorder.add({"output_type": "execute_result", "execution_count": recorder.count, **content})

        def log_output(self, format_dict: Any) -> None:
            pass

    class Displays(DisplayPublisher):  # type: ignore[misc,unused-ignore]
        def publish(
            self,
            data: Any,
            metadata: Any = None,
            *args: Any,
            transient: Any = None,
            update: bool = False,
            **kwargs: Any,
        ) -> None:
            content, described = encoded(data), encoded(metadata or {})
            display_id = (transient or {}).get("display_id")
            if update:
                recorder.update(content, described, display_id)
            else:
                recorder.add({"output_type": "display_data", "data": content, "metadata": described}, display_id)

        def clear_output(self, wait: bool = False) -> None:
            recorder.clear(wait)

    class ZMQInteractiveShell(InteractiveShell):  # type: ignore[misc,unused-ignore]
        kernel = None
        left = False  # by exit() or quit()

        def ask_exit(self) -> None:
            self.left = True

        def enable_gui(self, gui: Any = None) -> None:
            pass

        def system(self, cmd: str) -> None:
            """``!cmd``. The original gives the command a terminal, hence the line ends; there is none in the
            sandbox."""
            expanded = self.var_expand(cmd, depth=1)  # type: ignore[no-untyped-call,unused-ignore]
            done = subprocess.run(expanded, shell=True, stdin=subprocess.DEVNULL, stdout=-1, stderr=-2)
            print(done.stdout.decode("utf-8", "replace").replace("\n", "\r\n"), end="")
            self.user_ns["_exit_code"] = done.returncode

        def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
            """``!!cmd`` and ``x = !cmd``."""
            expanded = self.var_expand(cmd, depth=depth + 1)  # type: ignore[no-untyped-call,unused-ignore]
            done = subprocess.run(expanded, shell=True, stdin=subprocess.DEVNULL, stdout=-1, stderr=-2)
            text = done.stdout.decode("utf-8", "replace")
            return SList(text.splitlines()) if split else LSString(text)

        def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
            recorder.add(
                {
                    "output_type": "error",
                    "ename": str(etype.__name__),
                    "evalue": str(evalue),
                    "traceback": [str(one) for one in stb],
                }
            )

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.displayhook_class = Results
    config.InteractiveShell.display_pub_class = Displays
    shell = ZMQInteractiveShell.instance(config=config, displayhook_class=Results, display_pub_class=Displays)
    shell.set_hook("show_in_pager", lambda *args, **kwargs: None, 0)  # type: ignore[no-untyped-call,unused-ignore]  # help is no output
    return shell


def no_font_news(record: logging.LogRecord) -> bool:
    """Each notebook has an empty home, so matplotlib searches for fonts again and warns if that is slow; a kernel would
    not warn."""
    return not record.getMessage().startswith("Matplotlib is building the font cache")


def last_error(outputs: list[dict[str, Any]]) -> str:
    """The last two levels of the traceback."""
    for output in reversed(outputs):
        if output["output_type"] == "error":
            return "\n".join(output["traceback"][-2:]) or f"{output['ename']}: {output['evalue']}"
    return "the cell failed without a traceback"


class Channel:
    """The messages, out of the way of the cells' own streams."""

    def __init__(self) -> None:
        self._in, self._out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)

    def receive(self) -> Any:
        content = self._in.read(int.from_bytes(self._in.read(8), "little"))
        return json.loads(content) if content else None

    def answer(self, value: Any) -> None:
        content = b"" if value is None else json.dumps(value).encode("ascii")
        self._out.write(len(content).to_bytes(8, "little") + content)
        self._out.flush()


def prepare() -> tuple[Any, Recorder]:
    """Make a shell before any notebook is known, and before packages are imported, because some packages look for
    it.
    """
    site.main()  # for the path, and for the names that it adds to the builtins
    sys.path.insert(0, "")
    logging.getLogger("matplotlib.font_manager").addFilter(no_font_news)
    os.environ["IPYTHONDIR"] = os.path.abspath(".ipython")
    importlib.import_module("IPython.core.completerlib")
    os.makedirs(WORK)
    os.chdir(WORK)  # the shell keeps where it began
    recorder = Recorder()
    shell = make_shell(recorder)
    os.chdir("..")
    return shell, recorder


def improve() -> bool:
    """Import one more of the usual packages, as a cell does. Returns whether there are others."""
    with READY[0].builtin_trap, contextlib.suppress(ImportError):
        importlib.import_module(_USUAL.pop(0))
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(1)  # a timer that matplotlib has cancelled
    return bool(_USUAL)


def main() -> None:
    channel = Channel()
    channel.receive()
    shell, recorder = READY
    home = os.path.abspath(".")
    os.makedirs(WORK, exist_ok=True)
    os.chdir(WORK)
    os.makedirs(shell.profile_dir.location, exist_ok=True)
    shell.profile_dir.check_dirs()
    descriptors = [Descriptor(number, name, f"{home}/.{name}") for number, name in ((1, "stdout"), (2, "stderr"))]
    sys.stdout, sys.stderr = Stream(recorder, "stdout", 1), Stream(recorder, "stderr", 2)
    own = os.getpid()
    executed: list[list[Any]] = []
    channel.answer(None)
    while True:  # the sandbox ends this process after the last answer
        source, may_fail = channel.receive()
        if shell.left:
            channel.answer({"failed": "DeadKernelError: an earlier cell has left the kernel"})
            continue
        recorder.begin()
        result = shell.run_cell(source, store_history=True)
        if os.getpid() != own:
            os._exit(0)  # a child that a cell has forked and that did not end
        for descriptor in descriptors:
            descriptor.collect(recorder)
        failed = None if result.success or may_fail else last_error(recorder.outputs)
        executed.append([len(executed), recorder.count, recorder.outputs])
        channel.answer({"failed": failed, "executed": executed if recorder.updated else executed[-1:]})
        if failed is not None:
            os._exit(0)  # threads of the cells need not be waited for


READY = prepare()
if __name__ == "__main__":
    main()

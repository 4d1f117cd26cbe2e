"""Notebooks: cells of every shape, what is shown of them, answers, strict scoring, and cells that mean harm."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgauge.core.errors import UsageProblem
from agentgauge.core.estimate import totals
from bench_mmau.fixes import PARITY, STRICT, Fixes
from bench_mmau.metrics import NOTEBOOKS, RECORDS, RecordVerdict, formula
from bench_mmau.notebooks import cells, execute, score
from bench_mmau.notebooks.execute import ExecutionLimits, ExecutionSettings, run_cells
from bench_mmau.replies import NotScorable, StopsOnReply
from tests.costly import COSTLY

pytestmark = pytest.mark.slow

BOUND = 60.0  # seconds; an idle machine needs a few


def code(*lines: str, **metadata: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": metadata, "source": list(lines), "outputs": [], "execution_count": None}


TEXT = {"cell_type": "markdown", "metadata": {}, "source": ["# T"]}


def record(**changed: Any) -> dict[str, Any]:
    return {
        "id": "turn",
        "messages": [{"role": "user", "content": "Go on."}],
        "notebook": {"nbformat": 4, "cells": [code("base = 5\n")]},
        "image_expected": False,
        "questions": ["How much?"],
        "gt_answers": ["A"],
    } | changed


def _limits_of(cell_seconds: float, **limits: int) -> ExecutionLimits:
    return ExecutionLimits(cell_seconds, resources=replace(ExecutionLimits().resources, **limits))


def texts(found: execute.Execution) -> str:
    assert found.success, found.error
    return "".join(output.get("text", "") for cell in found.cells for output in cell.get("outputs", []))


def kinds(cell: Mapping[str, Any]) -> list[str]:
    return [output.get("text", output["output_type"]) for output in cell["outputs"]]


# -- cells of a reply

A_CELL = '{"cell_type": "code", "source": ["a"]}'


@pytest.mark.parametrize(
    ("reply", "parity", "strict"),
    [
        ('[{"cell_type": "code", "source": ["a", "b\\n"]}]', [["a\n", "b\n"]], [["a\n", "b\n"]]),
        ('[{"cell_type": "code", "source": "ab\\nc"}]', [["a\n", "b\n", "\n", "c\n"]], [["ab\n", "c\n"]]),
        ('{"cells": [{"cell_type": "code", "source": ["a"]}]}', ["cells"], [["a\n"]]),
        ('[{"cell_type": "code", "source": "\u2028\\n"}]', [["\u2028\n", "\n"]], [["\u2028\n"]]),
        ('{"cell_type": "code", "source": ["a"]}', ["cell_type", "source"], [["a\n"]]),
        ('```\n[{"cell_type": "code", "source": []}]```', [[]], [[]]),
        ('[{"cell_type": "code"}]', [[]], [[]]),
        ('[{"cell_type": "code", "source": {"a": 1}}]', [["a\n"]], [{"a": 1}]),
        ('[{"cell_type": "code", "source": [1]}]', NotScorable, [[1]]),
        ('[{"cell_type": "code", "source": null}]', NotScorable, [None]),
        ("[]", [], []),
        ("3", NotScorable, None),
        ("null", NotScorable, None),
        ("true", NotScorable, None),
        ("1" * 10_000, NotScorable, None),
        ('["x"]', ["x"], None),
        ('"xy"', ["x", "y"], None),
        ("{}", [], None),
        ("sorry", None, None),
        ('See [1]:\n```json\n[{"cell_type": "code", "source": ["a"]}]\n```', None, [["a\n"]]),
        ('[{"cell_type": "x", "source": ["```b"]}]', [["b"]], [["```b"]]),
        (f'Uses columns ["x"] and {{"y": []}}:\n[{A_CELL}]', None, [["a\n"]]),
        (f"{A_CELL}\nthen\n{A_CELL.replace('a', 'b')}", None, [["a\n"], ["b\n"]]),
        (f"[{A_CELL}]\n\nAgain:\n[{A_CELL}]", None, [["a\n"]]),
        (f'[{A_CELL}]\n\nOr:\n{{"cells": [{A_CELL}, {A_CELL}]}}', None, None),
        ("The list [] is empty", None, None),
        ("[" * 100_000, NotScorable, None),
        ("", None, None),
    ],
)
def test_read_cells(reply: str, parity: Any, strict: Any) -> None:
    for fixes, expected in ((PARITY, parity), (STRICT, strict)):
        if expected is NotScorable or expected is None:
            with pytest.raises(expected or cells.NoCells):
                cells.read_cells(reply, "turn", fixes=fixes)
        else:
            found = cells.read_cells(reply, "turn", fixes=fixes)
            assert [cell["source"] if isinstance(cell, dict) else cell for cell in found] == expected


@given(st.text())
@settings(deadline=None)
def test_any_reply_gives_cells_or_is_refused(reply: str) -> None:
    for fixes in (PARITY, STRICT):
        try:
            cells.read_cells(reply, "turn", fixes=fixes)
        except (cells.NoCells, NotScorable):
            continue


def test_null_content() -> None:
    with pytest.raises(NotScorable, match="no text"):
        cells.build(record(), [None])
    (found,) = cells.build(record(), [None], fixes=STRICT)
    assert found.problem == cells.UNREADABLE


@pytest.mark.parametrize("name", ["messages", "notebook"])
def test_damaged_record(name: str) -> None:
    with pytest.raises(NotScorable, match="a list is needed"):
        cells.build(record(**{name: {"cells": 3}}), ["[]"])


# -- running


def test_state_is_shared_and_counts_go_up() -> None:
    found = run_cells([code("base = 5\n"), TEXT, code(" \n"), code("base\n")], ExecutionSettings())
    assert found.success
    assert found.cells[3]["outputs"] == [
        {"output_type": "execute_result", "execution_count": 2, "data": {"text/plain": "5"}, "metadata": {}}
    ]
    assert found.cells[3]["execution_count"] == 2


def test_figures_become_pictures() -> None:
    pytest.importorskip("matplotlib")
    found = run_cells(
        [code("import matplotlib.pyplot as plt\n", "plt.plot([1, 2])\n", "plt.show()\n")], ExecutionSettings()
    )
    assert found.success, found.error
    (output,) = found.cells[0]["outputs"]
    assert output["data"]["image/png"].startswith("iVBOR")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nprint('a')\nos.system('echo b')", ["a\nb\n", "execute_result"]),
        ("!echo a", ["a\r\n"]),
        ("word = 'a'\nfound = !echo {word}\nprint(found)\n!false\nprint(_exit_code)", ["['a']\n1\n"]),
        ("from IPython.display import clear_output\nprint('a')\nclear_output()\nprint('b')", ["b\n"]),
        ("from IPython.display import clear_output\nprint('a')\nclear_output(wait=True)\nprint('b')", ["b\n"]),
        ("import asyncio\nawait asyncio.sleep(0)\nprint('a')", ["a\n"]),
        ("1;", []),
        ("?len", []),
        ("class A:\n def _repr_html_(self): raise ValueError\nA()\n", ["error", "execute_result"]),
        ("import os\nprint(os.listdir('.'), os.environ.get('HOME') == os.path.dirname(os.getcwd()))", ["[] True\n"]),
    ],
)
def test_outputs(source: str, expected: list[str]) -> None:
    found = run_cells([code(source)], ExecutionSettings())
    assert found.success, found.error
    assert kinds(execute.whole(found.cells[0])) == expected


@pytest.mark.parametrize(
    "source",
    [
        "print('x' * 30_000_000)",
        "for _ in range(30): print('x' * 1_000_000)",
        "!head -c 30000000 /dev/zero | tr '\\0' x",
    ],
)
def test_long_outputs_are_cut(source: str) -> None:
    """Three of them would be more than all cells of a notebook may answer."""
    found = run_cells([code(source)] * 3, ExecutionSettings())
    assert found.success, found.error
    assert [len(output["text"]) for cell in found.cells for output in cell["outputs"]] == [1_000_000] * 3


def test_tables_have_the_shape_that_they_have_in_a_kernel() -> None:
    pytest.importorskip("pandas")
    found = run_cells(
        [code("import pandas\n", "print(pandas.DataFrame([range(40)]))\n", "print(pandas.DataFrame(range(100)))")],
        ExecutionSettings(),
    )
    assert "[1 rows x 40 columns]" in texts(found) and "  \\\n" in texts(found)  # 20 columns, in two parts
    assert "[100 rows x 1 columns]" in texts(found)


def test_a_display_is_updated_in_place() -> None:
    lines = ("from IPython.display import display\n", "handle = display('a', display_id=True)\n")
    found = run_cells([code(*lines), code("handle.update('b')\n")], ExecutionSettings())
    assert [[output["data"] for output in cell["outputs"]] for cell in found.cells] == [[{"text/plain": "'b'"}], []]


@pytest.mark.parametrize(
    ("cells_", "error"),
    [
        ([code("1/0")], "ZeroDivisionError: division by zero"),
        ([code("a\n", "=\n", "1\n")], "SyntaxError"),
        ([code("import sys\nsys.exit(0)")], "SystemExit"),
        ([code("print(1)"), "cells"], "cell 2 is no notebook cell: it is no object"),
        ([{"source": []}], "no cell_type"),
        ([{"cell_type": "code", "source": [1]}], "no list of lines"),
        ([{"cell_type": "code", "source": [], "metadata": [1]}], "metadata"),
        ([code("raise ValueError(chr(0xd800))")], "UnicodeEncodeError"),
        ([code("class E(Exception):\n def __str__(self): raise RuntimeError\nraise E")], ""),
    ],
)
def test_failures(cells_: list[Any], error: str) -> None:
    found = run_cells(cells_, ExecutionSettings())
    assert not found.success
    assert error in found.error
    assert "\x1b" not in found.error


# What ipykernel 6.29.5 under nbclient 0.10.0 makes of these cells: the texts, or the last line of the error.
LATE = "import sys\nsys.stdout.flush_interval = sys.stderr.flush_interval = 60\n"  # on a busy machine, too
FORK = "from multiprocessing import Lock, Pool, Process, Queue\n"
KERNEL: list[tuple[list[str], list[str] | str]] = [
    (["exit(1)", "print('on')"], ["on\n"]),
    (["exit(keep_kernel=True)", "print('on')"], ["on\n"]),
    (["quit()\nprint('on')"], ["on\n"]),
    (["exit()\nimport time; time.sleep(0.5)", "1"], "DeadKernelError: the kernel died in cell 2"),
    (["import asyncio\nasync def f(): pass\nasyncio.run(f())"], "cannot be called from a running event loop"),
    (["import asyncio\nprint(asyncio.get_running_loop().is_running())"], ["True\n"]),
    (["import asyncio\nawait asyncio.sleep(0)\nl = asyncio.get_event_loop()", "print(l.is_closed())"], ["False\n"]),
    (["import asyncio\nasync def f(): pass\nt = asyncio.create_task(f())", "print(t.done())"], ["True\n"]),
    (["async def f(): return 'in'\nprint(await f())"], ["in\n"]),
    (["input()"], "StdinNotImplementedError: raw_input was called, but this frontend does not support input requests."),
    (["import getpass\ngetpass.getpass()"], "StdinNotImplementedError: getpass was called, but this frontend does not"),
    (["import sys\nprint(repr(sys.stdin.read()))"], ["''\n"]),
    (["import argparse\nargparse.ArgumentParser().parse_args()"], "SystemExit: 2"),
    (["import sys\nprint(sys.argv[0][-21:], sys.argv[1], len(sys.argv))"], ["ipykernel_launcher.py -f 4\n"]),
    (["print(__name__, __doc__)"], ["__main__ Automatically created module for IPython interactive environment\n"]),
    ([FORK + "def f(x): return x * x\nwith Pool(2) as pool: print(pool.map(f, [1, 2]))"], ["[1, 4]\n"]),
    ([FORK + "q = Queue()\np = Process(target=q.put, args=(1,)); p.start(); print(q.get()); p.join()"], ["1\n"]),
    ([FORK + "with Lock(): print('in')"], ["in\n"]),
    ([FORK + "p = Process(target=print, args=('child',)); p.start(); p.join(); print('on')"], ["child\non\n"]),
    (["from IPython.display import publish_display_data as p\np({'a/b': {'c': 1}})"], "NotebookValidationError"),
    (["from IPython.display import publish_display_data as p\np({'a/b': b'x', 'c/d': ['x']})\nprint(1)"], ["1\n"]),
    (["from IPython.display import publish_display_data as p\np({'application/x+json': {'c': 1}})\nprint(1)"], ["1\n"]),
    (["display({'application/json': {'c': {1}}}, raw=True)\nprint(1)"], ["1\n"]),
    (["from IPython.display import publish_display_data as p\np({'a/b': object()})"], "Can't clean for JSON"),
    (["class A:\n def _repr_mimebundle_(self, **k): return {'a/b': 1}\nA()"], "NotebookValidationError"),
    (["import os\nprint('a')\nos.system('echo b')\nprint('c')"], ["a\nb\nc\n"]),
    (["import sys\nsys.stdout.buffer"], "AttributeError: 'OutStream' object has no attribute 'buffer'"),
    (["import sys\nsys.stdout.close()\nprint('x')"], "ValueError: I/O operation on closed file"),
    (["import threading, time\ndef f():\n time.sleep(0.3)\n print('late')\nthreading.Thread(target=f).start()",
      "time.sleep(0.6)\nprint('on')"], ["on\n"]),
    (["from ipykernel.kernelapp import IPKernelApp\nprint(IPKernelApp.initialized())"], ["True\n"]),
    (["print('IPKernelApp' in get_ipython().config, type(get_ipython().kernel).__name__)"], ["True IPythonKernel\n"]),
    (["a = 1", "%history"], ["a = 1\n%history\n"]),
    (["open('a.py', 'w').write('b = 2')", "import a\nprint(a.b)"], ["2\n"]),
    (["%%capture out\nprint('a')", "print(out.stdout)"], ["a\n\n"]),
    (["import logging\nlogging.warning('a')"], ["WARNING:root:a\n"]),
    ([LATE + "print('a')\nprint('b', file=sys.stderr)\nprint('c')"], ["a\nc\n", "b\n"]),
    (["import os, time\nos.system('echo a; echo b >&2')\ntime.sleep(0.5)\nprint('c')"], ["a\n", "b\n", "c\n"]),
    ([LATE + "import warnings\nprint('a')\nwarnings.warn('b')\nprint('c')"], ["a\nc\n", "UserWarning: b"]),
]  # fmt: skip


@pytest.mark.parametrize(("sources", "expected"), KERNEL)
def test_cells_run_as_in_a_kernel(sources: list[str], expected: list[str] | str) -> None:
    found = run_cells([code(source) for source in sources], ExecutionSettings())
    if isinstance(expected, str):
        assert not found.success and expected in found.error.splitlines()[-1], found
        return
    assert found.success, found.error
    printed = [text for cell in map(execute.whole, found.cells) for text in kinds(cell) if text.endswith("\n")]
    assert len(printed) == len(expected) and all(map(str.__contains__, printed, expected)), printed


def test_an_error_comes_with_its_cell_and_what_it_printed() -> None:
    found = run_cells([code("import sys\nprint('a')\nprint('b', file=sys.stderr)\n1/0\n")], ExecutionSettings())
    assert found.error.startswith(
        "This cell failed:\nimport sys\nprint('a')\nprint('b', file=sys.stderr)\n1/0\n\n"
        "Its stdout:\na\n\nIts stderr:\nb\n"
    )
    assert "Traceback (most recent call last)" in found.error
    assert found.error.endswith("ZeroDivisionError: division by zero")


def test_pieces_of_a_stream_are_put_together_under_strict() -> None:
    (solution,) = cells.build(record(), [json.dumps([code("for n in 'ab': print(n, flush=True)\n")])])
    for fixes, expected in ((PARITY, ["a\n", "b\n"]), (STRICT, ["a\nb\n"])):
        last = execute.run(solution, fixes=fixes).last_cell
        assert last and [output["text"] for output in last["outputs"]] == expected


def without(cell: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in cell.items() if key != name}


SHAPES = [  # cell, whether it runs under parity, and under strict
    ("code without source", without(code(), "source"), True, True),
    ("markdown without source", without(TEXT, "source"), True, True),
    ("markdown with an object", {**TEXT, "source": {"a": 1}}, True, True),
    ("markdown with null", {**TEXT, "source": None}, True, True),
    ("markdown with numbers in a list", {**TEXT, "source": [1]}, False, False),
    ("no metadata", without(code("1"), "metadata"), False, True),
    ("metadata null", {**code("1"), "metadata": None}, False, True),
    ("metadata a list", {**code("1"), "metadata": []}, False, True),
    ("markdown, no metadata", without(TEXT, "metadata"), False, True),
    ("blank code, metadata null", {**code(), "metadata": None}, False, True),
    ("tags a text", code("1", tags="a"), True, True),
    ("tags an object", code("1", tags={"a": 1}), True, True),
    ("tags null", code("1", tags=None), False, True),
    ("tags a number", code("1", tags=3), False, True),
    ("blank code, tags null", code(tags=None), True, True),
    ("markdown, tags null", {**TEXT, "metadata": {"tags": None}}, True, True),
]


@pytest.mark.parametrize(("cell", "parity", "strict"), [row[1:] for row in SHAPES], ids=[row[0] for row in SHAPES])
def test_which_cells_run(cell: dict[str, Any], parity: bool, strict: bool) -> None:
    """As nbformat 5.10.4 and nbconvert 7.16.4 have it; what strict lets pass besides is the fix ``any_metadata``."""
    reply = json.dumps([cell])
    for fixes, expected in ((PARITY, parity), (STRICT, strict)):
        (solution,) = cells.build(record(), [reply], fixes=fixes)
        assert execute.run(solution, fixes=fixes).success == expected


def test_a_text_as_tags_is_searched() -> None:
    found = run_cells([code("1/0", tags="with skip-execution"), code("print(2)")], ExecutionSettings())
    assert texts(found) == "2\n"
    assert not run_cells([code("1/0", tags="with skip-execution")], ExecutionSettings(), fixes=STRICT).success


def test_tags_that_the_published_executor_obeys() -> None:
    found = run_cells(
        [code("1/0", tags=["raises-exception"]), code("1/0", tags=["skip-execution"]), code("print(2)")],
        ExecutionSettings(),
    )
    assert texts(found) == "2\n"
    assert found.cells[0]["outputs"][0]["ename"] == "ZeroDivisionError"


def test_data_files_are_beside_the_working_directory_and_stay_as_they_are(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.csv").write_text("x\n1\n")
    found = run_cells([code("print(open('../input/set/a.csv').read())")], ExecutionSettings(data=tmp_path))
    assert texts(found) == "x\n1\n\n"
    for attempt in (
        "open('../input/set/a.csv', 'w')",
        "open('../input/new', 'w')",
        "import os\nos.remove('../input/set/a.csv')",
    ):
        assert not run_cells([code(attempt)], ExecutionSettings(data=tmp_path)).success
    assert [path.name for path in tmp_path.rglob("*")] == ["set", "a.csv"]
    assert (tmp_path / "set" / "a.csv").read_text() == "x\n1\n"


def test_a_missing_data_folder_is_a_usage_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="does not exist"):
        run_cells([code("1")], ExecutionSettings(data=tmp_path / "none"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the cells as another user")
def test_a_closed_data_folder_is_a_usage_problem(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(UsageProblem, match="chmod"):
        run_cells([code("1")], ExecutionSettings(data=tmp_path))


@pytest.mark.parametrize("found", ["7.1.0", None])
def test_another_kernel_is_a_usage_problem(found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr(execute, "version", version)
    with pytest.raises(UsageProblem, match=f"need ipykernel 6, and .* is {found or 'none'}; install"):
        run_cells([code("1")], ExecutionSettings())


# -- cells that mean harm


@pytest.fixture
def quick() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < BOUND


HOSTILE = {
    "endless loop": ("while True:\n pass", "CellTimeoutError: cell 1 ran longer than 1 s"),
    "endless loop that swallows": (
        "while True:\n try:\n  while True: pass\n except BaseException: pass",
        "CellTimeoutError",
    ),
    "loop inside the interpreter": ("sum(range(10**15))", "CellTimeoutError"),
    "10 GB": ("x = bytearray(10 << 30)", "MemoryError"),
    "10 GB by pieces": ("x = []\nwhile True: x.append(bytearray(64 << 20))", "MemoryError"),
    "host file": ("open('/etc/passwd')", "FileNotFoundError"),
    "host processes": ("import os\nos.listdir('/proc/1')", "FileNotFoundError"),
    "write outside": ("open('/tmp/agentgauge-was-here', 'w')", "Error"),
    "network": ("import socket\nsocket.create_connection(('127.0.0.1', 80), 1)", "PermissionError"),
    "kernel killed": ("import os\nos._exit(0)", "DeadKernelError"),
    "crash": ("import ctypes\nctypes.string_at(0)", "DeadKernelError"),
    "garbage in the report": (
        "import os\nfor n in range(3, 64):\n try: os.write(n, b'garbage\\n')\n except OSError: pass\nos._exit(0)",
        "DeadKernelError",
    ),
    "forged outputs": (
        (
            "import os, json\noutput = {'output_type': 'stream', 'name': 'x', 'text': 'x', 'data': 3}\nline ="
            " json.dumps({'failed': None, 'executed': [[0, 1, [output]]]})\nfor n in range(3, 64):\n try: os.write(n,"
            " len(line).to_bytes(8, 'little') + line.encode())\n except OSError: pass\nos._exit(0)"
        ),
        "outputs are damaged",
    ),
    "flood of displays": (
        "from IPython.display import publish_display_data\npublish_display_data({'text/plain': 'x' * (3 << 20)})",
        "DeadKernelError",
    ),
    "deep nesting displayed": (
        (
            "x = []\nfor _ in range(10**5): x = [x]\nfrom IPython.display import"
            " publish_display_data\npublish_display_data({'a/b': x})"
        ),
        "RecursionError",
    ),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str) -> None:
    source, error = HOSTILE[name]
    seconds = 1.0 if "loop" in name else 30.0
    found = run_cells(
        [code(source)],
        ExecutionSettings(limits=_limits_of(seconds, memory_bytes=1 << 30, output_bytes=2 << 20)),
    )
    assert not found.success
    assert error in found.error


@pytest.mark.usefixtures("quick")
def test_a_cell_that_puts_all_timers_away_meets_its_limit() -> None:
    source = (
        "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0)\nsignal.signal(signal.SIGALRM,"
        " signal.SIG_IGN)\ntime.sleep(60)"
    )
    found = run_cells([code("1"), code(source)], ExecutionSettings(limits=ExecutionLimits(cell_seconds=1)))
    assert found.error == "CellTimeoutError: cell 2 ran longer than 1 s"


@pytest.mark.usefixtures("quick")
def test_all_cells_together_meet_the_limit_of_the_notebook() -> None:
    cells = [code("import time; time.sleep(1)")] * 20
    found = run_cells(
        cells, ExecutionSettings(limits=ExecutionLimits(cell_seconds=10, notebook_seconds=1, start_seconds=4))
    )
    assert found.error.startswith("CellTimeoutError: the notebook ran too long; it was in cell ")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('on')",
        "import os, time\nif os.fork() == 0:\n os.setsid()\n time.sleep(600)\nprint('on')",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nprint('on')",
        "import os\nchild = os.fork()\nprint('on') if child else 1/0",
    ],
)
def test_what_stays_behind_ends_with_the_notebook(source: str) -> None:
    assert texts(run_cells([code(source), code("print('and on')")], ExecutionSettings())) == "on\nand on\n"


@pytest.mark.usefixtures("quick")
def test_fork_bomb() -> None:
    source = "import os, time\nfor _ in range(10**4):\n if os.fork() == 0: time.sleep(600)"
    found = run_cells([code(source)], ExecutionSettings(limits=_limits_of(10, processes=32)))
    assert not found.success


# -- what is shown


def test_last_output_may_be_an_earlier_cells() -> None:
    made = record(notebook={"cells": [code("print('earlier')\n")]})
    (solution,) = cells.build(made, [json.dumps([code("y = 1\n")])])
    shown = execute.run(solution).last_cell
    assert shown is not None and shown["outputs"][0]["text"] == "earlier\n"
    assert execute.run(solution, fixes=STRICT).last_cell is None


def display(**data: Any) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {kind.replace("__", "/"): value for kind, value in data.items()},
    }


def test_plotly_figures_are_drawn() -> None:
    output = {
        "output_type": "display_data",
        "metadata": {},
        "data": {execute.PLOTLY: {"data": []}, "text/html": "<b>", "image/png": "AA"},
    }
    shown = execute.organise(
        {"outputs": [output]}, image_expected=True, render=lambda figure: "QQ" if figure == {"data": []} else ""
    )
    assert shown.images == ("data:image/png;base64,AA", "data:image/png;base64,QQ")
    assert shown.cell["outputs"][0]["data"] == {execute.PLOTLY: "<image_2>", "image/png": "<image_1>"}


def test_what_cannot_be_drawn_is_refused() -> None:
    def broken(figure: Any) -> str:
        raise execute.NoPicture("no browser")

    shown = execute.Execution(True, {"outputs": [{"data": {execute.PLOTLY: {}}}]})
    with pytest.raises(NotScorable, match="no browser"):
        score.question_request(
            record(image_expected=True), cells.Solution(0, (), (), ()), shown, sees=True, render=broken
        )


@pytest.mark.parametrize(
    ("picture", "parity", "strict"),
    [
        ("AA\n", "AA\n", "AA\n"),
        (["AA", "BB"], "['AA', 'BB']", "AABB"),
        ({"a": 1}, "{'a': 1}", "{'a': 1}"),
        (None, "None", "None"),
    ],
)
def test_pictures_that_are_no_text(picture: Any, parity: str, strict: str) -> None:
    for fixes, expected in ((PARITY, parity), (STRICT, strict)):
        shown = execute.organise({"outputs": [display(image__png=picture)]}, image_expected=True, fixes=fixes)
        assert shown.images == (f"data:image/png;base64,{expected}",)


# -- questions and answers


@pytest.mark.parametrize(
    ("success", "last", "sees", "image", "expected"),
    [
        (True, True, False, False, "asked"),
        (True, True, True, True, "asked"),
        (True, True, False, True, "bare"),
        (True, False, True, False, None),
        (False, False, True, False, None),
    ],
)
def test_who_is_asked(success: bool, last: bool, sees: bool, image: bool, expected: str | None) -> None:
    solution = cells.Solution(0, ({"role": "user", "content": "Go on."},), (), ())
    execution = execute.Execution(success, {"outputs": []} if last else None)
    found = score.question_request(record(image_expected=image), solution, execution, sees=sees)
    assert {None: None, 1: "bare", 2: "asked"}[found and len(found)] == expected


def test_braces_in_cells_and_questions_stay() -> None:
    shown = execute.Execution(True, {"outputs": [], "source": "{questions} {cell}"})
    found = score.question_request(record(questions=["{cell}"]), cells.Solution(0, (), (), ()), shown, sees=True)
    assert found is not None
    assert '"source": "{questions} {cell}"' in found[0]["content"] and '["{cell}"]' in found[0]["content"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>['B']?</think>[\"It's 5\", 'two\nlines',]", ["It's 5", "two\nlines"]),
        ("The answers: ['A']", ["A"]),
        ("['A'] or ['B']", None),
        ("As [1] and [2, 3] say:\n```json\n['A']\n```", ["A"]),
        ('Answers:\n["a ``` b"]', ["a ``` b"]),
        ('["A", "B"]\n\nSo the answer is ["A", "B"].', ["A", "B"]),
        ('Columns ["x", "y", "z"]. Answer: ["A", "B"]', ["A", "B"]),
        ('Columns ["x", "y"]. Answer: ["A", "B"]', None),
        ('{"x": 1} has [0.5, "y"], so ["A", "B"]', ["A", "B"]),
        ('Row [[1, 2], ["a"]] says: ["A"]', ["A"]),
        ("The values are [1, 2].", None),
        ('Not [], but ["A"].', ["A"]),
    ],
)
def test_answers_with_the_mistakes_of_models_under_strict(reply: str, expected: Any) -> None:
    assert score.read_answers(reply, questions=2, fixes=STRICT) == expected
    assert score.read_answers(reply) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('["A"]', ["A"]),
        ("```json\n['A', 'B']```", ["A", "B"]),
        ("A", None),
        ("", None),
        ('"A"', "A"),
        ("null", None),
    ],
)
def test_read_answers(reply: str, expected: Any) -> None:
    assert score.read_answers(reply) == expected


@pytest.mark.parametrize("reply", [None, "[" * 5_000, "1" * 10_000])
def test_answers_on_which_the_published_evaluator_stops(reply: str | None) -> None:
    with pytest.raises(StopsOnReply):
        score.read_answers(reply)
    assert score.read_answers(reply, fixes=STRICT) is None


# -- retry


def test_retry_keeps_the_error_as_it_is_and_the_cells_before() -> None:
    (solution,) = cells.build(record(), [json.dumps([code("1/0")])])
    failed = execute.Execution(False, error="{packages} {error}")
    messages = score.retry_request(solution, failed)
    assert "{packages} {error}" in messages[-1]["content"] and "wordcloud" in messages[-1]["content"]
    again = score.with_new_cells(solution, messages, '```json\n[{"cell_type": "code", "source": ["2"]}]\n```')
    assert again.given == solution.given and [cell["source"] for cell in again.generated] == [["2\n"]]
    assert again.messages[-1]["content"] == '[{"cell_type": "code", "source": ["2"]}]'
    assert score.with_new_cells(solution, messages, "sorry") == solution


def test_strict_retries_what_could_not_be_read() -> None:
    assert cells.build(record(), ["sorry"]) == ()
    (solution,) = cells.build(record(), ["sorry"], fixes=STRICT)
    failed = execute.run(solution, fixes=STRICT)
    assert score.needs_retry(failed) and failed.error == cells.UNREADABLE
    again = score.with_new_cells(
        solution, score.retry_request(solution, failed), json.dumps([code("print(1)")]), fixes=STRICT
    )
    last = execute.run(again, fixes=STRICT).last_cell
    assert last and [output["text"] for output in last["outputs"]] == ["1\n"]


# -- scores


def judged(truth: list[Any], *answers: Any, fixes: Fixes = PARITY, image: bool = False) -> RecordVerdict:
    made = record(gt_answers=truth, image_expected=image)
    return score.judge(made, [score.AnsweredSolution(True, one) for one in answers], fixes=fixes)


@pytest.mark.parametrize(
    ("truth", "answers", "parity", "strict"),
    [
        (["A", "B"], [["A", "B"]], 2, 2),
        (["A", "B"], [["A", "C"], ["C", "B"]], 2, 2),
        (["A"], [["a"], [" A"], ["A", "A"], [], None], 0, 0),
        (["A", "A"], [[["A"], ["A"]]], 4, 0),
        (["A", "A"], [[["A"], ["A"]], ["A", "B"]], 4, 1),
        (["A"], [[["B", "A"]]], 1, 0),
        (["A", "1"], [["A", 1]], 2, 0),
        (["A"], ["A"], None, 0),
        (["A"], [{"1": "A"}], None, 0),
        (["A"], [True], None, 0),
        (["A", "B"], [[["A"], "B"]], None, 0),
        (["A", "B"], [[["A"] * 3, ["B"] * 3]], None, 0),
        (["A"], [[["A"], "B"]], None, 0),
        (["A"], [[1.5]], 0, 0),
        (["A"], [4.5], None, 0),
        ([], [[]], 0, 0),
    ],
)
def test_judge(truth: list[Any], answers: list[Any], parity: int | None, strict: int) -> None:
    if parity is None:
        with pytest.raises(NotScorable):
            judged(truth, *answers)
    else:
        assert judged(truth, *answers).values["correct"] == parity
    assert judged(truth, *answers, fixes=STRICT).values["correct"] == strict


@pytest.mark.parametrize(
    ("solutions", "passed", "labels"),
    [
        ([], False, ("no_cells",)),
        ([score.AnsweredSolution(False)], False, ("code_failed",)),
        ([score.AnsweredSolution(True)], False, ("unanswered",)),
        ([score.AnsweredSolution(True, ["B"])], False, ("wrong_answer",)),
        ([score.AnsweredSolution(False), score.AnsweredSolution(True, ["A"])], True, ()),
    ],
)
def test_verdict(solutions: list[score.AnsweredSolution], passed: bool, labels: tuple[str, ...]) -> None:
    found = score.judge(record(), solutions)
    assert (found.passed, found.labels) == (passed, labels)


@pytest.mark.parametrize("name", ["gt_answers", "image_expected"])
def test_a_record_that_lacks_a_field_is_refused(name: str) -> None:
    made = record()
    del made[name]
    with pytest.raises(NotScorable, match=name):
        score.judge(made, [])


def test_a_turn_without_questions_has_no_share() -> None:
    verdicts = [judged(["A", "B", "C"], ["A", "X", "X"]), judged([], [])]
    found = formula(NOTEBOOKS).compute(totals({**one.values, RECORDS: 1.0} for one in verdicts))
    assert (found["Accuracy"], found["Per Response"]) == (pytest.approx(100 / 3), pytest.approx(100 / 6))
    assert (found["Text"], found["Image"]) == (found["Accuracy"], None)
    assert verdicts[1].passed is None


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("ABC"), min_size=1, max_size=4),
            st.lists(st.sampled_from("ABC"), max_size=4),
            st.booleans(),
        ),
        min_size=1,
    )
)
@settings(deadline=None)
def test_on_letters_parity_and_strict_agree(turns: list[tuple[list[str], list[str], bool]]) -> None:
    for truth, answers, image in turns:
        parity = judged(truth, answers, image=image)
        assert parity == judged(truth, answers, image=image, fixes=STRICT)
        assert 0 <= parity.values["correct"] <= parity.values["questions"] == len(truth)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
@COSTLY
def test_any_answer_is_counted_or_refused(answers: Any) -> None:
    with contextlib.suppress(NotScorable):
        assert judged(["A", "B"], answers).values["correct"] >= 0
    assert judged(["A", "B"], answers, fixes=STRICT).values["correct"] <= 2

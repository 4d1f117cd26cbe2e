"""Uses of the sandbox, each with code that searches all that it can see for the data sets. Started by ``test_gold``.

Arguments: the names of uses, between commas; an existing folder to work in; layers that this machine is to do without.
Standard output: what was found by each, a JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentgauge import sandbox
from agentgauge.core.errors import ToolError
from agentgauge.sandbox import protection
from agentgauge.sandbox.processes import Setup

TOPS = ["/", sys.prefix, *(str(path) for path in Path(sys.prefix).iterdir()), *filter(None, sys.path)]
"""Folders that are worth a look: a program may know where it is, even where it cannot list the folders above."""
SEARCH = (
    f"import os\nTOPS = {TOPS!r}"
    + r'''
def search():
    """Names of files of the data sets and of this project, and of them those that can be read."""
    seen, named, read = 0, [], []
    for folder, folders, files in (found for top in TOPS for found in os.walk(top)):
        if folder in ("/proc", "/sys", "/dev", "/usr", "/lib", "/tmp") or os.path.basename(folder) == "site-packages":
            own = ("bench_", "agentgauge", "tool_impls", "bundled_data", "gold")
            folders[:] = [name for name in folders if name.startswith(own)]
        for name in files:
            path = os.path.join(folder, name)
            seen += 1
            words = ("/bench_", "/gold", ".jsonl", "/agentgauge/", "/mini/")
            if "/code_kaggle_source/input/" in path or not any(word in path for word in words):
                continue
            named.append(path)
            try:
                with open(path, "rb") as file:
                    if file.read(1):
                        read.append(path)
            except OSError:
                pass
    return f"{'much' if seen > 100 else 'little'} seen, named {len(named)}, read {len(read)}: {sorted(read)[:3]}"
'''
)


def use(name: str, folder: Path) -> Any:
    code = SEARCH + "\nprint(search())"
    if name == "nothing":  # what there is to find
        names: dict[str, Any] = {}
        exec(SEARCH, names)
        return names["search"]()
    if name == "contest":
        from bench_mmau.contests.execute import ExecutionLimits, ExecutionSettings, run_group

        found = run_group(code, [""], ExecutionSettings(ExecutionLimits(test_seconds=50, group_seconds=50)))
        return found.outcomes[0].text if found.outcomes else found
    if name == "notebook":
        import bench_mmau
        from bench_mmau.data import NOTEBOOK_DATA
        from bench_mmau.notebooks import execute

        seen = "\nimport os; print(os.listdir('../input'), open('../input/' + os.listdir('../input')[0]).read(4))"
        cell = {"cell_type": "code", "source": code + seen, "metadata": {}}
        return execute.run_cells(
            [cell], execute.ExecutionSettings(Path(bench_mmau.__file__).with_name("mini") / NOTEBOOK_DATA)
        )
    if name in ("solver", "plot"):
        from tool_impls.logic.code_tools import plot, solve

        if name == "solver":
            return solve(SEARCH + "\nimport sympy\nsolution = search", folder=folder, seconds=50)
        return plot(SEARCH + "\nimport numpy\ndef solution(): raise ValueError(search())", folder=folder, seconds=50)
    if name == "calculator":
        from tool_impls.logic.code_tools import evaluate

        return evaluate(in_an_expression(), folder=folder, seconds=50)
    if name == "prover":  # what its process could do; the language of claims itself can only name files
        from tool_impls.logic import code_tools, prover

        answer = "def main():\n    import json\n    print(json.dumps({'verdict': 'unknown', 'detail': search()}))"
        script = code_tools._script
        code_tools._script = lambda *_: sandbox.Script(f"{SEARCH}\n{answer}")
        try:
            return prover.prove("(assert true)", folder=folder, seconds=50)
        finally:
            code_tools._script = script
    if name == "claim":
        from tool_impls.logic.prover import prove

        gold = Path(sys.prefix, "lib", "gold", "claim.smt2")
        gold.write_text("(assert false)")
        return prove(f'(include "{gold}")(assert true)', folder=folder, seconds=50)
    if name == "agent":
        from agentgauge.run.programs.process import ProgramSettings, run_program

        return asyncio.run(run_program([sys.executable, "-c", code], folder, ProgramSettings(50))).stdout
    if name == "reader":
        from bench_gta.workflow import confined

        assert confined.run_child("bench_gta.workflow.inside.facts", {"files": [], "read": False}, folder=folder) == []
        readable = confined._sources()
        return sandbox.run([sys.executable, "-I", "-S", "-c", code], folder=folder, readable=readable).stdout
    raise AssertionError(name)


def served(tools: list[str], folder: Path) -> dict[str, str]:
    """The same by a tool server as runs start it: three processes on, with the few variables that tools get."""
    from agentgauge.core.processes import TOOL_TOKEN
    from tool_impls.server.client import ToolServerBox

    gold = Path(sys.prefix, "lib", "gold", "claim.smt2")
    gold.write_text("(assert false)")
    arguments = {
        "Calculator": {"expression": in_an_expression()},
        "Solver": {"command": f"```python\n{SEARCH}\nsolution = search\n```"},
        "Plot": {"command": f"```python\n{SEARCH}\ndef solution(): raise ValueError(search())\n```"},
        "Prover": {"theorem": f'(include "{gold}")(assert true)'},
    }
    os.environ[TOOL_TOKEN] = "of-this-test"
    command = [sys.executable, "-m", "tool_impls.server.command", "--port", "0", "--tools", ",".join(tools)]

    async def one(box: ToolServerBox, tool: str) -> str:
        try:
            return (await box.call(tool, arguments[tool], folder=folder, readable=()))[0].content
        except ToolError as error:
            return str(error)

    async def call(url: str) -> dict[str, str]:
        box = ToolServerBox(url)
        try:
            return {tool: await one(box, tool) for tool in tools}
        finally:
            await box.close()

    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout
            return asyncio.run(call(json.loads(server.stdout.readline())["url"]))
        finally:
            server.terminate()


def in_an_expression() -> str:
    reach = (
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ =="
        " 'BuiltinImporter'][0].load_module('builtins')"
    )
    return f"[b := {reach}, d := {{'__builtins__': b}}, b.exec({SEARCH!r}, d), d['search']()][3]"


def main() -> None:
    names, folder, *refuse = sys.argv[1:]
    uses = names.split(",")
    if refuse:
        setup = Setup(refuse=tuple(refuse))
        found = (setup, protection.probe(setup), "")
        sandbox.chosen = protection.chosen = lambda: found  # type: ignore[attr-defined]
    if uses != ["nothing"]:
        sandbox.hide([Path(sys.prefix, "lib", "gold")])
    if uses[0] == "served":
        print(json.dumps(served(uses[1:], Path(folder))))
    else:
        print(json.dumps({name: str(attempt(name, Path(folder))) for name in uses}))


def attempt(name: str, folder: Path) -> Any:
    own = folder / name
    own.mkdir()
    try:
        return use(name, own)
    except Exception as error:
        return error


if __name__ == "__main__":
    main()

"""Writes the tables of options in ``docs/options.md`` and of the tools' inputs in ``docs/tools.md``, from the code:
``make docs``.

Each table stands between the marks ``<!-- NAME: by docs/write_tables.py -->`` and ``<!-- end -->``. The rest of a page
is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from agentgauge.core.option import Option
from agentgauge.core.options import OPTIONS
from agentgauge.core.registry import Registry
from agentgauge.core.task_options import TaskOption
from agentgauge.core.tools import Parameter
from tool_impls.registry import OURS

DOCS = Path(__file__).parent

MORE = {
    "--model": "[models](models.md)",
    "--temperature": "[a model's table](models.md#agentgaugetoml)",
    "--max-tokens": "[replies that were cut](reports.md#replies-that-were-cut)",
    "--model-url": "[a server of your own](models.md#a-server-of-your-own)",
    "--dialect": "[dialects](models.md#dialects)",
    "--data": "[data](data.md)",
    "--limit": "[a part of the samples](how-a-run-works.md#a-part-of-the-samples)",
    "--in-flight": "[concurrency](models.md#how-many-requests-are-concurrent)",
    "--tool-server": "[a tool server](tools.md#a-tool-server-for-several-runs)",
    "--run-dir": "[the run folder](how-a-run-works.md#the-run-folder)",
    "--resume": "[resuming](how-a-run-works.md#resuming)",
    "--rescore": "[scoring again](how-a-run-works.md#scoring-again)",
    "--prompts": "[texts of your own](#texts-of-your-own)",
    "--allow-unsafe-code": "[the sandbox](tools.md#code-that-a-model-wrote)",
    "--scoring": "[parity and strict](benchmarks/scoring.md)",
    "--agent": "[external agents](external-agents.md)",
    "--agent-outputs": "[finished outputs](external-agents.md#outputs-that-are-there-already)",
    "--batch": "[batches](models.md#batches)",
    "--budget": "[costs](models.md#what-a-run-costs), [stopping](how-a-run-works.md#stopping-early)",
    "--cache": "[a cache](models.md#a-cache-of-replies)",
    "--record": "[cassettes](models.md#cassettes)",
    "--replay": "[cassettes](models.md#cassettes)",
    "--shard": "[shards](scaling.md#shards)",
    "--gate": "[gates](comparing.md#as-a-gate)",
}
"""Option → where the pages say more."""

CODE = re.compile(r"(?<![\w-])(--[a-z-]+|\[[\w.]+\]|[\w.]+:FILE|https?://\S+[^\s;,.])|(?<!\w)'([^']+)'(?!\w)")
"""What is code in a text of ``--help``: options, tables of settings, addresses, and everything in quotation marks."""


def written(name: str) -> str:
    """The page of that name with its tables as the code has them."""
    page = (DOCS / name).read_text(encoding="utf-8")
    for title, table in TABLES[name].items():
        before, begin, behind = page.partition(f"<!-- {title}: by docs/write_tables.py -->\n")
        _, end, behind = behind.partition("<!-- end -->")
        if not end:
            raise ValueError(f"docs/{name} lacks the marks of the table {title!r}")
        page = "\n".join([f"{before}{begin}", *table(), "", f"{end}{behind}"])
    return page


def of_every_run() -> Iterator[str]:
    yield from head("option", "default", "meaning", "more")
    for name, option in OPTIONS.items():
        value = f"={option.metavar}" if option.metavar else ""
        yield row(f"`{name}{value}`", default_of(option), marked(option.help, option.accepted), MORE.get(name, ""))


def default_of(option: Option) -> str:
    shown = option.shown_default or "–"
    return shown if shown == "–" or (option.usual and not re.search(r"[<\[]", shown)) else f"`{shown}`"


def of_benchmarks() -> Iterator[str]:
    """By benchmark, in the order in which its tasks name them."""
    yield from head("option", "default", "meaning", "of")
    for name, option in Registry.installed().options().items():
        text, _, default = option.help.removesuffix(")").partition(" (default: ")
        task = next(task for task in Registry.installed() if option in task.options)
        title = task.shown.benchmark
        yield row(
            f"`{name}{value_of(option)}`",
            re.sub(r"^\w+", r"`\g<0>`", default) if value_of(option) else default,
            marked(text.removeprefix(f"{title}: "), option.accepted),
            f"[{title}](benchmarks/{task.name.partition('.')[0]}.md)",
        )


def of_tools() -> Iterator[str]:
    yield from head("tool", "inputs", "optional", "output")
    for tool in (kind.meta for kind in OURS.values()):
        given = (typed(each for each in tool.inputs if each.optional == optional) for optional in (False, True))
        yield row(f"`{tool.name}`", *given, ", ".join(each.type for each in tool.outputs))


def typed(parameters: Iterable[Parameter]) -> str:
    named = {"file": "path", "files": "paths with commas", "markdown": "Markdown"}
    return ", ".join(f"`{each.name}` {named.get(each.attach or '', each.type)}" for each in parameters) or "–"


def value_of(option: TaskOption) -> str:
    """What stands behind the option's name."""
    if option.accepted:
        return "=" + "|".join(option.accepted)
    return "" if option.default is None else f"={option.metavar}"


def marked(text: str, accepted: Iterable[str]) -> str:
    """A text of ``--help`` with its code marked, and the accepted values that begin a part of it."""
    for value in accepted:
        text = re.sub(rf"(^|; ){value}\b", rf"\1'{value}'", text)
    return CODE.sub(lambda found: f"`{found[1] or found[2]}`", text)


def head(*names: str) -> Iterator[str]:
    yield row(*names)
    yield "|" + "---|" * len(names)


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


TABLES: Mapping[str, Mapping[str, Callable[[], Iterator[str]]]] = {
    "options.md": {"every run": of_every_run, "benchmarks": of_benchmarks},
    "tools.md": {"inputs and outputs": of_tools},
}

if __name__ == "__main__":
    for name in TABLES:
        (DOCS / name).write_text(written(name), encoding="utf-8")

"""The command ``agentgauge pack`` and its verbs; ``score`` has a module of its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.processes import CommandParser
from agentgauge.core.text import counted
from agentgauge.sandbox import scratch_folder
from bench_gta.pack.create import (
    TaskContent,
    create,
    from_deliverables,
    new_copies,
    notes_of,
    read_ids,
    some,
    with_metadata,
)
from bench_gta.pack.format import (
    Pack,
    SetTask,
    TaskSet,
    lies_beside,
    open_pack,
    print_problems,
    read_tasks,
    write_pack,
)
from bench_gta.pack.score import score
from bench_gta.workflow.judgements import USER
from bench_gta.workflow.metrics import THRESHOLD


def create_pack(options: argparse.Namespace) -> int:
    tasks = read_tasks(options.data)
    ids = read_ids(options.task_ids) if options.task_ids else None
    results: Path = options.result_dir
    out: Path = options.out_pack or results / "pack.json"
    pack = _of_deliverables(results, tasks, ids, out) if options.deliverables else create(results, tasks, ids=ids)
    write_pack(out, with_metadata(pack, result_dir=results.name, deliverables=options.deliverables))
    for task in pack.tasks:
        for note in notes_of(task.meta):
            print(f"note: task {task.task_id}: {note}")
    _note_turns(tasks.tasks[task.task_id] for task in pack.tasks)
    if not lies_beside(out, pack.base):
        print(f"note: its files lie outside the pack's folder; check and score it with --base-dir {results}")
    files = sum(len(task.attached_files) for task in pack.tasks)
    print(f"{out}: {counted(len(pack.tasks), 'task')}, {counted(files, 'file')}")
    return 0


def _of_deliverables(results: Path, tasks: TaskSet, ids: list[int] | None, out: Path) -> Pack:
    from bench_gta.workflow.rendering import Conversions

    with scratch_folder() as scratch, new_copies(out, results) as (new, base):
        convert = Conversions(scratch, upstream=False)

        def gather(task: SetTask, folder: Path) -> TaskContent:
            return from_deliverables(task, folder, base=new, convert=convert)

        return create(results, tasks, ids=ids, base=base, gather=gather)


def check_pack(options: argparse.Namespace) -> int:
    return print_problems(*open_pack(options, options.pack))


def _note_turns(tasks: Iterable[SetTask]) -> None:
    if several := [task.id for task in tasks if task.turns > 1]:
        further = "gets the first request only, but these tasks have further ones"
        print(f"note: an external agent {further}: {some(several)}")


Option = dict[str, Any]  # arguments of ``ArgumentParser.add_argument``

_DATA = "data folder of GTA-Workflow, or its end.json (default: the bundled sample)"
_FILE: Option = {"type": Path, "metavar": "FILE"}
_DIR: Option = {"type": Path, "metavar": "DIR"}
_PATH: Option = {"type": Path, "metavar": "PATH"}
_COUNT: Option = {"type": int, "metavar": "N"}
_SCORE: Option = {"type": float, "metavar": "X", "default": THRESHOLD}
_AMOUNT: Option = {"metavar": "AMOUNT"}
_FLAG: Option = {"action": "store_true"}
_REQUIRED: Option = {"required": True}
_REPEATED: Option = {"action": "append", "default": []}

_WHERE: Mapping[str, tuple[str, Option]] = {
    "--base-dir": ("folder that the pack's paths start from (default: the folder that the pack names)", _DIR),
    "--data": (f"{_DATA}; a pack of another task set is refused", _PATH),
}
_CREATE: Mapping[str, tuple[str, Option]] = {
    "--result-dir": (
        "folder of results: a folder for each task id, with final.txt and files/",
        _DIR | _REQUIRED,
    ),
    "--out-pack": ("pack to write (default: pack.json in the result folder)", _FILE),
    "--data --dataset-end-json": (_DATA, _PATH),
    "--task-ids": ("file with ids of tasks, one a line (default: all folders)", _FILE),
    "--deliverables": (
        "task folders hold deliverables and no final answer; files for the judge are copied beside the pack",
        _FLAG,
    ),
}
_SCORE_PACK: Mapping[str, tuple[str, Option]] = {
    "--in-pack": ("pack to score", _FILE | _REQUIRED),
    **_WHERE,
    "--out": ("details to write (default: <pack>_<judge>_scores.json beside the pack)", _FILE),
    "--summary-out": ("summary to write (default: <out>_summary.json)", _FILE),
    "--judge-model": (
        "judge: a model that accepts files, or rules (default for the bundled sample)",
        {"metavar": "NAME"},
    ),
    "--judge-url": ("address of the judge's endpoint", {"metavar": "URL"}),
    "--judge-votes": (
        "replies for each leaf; the median counts (default: 1)",
        {"type": int, "default": 1, "metavar": "K"},
    ),
    "--judge-cache": (
        "cache of replies: a folder, user (the user's cache, the default) or none",
        {"default": USER, "metavar": "DIR"},
    ),
    "--scoring": (
        "parity: as the released scorer (default); strict: all turns, all kinds of files, valid replies only",
        {"choices": ("parity", "strict"), "default": "parity"},
    ),
    "--leaf-threshold": ("threshold of Leaf SR, 0 to 10 (default: 7)", _SCORE),
    "--root-threshold": ("threshold of Root SR, 0 to 10 (default: 7)", _SCORE),
    "--max-tasks": ("judge N of the tasks that remain", _COUNT),
    "--budget": ("stop before the next task once the judge has used this amount, such as 5usd or 30min", _AMOUNT),
    "--dry-run": ("only check the pack; no key is needed", _FLAG),
    "--allow-missing": ("also judge tasks with missing files", _FLAG),
}


def main(argv: Sequence[str]) -> int:
    """Pack, check and score what agent apps have delivered on GTA-Workflow.

    Returns the exit status: 0 done, 1 something is wrong with a pack or not every task ended well, 130 interrupted.
    Raises UsageProblem for what the user must fix.
    """
    options = _parser().parse_args(argv)
    return int(options.do(options))


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="agentgauge pack",
        description="Judge what any agent app has delivered on GTA-Workflow: pack its outputs, check, score.",
        epilog=(
            "example: agentgauge pack create --result-dir outputs, "
            "then agentgauge pack score --in-pack outputs/pack.json"
        ),
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def verb(
        do: Callable[[argparse.Namespace], int], name: str, text: str, example: str, options: Mapping[str, Any]
    ) -> argparse.ArgumentParser:
        description, example = f"{text[0].upper()}{text[1:]}.", f"example: agentgauge pack {name} {example}"
        made = verbs.add_parser(name, help=text, description=description, epilog=example)
        made.set_defaults(do=do)
        for names, (what, settings) in options.items():
            made.add_argument(*names.split(), help=what, **settings)
        return made

    example = "--result-dir outputs --out-pack outputs/pack.json"
    verb(create_pack, "create", "make a pack from a folder of outputs", example, _CREATE)
    pack = {"pack": ("the pack", {"type": Path, "metavar": "PACK"}), **_WHERE}
    text = "find the defects of a pack; exit status 1 if there are any"
    verb(check_pack, "check", text, "outputs/pack.json", pack)
    example = "--in-pack outputs/pack.json --judge-model gpt-5.2"
    scoring = verb(score, "score", "judge a pack, or continue an interrupted judgement", example, _SCORE_PACK)
    earlier = scoring.add_mutually_exclusive_group()
    earlier.add_argument("--overwrite", help="discard the existing scores and start again", **_FLAG)
    earlier.add_argument("--force-resume", help="keep existing scores of another pack, judge or scoring", **_FLAG)
    config = "agentgauge.toml (default: the one in the working directory)"
    scoring.add_argument("--config", help=config, **_FILE)
    return parser

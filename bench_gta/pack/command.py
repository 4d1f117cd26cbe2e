"""The command ``agentgauge pack``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgauge.core.processes import CommandParser
from bench_gta.pack.verb_score import score
from bench_gta.pack.verbs import check_pack, create_pack, print_table, run_agent
from bench_gta.workflow.judging.cache import USER
from bench_gta.workflow.metrics import THRESHOLD

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
_RUN: Mapping[str, tuple[str, Option]] = {
    "--command": (
        "the agent's program and arguments; {prompt}, {prompt_file}, {input}, {output} and {task_id} are filled in,"
        " with --mcp also {mcp_url}, {mcp_token} and {mcp_config}; no shell runs it",
        {"metavar": "TEXT"} | _REQUIRED,
    ),
    "--out": ("folder of the run; the same command continues it", _DIR | _REQUIRED),
    "--data": (_DATA, _PATH),
    "--task-ids": ("file with ids of tasks, one a line (default: all)", _FILE),
    "--max-tasks": ("work on N of the tasks that remain", _COUNT),
    "--timeout": ("time limit of one task (default: 1800)", {"type": float, "default": 1800.0, "metavar": "SECONDS"}),
    "--budget": (
        "stop before the next task once this is used: 5usd, 2Mtok, 3h; the agent reports its costs",
        _AMOUNT,
    ),
    "--jobs": ("concurrent tasks (default: 1)", _COUNT | {"default": 1}),
    "--retry-failed": ("run tasks again whose agent failed", _FLAG),
    "--mcp": ("offer the agent the task set's tools by the Model Context Protocol, and log its calls", _FLAG),
    "--tool-server": ("tool server for --mcp (default: one of our own)", {"metavar": "URL"}),
    "--local-port": (
        "port of this machine's 127.0.0.1 that the agent reaches without the network, such as a model's; may repeat",
        {"type": int, "metavar": "PORT"} | _REPEATED,
    ),
    "--network": ("let the agent use the network, including localhost and the local network", _FLAG),
    "--env": ("environment variable for the agent; may repeat", {"metavar": "NAME"} | _REPEATED),
    "--readable": ("file or folder that the agent may read; may repeat", _PATH | _REPEATED),
    "--memory-mb": ("memory limit of the agent (default: 8192)", {"type": int, "default": 8192, "metavar": "MB"}),
    "--no-sandbox": ("run the agent with all your rights; the pack records it", _FLAG),
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
    """Run, pack, score and compare agent apps on GTA-Workflow.

    Returns the exit status: 0 done, 1 something is wrong with a pack or not every task ended well, 130 interrupted.
    Raises UsageProblem for what the user must fix.
    """
    options = _parser().parse_args(argv)
    return int(options.do(options))


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="agentgauge pack",
        description="Judge any agent app on GTA-Workflow: run it or pack its outputs, check, score, compare.",
        epilog=(
            "example: agentgauge pack run --command 'my-agent --task {prompt_file}' --out runs/my-agent, "
            "then agentgauge pack score --in-pack runs/my-agent/pack.json"
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
    example = "--command 'my-agent --task {prompt_file}' --out runs/my-agent"
    verb(run_agent, "run", "drive a command-line agent through the tasks", example, _RUN)
    example = "--in-pack outputs/pack.json --judge-model gpt-5.2"
    scoring = verb(score, "score", "judge a pack, or continue an interrupted judgement", example, _SCORE_PACK)
    earlier = scoring.add_mutually_exclusive_group()
    earlier.add_argument("--overwrite", help="discard the existing scores and start again", **_FLAG)
    earlier.add_argument("--force-resume", help="keep existing scores of another pack, judge or scoring", **_FLAG)
    config = "agentgauge.toml (default: the one in the working directory)"
    scoring.add_argument("--config", help=config, **_FILE)
    scores = {"type": Path, "nargs": "+", "metavar": "SCORES"}
    text = "compare scored packs with each other and with the published harnesses"
    written = ("files that `agentgauge pack score` wrote", scores)
    verb(print_table, "table", text, "a_scores.json b_scores.json", {"scores": written})
    return parser

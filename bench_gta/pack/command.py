"""The command ``agentgauge pack``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench_gta.pack.verb_score import score
from bench_gta.pack.verbs import check_pack, create_pack, print_table, run_agent
from bench_gta.workflow.judging.cache import USER
from bench_gta.workflow.metrics import THRESHOLD

_DATA = "data folder of GTA-Workflow, or its end.json (default: the bundled sample)"


def main(argv: Sequence[str]) -> int:
    """Returns the exit status: 0 done, 1 something is wrong with a pack or not every task ended well, 130 interrupted.
    Raises UsageProblem for what the user must fix."""
    options = _parser().parse_args(argv)
    return int(options.do(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentgauge pack",
        description=(
            "Judge what any agent app delivers on GTA-Workflow: run it or pack its outputs, check, score, compare."
        ),
        epilog=(
            "example: agentgauge pack run --command 'my-agent --task {prompt_file}' --out runs/my-agent, "
            "then agentgauge pack score --in-pack runs/my-agent/pack.json"
        ),
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _create(verbs)
    _check(verbs)
    _run(verbs)
    _score(verbs)
    _table(verbs)
    return parser


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, example: str
) -> argparse.ArgumentParser:
    description = text[0].upper() + text[1:] + "."
    return verbs.add_parser(
        name, help=text, description=description, epilog=f"example: agentgauge pack {name} {example}"
    )


def _create(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _verb(
        verbs, "create", "make a pack from a folder of outputs", "--result-dir outputs --out-pack outputs/pack.json"
    )
    parser.add_argument(
        "--result-dir",
        type=Path,
        required=True,
        metavar="DIR",
        help="folders named by task ids, each with final.txt and files/",
    )
    parser.add_argument(
        "--out-pack", type=Path, metavar="FILE", help="the pack (default: pack.json in the result folder)"
    )
    parser.add_argument("--data", "--dataset-end-json", type=Path, metavar="PATH", help=_DATA)
    parser.add_argument(
        "--task-ids", type=Path, metavar="FILE", help="ids of the tasks, one a line (default: all folders)"
    )
    parser.add_argument(
        "--deliverables",
        action="store_true",
        help=(
            "task folders hold produced files and no final answer; what a judge can be shown is copied beside the pack"
        ),
    )
    parser.set_defaults(do=create_pack)


def _check(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _verb(
        verbs, "check", "say what is wrong with a pack; exit status 1 where something is", "outputs/pack.json"
    )
    parser.add_argument("pack", type=Path, metavar="PACK", help="the pack")
    _add_place(parser)
    parser.set_defaults(do=check_pack)


def _run(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _verb(
        verbs,
        "run",
        "drive a command-line agent through the tasks",
        "--command 'my-agent --task {prompt_file}' --out runs/my-agent",
    )
    parser.add_argument(
        "--command",
        required=True,
        metavar="TEXT",
        help=(
            "the agent's program and arguments; {prompt}, {prompt_file}, {input}, {output} and {task_id} are filled in;"
            " no shell runs it"
        ),
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the run; the same command again goes on with it",
    )
    parser.add_argument("--data", type=Path, metavar="PATH", help=_DATA)
    parser.add_argument("--task-ids", type=Path, metavar="FILE", help="ids of the tasks, one a line (default: all)")
    parser.add_argument("--max-tasks", type=int, metavar="N", help="work on N of the tasks that remain")
    parser.add_argument("--timeout", type=float, default=1800.0, metavar="SECONDS", help="for one task (default: 1800)")
    parser.add_argument(
        "--budget",
        metavar="AMOUNT",
        help="stop before the next task once this is used: 5usd, 2Mtok, 3h; the agent tells its costs",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="tasks at one time (default: 1)")
    parser.add_argument(
        "--retry-failed", action="store_true", help="run those tasks again whose agent did not end well"
    )
    parser.add_argument(
        "--network", action="store_true", help="let the agent use the network, localhost and the local network included"
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME", help="environment variable for the agent; may be repeated"
    )
    parser.add_argument(
        "--readable",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="file or folder that the agent may read; may be repeated",
    )
    parser.add_argument("--memory-mb", type=int, default=8192, metavar="MB", help="memory of the agent (default: 8192)")
    parser.add_argument(
        "--no-sandbox", action="store_true", help="let the agent reach everything that you can reach; the pack says so"
    )
    parser.set_defaults(do=run_agent)


def _score(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _verb(
        verbs, "score", "have a pack judged, or go on with it", "--in-pack outputs/pack.json --judge-model gpt-5.2"
    )
    parser.add_argument("--in-pack", type=Path, required=True, metavar="FILE", help="the pack")
    _add_place(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="details (default: <pack>_<judge>_scores.json beside the pack)"
    )
    parser.add_argument("--summary-out", type=Path, metavar="FILE", help="summary (default: <out>_summary.json)")
    parser.add_argument(
        "--judge-model", metavar="NAME", help="a model that sees files, or rules (default for the bundled sample)"
    )
    parser.add_argument("--judge-url", metavar="URL", help="address of the judge's endpoint")
    parser.add_argument(
        "--judge-votes", type=int, default=1, metavar="K", help="replies on each leaf; the median counts (default: 1)"
    )
    parser.add_argument(
        "--judge-cache",
        default=USER,
        metavar="DIR",
        help="where replies are kept: a folder, user (default: the user's cache) or none",
    )
    parser.add_argument(
        "--scoring",
        choices=("parity", "strict"),
        default="parity",
        help="parity: as the released scorer (default); strict: all turns, all kinds of files, sound replies only",
    )
    parser.add_argument(
        "--leaf-threshold", type=float, default=THRESHOLD, metavar="X", help="of Leaf SR, 0 to 10 (default: 7)"
    )
    parser.add_argument(
        "--root-threshold", type=float, default=THRESHOLD, metavar="X", help="of Root SR, 0 to 10 (default: 7)"
    )
    parser.add_argument("--max-tasks", type=int, metavar="N", help="judge N of the tasks that remain")
    parser.add_argument(
        "--budget",
        metavar="AMOUNT",
        help="stop before the next task once the judge has used this, such as 5usd or 30min",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what is wrong with the pack; no key is needed")
    parser.add_argument("--allow-missing", action="store_true", help="have tasks judged whose files are not all there")
    earlier = parser.add_mutually_exclusive_group()
    earlier.add_argument("--overwrite", action="store_true", help="start afresh")
    earlier.add_argument("--force-resume", action="store_true", help="keep scores of another pack, judge or scoring")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="agentgauge.toml (default: the one in the working directory)"
    )
    parser.set_defaults(do=score)


def _table(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = _verb(
        verbs,
        "table",
        "compare scored packs with each other and with the published harnesses",
        "a_scores.json b_scores.json",
    )
    parser.add_argument(
        "scores", type=Path, nargs="+", metavar="SCORES", help="files that `agentgauge pack score` wrote"
    )
    parser.set_defaults(do=print_table)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--base-dir",
        type=Path,
        metavar="DIR",
        help="folder that the pack's paths start from (default: the one it names)",
    )
    parser.add_argument("--data", type=Path, metavar="PATH", help=f"{_DATA}; a pack of another task set is refused")

"""``agentgauge pack score``: chooses the judge, checks the pack, and prints the result."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from agentgauge.core.config import Config, ModelTable, load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.types import Json
from agentgauge.model.client import fingerprint_of
from agentgauge.model.presets import resolve
from agentgauge.run.gates import parse_budget
from bench_gta.pack.check import missing_files, require_of_set
from bench_gta.pack.file_selection import escaped
from bench_gta.pack.format import Pack, PackTask
from bench_gta.pack.results import Settings
from bench_gta.pack.score import Limits, Scored, default_out, default_summary, score_pack
from bench_gta.pack.tasks import TaskSet, is_bundled
from bench_gta.pack.verbs import INTERRUPTED, print_problems, read, require_count, until_signal
from bench_gta.workflow.judging.judge import RULES
from bench_gta.workflow.judging.prompts import load_template, version


def score(options: argparse.Namespace) -> int:
    for name in ("leaf_threshold", "root_threshold"):
        if not 0 <= getattr(options, name) <= 10:
            raise UsageProblem(f"--{name.replace('_', '-')} must be from 0 to 10, not {getattr(options, name)}")
    require_count(options.max_tasks)
    pack, tasks = read(options, options.in_pack)
    if options.dry_run:
        return print_problems(pack, tasks)
    if tasks is not None:
        require_of_set(pack, tasks)
    judge = options.judge_model or _default_judge(pack, tasks)
    config = config_for(judge, options.judge_votes, options.judge_url, load_config(options.config, root=Path.cwd()))
    settings = Settings(
        judge=judge,
        fingerprint=_fingerprint(judge, config),
        prompt="" if judge == RULES else version(load_template(config.prompts)),
        votes=options.judge_votes,
        scoring=options.scoring,
        leaf_threshold=options.leaf_threshold,
        root_threshold=options.root_threshold,
    )
    out = options.out or default_out(options.in_pack, settings)
    summary_out = options.summary_out or default_summary(out)
    limits = Limits(
        max_tasks=options.max_tasks,
        budget=parse_budget(options.budget) if options.budget else None,
        overwrite=options.overwrite,
        force_resume=options.force_resume,
    )
    _report_missing(pack, allowed=options.allow_missing or judge == RULES)
    scored = until_signal(_scored(pack, settings, config, options.judge_cache, limits, out, summary_out))
    if scored is None:
        return INTERRUPTED
    counts, figures = scored.summary["summary"], scored.summary["figures"]
    if scored.stopped:
        print(f"stopped: {scored.stopped}")
    if unreadable := scored.summary["unreadable"]:
        lacking = "hold no score in the form asked for, and say nothing about the agent"
        print(f"{unreadable} of {scored.summary['votes']} replies of the judge {lacking}")
    if stored := scored.summary["stored_votes"]:
        print(f"{stored} of {scored.summary['votes']} verdicts were stored ones (--judge-cache)")
    judged = f"{counts['n_done']} of {counts['n_total']} tasks are judged"
    print(f"{judged}, {counts['n_error']} of them failed; now: {len(scored.judged)}")
    for name in ("Root Score", "Leaf SR", "Root SR"):
        print(f"  {name:10}  {_shown(figures[name])}")
    for name, value in (scored.summary["steps"] or {}).items():
        print(f"  steps: {name:13}  {value if isinstance(value, int) else _shown(value)}")
    print(f"  thresholds: leaf {settings.leaf_threshold:g}, root {settings.root_threshold:g}")
    print(f"{out}\n{summary_out}")
    return 1 if counts["n_error"] else 0


def _shown(figure: float | None) -> str:
    return "not available" if figure is None else f"{figure:.2f}"


def base_url(address: str | None) -> str | None:
    """A service address without blanks, closing slashes and ``/chat/completions``; None where none is given.

    Nothing may be left: the empty text. The released code takes ``/v1`` along with ``/chat/completions``, which breaks
    such addresses; here it stays (GTA-Workflow spec 6.2).
    """
    return address.strip().rstrip("/").removesuffix("/chat/completions") if address else None


def config_for(name: str, votes: int, address: str | None, config: Config) -> Config:
    """The configuration with the judge at that address. Raises UsageProblem for what the judge ``rules`` cannot do."""
    url = base_url(address)
    if url == "":
        raise UsageProblem(f"--judge-url {address!r} names no host; give an address such as https://api.example.com/v1")
    if votes < 1:
        raise UsageProblem(f"--judge-votes must be 1 or more, not {votes}")
    if name == RULES and (votes > 1 or url):
        leave = "is built in and always gives the same replies; leave --judge-votes and --judge-url out"
        raise UsageProblem(f"the judge {RULES!r} {leave}")
    if url is None:
        return config
    table = config.models.get(name, ModelTable(model=name))
    return replace(config, models={**config.models, name: replace(table, url=url, endpoint=None)})


def _default_judge(pack: Pack, tasks: TaskSet | None) -> str:
    if tasks is not None and is_bundled(tasks.root):
        return RULES
    choose = "so a model has to judge it; name one with --judge-model"
    raise UsageProblem(f"{pack.path} is not of the bundled sample, {choose}")


def _report_missing(pack: Pack, *, allowed: bool) -> None:
    """One line for each task with files that are not there. Raises UsageProblem unless they may be."""
    tasks = [(task, names) for task in pack.tasks if (names := missing_files(pack, task))]
    for task, names in tasks:
        print(f"task {task.task_id}: missing: {escaped(', '.join(names))}")
    if tasks and not allowed:
        raise UsageProblem(
            f"{len(tasks)} tasks of {pack.path} name files that are not in {pack.base}; give the right --base-dir, or"
            " have the tasks judged without them with --allow-missing"
        )


async def _scored(
    pack: Pack, settings: Settings, config: Config, cache: str, limits: Limits, out: Path, summary_out: Path
) -> Scored:
    from bench_gta.workflow.judging.judges import make_judge

    def report(task: PackTask, record: Mapping[str, Json]) -> None:
        print(f"task {task.task_id}: {escaped(record.get('error') or format(record['score'], '.2f'))}", flush=True)

    with _named_as_judge():
        released = settings.scoring == "parity"
        made = make_judge(settings.judge, votes=settings.votes, cache=cache, released=released, config=config)
    try:
        return await score_pack(
            pack,
            made.judge,
            settings,
            out=out,
            summary_out=summary_out,
            limits=limits,
            spent=made.spent,
            reported=lambda: made.judge.reported,
            report=report,
        )
    finally:
        await made.close()


def _fingerprint(judge: str, config: Config) -> str:
    if judge == RULES:
        return ""
    with _named_as_judge():
        return fingerprint_of(resolve(judge, url=None, config=config, need_key=False), os.environ)


@contextlib.contextmanager
def _named_as_judge() -> Iterator[None]:
    """Messages about a model name the judge's options."""
    try:
        yield
    except UsageProblem as problem:
        text = str(problem).replace("--model-url", "--judge-url").replace("--model ", "--judge-model ")
        raise UsageProblem(text) from None

"""The state of a run in the controller: its folder, its counts, and its summary."""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import cannot_write, refusal
from agentgauge.core.tracebacks import mistake_behind, sentence_of
from agentgauge.model.outage import FILE as OUTAGES
from agentgauge.model.outage import outage_notes, outages
from agentgauge.model.rates import FILE as RATES
from agentgauge.pytest_plugin.options import given, only_looks
from agentgauge.replies.cache import PROBLEM, cache_notes
from agentgauge.replies.stages import remove_stages
from agentgauge.run.coordination.slots import FILE as SLOTS
from agentgauge.run.coordination.stopping import RUNNING, StopFile
from agentgauge.run.coordination.waiting_requests import FILE as WAITING
from agentgauge.run.crashes import Suspects, note_earlier_death, remove_running
from agentgauge.run.options import destination
from agentgauge.run.progress import Progress
from agentgauge.run.run_folder import check_run, describe, run_json, take_folder
from agentgauge.run.settings import Settings
from agentgauge.store import RunFolder
from agentgauge.store.folder import LEFT_OUT
from agentgauge.store.folder_lock import FolderLock
from agentgauge.store.jsonl import CaseId
from agentgauge.store.records import LeftOut, left_out_notes
from agentgauge.store.revisions import Revisions

# -- Prepares the run folder at the start of a run: locks it, checks it, and writes run.json before anything else
# happens.


SELECTION = pytest.StashKey[dict[str, Any]]()
"""The selection of a resumed run that has no plan yet: see ``select``."""

EARLIER_DEATH = pytest.StashKey[str]()
"""A sentence about cases of a resumed run that were running when a process died."""


def claim_folder(config: pytest.Config, settings: Settings) -> Settings:
    """Lock the run folder until pytest ends, and write run.json: from then on a killed run can be resumed.

    A run that plans no case leaves nothing. Returns the settings with the folder. Raises UsageProblem if another
    process has locked the folder, if the folder holds a run already, or if a resumed run would differ from the earlier
    one.
    """
    if only_looks(config):
        check_run(settings)
        return settings
    if settings.rescore:
        config.add_cleanup(FolderLock(settings.rescore, shared=True).release)
    settings, give_back = take_folder(settings, is_named=bool(given(config.option).run_dir))
    if give_back is None:
        return settings
    config.add_cleanup(give_back)
    try:
        check_run(settings)
        if settings.resume:
            config.stash[EARLIER_DEATH] = note_earlier_death(settings)
        else:
            RunFolder(settings.run_dir).write_json("run.json", run_json(settings, selection(config)))
    except OSError as error:
        raise UsageProblem(f"the run folder {settings.run_dir}: {refusal(error)}") from None
    return settings


def is_asked_for(option: Namespace, settings: Settings) -> bool:
    """Whether the run folder stays after a run of a project's own tests alone. It does where it is named, where other
    runs read it, and where the run may be continued. ``option``: our options."""
    members = settings.shard or settings.shared or settings.assignment
    needs = settings.resume or settings.budget or settings.gates
    return bool(option.run_dir or needs or members or settings.file.keeps_own_tests)


def continue_selection(config: pytest.Config) -> None:
    """A run that ended before it had a plan is planned when it is resumed, with the selection that it was started with.

    Raises UsageProblem where its run.json cannot be read.
    """
    resumed = given(config.option).resume
    folder = RunFolder(Path(resumed or "."))
    if resumed and not folder.has_plan and (folder.path / "run.json").exists():
        earlier: dict[str, Any] = folder.read_json("run.json").get("selection") or {}
        config.stash[SELECTION] = earlier
        select(config, earlier)


def select(config: pytest.Config, earlier: Mapping[str, Any]) -> None:
    """Apply the selection of an earlier run if the command line selects nothing. Called in each process, because
    xdist's workers know only the command line."""
    for name, attribute in (("keyword", "keyword"), ("markexpr", "markexpr"), ("limit", destination("--limit"))):
        if earlier.get(name) and not getattr(config.option, attribute):
            setattr(config.option, attribute, earlier[name])
    if config.args_source is not pytest.Config.ArgsSource.ARGS and earlier.get("arguments"):
        config.args = earlier["arguments"]


def selection(config: pytest.Config) -> dict[str, Any]:
    """The selection of cases, stored in case the run is killed before it has a plan."""
    option, here = config.option, config.invocation_params.dir
    given = config.args if config.args_source is pytest.Config.ArgsSource.ARGS else []
    paths = [str(here / word) if (here / Path(word.partition("::")[0])).exists() else word for word in given]
    limit = getattr(option, destination("--limit"))
    return {"keyword": option.keyword, "markexpr": option.markexpr, "limit": limit, "arguments": paths}


# -- The state of a run that the parts of the controller share.


@dataclass
class RunState:
    config: pytest.Config
    settings: Settings
    plan: list[CaseId] = field(default_factory=list)  # empty in an ordinary pytest run
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what identifies each tool
    sandbox: tuple[str, ...] = ()  # the layers that confine programs
    progress: Progress | None = None  # from when cases may run
    failures: int = 0  # reports of benchmark cases and ordinary tests
    ordinary_failures: int = 0
    stop_reason: str | None = None
    missing_reason: str = ""  # why a case was not attempted, as its worker says
    service_problem: str = ""  # why a service did not start, or is gone for good
    interrupted: bool = False
    gates: list[dict[str, str | None]] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # no problems: gates that hold, and what each would have found
    summary: dict[str, Any] | None = None
    problems: list[str] = field(default_factory=list)  # why the exit status is 1
    notes: list[str] = field(default_factory=list)  # what else a person should know at the end
    revisions: Revisions | None = None  # from when the run is first described
    started: float = field(default_factory=time.time)

    @property
    def benchmark_cases(self) -> Counter[str]:
        """Task → planned cases; without tests of the project's own, which pytest runs and shows."""
        return Counter(task for task, _, _ in self.plan if not self.settings.tasks[task].data.in_run_folder)

    @property
    def is_kept(self) -> bool:
        """Whether the run folder stays when the run has ended."""
        asked = is_asked_for(given(self.config.option), self.settings)
        return bool(asked or self.benchmark_cases or self.service_problem)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.settings.run_dir)

    @property
    def why_missing(self) -> str:
        """Why cases that were planned have not been attempted, at the end of the run."""
        if reason := self.service_problem or self.stop_reason:
            return reason
        if self.interrupted:
            return "interrupted (Ctrl-C or SIGTERM)"
        with suppress(OSError):  # no file: nothing has stopped the workers
            return StopFile(self.folder.path).reason()
        if self.settings.rescore:  # the same cases are missing as there
            with suppress(UsageProblem):  # a run that was killed has no summary
                return str(RunFolder(self.settings.rescore).read_json("summary.json").get("why_missing", ""))
            return ""
        plugins = [self.config.pluginmanager.get_plugin(name) for name in ("session", "dsession")]  # the latter xdist's
        known = [getattr(plugin, name, "") for plugin in plugins for name in ("shouldstop", "shouldfail")]
        reasons = [reason for reason in known if reason and isinstance(reason, str)]
        return self.missing_reason or (reasons[0] if reasons else "pytest ended before them")

    def stop(self, reason: str, *, awaits: bool = False) -> None:
        """Stop the run gracefully. ``awaits``: see ``StopFile``."""
        self.stop_reason = reason
        self.stop_workers(reason, awaits=awaits)

    def stop_workers(self, reason: str, *, awaits: bool = False) -> None:
        """No new case is started, in any worker."""
        if self.plan:
            self.folder.free_reserve()
            with suppress(OSError):  # the disk is full: workers find that out
                StopFile(self.folder.path).write(reason, awaits=awaits)

    def cannot_write(self, error: OSError) -> str:
        return f"{cannot_write(self.folder.path, error)}; continue with --resume={self.folder.path}"

    @property
    def _reported(self) -> dict[str, Any]:
        """Option of a model's role → names that its endpoint reported, other than the one asked for, with the number of
        replies."""
        assert self.summary is not None
        parts = self.summary.get("observed", {}).items()
        return {role: part["reported"] for role, part in parts if "reported" in part}

    def write_run_json(self, finished: float | None) -> None:
        """``finished``: when the run ended, seconds since the epoch; None while it goes on."""
        self.revisions = self.revisions or Revisions(self.config.rootpath)
        about = run_json(
            self.settings,
            selection(self.config),
            self.plan,
            tools=self.tools,
            sandbox=self.sandbox,
            gates=self.gates,
            started=self.started,
            finished=finished,
            revisions=self.revisions.known(wait=finished is not None),
            **({"reported": self._reported} if self.summary else {}),
        )
        self.folder.write_json("run.json", about)


# -- The end of a run: merged records, summary, page, and the exit status.


def sum_up(state: RunState, exitstatus: int) -> int:
    """Write the results of a run into its folder. Returns the exit status; ``exitstatus`` is pytest's own.

    Raises OSError and UsageProblem.
    """
    from agentgauge_reports.formats import job_summary
    from agentgauge_reports.load import Omitted, load_run
    from agentgauge_reports.page import write_page
    from agentgauge_reports.run import sum_up as summarize

    settings, folder = state.settings, state.folder
    state.notes += [*outage_notes(outages(folder.path, time.time())), *cache_notes(folder.path)]
    for left in (RUNNING, SLOTS, WAITING, RATES, OUTAGES, PROBLEM):
        (folder.path / left).unlink(missing_ok=True)
    folder.free_reserve()
    tasks = [settings.tasks[name] for name in dict.fromkeys(task for task, _, _ in state.plan)]
    left_out: list[LeftOut] = []
    outlines = folder.merge_records(state.plan, left_out)
    remove_running(folder.path)
    if all(case in outlines for case in state.plan):
        Suspects().write(folder.path)  # none are left
        if all(outline.status in ("passed", "wrong") for outline in outlines.values()):
            remove_stages(folder.path)
    state.notes += left_out_notes(folder.path, left_out, LEFT_OUT)
    try:
        state.summary = summarize(
            folder,
            state.plan,
            outlines,
            tasks=settings.tasks,
            about=describe(settings, tasks, state.tools),
            index_of=lambda task: task.data.index(settings.roots[task.name]),
            scoring=settings.scoring,
            similarity=settings.similarity,
            why_missing=state.why_missing,
        )
    except Exception as error:
        # what a resumed run holds may be of another version, and says so
        mistake = error.__cause__ if isinstance(error, UsageProblem) and not settings.resume else error
        if mistake is None or isinstance(mistake, OSError | UsageProblem) or not mistake_behind(mistake):
            raise
        what = f"no summary, because code of the benchmark failed: {sentence_of(mistake)}"
        advice = f"correct it, then score the stored answers with --rescore={folder.path}"
        raise UsageProblem(f"{what}; {advice}") from error
    status = _judge(state, exitstatus)
    state.write_run_json(finished=time.time())
    omitted = Omitted()
    loaded = load_run(folder.path, state.plan, outlines, tasks=settings.tasks)
    write_page(folder.path, folder.path / "report.html", loaded=loaded, omitted=omitted, roots=settings.roots)
    state.notes += omitted.sentences("report.html")
    if results := state.config.getoption("allure_report_dir", None):
        from agentgauge_reports.allure import write_run

        omitted = Omitted()
        write_run(folder.path, Path(results), tasks=settings.tasks, omitted=omitted, own_tests=False)
        state.notes += omitted.sentences("the Allure results")
    notes = [*state.held, *state.problems, *state.notes]
    state.notes += job_summary.add(state.summary, settings.tasks, state.gates, notes)
    return status


def _judge(state: RunState, exitstatus: int) -> int:
    """The exit status: wrong answers are results and no failures of the run."""
    assert state.summary is not None
    benchmarks = state.benchmark_cases
    for word in ("broken", "missing"):
        # pytest itself reports how a project's own tests ended
        if count := sum(state.summary["tasks"][name][word] for name in benchmarks):
            why = f": {state.why_missing}" if word == "missing" and state.why_missing else ""
            state.problems.append(f"{count} {'case is' if count == 1 else 'cases are'} {word}{why}")
    if state.settings.gates:
        from agentgauge_reports.comparison import check_gate, warning

        if text := warning(state.settings.gates, state.summary):
            state.notes.append(text)
    for gate in state.settings.gates:
        problem, seen = check_gate(gate, state.summary, state.folder.path, state.settings.tasks)
        state.gates.append({"text": gate.text, "problem": problem})
        state.problems += [problem] if problem else []
        state.held += [f"gate {gate.text} holds: {seen}"] if seen else []
    if exitstatus in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) or state.interrupted:
        return exitstatus
    if state.service_problem:
        return pytest.ExitCode.USAGE_ERROR
    if exitstatus == pytest.ExitCode.INTERRUPTED and not (state.stop_reason or state.failures):
        return exitstatus  # collection errors, or a worker that was interrupted
    return pytest.ExitCode.TESTS_FAILED if state.problems or state.ordinary_failures else pytest.ExitCode.OK

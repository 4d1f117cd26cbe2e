"""The hooks of AgentGauge: what sees or changes a run implements them, in a ``conftest.py``, in a plugin of pytest, or
in a module that an installed package names in the entry-point group ``agentgauge``. Every process imports these
modules, so they import what is heavy inside of their functions.

A hook is a function of the name that is documented here, with those of the arguments that it needs, in any order. See
docs/hooks.md for examples of a whole plugin.

- **Where.** Hooks that announce are called in every process, and of installed packages alone. Hooks of a case run in
  the process that runs the case: an xdist worker, or the one process without ``-n``. Hooks of the run run in pytest's
  first process. A ``conftest.py`` sees only the cases of the tests below its folder.
- **When they wait.** A hook of a case may be ``async``; it is awaited in the event loop of the run, where many cases
  are solved at once. Any other function runs in a thread outside that loop, so it may block; several may run at a time.
- **What they answer.** ``pytest_agentgauge_request`` and ``pytest_agentgauge_tool_call`` answer in the place of the
  model or the tool: the first answer that is not None counts, and the others are not asked. What they raise breaks the
  case. All others only look on: what they return is ignored, but for lines of the header and the sentence of
  ``_empty``, and what they raise is a note at the end of the run. But an error of ``pytest_agentgauge_check``,
  ``_begin``, ``_ended`` or ``_summary`` fails the run.
- Hooks are plain functions: none of them can be a wrapper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pluggy import HookspecMarker

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from agentgauge.agent.dialects.format import Format
    from agentgauge.core.case import Case
    from agentgauge.core.chat import ChatReply, ChatRequest
    from agentgauge.core.task import Task
    from agentgauge.core.tools import ToolOutput
    from agentgauge.core.types import Event, Record
    from agentgauge.data.fetch.dataset import DataSet
    from agentgauge.model.prices import PriceList
    from agentgauge.model.providers import Provider
    from agentgauge.run.added_figures import AddedFigures
    from agentgauge.run.candidates import Candidates
    from agentgauge.run.merging import Merging
    from agentgauge.run.part import Part, Process
    from agentgauge.run.report_form import ReportForm
    from agentgauge.run.run import Run
    from agentgauge.run.screen import Screen
    from agentgauge.run.settings import Draft
    from agentgauge.run.several.beside import Beside
    from agentgauge.store.jsonl import CaseId, CaseOutline

hookspec = HookspecMarker("pytest")

# -- what a package announces, in every process, whenever it is needed; commands without pytest call these, too
#
# A conftest.py cannot implement them: a tool server or a worker of it knows of none. Tasks need no hook there, since
# those that it holds are found. Agents, and code that a model wrote, cannot read the packages of these modules, because
# gold may be in them.


@hookspec
def pytest_agentgauge_tasks() -> Sequence[Task]:
    """Benchmarks. A class below ``@benchmark`` is a task, too.

    def pytest_agentgauge_tasks():
        from sums.test_sums import Sums

        return [Sums]
    """


@hookspec
def pytest_agentgauge_data() -> Sequence[DataSet]:
    """Data sets that ``agentgauge fetch`` downloads and ``agentgauge data`` lists.

    def pytest_agentgauge_data():
        from sums.fetch import SUMS

        return [SUMS]
    """


@hookspec
def pytest_agentgauge_commands() -> Mapping[str, Callable[..., int]]:
    """Commands of ``agentgauge``, by name: functions that get the words behind the name, and the tasks that are known
    where they have a parameter ``tasks``, and return the exit status.
    The first line of the docstring is the help. The commands of AgentGauge cannot be replaced.

        def pytest_agentgauge_commands():
            from sums.invent import main

            return {"invent-sums": main}
    """


@hookspec
def pytest_agentgauge_providers() -> Sequence[Provider]:
    """Providers that a model's name may begin with.

    def pytest_agentgauge_providers():
        return [Provider("acme", "Acme Models", "https://api.acme.example/v1", "ACME_API_KEY")]
    """


@hookspec
def pytest_agentgauge_prices() -> Sequence[Callable[[str, str], PriceList | None]]:
    """Functions that know what models cost, called with the address of the provider and its name of the model. The
    first answer that is not None counts, and ``prices`` in a model's table before all of them.

    def pytest_agentgauge_prices():
        return [lambda url, model: AcmePrices(model) if "acme.example" in url else None]
    """


@hookspec
def pytest_agentgauge_dialects() -> Mapping[str, Callable[[], Format]]:
    """Dialects, by the name that ``--dialect`` takes: classes that inherit ``agentgauge.dialects.Format``.

    def pytest_agentgauge_dialects():
        from acme.dialect import Lines

        return {"lines": Lines}
    """


@hookspec
def pytest_agentgauge_agents() -> Mapping[str, str]:
    """Agents that are Python functions, by the name that ``--agent`` takes, each as MODULE:FUNCTION. They are imported
    in a process of their own, which cannot import AgentGauge.

        def pytest_agentgauge_agents():
            return {"my-agent": "my_agent.solve:answer"}
    """


@hookspec
def pytest_agentgauge_tools() -> Sequence[type]:
    """Tools: functions below ``@agentgauge.tools.tool``, and classes that inherit ``agentgauge.tools.Tool``. One that
    has the name of a tool of AgentGauge is left out.

        def pytest_agentgauge_tools():
            from acme.tools import CountWords

            return [CountWords]
    """


# -- what a package adds to the run itself, in every process; a conftest.py cannot implement these either


@hookspec
def pytest_agentgauge_options() -> type:
    """Options of every run: a frozen dataclass whose fields are ``agentgauge.core.option.option(...)``. Of AgentGauge's
    own plugins alone, because pytest needs them in every project; another package adds its own by
    ``pytest_addoption``. ``run.settings.of(THE CLASS)`` has the values.

        def pytest_agentgauge_options():
            from agentgauge.plugins.cache.options import CacheOptions

            return CacheOptions
    """


@hookspec
def pytest_agentgauge_pytest_plugins() -> Sequence[str]:
    """Modules that pytest loads as plugins: fixtures, and pytest's own hooks. Of AgentGauge's own plugins alone;
    another package names its own in the entry-point group ``pytest11``.

        def pytest_agentgauge_pytest_plugins():
            return ["agentgauge.plugins.own_tests.pytest_fixtures"]
    """


@hookspec
def pytest_agentgauge_repeats(given: Namespace) -> Mapping[str, Any] | None:
    """The settings of an earlier run (``agentgauge.run.settings.stored_settings``) that the run repeats: it has them
    where no option says another thing, and asks no model, since a ``Part`` gives the replies. ``given``: the options,
    by their keys. The first that is not None counts. A UsageProblem that is raised refuses the run.

        def pytest_agentgauge_repeats(given):
            return settings_in(given.replay) if given.replay else None
    """


@hookspec
def pytest_agentgauge_configure(draft: Draft) -> None:
    """The settings are read: check them, change them, or add what follows from them (``draft.facts``), which
    ``run.settings.of(ITS CLASS)`` gives then. What changes the results of cases belongs into ``draft.fingerprint``,
    what a run that starts from this one must know into ``draft.stored``, what else run.json says into ``draft.about``,
    and what a reader must know into ``draft.described``. A UsageProblem that is raised refuses the run.

        def pytest_agentgauge_configure(draft):
            draft.facts[Owner] = Owner(draft.file.path)
    """


@hookspec
def pytest_agentgauge_choose(candidates: Candidates) -> None:
    """The tests of a new run are selected, or an earlier plan is kept: take those out of ``candidates.kept`` that this
    run does not have. Called in each process that collects, which all must choose alike. ``candidates``: ``cases``, in
    the same order on every machine, ``settings``, ``is_planned``; ``files``, which the run folder gets.

        def pytest_agentgauge_choose(candidates):
            cases = enumerate(candidates.cases)
            candidates.kept -= {place for place, case in cases if case and "slow" in case.row.tags}
    """


@hookspec
def pytest_agentgauge_process(process: Process) -> Part | None:
    """A process is to run cases: what a plugin does there, such as around every client of a model. Called inside the
    event loop of the run. ``process``: its ``settings``, ``folder``, ``place``, and the names of its ``tasks``.

        def pytest_agentgauge_process(process):
            return Throttle(process)
    """


@hookspec
def pytest_agentgauge_progress(folder: Path) -> str:
    """The progress line of a run is shown, once a second: words of it about what goes on, or an empty text.
    ``folder``: of the run, where a ``Part`` has noted it (``Part.note``). What is raised is passed over.

        def pytest_agentgauge_progress(folder):
            return f"{waiting_in(folder)} requests are throttled"
    """


@hookspec
def pytest_agentgauge_several(parent: Path, together: Mapping[str, str]) -> Beside | None:
    """Several runs of one command are to start side by side, each in a process of its own: what a plugin does beside
    them, in the process of their launcher, such as to stop all of them. ``parent``: the folder of their folders.
    ``together``: options that they have together, as they were given, by their names.

        def pytest_agentgauge_several(parent):
            return Night(parent)
    """


@hookspec
def pytest_agentgauge_merge(merging: Merging) -> None:
    """Runs are to be merged into one: a UsageProblem that is raised refuses it. ``merging``: ``runs`` (folder →
    run.json); ``about`` takes what run.json of the merged run says in place of the first one's.

        def pytest_agentgauge_merge(merging):
            merging.about["owners"] = [run.get("owner") for run in merging.runs.values()]
    """


@hookspec
def pytest_agentgauge_reports() -> Sequence[ReportForm]:
    """Forms of ``agentgauge report``, which write what others read of a run that has ended: options, and what
    ``--format`` takes.

    def pytest_agentgauge_reports():
        return [ReportForm("--slides", "FILE", "slides (default: slides.html in the run)", "slides.html", write)]
    """


# -- a case, in the process that runs it


@hookspec
def pytest_agentgauge_case_started(case: Case) -> None:
    """A case begins, before its first request. Not called for a case whose stored answer is scored again. ``case``:
    ``id`` (task, sample, attempt), ``sample``, ``seed``; ``events`` and ``usage`` grow while it runs.

        def pytest_agentgauge_case_started(case):
            print("started", *case.id)
    """


@hookspec
async def pytest_agentgauge_request(case: Case, request: ChatRequest) -> ChatReply | None:
    """A model is to be asked, the tested one or one of a role (``request.case.role``). A reply is taken in its place,
    and nothing is sent: a stub, a stored reply, another client. The record says whose answer it is.

        from agentgauge.authoring import ChatReply


        def pytest_agentgauge_request(case, request):
            if "capital of France" in str(request.messages[-1]["content"]):
                return ChatReply("Paris")
    """


@hookspec
def pytest_agentgauge_reply(case: Case, request: ChatRequest, reply: ChatReply, event: Event) -> None:
    """A reply has come, of a model or of ``pytest_agentgauge_request``: its ``text``, ``tool_calls``, ``usage``
    (tokens, and dollars where the price is known). ``event``: as the record will have it; its ``name`` is the model's,
    ``start`` and ``seconds`` say when it was asked and how long it took.

        def pytest_agentgauge_reply(case, reply, event):
            print(case.id, reply.usage.prompt_tokens, "tokens in", event.seconds, "s")
    """


@hookspec
async def pytest_agentgauge_tool_call(
    case: Case, name: str, arguments: Mapping[str, Any]
) -> tuple[ToolOutput, ...] | str | None:
    """A tool is to be called. A text, or outputs, are taken as its result, and the tool is not called: a stored result,
    a disturbed one. A ``ToolError`` that is raised goes to the model, as a refusal of the tool does.

        def pytest_agentgauge_tool_call(case, name, arguments):
            if name == "GoogleSearch":
                return "no results"
    """


@hookspec
def pytest_agentgauge_tool_result(
    case: Case, name: str, arguments: Mapping[str, Any], result: tuple[ToolOutput, ...], event: Event
) -> None:
    """A tool has answered, or ``pytest_agentgauge_tool_call`` has. ``event``: as that of a reply. A refusal or a
    failure is one of ``pytest_agentgauge_failed``.

        def pytest_agentgauge_tool_result(name, result):
            print(name, "gave", [output.type for output in result])
    """


@hookspec
def pytest_agentgauge_failed(case: Case, event: Event) -> None:
    """A request to a model has failed for good, after its retries; or a tool has refused a call, or failed. ``event``:
    its ``kind`` is "model" or "tool", its ``error`` says why.

        def pytest_agentgauge_failed(case, event):
            print(case.id, event.kind, event.name, "failed:", event.error)
    """


@hookspec
def pytest_agentgauge_case_finished(record: Record) -> None:
    """A case has ended, with its record: ``task``, ``sample``, ``attempt``, ``status``, ``score``, ``transcript``. The
    record is stored by now, and cannot be changed.

        def pytest_agentgauge_case_finished(record):
            print(record.task, record.sample, record.status)
    """


# -- the run, in pytest's first process


@hookspec
def pytest_agentgauge_empty(run: Run) -> str | None:
    """No case is planned: a sentence where that is as it should be. Then the run is no failure, and the sentence is
    shown.

        def pytest_agentgauge_empty(run):
            if run.settings.limit == 1:
                return "this machine has nothing to do"
    """


@hookspec
def pytest_agentgauge_check(run: Run) -> None:
    """The cases are planned, and nothing is started yet: what it raises refuses the run. ``run``: ``plan``,
    ``settings``, ``folder``; ``about`` takes what run.json should say more.

        def pytest_agentgauge_check(run):
            if len(run.plan) > 10_000:
                raise UsageProblem("more than 10,000 cases; select fewer by --limit")
    """


@hookspec
def pytest_agentgauge_begin(run: Run) -> None:
    """The services are started, and cases run from now on: begin what goes on beside them. ``run.until_cases_end``
    takes what ends it (``callback(function)``). What it raises refuses the run.

        from threading import Timer


        def pytest_agentgauge_begin(run):
            watch = Timer(3600, run.stop, ["an hour has passed"])
            watch.start()
            run.until_cases_end.callback(watch.cancel)
    """


@hookspec
def pytest_agentgauge_header(run: Run) -> Iterable[str]:
    """The header of the run is shown: lines of it, below those of AgentGauge. Not called without pytest, which has no
    header.

        def pytest_agentgauge_header(run):
            return [f"the results go to the dashboard of {run.settings.tested}"]
    """


@hookspec
def pytest_agentgauge_screen(run: Run, screen: Screen) -> None:
    """The header is shown, and benchmark cases run from now on: what a plugin shows meanwhile. ``screen.draw(line)``
    draws the last line of a terminal again; ``run.until_cases_end`` takes what ends it. Not called without pytest.

        def pytest_agentgauge_screen(run, screen):
            screen.write_line(f"{len(run.plan)} cases are to run")
    """


@hookspec
def pytest_agentgauge_late_header(run: Run) -> Iterable[str]:
    """The first case has begun: lines for below the header that take time to compute, and must not delay it. Not called
    without pytest.

        def pytest_agentgauge_late_header(run):
            return [f"the results will take about {len(run.plan) // 100} kB"]
    """


@hookspec
def pytest_agentgauge_run_planned(run: Run) -> None:
    """The cases are planned and the services started; no case has begun. ``run``: ``plan`` (the ids of the cases),
    ``settings``, ``folder``.

        def pytest_agentgauge_run_planned(run):
            print(len(run.plan), "cases of", run.settings.tested)
    """


@hookspec
def pytest_agentgauge_ended(run: Run, outlines: Mapping[CaseId, CaseOutline]) -> None:
    """The cases have ended and their records are merged: sum them up, in ``run.summary_json`` and the run folder.
    AgentGauge's own reports do; what another plugin raises here fails the run. ``outlines``: of the cases that have a
    record, without their transcripts.

        def pytest_agentgauge_ended(run, outlines):
            print(len(outlines), "of", len(run.plan), "cases have a record")
    """


@hookspec
def pytest_agentgauge_figures(run: Run, figures: AddedFigures) -> None:
    """The cases have ended, and the figures of the benchmarks are computed: add figures of your own to the tables, the
    page, the summary and Allure. ``run.records``: every record, read one by one. A figure of the benchmark itself
    cannot be replaced: other runs have it too.

        def pytest_agentgauge_figures(run, figures):
            scored = [record for record in run.records if record.task == "wild" and record.score]
            figures.add("wild", "Seconds", {record.sample: record.transcript.seconds for record in scored})
    """


@hookspec
def pytest_agentgauge_summary(run: Run) -> None:
    """The run is summed up: judge it, before reports are written. A sentence in ``run.problems`` fails the run, one in
    ``run.notes`` is shown. What it raises fails the run, too: it was not judged.

        def pytest_agentgauge_summary(run):
            if run.summary_json["usage"]["usd"] > 20:
                run.problems.append("the run was too expensive")
    """


@hookspec
def pytest_agentgauge_report(run: Run) -> None:
    """The run is summed up and judged: write what others should read of it. ``run.summary`` (task → counts and
    figures), ``run.summary_json`` (summary.json), ``run.records``, ``run.folder``, ``run.problems``. The report
    pages of AgentGauge lie there by then. The last lines of the run name the files in ``run.pages``: add your own.

        def pytest_agentgauge_report(run):
            for name, task in run.summary.items():
                print(name, task.headline, task.figures)
    """


@hookspec
def pytest_agentgauge_terminal(run: Run, write: Callable[[str], None]) -> None:
    """The tables stand on the terminal: ``write`` puts a line below them. Not called without pytest, which has no
    terminal.

        def pytest_agentgauge_terminal(run, write):
            write(f"a copy of {run.folder} is kept")
    """


# -- where Allure's results are written


@hookspec
def pytest_agentgauge_allure_result(result: dict[str, Any], record: Record) -> None:
    """The Allure result of a case that was attempted is to be written: add labels, links and parameters to it.
    ``result``: as Allure's JSON has it. By ``agentgauge report --allure``, only hooks of installed packages are called.

        def pytest_agentgauge_allure_result(result, record):
            result["labels"].append({"name": "owner", "value": f"owner of {record.task}"})
    """

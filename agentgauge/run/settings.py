"""A run's settings, read from the options, ``agentgauge.toml``, and the earlier run that it starts from.

What is wrong with options and ``agentgauge.toml`` is found here, before collection, and reported in one sentence.
Whether a resumed run is still the same run is checked after that, when the run folder has been locked.
"""

from __future__ import annotations

import hashlib
import json
import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from agentgauge import sandbox
from agentgauge.agent.dialects.registry import families, wording
from agentgauge.core.config import Config as FileConfig
from agentgauge.core.config import load_config
from agentgauge.core.errors import UsageProblem
from agentgauge.core.option import Option, destination, options_of
from agentgauge.core.options import OF_PLUGINS, OPTIONS, RunOptions
from agentgauge.core.redaction import register, register_environment, register_login
from agentgauge.core.registry import Registry
from agentgauge.core.task import Task
from agentgauge.core.task_options import SAME
from agentgauge.core.tools import table_without_devices
from agentgauge.core.types import Scoring
from agentgauge.data.find import data_folder, find_data, find_used_data
from agentgauge.model.presets import resolve
from agentgauge.model.spec import ModelSpec
from agentgauge.model.wire import LIMITS
from agentgauge.run.hooks import ask_installed
from agentgauge.run.launch_settings import Assignment, Handed, LaunchOptions, Shared
from agentgauge.run.option_values import fingerprinted_values, read_values, refuse_together, stored_values
from agentgauge.store import RunFolder
from agentgauge.store.folder import file_name, new_folder

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class ModelFacts:
    """The facts about its model that a run stores: enough to replay it or score it again where the model is not
    known.
    """

    name: str
    url: str | None  # as given by --model-url
    fingerprint: str
    temperature: float | None
    max_tokens: int | None


@dataclass(frozen=True, kw_only=True)
class Settings(RunOptions):
    """The options' values, and what follows from them."""

    model: ModelFacts
    spec: ModelSpec | None  # how to reach the model; None where none is asked, as by --rescore
    tasks: Registry  # configured with ``options``
    roots: Mapping[str, Path]  # task name → folder of its data; a task without data is not in it
    official: Mapping[str, bool]  # task name → whether that data is the user's, not the bundled set
    similarity: Mapping[str, str]  # task name → similarity backend; empty where it uses none
    tool_server: str | None = field(repr=False)  # with its login, if it has one
    scoring: Scoring
    options: Mapping[str, str | bool]  # of the tasks themselves: "--wild-language" → "en"
    roles: Mapping[str, ModelSpec]  # how to reach the models of further roles, such as a judge: option → spec
    at_once: int  # concurrent requests to a model, over all processes, but for those that a plugin sends
    patient: bool  # answers may take hours: the run is meant to be ended, by any means, and resumed
    live: bool  # its cases may use what other runs have kept
    launch: LaunchOptions | None  # cases run elsewhere
    assignment: Assignment | None  # this is elsewhere
    earlier_tools: Mapping[str, Mapping[str, Any]] | None  # identify those of the run whose answers it has; else None
    vision: Mapping[str, Any]  # of the models of that run: see ``run.vision``
    file: FileConfig
    shared: Shared | None  # with the runs of other models beside this one
    hidden: Mapping[Path, str]  # what programs cannot read, and what it is
    facts: Mapping[type, Any]  # of plugins: their options, and what follows from them, each by its class
    instead: str  # the name of the program that is tested in the model's place, and may ask it; empty: the model itself
    asks: bool  # whether the model is asked by what is tested: not by a program that has a model of its own
    stored: Mapping[str, Any]  # what plugins add to the settings that the run stores
    fingerprint: Mapping[str, Any]  # and to the fingerprints of its cases
    described: Mapping[str, Any]  # and to its description in summary.json
    about: Mapping[str, Any]  # and to run.json

    def of(self, kind: type[Kind]) -> Kind:
        """What a plugin has of this class: its options, or what it has added in ``pytest_agentgauge_configure``."""
        found: Kind = self.facts[kind]
        return found

    def value(self, option: Option) -> Any:
        """Of an option: AgentGauge's, or that of a plugin."""
        return getattr(self if isinstance(self, option.holder) else self.facts[option.holder], option.attribute)

    @property
    def tested(self) -> str:
        """The name of what is tested: the model, or the program in its place with the model."""
        if not self.instead:
            return self.model.name
        return f"{self.instead} ({self.model.name})" if self.asks else self.instead


@dataclass
class Draft:
    """The settings while they are read, for ``pytest_agentgauge_configure``."""

    given: Namespace  # options of the command line, by their keys
    values: dict[
        str, Any
    ]  # of all options, by their attributes: the given one, that of the earlier run, or the default
    earlier: Mapping[str, Any]  # the settings that the run has stored from which this one starts
    earlier_run: Mapping[str, Any]  # run.json of the run that is resumed or scored again; empty for another
    file: FileConfig
    tasks: Registry  # configured
    run_dir: Path
    hidden: dict[Path, str]  # for this and all below see ``Settings``
    facts: dict[type, Any]
    spec: ModelSpec | None
    roles: Mapping[str, ModelSpec]
    at_once: int
    patient: bool = False
    live: bool = True
    instead: str = ""
    delivered: bool = False  # the answers are there already: no tool is called
    asks: bool = True
    stored: dict[str, Any] = field(default_factory=dict)
    fingerprint: dict[str, Any] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)


def moved(settings: Settings, run_dir: Path) -> Settings:
    """The settings of the same run in another folder."""
    in_run_folder = {name: run_dir for name, root in settings.roots.items() if root == settings.run_dir}
    return replace(settings, run_dir=run_dir, roots={**settings.roots, **in_run_folder})


def read_settings(
    option: Namespace, root: Path, run_dir: Path | None = None, *, tasks: Registry, asks: bool = True
) -> Settings:
    """Check the options, ``--run-dir`` as ``run_dir``. ``root``: the folder of ``agentgauge.toml``. ``run_dir``: in
    workers, where the controller writes. ``tasks``: not configured yet. ``asks``: whether models will be asked, which
    takes their keys.

    Raises UsageProblem.
    """
    handed = Handed.given()
    refuse_together(option, launched=handed.launch is not None)
    if option.allow_unsafe_code:
        sandbox.permit_unsafe()
    register_environment()
    file = load_config(root=root)
    register_tool_secrets(file)
    about = _earlier_run(option)
    repeated: list[Mapping[str, Any]] = ask_installed("pytest_agentgauge_repeats", given=option)
    earlier = repeated[0] if repeated else about.get("settings", {})
    asks_none = bool(repeated or option.rescore)
    values = read_values(option, earlier)
    dialect = values["dialect"]
    dialects = tuple(dict.fromkeys(["native", *(name for task in tasks for name in task.dialects)]))
    if dialect not in dialects:
        raise UsageProblem(f"--dialect {dialect!r} is unknown; accepted are {', '.join(dialects)}")
    given = {name: getattr(option, destination(name), None) for name in tasks.options()}
    if option.rescore:
        _refuse_other_questions(tasks, given, earlier["options"])
    chosen = {**earlier.get("options", {}), **{name: value for name, value in given.items() if value is not None}}
    options, tasks = tasks.chosen(chosen), tasks.configured(chosen)
    sampling = {name: values[name] for name in ("temperature", "max_tokens")}
    model, spec = _model(option, earlier, file, None if asks_none else asks, **sampling)
    if spec and spec.kind == "baseline" and dialect in families():
        raise UsageProblem(
            f"baseline reads native and react requests only, not {dialect}; use another model or --dialect native"
        )
    assignment = Assignment.read(Path(handed.assignment)) if handed.assignment else None
    roles = _roles(tasks, options, file, assignment, asks) if spec else {}
    if spec and assignment:
        spec = assignment.limited(spec)
    uses_earlier = about and not option.data
    roots, official = find_used_data(tasks, about, root) if uses_earlier else find_data(tasks, values["data"], root)
    run_dir = (run_dir or _run_dir(option, model.name)).resolve()  # tools give paths without links
    in_run_folder = [task.name for task in tasks if task.data.in_run_folder]
    secret = [data_folder(root), *roots.values(), *(task.data.bundled for task in tasks)]
    results = run_dir.parent if handed.shared else run_dir  # those of the runs beside this one have gold, too
    named = dict.fromkeys(secret, "a data set") | {results: "the folder of the run"}
    facts: dict[type, Any] = {}
    for kind in OF_PLUGINS:
        facts[kind] = kind(**{each.attribute: values[each.attribute] for each in options_of(kind).values()})
    draft = Draft(option, values, earlier, about, file, tasks, run_dir, named, facts, spec, roles, values["slots"])
    ask_installed("pytest_agentgauge_configure", draft=draft)
    sandbox.hide(list(named))
    values |= {
        "model": model,
        "model_url": model.url,
        "run_dir": run_dir,
        "prompts": values["prompts"] or file.prompts,
    }
    return Settings(
        **{each.attribute: values[each.attribute] for each in options_of(RunOptions).values()},
        spec=draft.spec,
        tasks=tasks,
        roots=roots | dict.fromkeys(in_run_folder, run_dir),
        official=official | dict.fromkeys(in_run_folder, False),
        similarity=dict.fromkeys(in_run_folder, "")
        | {name: _similarity(tasks[name], file, official[name]) for name in roots},
        options=options,
        roles=draft.roles,
        at_once=draft.at_once,
        patient=draft.patient,
        live=draft.live,
        launch=handed.launch,
        assignment=assignment,
        earlier_tools=earlier["tools"] if asks_none else {} if draft.delivered else None,
        vision=earlier.get("vision", {}),
        file=file,
        shared=handed.shared,
        hidden=named,
        facts=facts,
        instead=draft.instead,
        asks=draft.asks,
        stored=draft.stored,
        fingerprint=draft.fingerprint,
        described=draft.described,
        about=draft.about,
    )


def register_tool_secrets(file: FileConfig) -> None:
    """The keys of the services that tools ask: the values of the variables that ``key_env`` names in tables of
    [tools], and logins."""
    for table in file.tools.values():
        if isinstance(table, Mapping):
            register(os.environ.get(str(table.get("key_env", ""))))
            register_login(str(table.get("url", "")))


def stored_settings(settings: Settings, tools: Mapping[str, Mapping[str, Any]], way: str) -> dict[str, Any]:
    """The settings that run.json and a cassette store, so that a later run can start from them. ``tools``: the identity
    of each. ``way``: see ``stored_values``.
    """
    roles = {name: spec.fingerprint for name, spec in settings.roles.items()}  # a name alone says little
    return {
        "model": asdict(settings.model),
        **settings.stored,
        **stored_values(settings, way),
        "options": dict(settings.options),
        **({"roles": roles} if roles else {}),
        "tools": dict(tools),
    }


def runs_here(settings: Settings, task: Task) -> bool:
    """Whether the cases of a task run on this machine. A launch leaves the project's own tests to pytest here."""
    return settings.launch is None or task.data.in_run_folder


def config_fingerprint(settings: Settings, task: Task) -> str:
    """Fingerprint of everything that may change the result of a case: records may be mixed only if it is the same."""
    parts = {
        **fingerprinted_values(settings),
        "model": settings.model.fingerprint,
        "task": task.name,
        "data": task.data.index(settings.roots[task.name]).fingerprint,
        "prompts": [task.prompt_version(settings.prompts), wording(settings.dialect, settings.prompts)],
        "similarity": settings.similarity[task.name],
        "tools": table_without_devices(settings.file.tools) if task.tools else None,
        "options": {option.name: _fingerprint(settings, option.name) for option in task.options if option.matters},
        **settings.fingerprint,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _refuse_other_questions(tasks: Registry, given: Mapping[str, Any], earlier: Mapping[str, Any]) -> None:
    """Transcripts can be scored in another way, but not as answers to other questions. Raises UsageProblem."""
    for name, known in tasks.options().items():
        if known.asks and given[name] is not None and given[name] != earlier.get(name):
            raise UsageProblem(
                f"--rescore: that run used {name} {earlier.get(name)!r}, not {given[name]!r}; leave {name} out"
            )


def _fingerprint(settings: Settings, option: str) -> str | bool:
    """The fingerprint of an option's value: a model's is more than its name."""
    return settings.roles[option].fingerprint if option in settings.roles else settings.options[option]


def _roles(
    tasks: Registry, options: Mapping[str, str | bool], file: FileConfig, assignment: Assignment | None, asks: bool
) -> dict[str, ModelSpec]:
    """Raises UsageProblem for a model that is not known or lacks its key."""
    found = {}
    for name, option in tasks.options().items():
        if option.model and options[name] not in (SAME, *option.instead):
            try:
                spec = resolve(str(options[name]), url=None, config=file, need_key=asks)
                found[name] = assignment.limited(spec) if assignment else spec
            except UsageProblem as problem:
                raise UsageProblem(f"{name}: {problem}") from None
    return found


def _similarity(task: Task, file: FileConfig, official: bool) -> str:
    if task.similarity is None:
        return ""
    similarity = file.similarity or task.similarity.default(official=official)
    task.similarity.check(similarity)
    return similarity


def _earlier_run(option: Namespace) -> Mapping[str, Any]:
    """The run.json of the run that this one goes on with or scores again; empty for a new run. Raises UsageProblem."""
    if not (source := option.resume or option.rescore):
        return {}
    about: Mapping[str, Any] = RunFolder(Path(source)).read_json("run.json")
    if not about["settings"]["model"]["name"]:
        raise UsageProblem(
            f"{source} is not a run folder: its run.json has no settings; name one that an earlier run wrote"
        )
    RunFolder(Path(source)).refuse_odd_records()
    return about


def _model(
    option: Namespace,
    earlier: Mapping[str, Any],
    file: FileConfig,
    asks: bool | None,
    **sampling: float | None,
) -> tuple[ModelFacts, ModelSpec | None]:
    """The model's facts, and how to reach it. ``asks``: None where the run cannot ask it, whose answers are an earlier
    run's. ``sampling``: fields of the spec that options set; None: the option was not given."""
    name = option.model or (earlier["model"]["name"] if earlier else OPTIONS["--model"].default)
    if asks is None:
        if name != earlier["model"]["name"]:
            raise UsageProblem(
                f"--model {name!r}: the earlier run used {earlier['model']['name']!r}; leave --model out"
            )
        return ModelFacts(**{each.name: earlier["model"][each.name] for each in fields(ModelFacts)}), None
    url = option.model_url or (earlier["model"]["url"] if earlier and name == earlier["model"]["name"] else None)
    spec = resolve(name, url=url, config=file, need_key=asks)
    given: dict[str, Any] = {setting: value for setting, value in sampling.items() if value is not None}
    for setting, value in given.items():
        if taken := [key for key in spec.extra_body if key in (LIMITS if setting in LIMITS else (setting,))]:
            raise UsageProblem(
                f"--{setting.replace('_', '-')} {value} has no effect, because extra_body of the model {name} sets"
                f" {taken[0]}; leave one of the two out"
            )
    spec = replace(spec, **given)
    return ModelFacts(spec.name, url, spec.fingerprint, spec.temperature, spec.max_tokens), spec


def _run_dir(option: Namespace, model: str) -> Path:
    if option.resume:
        return Path(option.resume)
    if option.run_dir:
        return Path(option.run_dir)
    return new_folder(file_name(model))

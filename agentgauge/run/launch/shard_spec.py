"""What the driver sends to nodes: the cases of a shard, and the settings of its run as options of pytest."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from agentgauge.core.announcement import own_version
from agentgauge.core.option import prefixed
from agentgauge.core.redaction import without_logins
from agentgauge.core.text import read_text
from agentgauge.data.find import data_folder
from agentgauge.run.launch.node import ShardSpec, packed
from agentgauge.run.launch_settings import Assignment, LaunchOptions
from agentgauge.run.option_values import divided_words, shard_words
from agentgauge.run.settings import Settings
from agentgauge.store.jsonl import CaseId


class ShardSpecs:
    """Makes the specs of a launch. Raises UsageProblem for settings that cannot be sent to a node."""

    def __init__(
        self,
        options: LaunchOptions,
        settings: Settings,
        configs: Mapping[str, str],
        *,
        root: Path,
        here: Path,
        arguments: Sequence[str],
    ) -> None:
        """``configs``: task → fingerprint. ``root``, ``here``: the project, and where pytest was started.
        ``arguments``: pytest's own, with the paths."""
        self._options = options
        self._settings = settings
        self._configs = dict(configs)
        self._root, self._here = root, here
        self._data_folder = str(data_folder(root).absolute())
        self._arguments = (*arguments, *_words(settings))
        if options.processes:
            self._arguments = (f"-n{options.processes}", *self._arguments)
        self._folders = {
            data.name: settings.roots[name]
            for name in configs
            if settings.official[name] and settings.roots[name] != (data := settings.tasks[name].data).bundled
        }
        self._variables = tuple(sorted(_variables(settings)))

    def of(self, cases: Sequence[CaseId], number: int) -> ShardSpec:
        """The spec of a shard of these cases, the ``number``-th of those that run, from 0."""
        parts = divided_words(self._settings, lambda total: self._options.part(total, number))
        return ShardSpec(
            agentgauge=own_version(),
            root=str(self._root),
            here=str(self._here),
            python_path=os.environ.get("PYTHONPATH", ""),
            arguments=(*self._arguments, *parts),
            variables=self._variables,
            data=tuple(str(folder) for folder in self._folders.values()),
            data_option=self._settings.data,
            data_folder=self._data_folder,
            assignment=Assignment(frozenset(cases), self._configs, 1 / (self._options.workers * self._options.sharing)),
        )

    def packed(self) -> bytes:
        """The project's ``agentgauge.toml`` without logins, and the official data of the run, for a node that has none
        at these paths."""
        toml = self._root / "agentgauge.toml"
        with TemporaryDirectory() as scratch:
            copy = Path(scratch) / "agentgauge.toml"
            copy.write_text(without_logins(read_text(toml) if toml.is_file() else ""), "utf-8")
            data = {f"data/{name}": folder for name, folder in self._folders.items()}
            return packed({"project/agentgauge.toml": copy, **data}, follow=True)


def _words(settings: Settings) -> list[str]:
    """What makes a node's pytest ask, and score, as the driver would."""
    words = [f"{prefixed('--model')}={settings.model.name}", *shard_words(settings)]
    known = settings.tasks.options()
    for name, value in settings.options.items():
        if value and value != (known[name].default or (known[name].accepted or ("",))[0]):
            words.append(prefixed(name) if value is True else f"{prefixed(name)}={value}")
    return words


def _variables(settings: Settings) -> set[str]:
    """The names of the environment variables that hold what this run needs on each node."""
    specs = [*([settings.spec] if settings.spec else []), *settings.roles.values()]
    names = {spec.key_env for spec in specs if spec.key_env and spec.key_required}
    keys = [table.get("key_env") for table in settings.file.tools.values() if isinstance(table, Mapping)]
    return names | {str(key) for key in keys if key and os.environ.get(str(key))}

"""``--benchmark-json=FILE`` of pytest-benchmark: the times of the model and the tools in every case, from the records.

pytest-benchmark writes the file from tests that use its fixture, and writes none without such tests, or with ``-n``,
where it switches itself off. The entries of a run's cases are added when the run is summed up.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from agentgauge_reports.formats.benchmark_json import entries
from agentgauge_reports.load import load_run
from pytest_benchmark.utils import safe_dumps

from agentgauge.run.run import Run


class CaseTimes:
    """Registered in pytest's first process, where the option is given."""

    def __init__(self, config: pytest.Config, file: Path) -> None:
        self.config = config
        self.file = file
        self._output: dict[str, Any] | None = None  # what pytest-benchmark has written of the project's own tests

    @pytest.hookimpl(optionalhook=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        self._output = self._output or output_json  # the file's; a second one is that of --benchmark-save
        self._make_folder()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None]:
        """Where no test used its fixture, pytest-benchmark warns that it saves nothing; the file is written here."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Not saving anything")
            yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_agentgauge_report(self, run: Run) -> None:
        """Write the file, with the entries of a run that was summed up below those of the project's own tests."""
        output = self._output or self._empty()
        output["benchmarks"] += entries(load_run(run.folder, tasks=run.settings.tasks))
        try:
            self._make_folder()
            self.file.write_text(safe_dumps(output, ensure_ascii=True, indent=4))  # type: ignore[no-untyped-call]
        except OSError as error:
            run.problems.append(f"--benchmark-json={self.file} cannot be written ({error.strerror or error})")

    def _make_folder(self) -> None:
        """Which the run of one of several models has of its own."""
        self.file.parent.mkdir(parents=True, exist_ok=True)

    def _empty(self) -> dict[str, Any]:
        """The file without entries, by pytest-benchmark's own hooks, which a project may implement."""
        hook, config = self.config.hook, self.config
        machine = hook.pytest_benchmark_generate_machine_info(config=config)
        hook.pytest_benchmark_update_machine_info(config=config, machine_info=machine)
        commit = hook.pytest_benchmark_generate_commit_info(config=config)
        hook.pytest_benchmark_update_commit_info(config=config, commit_info=commit)
        infos = {"machine_info": machine, "commit_info": commit}
        output = hook.pytest_benchmark_generate_json(config=config, benchmarks=[], include_data=True, **infos)
        hook.pytest_benchmark_update_json(config=config, benchmarks=[], output_json=output)
        return dict(output)

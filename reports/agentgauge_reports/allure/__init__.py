"""A run as Allure results, and the dashboard that Allure makes of them.

The results are written from the run's folder alone, so that a run with ``--alluredir`` and ``agentgauge report
--allure`` leave the same files. Names and ids are computed from the cases, so results that are written again replace
the earlier ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import configure_tasks, find_task
from agentgauge_reports.allure.attach import Attachments
from agentgauge_reports.allure.case import result, unshown_result
from agentgauge_reports.allure.dashboard import DASHBOARD, make_dashboard
from agentgauge_reports.allure.run_files import run_files
from agentgauge_reports.load import load_run
from agentgauge_reports.unshown import Unshown

__all__ = ["DASHBOARD", "write_results", "write_run"]


def write_results(run: Path, folder: Path, *, unshown: Unshown | None = None) -> str:
    """Write a run's results, and the dashboard where the ``allure`` command is found. Returns lines for the user.

    Raises UsageProblem if ``run`` is no finished run, if ``folder`` cannot be written, or if ``allure`` fails.
    """
    count = write_run(run, folder, unshown=unshown)
    dashboard = make_dashboard(load_run(run, tolerant=True), folder)
    return "\n".join([f"Allure results of {count} cases are in {folder}", *dashboard])


def write_run(run: Path, folder: Path, *, unshown: Unshown | None = None, own_tests: bool = True) -> int:
    """Write the results of every planned case, and what they share. Returns the number of cases.

    ``own_tests``: also write the results of a project's own tests, which allure-pytest writes, too.

    A case that cannot be shown gets a result with the reason; ``unshown`` collects these cases.

    Raises UsageProblem where ``run`` is no finished run or ``folder`` cannot be written.
    """
    loaded = load_run(run, tolerant=True)
    unshown = Unshown() if unshown is None else unshown
    unshown.problems += loaded.problems
    configure_tasks(loaded.about["settings"]["options"])  # artifacts depend on them
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cases = [case for case in loaded.cases if own_tests or not find_task(case.task).data.in_run_folder]
        attachments = Attachments(loaded, folder, Counter(case.task for case in cases))
        with loaded.reading() as read:
            for case in cases:
                try:
                    data = result(loaded, case, attachments, read)
                    text = _encoded(data)
                except Exception as error:  # whatever is in a record, the others are shown
                    data = unshown_result(loaded, case, attachments, unshown.add(f"{case.task} {case.sample}", error))
                    text = _encoded(data)
                (folder / f"{data['uuid']}-result.json").write_bytes(text)
        for name, content in run_files(loaded, folder).items():
            text = content.encode("utf-8") if isinstance(content, str) else _encoded(content, indent=2)
            (folder / name).write_bytes(text)
    except OSError as error:
        raise UsageProblem(
            f"{folder} cannot be written ({error.strerror}); name another folder for the Allure results"
        ) from None
    return len(cases)


def _encoded(data: Mapping[str, Any] | list[Any], indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    text = json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)
    return text.encode("utf-8", "replace")  # a model may have written half a character

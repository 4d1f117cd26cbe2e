"""``--record`` and ``--replay``: write what models and tools were asked, and what came of it, to a cassette; answer
from one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping

    from agentgauge.run.part import Part, Process
    from agentgauge.run.run import Run
    from agentgauge.run.settings import Draft


def pytest_agentgauge_options() -> type:
    from agentgauge.plugins.recording.options import RecordingOptions

    return RecordingOptions


def pytest_agentgauge_repeats(given: Namespace) -> Mapping[str, Any] | None:
    if not given.replay:
        return None
    from pathlib import Path

    from agentgauge.plugins.recording.clients import recorded_run

    return recorded_run(Path(given.replay))


def pytest_agentgauge_configure(draft: Draft) -> None:
    from agentgauge.plugins.recording.options import RecordingOptions

    options = draft.facts[RecordingOptions]
    draft.live = draft.live and not (options.record or options.replay)


def pytest_agentgauge_begin(run: Run) -> None:
    from agentgauge.plugins.recording.options import RecordingOptions

    if file := run.settings.of(RecordingOptions).record:
        from agentgauge.core.option import EARLIER
        from agentgauge.plugins.recording.cassette import begin
        from agentgauge.run.preflight import stored_vision
        from agentgauge.run.settings import stored_settings

        settings = run.settings
        begin(file, stored_settings(settings, run.tools, EARLIER) | {"vision": stored_vision(settings)})


def pytest_agentgauge_header(run: Run) -> Iterable[str]:
    from agentgauge.plugins.recording.options import RecordingOptions

    file = run.settings.of(RecordingOptions).replay
    return (
        [f"replaying {file}; no model is called and no tool runs, and the cost is that of the recording"]
        if file
        else []
    )


def pytest_agentgauge_process(process: Process) -> Part | None:
    from agentgauge.plugins.recording.options import RecordingOptions

    options = process.settings.of(RecordingOptions)
    if options.record:
        from agentgauge.plugins.recording.clients import Recording

        return Recording(options.record, process)
    if options.replay:
        from agentgauge.plugins.recording.clients import Playing

        return Playing(options.replay, process)
    return None

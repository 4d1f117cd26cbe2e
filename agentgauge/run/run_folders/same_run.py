"""Whether a run may be written into its folder: it is new there, or still the run that it goes on with."""

from __future__ import annotations

from agentgauge.core.errors import UsageProblem
from agentgauge.core.task_registry import find_task
from agentgauge.data.find import refuse_other_data
from agentgauge.run.settings import Settings, config_fingerprint
from agentgauge.store import RunFolder


def check_run(settings: Settings) -> None:
    """A new run needs a folder of its own; a resumed one must yield what the earlier one would have; the answers of a
    run that is scored again belong to its data. Raises UsageProblem naming what differs.
    """
    if settings.rescore:
        source = RunFolder(settings.rescore)
        source.plan()
        refuse_other_data(source, source.read_json("run.json"), settings.roots)
    if not settings.resume:
        RunFolder(settings.run_dir).refuse_taken()
        return
    folder = RunFolder(settings.run_dir)
    if folder.has_plan:
        folder.plan()
    earlier = folder.read_json("run.json")
    before = earlier["settings"]
    for name, old, new in (
        ("model", before["model"]["name"], settings.model.name),
        ("model settings", before["model"]["fingerprint"], settings.model.fingerprint),
        ("agent", before.get("agent", {}).get("digest"), settings.agent and settings.agent.digest),
        ("dialect", before["dialect"], settings.dialect),
        ("scoring", before["scoring"], settings.scoring),
        ("attempts", before["attempts"], settings.attempts),
    ):
        if old != new:
            differs = f"that run has {name} {old!r}, this one {new!r}"
            raise UsageProblem(f"--resume {settings.run_dir}: {differs}; give the same, or start a new run")
    for name, config in earlier["configs"].items():
        find_task(name)  # raises where it is announced by a file that is not named now
        if name not in settings.roots or config_fingerprint(settings, find_task(name)) != config:
            raise UsageProblem(
                f"--resume {settings.run_dir}: the data, prompts, options or tool settings of {name} "
                "have changed since; restore them, or start a new run"
            )

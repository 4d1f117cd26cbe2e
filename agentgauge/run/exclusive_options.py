"""Options of a run that cannot be used together."""

from __future__ import annotations

from argparse import Namespace

from agentgauge.core.errors import UsageProblem

_EXCLUSIVE = (
    ("resume", "rescore", "one continues a run, the other scores it again"),
    ("resume", "run_dir", "a resumed run stays in its folder"),
    ("resume", "replay", "a resumed run calls a live model"),
    ("rescore", "model", "a rescored run calls no model"),
    ("rescore", "model_url", "a rescored run calls no model"),
    ("rescore", "temperature", "a rescored run calls no model"),
    ("rescore", "max_tokens", "a rescored run calls no model"),
    ("rescore", "prompts", "a rescored run sends no prompts"),
    ("rescore", "agent", "a rescored run starts no agent"),
    ("rescore", "shard", "a rescored run has the plan of the earlier one"),
    ("rescore", "record", "a rescored run has no exchanges"),
    ("rescore", "replay", "a rescored run has no exchanges"),
    ("record", "replay", "a replayed run has no new exchanges"),
    ("replay", "tool_server", "a replayed run calls no tool server"),
    ("agent", "batch", "an agent would wait up to a day for each reply"),
    ("batch", "replay", "a replayed run sends no requests"),
    ("batch", "rescore", "a rescored run sends no requests"),
    ("replay", "temperature", "a replayed run calls no model"),
    ("replay", "max_tokens", "a replayed run calls no model"),
)


_NOT_LAUNCHED = (
    ("record", "exchanges are made on other machines"),
    ("batch", "a batch needs one process that waits for it; give it to pytest"),
    ("agent", "agents run on this machine"),
    ("rescore", "a rescored run asks no model; give it to pytest"),
)


def refuse_together(option: Namespace, *, launched: bool) -> None:
    """``launched``: the run was started by ``agentgauge launch``. Raises UsageProblem."""
    for name, why in _NOT_LAUNCHED if launched else ():
        if getattr(option, name):
            raise UsageProblem(f"agentgauge launch and --{name} cannot be used together: {why}")
    for first, second, why in _EXCLUSIVE:
        other = getattr(option, second)
        if getattr(option, first) and other is not None and other is not False:
            names = f"--{first} and --{second}".replace("_", "-")
            raise UsageProblem(f"{names} cannot be used together: {why}")

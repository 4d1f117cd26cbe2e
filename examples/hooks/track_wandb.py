"""Each run becomes a run of Weights & Biases: its settings, its figures as summary, and a table of its cases.

``WANDB_MODE=offline`` writes it into the folder ``wandb``, and ``wandb sync`` uploads it later. ``WANDB_PROJECT`` and
``WANDB_DIR`` say where.
"""

COLUMNS = ["task", "sample", "attempt", "status", "explanation", "tokens", "dollars", "seconds"]


def pytest_agentgauge_report(run):
    import wandb  # not above: only the first process needs it, and only now

    settings = run.settings
    config = {"model": settings.tested, "limit": settings.limit, "attempts": settings.attempts}
    with wandb.init(name=run.folder.name, config=config) as tracked:
        for task, summary in run.summary.items():
            for column, figure in summary.figures.items():
                tracked.summary[f"{task}/{column}"] = figure.value
        tracked.log({"cases": wandb.Table(columns=COLUMNS, data=[row(record) for record in run.records])})


def row(record):
    explanation = record.score.explanation if record.score else record.error
    case = [record.task, record.sample, record.attempt, record.status, explanation]
    if not record.transcript:
        return [*case, None, None, None]
    usage = record.transcript.usage
    return [*case, usage.prompt_tokens + usage.completion_tokens, usage.usd, record.transcript.seconds]

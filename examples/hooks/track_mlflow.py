"""Each run becomes a run of MLflow: its settings, its figures as metrics, its summary and its page as artifacts.

``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME`` say where.
"""

import re


def pytest_agentgauge_report(run):
    import mlflow  # not above: only the first process needs it, and only now

    settings = run.settings
    with mlflow.start_run(run_name=run.folder.name):
        mlflow.log_params({"model": settings.tested, "limit": settings.limit or "all", "attempts": settings.attempts})
        for task, summary in run.summary.items():
            for column, figure in summary.figures.items():
                if figure.value is not None:
                    mlflow.log_metric(accepted(f"{task}/{column}"), figure.value)
        for name in ("summary.json", "report.html"):
            mlflow.log_artifact(run.folder / name)


def pytest_agentgauge_terminal(run, write):
    import mlflow

    if tracked := mlflow.last_active_run():
        write(f"MLflow: run {tracked.info.run_id} in {mlflow.get_tracking_uri()}")


def accepted(name):
    """MLflow refuses names with other characters, such as the plus of AnsAcc+I."""
    return re.sub(r"[^a-zA-Z0-9_\-. :/]", "_", name)

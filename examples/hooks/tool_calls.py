"""A figure of one's own for WildToolBench: how many tool calls a session takes. It stands below the benchmark's own
figures on the terminal, on the page and in Allure, where each case also has its number as a parameter.
"""

from collections import Counter


def pytest_agentgauge_figures(run, figures):
    sessions = Counter()
    for record in run.records:
        if record.task == "wild" and record.score:  # without one, the case is broken
            sessions[record.score.group] += calls(record)
    figures.add("wild", "Calls a session", {name: count / run.settings.attempts for name, count in sessions.items()})


def pytest_agentgauge_allure_result(result, record):
    if record.task == "wild":
        result["parameters"].append({"name": "tool calls", "value": str(calls(record))})


def calls(record):
    log = record.transcript.output["inference_log"] if record.transcript and record.transcript.output else {}
    steps = (part["inference_output"] for key, part in log.items() if key.startswith("step_"))
    return sum(len(step["tool_calls"] or ()) for step in steps)

"""Finds problems of a pack before any judge is paid."""

from __future__ import annotations

from agentgauge.core.errors import DataProblem, UsageProblem
from bench_gta.pack.file_selection import problem_of
from bench_gta.pack.format import Pack, PackTask, select_trace
from bench_gta.pack.tasks import TaskSet
from bench_gta.workflow import tree
from bench_gta.workflow.prompts import NO_ANSWER, final_answer


def problems_of(pack: Pack, tasks: TaskSet | None) -> list[str]:
    """All problems, in the order of the pack. ``tasks``: the data set that it was made from, if known."""
    return [
        f"task {task.task_id}: {what}"
        for task in pack.tasks
        for what in (*(_of_set(task, tasks) if tasks else ()), *_of_task(pack, task))
    ]


def notes_of_pack(pack: Pack) -> list[str]:
    """Notes about what may be intended, such as final answers that are empty."""
    return [f"task {task.task_id}: its final answer is empty" for task in pack.tasks if _is_blank(task)]


def file_problems(pack: Pack, task: PackTask) -> list[tuple[str, str]]:
    """Files of a task that cannot be used, and why: ``missing``, ``outside ...``, ``a link ...``."""
    return [(name, problem) for name in task.attached_files if (problem := problem_of(pack.base, name))]


def require_safe(pack: Pack) -> None:
    """Raises UsageProblem if a pack names files that a judge must not see. Missing files are not dangerous."""
    for task in pack.tasks:
        for name, problem in file_problems(pack, task):
            if problem != "missing":
                raise UsageProblem(
                    f"{pack.path}: task {task.task_id}: the file {name!r} is {problem} ({pack.base}), so it is not"
                    " shown to a judge; take it out, or give the folder that it lies in with --base-dir"
                )


def require_of_set(pack: Pack, tasks: TaskSet) -> None:
    """Raises UsageProblem for a task that differs from the task set's own, even if the pack names this task set."""
    for task in pack.tasks:
        if found := _of_set(task, tasks):
            raise UsageProblem(
                f"{pack.path}: task {task.task_id}: {found[0]}; make the pack again, or give the right data with --data"
            )


def missing_files(pack: Pack, task: PackTask) -> list[str]:
    return [name for name, problem in file_problems(pack, task) if problem == "missing"]


def _of_set(task: PackTask, tasks: TaskSet) -> list[str]:
    known = tasks.tasks.get(task.task_id)
    if known is None:
        return [f"it is not in the task set {tasks.data.name!r}"]
    found = []
    if task.full_tree != known.tree:
        found.append(f"full_tree differs from the one of the task set {tasks.data.name!r}")
    prompt = task.origin_prompt
    if (prompt[:1] if isinstance(prompt, list) else [prompt]) != [known.prompt]:
        found.append(f"origin_prompt differs from the request of the task set {tasks.data.name!r}")
    return found


def _of_task(pack: Pack, task: PackTask) -> list[str]:
    found = [f"the file {name!r} is {problem}" for name, problem in file_problems(pack, task)]
    try:
        tree.check_weights(tree.parse(task.full_tree))
    except DataProblem as problem:
        return [*found, f"full_tree: {problem}"]
    if final_answer(task.assistant_outputs) == NO_ANSWER and not _is_blank(task):
        found.append("it has no final answer")
    return found


def _is_blank(task: PackTask) -> bool:
    """Whether the last thing that the agent said is a text of blanks."""
    trace = select_trace(task.assistant_outputs)
    last = trace[-1] if isinstance(trace, list) and trace else None
    content = last.get("content") if isinstance(last, dict) and last.get("role") == "assistant" else None
    return isinstance(content, str) and not content.strip()

"""The task of WildToolBench: one user task of a session is one case."""

from __future__ import annotations

from functools import partial

from agentgauge.agent.dialects.registry import OURS, families
from agentgauge.core.presentation import Presentation
from agentgauge.core.published import Published
from agentgauge.core.task import PredictionFiles, Prompts, Task
from bench_wild.files import export, export_csv, score_files
from bench_wild.labels import KINDS
from bench_wild.layout import not_official
from bench_wild.metrics import COLUMNS, ERROR_COLUMNS, PUBLISHED_AS, formula
from bench_wild.options import OPTIONS, WildOptions, not_comparable
from bench_wild.oracle import gold_reply
from bench_wild.prompts import VERSIONS
from bench_wild.run import run_task
from bench_wild.score import score_sample
from bench_wild.source import WildData
from bench_wild.steps import in_words
from bench_wild.tables import CITATION, breakdowns, leaderboards

PRESENTATION = Presentation(
    benchmark="WildToolBench",
    title="tasks",
    columns=(*COLUMNS, *ERROR_COLUMNS),  # the latter with the earlier evaluator
    published=tuple(PUBLISHED_AS.values()),
    headline=PUBLISHED_AS["task_accuracy"],
    second_headline=PUBLISHED_AS["session_accuracy"],
    skills={
        "tool use": ("single", "parallel", "sequential", "mixed"),
        "understanding": ("clarify", "chat"),
        "planning": ("sequential", "mixed"),
        "long dialogue": ("coreferential", "partial", "long-range"),
    },
    citation=CITATION,
    severity="critical",
    kinds=KINDS,
    passes=(
        "every reply has the expected calls, with arguments that the evaluator accepts, or is a text where one is"
        " expected; what a text says is not judged"
    ),
    in_words=in_words,
    category=lambda tags: tags[-1],  # the session
)


def wild(options: WildOptions = WildOptions()) -> Task:  # noqa: B008 - frozen
    """Four tasks a session, each with the gold history of those before it; results are recorded ones, nothing runs."""
    sending = options.sending
    data = WildData(options.language, context=sending.context, skip_invalid=options.skip_invalid)
    run = partial(run_task, sending=sending)
    score = partial(score_sample, evaluator=options.evaluator, context=sending.context)
    return Task(
        name="wild",
        data=data,
        run=run,
        agents=run,
        score=score,
        metrics=formula,
        dialects=("native", "react", *families()),
        # to chat 1, to call once or in parallel 2, to clarify 3, and 4 for a chain: by their shares
        expected_requests=2.2,
        options=OPTIONS,
        configured=lambda chosen: wild(WildOptions.of(chosen)),
        chosen=options.chosen,
        presentation=PRESENTATION,
        published=Published(
            dialects=("native", *OURS),
            leaderboards=leaderboards,
            not_comparable=not_comparable,
            not_official=not_official,
        ),
        breakdowns=breakdowns,
        prompts=Prompts(version=lambda folder: VERSIONS[options.evaluator]),  # every text is the data set's
        files=PredictionFiles(
            score=partial(score_files, options=options),
            exporters={
                "wild": partial(export, sending=sending),
                "wild-csv": partial(export_csv, sending=sending, score=score),
            },
        ),
        oracle=gold_reply,
    )


WILD = wild()

"""Runs the same samples of WildToolBench with two models, without pytest, and prints their figures.

    python examples/without_pytest/compare_two_models.py gpt-4o gpt-4o-mini

Without names it takes two models that need no key and no network.
"""

import asyncio
import sys

from agentgauge import Run, compare


async def solved(model: str) -> Run:
    run = Run(tasks=["wild"], model=model, limit=12, in_flight=4)
    async for record in run.stream():  # each when its case ends
        print(f"{model}: {record.sample} {record.status}")
    return run


async def main(first: str = "baseline", second: str = "oracle") -> None:
    runs = await asyncio.gather(solved(first), solved(second))
    for model, run in zip((first, second), runs, strict=True):
        print(f"{model}: {run.summary['wild'].headline}, in {run.folder}")
    for difference in compare(*(run.folder for run in runs)):
        if difference.name == "Task":
            print(f"difference {difference.difference:.1f} ({difference.low:.1f} to {difference.high:.1f})")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

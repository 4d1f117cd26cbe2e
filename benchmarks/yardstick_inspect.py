"""The same samples in inspect_ai: ``python yardstick_inspect.py URL SAMPLES IN_FLIGHT [cheapest]``, run by the Python
that has it.

As it comes, without its display. ``cheapest`` also leaves out its log of samples while they run, which we always keep.
"""

from __future__ import annotations

import sys
import tempfile


def main(url: str, samples: int, in_flight: int, *how: str) -> None:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import GenerateConfig, get_model
    from inspect_ai.scorer import match

    model = get_model(
        "openai/m", base_url=url, api_key="none", responses_api=False, config=GenerateConfig(max_connections=in_flight)
    )
    data = MemoryDataset([Sample(input=f"say word{number}", target=f"word{number}") for number in range(samples)])
    with tempfile.TemporaryDirectory() as logs:
        done = eval(
            Task(dataset=data, scorer=match(location="exact")),
            model=model,
            max_samples=in_flight,
            display="none",
            log_dir=logs,
            **({"log_realtime": False, "log_model_api": False} if how else {}),
        )
    assert done[0].status == "success", done[0].error
    assert done[0].results is not None
    assert done[0].results.scores[0].metrics["accuracy"].value == 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])

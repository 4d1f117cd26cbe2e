"""What a tool's network gives, seen from outside: numbers tell more than the words that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def network(tool: Any) -> Any:
    """The first torch network among the attributes of an object, and of the objects in them."""
    import torch

    level, seen = [tool], set[int]()
    for _ in range(5):
        for one in level:
            if isinstance(one, torch.nn.Module):
                return one
        seen.update(map(id, level))
        level = [value for one in level for value in getattr(one, "__dict__", {}).values() if id(value) not in seen]
    raise AssertionError(f"{type(tool).__name__} holds no network")


@contextmanager
def outputs(module: Any, pick: Callable[[Any], Sequence[Any]]) -> Iterator[list[list[Any]]]:
    """Within the context, what ``pick`` takes of each result of the module: tensors, as floats on the processor."""
    found: list[list[Any]] = []

    def keep(_module: Any, _arguments: Any, result: Any) -> None:
        found.append([tensor.detach().float().cpu() for tensor in pick(result)])

    handle = module.register_forward_hook(keep)
    try:
        yield found
    finally:
        handle.remove()


def likeness(ours: Any, theirs: Any) -> float:
    """The smallest cosine between vectors of two tensors, along their last dimension."""
    import torch

    return float(torch.nn.functional.cosine_similarity(ours, theirs, dim=-1).min())


def found_again(ours: Sequence[Any], theirs: Sequence[Any], pixels: float, score: float) -> float:
    """The share of boxes of one network that another one has, too: within ``pixels`` and ``score``, in any order.

    Each side: boxes (one, N, 4) in pixels, scores (one, N).
    """
    (boxes, scores), (others, other_scores) = ours, theirs
    far = (boxes[0, :, None] - others[0, None]).abs().amax(-1)
    unlike = (scores[0, :, None] - other_scores[0, None]).abs()
    return float(((far <= pixels) & (unlike <= score)).any(1).float().mean())

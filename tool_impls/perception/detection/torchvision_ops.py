"""Making torchvision importable beside a torch that its compiled part was not built for.

From the package index torchvision comes built for CUDA. Beside a CPU build of torch its compiled part does not load,
and then its import fails (``operator torchvision::nms does not exist``), and with it every prediction of ultralytics
and every image processor of transformers. Both need little more than the Python part of it and one operator, which this
module writes in torch.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

MISSING = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
"""Operators that torchvision (to 0.28) describes further on import, without a look at its compiled part."""

_declared: list[Any] = []  # a library of operators goes with its last reference


@cache
def ready_torchvision() -> bool:
    """Import torchvision, with our own ``nms`` where the compiled one is missing; whether ours had to be put in."""
    try:
        import torchvision  # noqa: F401
    except ModuleNotFoundError:
        return False  # not installed: the caller reports it
    except RuntimeError as error:
        if "operator torchvision::" not in str(error):
            raise
        _declare()
        return True
    return False


def _declare() -> None:
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for schema in MISSING:
        library.define(schema)
    _declared.append(library)
    import torchvision.ops
    import torchvision.ops.boxes

    torchvision.ops.nms = nms
    torchvision.ops.boxes.nms = nms


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Places of the boxes that no better one covers, by intersection over union, best first.

    ``boxes``: N by 4, corners in pixels. As torchvision's: same results, equal scores aside.
    """
    import torch

    order = scores.argsort(descending=True, stable=True)
    ordered = boxes[order]
    area = (ordered[:, 2] - ordered[:, 0]) * (ordered[:, 3] - ordered[:, 1])
    kept = []
    left = torch.arange(len(order), device=boxes.device)
    while len(left):
        best, left = left[0], left[1:]
        kept.append(best)
        low = torch.maximum(ordered[best, :2], ordered[left, :2])
        high = torch.minimum(ordered[best, 2:], ordered[left, 2:])
        shared = (high - low).clamp(min=0).prod(dim=1)
        left = left[shared <= iou_threshold * (area[best] + area[left] - shared)]
    return order[torch.stack(kept)] if kept else order

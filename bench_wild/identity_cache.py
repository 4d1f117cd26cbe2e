"""A cache of the last few results for arguments without a hash, such as big JSON."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

_T = TypeVar("_T")


def recently(size: int) -> Callable[[Callable[..., _T]], Callable[..., _T]]:
    """For a function whose first argument is compared by identity: keeps its last ``size`` results, and the arguments
    with them.

    Neither a kept argument nor a kept result may be changed.
    """

    def decorate(function: Callable[..., _T]) -> Callable[..., _T]:
        kept: tuple[tuple[Any, tuple[Hashable, ...], _T], ...] = ()

        @wraps(function)
        def wrapped(thing: Any, *rest: Hashable) -> _T:
            nonlocal kept
            for one, others, made in kept:
                if one is thing and others == rest:
                    return made
            made = function(thing, *rest)
            kept = ((thing, rest, made), *kept[: size - 1])
            return made

        return wrapped

    return decorate

"""Packages that are installed and packages that are not, as far as finding and importing them goes."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

import pytest


def absent(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def present(monkeypatch: pytest.MonkeyPatch, *names: str, **contents: object) -> None:
    """Each holds ``contents``, and nothing else."""
    for name in names:
        module = module_from_spec(ModuleSpec(name, None))
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)

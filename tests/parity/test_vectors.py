"""The golden data as a whole: no file goes unread, no list is empty, and this repository's own set is complete."""

from __future__ import annotations

import pytest

from tests.every import every
from tests.parity.golden import DEFAULT, VECTORS, golden_folder, listed, needs, unknown_files

LISTS = [(folder, name, key) for folder, files in VECTORS.items() for name, keys in files.items() for key in keys]


@pytest.mark.parametrize("folder", [pytest.param(name, marks=needs(name)) for name in VECTORS])
def test_every_file_is_read_by_a_test(folder: str) -> None:
    unknown = unknown_files(folder)
    assert not unknown, f"no test reads {unknown} of {folder}; known files are {sorted(VECTORS[folder])}"


@pytest.mark.parametrize(("folder", "name", "key"), [pytest.param(*one, marks=needs(*one[:2])) for one in LISTS])
def test_every_list_holds_cases(folder: str, name: str, key: str) -> None:
    assert listed(folder, name, key), f"{golden_folder(folder)}/{name} holds no cases" + (f" in {key!r}" if key else "")


@every(("folder", "name"), [(folder, name) for folder, files in VECTORS.items() for name in files])
def test_the_repository_holds_every_file(folder: str, name: str) -> None:
    assert (DEFAULT / folder / name).is_file()


def test_each_value_that_fails_is_named() -> None:
    tried = []

    @every("number", [3, pytest.param(4, id="four"), 5])
    def below_four(number: int) -> None:
        tried.append(number)
        assert number < 4

    with pytest.raises(ExceptionGroup, match="2 of 3 values") as caught:
        below_four()
    assert tried == [3, 4, 5]
    assert [error.__notes__ for error in caught.value.exceptions] == [["number: four"], ["number: 5"]]

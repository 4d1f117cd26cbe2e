"""Which outputs of tools count as failed, and to which sample stored files go (GTA-Workflow spec 2.5 and 4)."""

from __future__ import annotations

from typing import Any

import pytest

from bench_gta.workflow.compress import compress
from bench_gta.workflow.results import jobs


def call(name: str = "OCR") -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"function": {"name": name, "arguments": {}}}]}


@pytest.mark.parametrize(
    ("output", "success"),
    [
        ("all is well", True),
        ("an ERROR", False),
        ("Bad Request", False),
        ("unauthorized", False),
        ("bad reque\u017ft", True),  # in lower case the long s stays what it is, and is no s
        ("TRACEBAC\u212a", False),  # the Kelvin sign is a k in lower case
        ("\u0130NVALID", True),  # a capital I with a dot becomes two signs in lower case
        ([{"content": {"deep": ["NOT FOUND"]}}], False),
        ("errors", True),
        ("5000", True),
        ("code 500.", False),
        ("", False),
        (" ", True),
    ],
)
def test_an_output_is_read_in_lower_case(output: Any, success: bool) -> None:
    (done, *_) = compress([call(), {"role": "tool", "content": output}])
    assert done["tool_calls_summary"][0]["success"] is success


@pytest.mark.parametrize(
    ("attached", "files"),
    [
        ([["a.pdf"], ["b.pdf"]], [["a.pdf"], ["b.pdf"]]),
        ([["a.pdf"]], [["a.pdf"], [["a.pdf"]]]),
        (["a.pdf", "b.pdf"], ["a.pdf", "b.pdf"]),
        ("a.pdf", ["a.pdf", "a.pdf"]),
        ({"path": "a.pdf"}, [{"path": "a.pdf"}, {"path": "a.pdf"}]),
        (None, [None, None]),
    ],
)
def test_files_of_samples(attached: Any, files: list[Any]) -> None:
    """One file given as a text goes to every sample whole, not letter by letter."""
    assert [job.files for job in jobs([[], []], [[], []], attached=attached)] == files


@pytest.mark.parametrize(("indices", "names"), [(None, [0, 1]), ([], [0, 1]), (["x", "y"], ["x", "y"])])
def test_names_of_samples(indices: Any, names: list[Any]) -> None:
    assert [job.index for job in jobs([[], []], [[], []], indices=indices)] == names

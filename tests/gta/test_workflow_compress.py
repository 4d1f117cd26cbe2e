"""Which outputs of tools count as failed (GTA-Workflow spec 2.5)."""

from __future__ import annotations

from typing import Any

import pytest

from bench_gta.workflow.trace import compress


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

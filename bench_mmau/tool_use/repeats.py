"""Several samples of one record: requests are repeated with numbered ids, and their responses are put together again
(MMAU spec 2.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench_mmau.tool_use.errors import NotScorable
from bench_mmau.tool_use.replies import PARITY, Fixes, kind, record_id, response_of


def repeat(requests: Sequence[Mapping[str, Any]], count: int) -> list[dict[str, Any]]:
    """Every request ``count`` times, its id followed by ``:::`` and the number of the sample, from 0 (MMAU spec
    3.3)."""
    key = _id_key(requests)
    return [{**request, key: f"{_id(request, key)}:::{number}"} for request in requests for number in range(count)]


def flatten(responses: Sequence[Mapping[str, Any]], *, fixes: Fixes = PARITY) -> list[dict[str, Any]]:
    """Undo ``repeat``: one record for each sample 0, with ``n_responses`` in order of arrival.

    Samples are grouped by the text before the first colon, so that an id with a colon loses them [Q19]; a record
    without sample 0 vanishes. Raises NotScorable for an id without ``:::`` or, in parity, with a second one.
    """
    key = _id_key(responses)
    groups: dict[str, list[Any]] = {}
    first: list[tuple[str, Mapping[str, Any]]] = []
    for response in responses:
        whole = _id(response, key)
        parts = whole.rsplit(":::", 1) if fixes.colons else whole.split(":::")
        if len(parts) != 2:
            raise NotScorable(
                whole,
                f"the id holds ':::' {len(parts) - 1} times; it has to hold it once, before the number of the sample",
            )
        groups.setdefault(parts[0] if fixes.colons else whole.split(":")[0], []).append(response_of(response))
        if parts[1] == "0":
            first.append((parts[0], response))
    return [{**response, key: name, "n_responses": groups.get(name, [])} for name, response in first]


def _id_key(records: Sequence[Mapping[str, Any]]) -> str:
    if not records:
        raise NotScorable("", "there are no records; at least one is needed, so check the file")
    return "id" if "id" in records[0] else "deliverable_id"


def _id(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(record.get(key), str):
        raise NotScorable(
            record_id(record),
            f"{key!r} is {kind(record.get(key))}; every record needs it as text, like the first one",
        )
    value: str = record[key]
    return value

"""The table of docs/tools.md from figures: ``python -m benchmarks.gpu.table FIGURES``, after a run on a GPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.write import number, put

PAGE = Path(__file__).parents[2] / "docs" / "tools.md"
MARK = "<!-- figures: gpu -->"
Rows = Sequence[Mapping[str, Any]]


def write(noted: Mapping[str, Any], page: Path) -> None:
    """Raises SystemExit for figures of a dry run."""
    about = noted["machine"]
    if about["small"] or not about["device"].startswith("cuda"):
        raise SystemExit(f"these figures are of a dry run on {about['card']}; docs/tools.md shows those of a GPU")
    page.write_text(put(page.read_text(encoding="utf-8"), MARK, table(noted)), encoding="utf-8")


def table(noted: Mapping[str, Any]) -> str:
    about = noted["machine"]
    versions = ", ".join(f"{name} {value}" for name, value in about["versions"].items())
    first = f"Measured on {about['date']} on {about['card']}, beside {about['cores']} processor cores; {versions}."
    blocks = [[first], _models(noted), _checks(noted["checks"]), _memory(noted["memory"])]
    blocks += [[f"{_run(run)}"] for run in noted["runs"]] + [_left_out(noted["parts"])]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _models(noted: Mapping[str, Any]) -> list[str]:
    """Ratios of calls a second, and seconds to load."""
    rates, loads = noted["rates"], noted["loads"]
    names = dict.fromkeys(row["model"] for row in [*rates, *loads])
    counts = sorted({row["callers"] for row in rates if row["batch"] > 1})
    heads = [
        "model",
        "GPU / processor, 1 caller",
        *(f"together / one by one, {count} caller{'s' * (count > 1)}" for count in counts),
    ]
    lines = [f"| {' | '.join([*heads, 'load, s'])} |", "|---" * (len(heads) + 1) + "|"]
    device = noted["machine"]["device"]
    for name in names:
        own = [row for row in rates if row["model"] == name]
        fast = [row["rate"] for row in own if row["device"] == device and row["callers"] == row["batch"] == 1]
        slow = [row["rate"] for row in own if row["device"] == "cpu"][:1]
        cells = [_ratio(fast[-1:], slow)]
        for count in counts:
            pair = (
                [row["rate"] for row in own if row["callers"] == count and (row["batch"] > 1) is many]
                for many in (True, False)
            )
            cells.append(_ratio(*(found[-1:] for found in pair)))
        seconds = [row["seconds"] for row in loads if row["model"] == name and row["device"] == device]
        cells.append(number(seconds[-1]) if seconds else "")
        lines.append(f"| {' | '.join([name, *cells])} |")
    return lines if names else []


def _ratio(above: Sequence[float], below: Sequence[float]) -> str:
    return f"{number(above[0] / below[0])} ×" if above and below and below[0] else ""


def _checks(checks: Rows) -> list[str]:
    lines = ["| answers | figure | tolerance | |", "|---|---|---|---|"]
    for check in checks:
        least, most = check["least"], check["most"]
        bound = f"≥ {least:g}" if least is not None else f"≤ {most:g}" if most is not None else ""
        verdict = ("met" if check["met"] else "**not met**") if bound else ""
        lines.append(f"| {check['model']}: {check['what']} | {check['value']:.5g} | {bound} | {verdict} |")
    return lines if checks else []


def _memory(rows: Rows) -> list[str]:
    lines = [
        "| callers | of processes | memory of the tool server, MB | / first line | calls a second / first line |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        first = rows[0]
        shares = f"{number(row['mb'] / first['mb'])} × | {number(row['rate'] / first['rate'])} ×"
        lines.append(f"| {row['callers']} | {row['processes']} | {row['mb']:,.0f} | {shares} |")
    return lines if rows else []


def _run(run: Mapping[str, Any]) -> str:
    named = "names" if run["names_device"] else "does not name"
    told = f"{run['passed']} of {run['cases']} cases passed, exit status {run['status']}"
    return (
        f"A run of GTA-Atomic with the model `oracle`: {told}, in {run['seconds']:.0f} s. Its header {named} the GPU."
    )


def _left_out(parts: Rows) -> list[str]:
    return [f"- Not measured: {part['part']}: {part['outcome']}" for part in parts if part["outcome"] != "measured"]


if __name__ == "__main__":
    write(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), PAGE)

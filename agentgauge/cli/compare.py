"""``agentgauge compare``: what differs between runs, and whether that is noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentgauge_reports.comparison import comparison

from agentgauge.core.atomic_write import advice
from agentgauge.core.command_parser import CommandParser
from agentgauge.core.errors import UsageProblem
from agentgauge.core.safe_text import clean_json, show


def main(argv: Sequence[str]) -> int:
    parser = CommandParser(
        prog="agentgauge compare",
        description="Compare runs with the first one, on the samples that both finished: differences with intervals,"
        " significance tests corrected for multiple comparisons, the smallest difference that would have been found,"
        " samples whose outcome changed, and what else differs besides the model.",
        epilog="example: agentgauge compare runs/before runs/after --format html --output comparison.html",
    )
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="folders of two runs or more; the others are compared with the first",
    )
    formats = ("text", "json", "markdown", "html")
    parser.add_argument("--format", choices=formats, default="text", help="form of the comparison (default: text)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="file to write to (default: the screen)")
    options = parser.parse_args(argv)
    target: Path | None = options.output
    written = comparison(options.folders, options.format, target.parent if target else Path())
    is_json = options.format == "json"
    if target is None:
        show(written, is_json=is_json)
        return 0
    try:
        text = clean_json(written) if is_json else written
        target.write_text(text, encoding="utf-8", errors="replace")  # a model may write lone surrogates
    except OSError as error:
        do = advice(error) or "name a file in a folder that exists"
        raise UsageProblem(f"--output {target} cannot be written ({error.strerror}); {do}") from None
    show(target)
    return 0

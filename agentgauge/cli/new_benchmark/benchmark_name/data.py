"""The samples: one JSON object a line, with an id, a kind, a question and its answer."""

import json
from pathlib import Path

from agentgauge import DataProblem, DataSource, Entry, Index, Row, Sample, build_index, line_entries

FILE = "questions.jsonl"
FIELDS = ("id", "kind", "question", "answer")


class Questions(DataSource):
    name = "benchmark_name"  # folder of the full data below a data folder
    files = (FILE,)
    bundled = Path(__file__).parent / "mini"

    def index(self, root: Path) -> Index:
        """Ids and keywords, for collection. Raises DataProblem."""
        return build_index([root / FILE], line_entries, _describe)

    def load(self, index: Index, row: Row, task: str) -> Sample:
        return Sample(row.id, task, row.tags, json.loads(row.text), index.root, row.position)


def _describe(entry: Entry) -> tuple[str, list[str]]:
    """The id of a sample and its keywords, for ``pytest -k``. Raises DataProblem."""
    given = entry.value if isinstance(entry.value, dict) else {}
    if lacking := [name for name in FIELDS if not isinstance(given.get(name), str)]:
        raise DataProblem(f"{FILE}, line {int(entry.key) + 1}: give a text for {' and '.join(lacking)}")
    return given["id"], [given["kind"]]

"""What ``agentgauge fetch tools`` and ``agentgauge data`` show of the weights of tools."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from agentgauge.core.config import CONFIG_NAME
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import counted
from agentgauge.data.fetch.dataset import FIRST_USE, PUBLISHED, DataSet, FetchNote, known_data_sets, read_note, size
from agentgauge.data.weights import FOLDER, Weights, damages
from tool_impls import published_weights

ALL = "tools"
"""In place of a name: lists the weights, or with ``--only`` fetches those."""

_NOTHING_TO_FETCH = (
    "nothing to fetch: OCR and VideoOCR, the basic SpeechToText, the detector of shapes and the similarity minilm have"
    " their models in their packages"
)


def everything() -> dict[str, DataSet]:
    """All that ``agentgauge fetch`` knows by name: data sets, then weights."""
    return {**known_data_sets(), **{one.name: one.data_set for one in published_weights.WEIGHTS}}


def listing(base: Path) -> list[str]:
    """What is known of each set of weights, and whether it is below the data folder."""
    lines = ["weights that tools can use; get those that you need with: agentgauge fetch NAME ..."]
    for one in published_weights.WEIGHTS:
        sums = [f"{sha256} {name}" for name, sha256 in one.checksums.items()]
        more = f"{'those of the other files' if sums else 'all'} are read from the origin, and recorded"
        rows = (
            ("for", [", ".join(one.used_by)]),
            ("origin", [_origin(one)]),
            ("licence", [one.licence]),
            ("sha256", [*sums, *([] if one.file else [more])]),
            ("settings", [one.setting]),
            ("here", [_here(one, base)]),
        )
        lines += ["", f"{one.name}: {one.published}, {'' if one.checksums else 'about '}{size(one.size)}"]
        lines += [
            f"  {title if not number else '':10}{text}" for title, texts in rows for number, text in enumerate(texts)
        ]
    return [*lines, "", *textwrap.wrap(_NOTHING_TO_FETCH, 100)]


def overview(base: Path) -> list[str]:
    """Which weights are here, one line each, and those that ``agentgauge.toml`` of this folder names."""
    width = max(len(one.name) for one in published_weights.WEIGHTS)
    return [
        "",
        f"weights of tools, in {base / FOLDER}; what they are: agentgauge fetch {ALL}",
        *(f"  {one.name:{width}}  {_here(one, base)}" for one in published_weights.WEIGHTS),
        *_named(Path(CONFIG_NAME)),
    ]


def _origin(one: Weights) -> str:
    revision = getattr(one.source, "revision", None)
    return one.source.identity + (f" at {revision}" if revision else "")


def _here(one: Weights, base: Path) -> str:
    root = base / FOLDER / one.name
    if note := read_note(root):
        return _fetched(root, note)
    if root.exists():
        return f"{root}, your own copy, not fetched by this command"
    return f"not here ({size(one.size)}); get it with: agentgauge fetch {one.name}"


def _fetched(root: Path, note: FetchNote) -> str:
    files = note.files
    if wrong := [*damages(root, files), *note.problems]:
        return f"damaged: {wrong[0]}; remove {root}, then: agentgauge fetch {note.data_set}"
    count, whole = len(files), size(sum(one.size for one in files.values()))
    recorded = sum(one.checksum == FIRST_USE for one in files.values())
    sums = f"checksums {PUBLISHED}" + (f", but {recorded} {FIRST_USE}" if recorded else "")
    read = f"verified {note.verified}" if note.verified else "not verified"
    return f"{root}, {counted(count, 'file')}, {whole}, version {note.revision[:12]}, {sums}, {read}"


def _named(config: Path) -> Sequence[str]:
    """The weights that a settings file names, and what is there."""
    if not config.is_file():
        return []
    from tool_impls.registry import load

    try:
        tables = load(config).tables
    except UsageProblem as problem:
        return [f"  {config}: {problem}"]
    named = [
        (f'[tools.{table}] {option} = "{values[option]}"', values[option], bool(values.get("allow_download")))
        for table, values in tables.items()
        for option in ("weights", "edit_weights")
        if option in values
    ]
    return [f"  {config}: {text}: {_there(value, fetched=loads)}" for text, value, loads in named]


def _there(value: str, *, fetched: bool) -> str:
    """``fetched``: whether a name on the hub is fetched at the first need."""
    if Path(value).exists():
        return "there"
    if one := published_weights.known(value):
        return f"not here; get it with: agentgauge fetch {one.name}"
    if value == "shapes":
        return "bundled"
    return "fetched at the first need, as allow_download says" if fetched else "nothing is there"

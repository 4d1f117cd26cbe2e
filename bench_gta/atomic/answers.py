"""Scoring one answer text against a reference answer (GTA spec 5.3 and 5.4)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from agentgauge.core.types import Json
from bench_gta.atomic.fixes import Fix, Fixes
from bench_gta.similarity import Similarity


def score_answer(text: str, reference: Json, similar: Similarity, fixes: Fixes) -> float:
    """From 0 to 1. A reference that is no object and no list of texts scores 0."""
    if isinstance(reference, Mapping):
        return float(matches(text, reference, fixes))
    if isinstance(reference, Sequence) and not isinstance(reference, str):
        return max((similar(text, one) for one in reference), default=0.0)
    return 0.0


def matches(text: str, reference: Mapping[str, Json], fixes: Fixes) -> bool:
    """Whether every group of the white list is found and nothing of the black list is.

    The published rule puts ``\\b`` around the aliases, with the oddities that follow from it where an alias does not
    begin or end with a word character; see Fix.ALIAS_EDGES.
    """
    found = _found_strictly if Fix.ALIAS_EDGES in fixes else _found
    if not all(found(text, group) for group in reference["whitelist"]):
        return False
    refused = reference.get("blacklist")
    return not (refused and found(text, [alias for group in refused for alias in group]))


def _found(text: str, aliases: Iterable[str]) -> bool:
    """One pattern for all aliases: an empty list gives ``\\b(?:)\\b``, which any word satisfies. As upstream."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, aliases))})\b", text, re.IGNORECASE) is not None


def _found_strictly(text: str, aliases: Iterable[str]) -> bool:
    text = _folded(text)
    return any(re.search(_edged(alias), text) for alias in map(_folded, aliases) if alias.strip())


# letters and digits of scripts that put blanks between words
_WORD = r"[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"


def _edged(alias: str) -> str:
    """A pattern for an alias that is not part of a longer word or number."""
    before, after = alias[0], alias[-1]
    left = rf"(?<!{_WORD})" if re.match(_WORD, before) else ""
    right = rf"(?!{_WORD})" if re.match(_WORD, after) else ""
    if before.isdecimal():
        left += r"(?<!\d[.,])"
    if after.isdecimal():
        # 3.0 is still a 3, 3.5 is not
        right += r"(?![.,]\d)" if "." in alias or "," in alias else r"(?!,\d|\.(?!0+(?!\d))\d)"
    return f"{left}{re.escape(alias)}{right}"


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()

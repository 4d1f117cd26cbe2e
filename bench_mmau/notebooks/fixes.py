"""What ``--scoring strict`` does otherwise than the published notebook metrics: one switch for each fix, with its
quirk.

Parity applies none, strict applies all.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """Each switch mends one quirk of the Apple MMAU spec, section 9 (its number in brackets)."""

    retry_unreadable: bool = False  # Q26: a reply that holds no cells is a failed solution and may be retried
    any_cells: bool = (
        False  # Q27: a source may be one text, the reply one cell or a whole notebook; all else holds no cells
    )
    any_metadata: bool = False  # 7.2: a cell may lack metadata; metadata and tags of an unusual kind count as none
    own_output: bool = False  # Q28: only what the model's own cells print is shown to the QA model
    declared_sight: bool = (
        False  # Q29: ability to see may be declared; a model that cannot see is not asked about images
    )
    flat_answers: bool = False  # Q30: answers that are no list of texts, or no JSON that Python decodes, are no answers
    double_precision: bool = False  # Q31: double precision; turns without questions leave the means
    null_is_empty: bool = False  # section 10: a reply without content is an empty one and stops nothing


PARITY = Fixes()
STRICT = Fixes(
    retry_unreadable=True,
    any_cells=True,
    any_metadata=True,
    own_output=True,
    declared_sight=True,
    flat_answers=True,
    double_precision=True,
    null_is_empty=True,
)

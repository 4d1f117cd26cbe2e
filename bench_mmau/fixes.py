"""The differences between ``--scoring strict`` and the published evaluators: one switch for each fix.

Parity applies none, strict applies all. Each fixes one quirk, cited by its number if it has one
(docs/benchmarks/mmau.md#quirks).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from agentgauge.core.types import Scoring


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    # stored replies
    plain_text: bool = False  # Q1: all white space on the left is removed, and a literal ``<n>`` stays what it is
    any_call: bool = False  # a call may lack its id, type, name or arguments; arguments may be an object
    null_is_empty: bool = False  # a reply without content is an empty one and stops nothing
    # tool use
    text_and_calls: bool = False  # Q3: equal text makes up for no wrong, missing or surplus calls; outer blanks pass
    best_pairs: bool = False  # Q4: calls are paired so that all of them match if that is possible
    fixed_dates: bool = False  # Q5: a part that a date lacks must be lacking on both sides, whatever the day of scoring
    null_is_omitted: bool = False  # Q6: an explicit null equals an omitted argument at the partial levels too
    names_once: bool = False  # Q7: a target's name is given to one predicted call only
    whole_words: bool = False  # Q8: contractions are stop words, letters and fragments are not; not all words may go
    truth_values: bool = False  # true and false are no numbers
    odd_values_differ: bool = False  # a date out of range, and arguments that Python cannot decode, do not match
    # DAG QA
    any_spelling: bool = False  # Q9: the marker in any case, with emphasis and blanks anywhere; the last one decides
    text_target: bool = False  # a target stored as text is its number
    # mathematics
    plain_answer: bool = False  # Q10: the grader sees the text after the last marker, not a printed list of messages
    unanswered_wrong: bool = False  # Q11: no answer is a wrong one; only ungradable ones leave the denominator
    any_verdict: bool = False  # the last line decides, without emphasis, label and full stop; incorrect is wrong
    # contests
    any_fence: bool = False  # Q12: a fence without language or with another spelling of Python opens a program as well
    main_guard: bool = False  # Q12: the program runs as ``__main__``; its main guard is not cut out
    fresh_globals: bool = False  # Q13: every test starts with an empty namespace
    exits: bool = False  # Q14: leaving the program ends the test, with success for status 0; exit() and quit() exist
    buffers: bool = False  # Q15: stdout has a ``buffer``, and descriptor 0 carries the input
    own_time: bool = False  # Q16: each test has its own limit, the group has none
    words: bool = False  # Q17: outputs are compared word by word, decimal fractions with a tolerance of 1e-6
    whole_answer: bool = False  # Q23: any spelling of the answer marker, and the whole text after the last one
    empty_plan_counts: bool = False  # a plan without any message counts as an unsolved problem
    # notebooks
    retry_unreadable: bool = False  # Q26: a reply that holds no cells is a failed solution and may be retried
    any_cells: bool = False  # Q27: a source may be one text, the reply one cell or a notebook; all else holds no cells
    any_metadata: bool = False  # a cell may lack metadata; metadata and tags of an unusual kind count as none
    own_output: bool = False  # Q28: only what the model's own cells print is shown to the QA model
    whole_outputs: bool = False  # 7.2, 7.3: pieces of one stream, and of a picture that is a list, are put together
    flat_answers: bool = False  # Q30: answers that are no list of strings, or no JSON that Python decodes, are none


PARITY = Fixes()
STRICT = Fixes(**{switch.name: True for switch in fields(Fixes)})


def fixes_of(scoring: Scoring) -> Fixes:
    return STRICT if scoring == "strict" else PARITY

"""Apple MMAU, data science notebooks: a reply's cells really run, then a model answers questions on what they show
(docs/benchmarks/mmau.md#notebooks).

The way of one turn: ``cells.build`` (or ``cells.oracle``), ``execute.run`` for each solution, perhaps a retry
(``score.retry_request``), ``score.question_request`` and ``score.read_answers``, ``score.judge``.
"""

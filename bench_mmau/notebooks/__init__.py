"""Apple MMAU, data science notebooks: a reply's cells really run, then a model answers questions on what they show
(MMAU spec 7).

The way of one turn: ``cells.build`` (or ``cells.oracle``), ``execute.run`` for each solution, perhaps ``retry``,
``qa.request`` and ``qa.read_answers``, ``score.judge``. ``score.metric`` adds up the verdicts of all turns.
"""

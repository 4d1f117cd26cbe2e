"""Makes the bundled data set ``bench_wild/mini``: ``python -m bundled_data.wild``.

``words`` is the notation, ``sessions`` holds what is written in it, ``build`` makes the data file. See
docs/bundled-data.md.
"""

"""Makes the bundled data set ``bench_gta/atomic/mini``: ``python -m bundled_data.gta_atomic``.

``canvas`` draws, ``printed``, ``scenes`` and ``charts`` hold the pictures, ``objective``, ``subjective`` and
``drawing`` the samples, ``dialog`` runs the gold calls, ``build`` writes it all. See docs/bundled-data.md.
"""

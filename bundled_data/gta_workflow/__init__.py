"""Makes the bundled data set ``bench_gta/workflow/mini``: ``python -m bundled_data.gta_workflow``.

``photos``, ``tables`` and ``recordings`` make the attached files; ``workshop``, ``tour``, ``gears``, ``hall``,
``teashop`` and ``clip`` hold the tasks; ``plan`` runs their reference calls; ``build`` writes it all. See
docs/bundled-data.md.
"""

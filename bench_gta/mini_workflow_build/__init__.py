"""Makes the bundled data set ``bench_gta/mini_workflow``: ``python -m bench_gta.mini_workflow_build``.

``photos``, ``tables`` and ``recordings`` make the attached files; ``workshop``, ``tour``, ``gears``, ``hall``, ``teashop`` and
``clip`` hold the tasks; ``plan`` runs their reference calls; ``build`` writes it all. See docs/bundled-data.md.
"""

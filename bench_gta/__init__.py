"""GTA-Atomic and GTA-Workflow: tasks with real tools; and packs of what external agents delivered."""

"""Eval packs: what any agent app delivered, made, checked, scored and compared (GTA-Workflow spec 6)."""

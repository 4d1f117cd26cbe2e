"""Eval packs: deliverables of any agent app are packed, checked, scored and compared (GTA-Workflow spec 6)."""

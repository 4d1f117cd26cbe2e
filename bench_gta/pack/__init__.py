"""Eval packs: deliverables of any agent app are packed, checked, scored and compared
(docs/benchmarks/gta_workflow.md#external-agents)."""

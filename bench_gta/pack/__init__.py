"""Eval packs: deliverables of any agent app are packed, checked and scored
(docs/benchmarks/gta_workflow.md#external-agents)."""

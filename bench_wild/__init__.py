"""WildToolBench, in the making: data, tool-call graphs, inference and scoring are here and hold against the golden vectors.

The task is not announced yet (no entry point, no case module), so no run collects it.
"""

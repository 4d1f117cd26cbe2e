"""Apple MMAU, contest-level coding: programs run in the sandbox against the tests of their problem
(docs/benchmarks/mmau.md#contests)."""

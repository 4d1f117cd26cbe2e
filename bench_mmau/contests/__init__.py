"""Apple MMAU, contest-level coding: programs run in the sandbox against the tests of their problem (MMAU spec 6)."""

"""Tools that compute: Calculator, Solver, Plot, Prover."""

"""What the benchmarks share; knows none of them."""

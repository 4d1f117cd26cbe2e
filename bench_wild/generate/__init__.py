"""WildToolBench's data generator: a group of models writes dialogues for every sequence of task types
(docs/benchmarks/wild.md#generator)."""

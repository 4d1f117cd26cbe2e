"""WildToolBench's data generator: a group of models writes dialogues for every sequence of task types (wild spec 9)."""

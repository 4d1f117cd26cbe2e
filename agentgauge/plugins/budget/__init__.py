"""What a run costs: the estimate at its start, its budget, and the part of it that running cases will need."""

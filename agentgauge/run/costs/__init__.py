"""What a run costs: the estimate at its start, and the part of a budget that running cases will need."""

"""Several runs side by side, one for each model, under a launcher that shares tool servers and rates."""

"""Records what a run asks and what comes of it, and replays it without asking."""

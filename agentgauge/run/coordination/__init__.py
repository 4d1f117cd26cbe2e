"""How the processes of a run communicate by files in the run folder."""

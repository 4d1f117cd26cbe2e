"""What the processes of a run tell each other by files in the run folder."""

"""How a run comes to the folder that it writes."""

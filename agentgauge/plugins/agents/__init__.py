"""Runs an agent program in the model's place: confined, with an endpoint of its own for models and tools."""

"""Programs of the user's own, such as agents: reads their commands, and runs them confined."""

"""The real tools, the server that runs them, and its client."""

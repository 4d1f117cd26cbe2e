"""The tool server with its worker processes, and its client."""

"""Tools on Ray Serve: the tool server stays the same, and replicas on a Ray cluster execute its calls."""

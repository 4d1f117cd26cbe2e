"""Tools on Ray Serve: the tool server stays as it is, and its calls are worked on by replicas on a Ray cluster."""

"""A benchmark of one file: what the decorator ``benchmark`` makes a task of."""

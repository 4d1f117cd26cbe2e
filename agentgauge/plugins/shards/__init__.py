"""``--shard``: the part of a run that one machine does, and what is known of the whole."""

"""Cases that begin with the same request: the later ones find the first one's prompt in the provider's cache."""

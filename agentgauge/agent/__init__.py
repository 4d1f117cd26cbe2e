"""How a model uses tools: the loop, and the dialects in which it calls them."""

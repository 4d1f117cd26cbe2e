"""Replies that are kept: of models, tools and judges, in recordings and caches."""

"""Replies of models and results of deterministic tools that runs share."""

"""Chat endpoints: requests, providers, retries and limits, files, embedded models."""

"""Chat endpoints: requests, providers, retries and limits, files, cassettes, embedded models."""

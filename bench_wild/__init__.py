"""WildToolBench: tool use as real users write it, four tasks a session."""

"""Tools with models on a GPU: what they answer, what memory they take and how fast they are, beside the processor."""

"""The dialects of model families that write their calls as text (docs/benchmarks/wild.md#model-families). A family is a
module with one class.

A dialect converts between OpenAI's chat format, which benchmarks use, and the raw text of the model that an endpoint
serves.
"""

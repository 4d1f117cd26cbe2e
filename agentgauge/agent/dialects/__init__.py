"""The dialects of model families that write their calls as text (wild spec 8). A family is a module with one class.

They sit between two parties that speak OpenAI's chat format: a benchmark, and an endpoint that serves the model's raw
text.
"""

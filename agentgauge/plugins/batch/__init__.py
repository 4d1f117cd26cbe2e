"""Batch APIs: requests that wait at one time are sent together, for half the price and an answer within a day."""

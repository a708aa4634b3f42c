"""Greedy and beam search, and the engine that translates in batches."""

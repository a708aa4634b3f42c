"""Decoding: a beam search that knows nothing of the model, and the engine that joins them."""

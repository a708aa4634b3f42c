"""From a source to its best translations: greedy and beam search, and the engine that batches them."""

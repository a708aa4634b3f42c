"""A run as one page: parameters, funnel, curves, scores, sentences."""

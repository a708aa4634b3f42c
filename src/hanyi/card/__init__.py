"""The model card: what a model is, was made of, and is good for."""

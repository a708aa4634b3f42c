"""Pictures of what a model does, and of what it is made of."""

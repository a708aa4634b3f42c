"""A trained model in the MLflow registry, as one that translates text."""

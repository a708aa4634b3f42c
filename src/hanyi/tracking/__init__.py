"""Tracking: the mirror of stages in MLflow."""

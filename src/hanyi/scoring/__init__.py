"""Scoring: metrics with signatures, and the gate."""

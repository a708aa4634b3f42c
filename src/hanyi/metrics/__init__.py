"""Metrics of translations, each with the signature that makes its figures comparable."""

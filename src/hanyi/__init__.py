"""Hanyi (汉译): a reproducible machine-translation pipeline."""

__version__ = "0.1.0"

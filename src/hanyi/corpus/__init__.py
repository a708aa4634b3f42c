"""Corpora: sources, formats, cleaning, splits and leak removal."""

"""Rows to translate: read as they come, from lines of several formats, and written back."""

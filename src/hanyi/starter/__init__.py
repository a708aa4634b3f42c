"""Starter data: a hand-written bilingual grammar that yields everyday sentence pairs."""

"""Tokens: byte-level BPE, encoded shards and batch plans."""

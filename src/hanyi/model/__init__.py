"""The Transformer of Vaswani et al. 2017, with its switches."""

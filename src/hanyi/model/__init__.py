"""The Transformer of *Attention Is All You Need* (Vaswani et al. 2017), each part in its own file.

Read in the paper's order: `transformer` (3, 3.4), `layers` (3.1, 3.3), `attention` (3.2), `masks`
(3.2.3), `positions` (3.5), `dropout` (5.4); then `cache` (decoding step by step), `storage` and
`devices`.
"""

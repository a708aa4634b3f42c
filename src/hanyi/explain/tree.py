"""The tree of a search as data that JSON can hold."""

from __future__ import annotations

from typing import Any

from hanyi.decoding.hypothesis import Hypothesis
from hanyi.explain.pieces import pieces
from hanyi.explain.watch import CUT, FINISHED, KEPT, Watch
from hanyi.tokens.bpe import Tokenizer
from hanyi.tokens.vocab import BOS, EOS

DIGITS = 4


def tree(watch: Watch, tgt: Tokenizer) -> dict[str, Any]:
    """Give the nodes, the root first, each with the number of its parent and its fate.

    `step` counts the tokens, so nodes with an equal one were compared with each other; `text` is
    the translation so far.
    """
    nodes = watch.nodes
    newest = pieces_alone(tgt, [node.tokens[-1] if node.tokens else BOS for node in nodes])
    texts = tgt.decode_batch([node.tokens for node in nodes])
    return {
        "beams": watch.config.beam_size,
        "groups": watch.config.beam_groups,
        "steps": watch.length,
        "nodes": [
            {
                "step": len(node.tokens),
                "parent": node.parent,
                "token": token,
                "text": text.strip(),
                "log_prob": round(node.log_prob, DIGITS),
                "fate": node.fate,
            }
            for node, token, text in zip(nodes, newest, texts, strict=True)
        ],
    }


def pieces_alone(tokenizer: Tokenizer, ids: list[int]) -> list[dict[str, Any]]:
    """Give the text of tokens that do not stand beside each other."""
    return [pieces(tokenizer, [number])[0] for number in ids]


def leaf(watch: Watch, one: Hypothesis) -> int | None:
    """Give the number of the node where a hypothesis ended, None where none is shown."""
    tokens = (*one.tokens, EOS) if one.finished else tuple(one.tokens)
    fates = {FINISHED} if one.finished else {CUT, KEPT}
    found = (
        number
        for number, node in enumerate(watch.nodes)
        if node.tokens == tokens and node.fate in fates
    )
    return next(found, None)

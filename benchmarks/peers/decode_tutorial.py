"""Beam search as tutorials teach it: a sentence at a time, all of the target anew in each step."""

from __future__ import annotations

import sys

import torch

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.peers.tutorial import Translator

BOS, EOS = 2, 3


@torch.no_grad()
def beam_search(model: Translator, source: list[int], task: DecodeTask) -> list[int]:
    """Give the translation with the best mean log probability."""
    src = torch.tensor([[*source, EOS]])
    memory = model.transformer.encoder(model.embed(model.src, src))
    beams = [(0.0, [BOS])]
    done: list[tuple[float, list[int]]] = []
    for step in range(task.limit(source)):
        tgt = torch.tensor([tokens for _, tokens in beams])
        future = torch.ones(step + 1, step + 1, dtype=torch.bool).triu(1)
        hidden = model.transformer.decoder(
            model.embed(model.tgt, tgt), memory.expand(len(beams), -1, -1), tgt_mask=future
        )
        log_probs = model.output(hidden[:, -1]).log_softmax(dim=-1)
        if task.length:
            log_probs[:, EOS] = float("-inf")
        totals = log_probs + torch.tensor([[score] for score, _ in beams])
        best = totals.flatten().topk(task.beam)
        beams, before = [], beams
        for score, choice in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            origin, token = divmod(choice, totals.shape[1])
            kept = done if token == EOS else beams
            kept.append((score, [*before[origin][1], token]))
        if not beams:
            break
    _, tokens = max(done or beams, key=lambda one: one[0] / len(one[1]))
    return tokens[1:]


def main() -> None:
    """Translate sentence after sentence with random weights."""
    task = DecodeTask.read(sys.argv[1])
    torch.set_num_threads(task.threads)
    model = Translator(task).eval()

    def translate(sources: list[list[int]]) -> None:
        for source in sources:
            beam_search(model, source, task)

    task.measure(torch.__version__, translate)


if __name__ == "__main__":
    main()

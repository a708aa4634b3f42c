"""Searches as their definitions say, one sentence at a time, with lists; slow and plain."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from hanyi.decoding.config import SearchConfig
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.sentences import Sentence
from hanyi.tokens.vocab import BOS, EOS, PAD
from tests.tables import Prefix, Table


@dataclass
class Task:
    """One sentence to search, known to the table by its number."""

    table: Table
    sentence: Sentence
    config: SearchConfig
    number: int = 0

    def gains(self, tokens: Prefix) -> Iterator[tuple[int, float]]:
        """Give each token that the rules allow next, with its log probability."""
        for token, gain in enumerate(self.table.log_probs(self.number, (BOS, *tokens))):
            if self.allows(tokens, token):
                yield token, gain

    def allows(self, tokens: Prefix, token: int) -> bool:
        prefix, ngram = self.sentence.wish.prefix, self.config.no_repeat_ngram
        if token in {PAD, BOS}:
            return False
        if len(tokens) < len(prefix):
            return token == prefix[len(tokens)]
        if token == EOS:
            return len(tokens) >= self.sentence.least and not missing(self.sentence, tokens)
        return not (ngram and repeats((*tokens, token), ngram))

    def ended(self, tokens: Prefix, log_prob: float, finished: bool) -> Hypothesis:
        """Score it by the papers' formulas."""
        config, length = self.config, len(tokens) + finished
        exponent = config.length_penalty
        norm = ((5 + length) / 6) ** exponent if config.length_norm == "gnmt" else length**exponent
        score = log_prob / norm
        if config.coverage_penalty and finished:
            reads = [
                self.table.attention(self.number, (BOS, *tokens[:place]), self.sentence.src_len)
                for place in range(length)
            ]
            for read in zip(*reads, strict=True):
                score += config.coverage_penalty * math.log(min(sum(read), 1.0))
        return Hypothesis(list(tokens), log_prob, finished, score)


def repeats(tokens: Prefix, ngram: int) -> bool:
    """Say whether the last n-gram stands elsewhere in the tokens."""
    runs = [tokens[place : place + ngram] for place in range(len(tokens) - ngram + 1)]
    return len(tokens) >= ngram and runs.count(tokens[-ngram:]) > 1


def contains(tokens: Prefix, run: Prefix) -> bool:
    return any(tokens[place : place + len(run)] == run for place in range(len(tokens)))


def missing(sentence: Sentence, tokens: Prefix) -> int:
    """Count the tokens that the terms still need."""

    def left(run: Prefix) -> int:
        begun = (size for size in range(len(run), 0, -1) if tokens[-size:] == run[:size])
        return len(run) - next(begun, 0)

    return sum(
        min(map(left, runs))
        for runs in sentence.wish.terms
        if not any(contains(tokens, run) for run in runs)
    )


def ranked(found: list[Hypothesis]) -> list[Hypothesis]:
    """Sort by the definition: finished ones first, then by score."""
    return sorted(found, key=lambda one: (not one.finished, -one.score))


def exhaustive(task: Task) -> list[Hypothesis]:
    """Give every sequence that may be written within the limit, also those that get stuck."""
    found: list[Hypothesis] = []
    waiting: list[tuple[Prefix, float]] = [((), 0.0)]
    while waiting:
        tokens, total = waiting.pop()
        following = list(task.gains(tokens))
        if len(tokens) == task.sentence.limit or not following:
            found.append(task.ended(tokens, total, finished=False))
            continue
        for token, gain in following:
            if token == EOS:
                found.append(task.ended(tokens, total + gain, finished=True))
            else:
                waiting.append(((*tokens, token), total + gain))
    return ranked(found)


def plain_beam(task: Task) -> list[Hypothesis]:
    """Search as the docstring of the beam says, and never stop because nothing can win."""
    config = task.config
    groups: list[list[tuple[Prefix, float]]] = [[((), 0.0)] for _ in range(config.beam_groups)]
    finished = [0] * config.beam_groups
    places = config.beam_size // config.beam_groups
    found: dict[tuple[Prefix, bool], Hypothesis] = {}

    def end(tokens: Prefix, total: float, is_finished: bool) -> None:
        found.setdefault((tokens, is_finished), task.ended(tokens, total, is_finished))

    for _ in range(task.sentence.limit):
        taken: Counter[int] = Counter()
        for group, live in enumerate(groups):
            for tokens, total in live:
                if not list(task.gains(tokens)):
                    end(tokens, total, False)
            candidates = in_order(task, live, taken)
            ended = [one for one in candidates[:places] if one[1] == EOS]
            going = [one for one in candidates if one[1] != EOS][:places]
            for tokens, _, total in ended:
                end(tokens, total, True)
            finished[group] += len(ended)
            taken.update(token for _, token, _ in going)
            enough = finished[group] >= (config.patience * places if config.beam_size > 1 else 1)
            groups[group] = [] if enough else [((*one[0], one[1]), one[2]) for one in going]
    for tokens, total in (one for live in groups for one in live):
        end(tokens, total, False)
    return ranked(list(found.values()))


def in_order(
    task: Task, live: list[tuple[Prefix, float]], taken: Counter[int]
) -> list[tuple[Prefix, int, float]]:
    """Give the continuations in the order in which they may take places; banks take turns."""
    banks: dict[int, list[tuple[float, Prefix, int, float]]] = defaultdict(list)
    for tokens, total in live:
        before = missing(task.sentence, tokens)
        gains = sorted(task.gains(tokens), key=lambda one: -one[1])
        for rank, (token, gain) in enumerate(gains):
            after = before if token == EOS else missing(task.sentence, (*tokens, token))
            if rank <= task.config.beam_size or after < before:
                key = total + gain - task.config.diversity_penalty * taken[token]
                banks[after].append((key, tokens, token, total + gain))
    turns = [
        (rank, after, one)
        for after, bank in banks.items()
        for rank, one in enumerate(sorted(bank, reverse=True))
    ]
    return [one[1:] for _, _, one in sorted(turns, key=lambda turn: turn[:2])]

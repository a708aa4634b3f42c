"""Texts in, texts out: parts joined, the best combinations, a choice, numbers for draws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hanyi.decoding.config import PLAIN, SearchConfig
from hanyi.decoding.forced import Forced, Pair, force
from hanyi.decoding.hypothesis import Hypothesis
from hanyi.decoding.jobs import Job, Report
from hanyi.decoding.mbr import rank
from hanyi.decoding.texts import Row, TextEngine, combine, explain
from hanyi.decoding.wishes import Wishes
from hanyi.model.processes import ALONE, Processes
from hanyi.tokens.bpe import Tokenizer
from tests.models import tiny_model, tiny_tokenizers
from tests.processes import in_processes

MOST = 8
SAID = {"我爱你。": "I love you.", "你好吗？": "How are you?", "他好。": "He is fine."}


class Phrases:
    """An engine that knows a few sentences, and gives less likely ones in a fixed order."""

    def __init__(self, src: Tokenizer, tgt: Tokenizer) -> None:
        self.src = src
        self.tgt = tgt
        self.heard: list[Job] = []

    def translate(
        self,
        jobs: Sequence[Job],
        config: SearchConfig,
        *,
        report: Report | None = None,
        processes: Processes = ALONE,
    ) -> list[list[Hypothesis]]:
        """Give the sentence itself, then with more and more marks."""
        self.heard += jobs
        texts = [SAID[self.src.decode(list(job.source))] for job in jobs]
        if report:
            report(len(jobs))
        return [
            [
                Hypothesis(self.tgt.encode(text + "!" * n), -1.0 - n, finished=n < 2, score=-n / 2)
                for n in range(config.n_best)
            ]
            for text in texts
        ]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Tokenizer]:
    return tiny_tokenizers(tmp_path_factory.mktemp("made") / "tokenizers")


@pytest.fixture
def engine(pair: tuple[Tokenizer, Tokenizer]) -> TextEngine:
    wishes = Wishes("We", {"你": "you", "我爱": "Beijing"}, pair[1])
    return TextEngine(Phrases(*pair), *pair, MOST, wishes)


def translate(engine: TextEngine, texts: Sequence[str], **changes: object) -> list[Row]:
    return engine.translate(engine.read(texts), replace(PLAIN, **changes))


def test_one_row_for_each_text_whatever_its_length(engine: TextEngine) -> None:
    texts = ["我爱你。", "", "我爱你。你好吗？他好。", "  ", "他好。"]
    rows = translate(engine, texts)
    assert [row.best.text for row in rows] == [
        "I love you.", "", "I love you. How are you? He is fine.", "", "He is fine.",
    ]  # fmt: skip
    assert [row.parts for row in rows] == [1, 0, 3, 0, 1]
    long, nothing = rows[2].best, rows[1].best
    assert (long.log_prob, long.finished) == (-3.0, True)
    assert long.tokens == [token for text in SAID.values() for token in engine.tgt.encode(text)]
    assert (nothing.log_prob, nothing.tokens, nothing.finished) == (0.0, [], True)


def test_wishes_go_with_the_parts(engine: TextEngine) -> None:
    (row,) = translate(engine, ["我爱你。你好吗？他好。"])
    wishes = [job.wish for job in engine.engine.heard]  # type: ignore[attr-defined]
    assert [bool(wish.prefix) for wish in wishes] == [True, False, False]
    assert [len(wish.terms) for wish in wishes] == [2, 1, 0]
    assert row.terms == ["Beijing", "you"]
    assert row.unmet == ["Beijing"]


def test_numbers_are_those_of_texts_and_parts(engine: TextEngine) -> None:
    sources = engine.read(["他好。", "我爱你。你好吗？", ""])
    engine.translate(sources, PLAIN, numbers=[7, -1, 5])
    numbers = [job.number for job in engine.engine.heard]  # type: ignore[attr-defined]
    assert len(set(numbers)) == 3
    assert min(numbers) >= 0
    assert numbers[2] == numbers[1] + 1
    engine.translate(sources[:1], PLAIN, numbers=[7])
    assert engine.engine.heard[-1].number == numbers[0]  # type: ignore[attr-defined]


def test_progress_counts_parts(engine: TextEngine) -> None:
    heard: list[int] = []
    engine.translate(engine.read(["我爱你。你好吗？他好。", ""]), PLAIN, report=heard.append)
    assert sum(heard) == 3


def test_the_choice_comes_first(engine: TextEngine) -> None:
    (likeliest,) = translate(engine, ["他好。"], n_best=3)
    texts = [one.text for one in likeliest.n_best]
    assert texts == ["He is fine." + "!" * n for n in range(3)]
    (most_alike,) = translate(engine, ["他好。"], n_best=3, choose="mbr")
    order = rank(texts, [0, -0.5, -1])
    assert order != [0, 1, 2]
    assert [one.text for one in most_alike.n_best] == [texts[place] for place in order]
    assert most_alike.best == most_alike.n_best[0]


def test_of_the_beam_those_with_the_terms_come_first(engine: TextEngine) -> None:
    engine.wishes = Wishes("", {"他": ".!"}, engine.tgt)
    (row,) = translate(engine, ["他好。"])
    assert ([one.text for one in row.n_best], row.unmet) == (["He is fine.!"], [])
    for choose in ("likeliest", "mbr"):
        (row,) = translate(engine, ["他好。"], n_best=4, choose=choose)
        assert row.unmet == []
        assert row.n_best[-1].text == "He is fine."
    engine.wishes = Wishes("", {"他": "Beijing"}, engine.tgt)
    (row,) = translate(engine, ["他好。"])
    assert ([one.text for one in row.n_best], row.unmet) == (["He is fine."], ["Beijing"])


def test_no_white_space_around_a_translation(
    engine: TextEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SAID, "你好吗？", " How are you?")
    rows = translate(engine, ["你好吗？", "我爱你。你好吗？他好。"])
    texts = ["How are you?", "I love you. How are you? He is fine."]
    assert [row.best.text for row in rows] == texts


def test_processes_share_the_rows_and_all_get_the_same(pair: tuple[Tokenizer, Tokenizer]) -> None:
    texts = ["我爱你。", "", "我爱你。你好吗？他好。", "他好。"]

    def work(processes: Processes) -> list[Row]:
        engine = TextEngine(Phrases(*pair), *pair, MOST, Wishes("", {}, pair[1]))
        return engine.translate(engine.read(texts), PLAIN, processes=processes)

    alone = work(ALONE)
    assert in_processes(3, work) == [alone] * 3


def made(*scores: float, cut: Sequence[int] = ()) -> list[Hypothesis]:
    return [
        Hypothesis([place], score, finished=place not in cut, score=score)
        for place, score in enumerate(scores)
    ]


@pytest.mark.parametrize("n_best", [1, 2, 5])
def test_combinations_are_the_best_of_all(n_best: int) -> None:
    parts = [made(-1, -1.5, -4, cut=[2]), made(-2, -2.2), made(-0.1, -0.15, -0.3, cut=[1])]
    every = sorted(
        itertools.product(*parts),
        key=lambda some: (not all(one.finished for one in some), -sum(one.score for one in some)),
    )
    assert combine(parts, replace(PLAIN, beam_size=5, n_best=n_best)) == every[:n_best]


def test_samples_stay_samples_the_likeliest_first() -> None:
    parts = [made(-3, -1), made(-1, -4)]
    found = combine(parts, replace(PLAIN, method="sample", n_best=2))
    assert found == [(parts[0][0], parts[1][0]), (parts[0][1], parts[1][1])]
    assert combine([], PLAIN) == [()]


def test_what_tokens_are_worth_and_come_from_is_put_side_by_side(engine: TextEngine) -> None:
    sources = engine.read(["我爱你。你好吗？", "", "他好。"])
    rows = engine.translate(sources, PLAIN)
    model = tiny_model(src_vocab=engine.src.size, tgt_vocab=engine.tgt.size)
    long, nothing, short = explain(model, sources, rows, tokens=100, alignment=True)
    assert nothing == Forced([], [])
    parts = [
        Pair(ids, one.tokens) for ids, one in zip(sources[0].ids, rows[0].best.parts, strict=True)
    ]
    first, second = force(model, parts, tokens=100, alignment=True)
    assert long.log_probs == pytest.approx(first.log_probs + second.log_probs, abs=1e-5)
    offset = len(sources[0].ids[0])
    assert long.alignment == first.alignment + [offset + place for place in second.alignment]
    assert len(long.alignment) == len(rows[0].best.tokens)
    assert explain(model, sources, rows, tokens=100, alignment=False)[2].alignment == []
    assert len(short.log_probs) == len(rows[2].best.tokens) + 1

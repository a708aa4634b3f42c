"""Our translation beside that of other systems: `.venv/bin/python -m benchmarks.decode`.

Two tables, each once with batches and once sentence by sentence, beam 5, on all cores. `text`: the
test sentences of a project with a trained model, by the systems that can take its weights, with
their BLEU. `forced`: the same sentences, a model of the sizes of `--size` that never ends, and 30
tokens for each translation, by all systems; those that cannot take our weights draw their own.
Each system runs in an environment of its own that `sh benchmarks/peers/install.sh` makes. Ours is
the stage `decode`, as `dvc repro` runs it, measured before and after each of the others; the ratio
is to the mean of both. Reading a model is not counted, in any of them. Prints Markdown, row by row.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import sacrebleu
import torch

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.train import ENVIRONMENTS, SIZES, UNLOCKED, Failed, Found, System
from benchmarks.train import Race as Runner
from hanyi.errors import HanyiError
from hanyi.model.config import ModelConfig
from hanyi.model.storage import load_model, save_model
from hanyi.model.transformer import Transformer
from hanyi.params import load_section
from hanyi.tokens.bpe import BpeConfig, Tokenizer, train_tokenizer
from hanyi.tokens.vocab import BOS, EOS, PAD
from stages.paths import PREPARED, TOKENIZERS, TRANSFORMER

LENGTH = 30  # tokens of a forced translation
BATCH = 32  # sentences
BEAM = 5
MAX_TOKENS = 100  # of a source


@dataclass(frozen=True)
class Decoder(System):
    """A system, or one way to run it."""

    variant: str = ""
    place: str = ""  # folder of its environment; none: our own
    trained: bool = True  # it takes our weights
    share: float = 1.0  # of the sentences, so that the slow ones come to an end

    @property
    def python(self) -> Path:
        """Give the Python that runs it."""
        own = Path(sys.executable)
        return ENVIRONMENTS / self.place / "bin/python" if self.place else own


OURS = Decoder("Hanyi", "decode_ours", variant="torch")
PEERS = (
    Decoder("Hanyi, engine ctranslate2", "decode_ours", variant="ctranslate2"),
    Decoder("CTranslate2, float32", "decode_ctranslate", variant="float32"),
    Decoder("Hanyi, int8", "decode_ours", variant="torch int8"),
    Decoder("Hanyi, engine ctranslate2, int8", "decode_ours", variant="ctranslate2 int8"),
    Decoder("CTranslate2, int8", "decode_ctranslate", variant="int8"),
    Decoder("Hugging Face generate", "decode_marian", place="marian", share=0.5),
    Decoder("OpenNMT-py", "decode_opennmt", place="opennmt", trained=False, share=0.5),
    Decoder("Eole", "decode_eole", place="eole", trained=False, share=0.5),
    Decoder("fairseq", "decode_fairseq", place="fairseq", trained=False, share=0.5),
    Decoder(
        "fairseq, MKL unlocked",
        "decode_fairseq",
        environment=UNLOCKED,
        place="fairseq",
        trained=False,
        share=0.5,
    ),
    Decoder("JoeyNMT", "decode_joeynmt", place="joeynmt", trained=False, share=0.2),
    Decoder("tutorial, no cache", "decode_tutorial", trained=False, share=0.1),
)


class Race(Runner):
    """Runs systems one at a time on one task, and prints what it finds."""

    def __init__(self, task: DecodeTask, folder: Path, references: Sequence[str] | None) -> None:
        super().__init__(task, folder, task.threads, peak=0.0)
        self.references = references
        self.tokenizer = Tokenizer.load(Path(task.home) / TOKENIZERS / "tgt.json")

    def measure(self, system: Decoder) -> Found:
        """Translate with a system; raises `Failed`."""
        places = self._places(system)
        sources = str(self._sources(system.share))
        task = replace(self.task, **places, variant=system.variant, sources=sources)
        found = self._launch(system, task)
        found["speed"] = found["rows"] / found["seconds"]
        return found

    def _sources(self, share: float) -> Path:
        lines = Path(self.task.sources).read_text(encoding="utf-8").splitlines(keepends=True)
        every = round(1 / share)
        file = self.folder / "sources"
        file.write_text("".join(lines[::every]), encoding="utf-8")
        return file

    def rows(self, peers: Sequence[Decoder]) -> Iterator[str]:
        """Give the rows of the table: each peer between two runs of ours, ours last."""
        own = [self.measure(OURS)]
        for peer in peers:
            if self.references is not None and not (peer.trained and peer.share):
                continue
            try:
                found = self.measure(replace(peer, share=1.0) if self.references else peer)
            except Failed as why:
                yield f"| {peer.name} | | {why} | | |"
                continue
            own.append(self.measure(OURS))
            mean = (own[-2]["speed"] + own[-1]["speed"]) / 2
            yield self._line(peer.name, found, mean)
        speeds = sorted(found["speed"] for found in own)
        median = next(found for found in own if found["speed"] == speeds[len(speeds) // 2])
        yield self._line(OURS.name, median, median["speed"])
        between = f"{speeds[0]:,.1f} to {speeds[-1]:,.1f}"
        yield f"\n{len(own)} runs of ours: {between} sentences a second\n"

    def _line(self, name: str, found: Found, own: float) -> str:
        bleu = ""
        if self.references is not None:
            texts = self.tokenizer.decode_batch(found["translations"])
            bleu = f"{sacrebleu.corpus_bleu(texts, [self.references]).score:.2f}"
        speed = found["speed"]
        cells = (name, found["version"], f"{speed:,.1f}", f"x{own / speed:.2f}", bleu)
        return "| " + " | ".join(cells) + " |"


def build_text(project: Path, home: Path, rows: int) -> None:
    """Copy what a trained model needs, and so many rows of the test split."""
    for folder in (TOKENIZERS, TRANSFORMER):
        shutil.copytree(project / folder, home / folder)
    _write_test(project, home, rows)


def build_forced(project: Path, home: Path, rows: int, size: str) -> None:
    """Make a model of some size that never ends, whose tokenizers know the project's language."""
    sizes = dict(SIZES[size])
    vocab = sizes.pop("vocab")
    train = pd.read_parquet(project / PREPARED / "train.parquet", columns=["src", "tgt"])
    made = []
    for side in ("src", "tgt"):
        config = BpeConfig(vocab=vocab, max_word_chars=16, max_digits=2)
        made.append(train_tokenizer(train[side].tolist(), config, f"{project}, {side}"))
        (home / TOKENIZERS).mkdir(parents=True, exist_ok=True)
        made[-1].save(home / TOKENIZERS / f"{side}.json")
    torch.manual_seed(1)
    config = replace(load_section("model", ModelConfig), **sizes, norm="pre", tie="output")
    model = Transformer(config, *(tokenizer.size for tokenizer in made))
    never_end(model)
    (home / TRANSFORMER).mkdir(parents=True)
    src, tgt = (tokenizer.digest for tokenizer in made)
    save_model(
        home / TRANSFORMER, model, src_tokenizer=src, tgt_tokenizer=tgt, max_tokens=MAX_TOKENS
    )
    _write_test(project, home, rows)


def never_end(model: Transformer) -> None:
    """Make EOS, PAD and BOS impossible by the weights alone, so that every system obeys.

    The first number of the decoder's last state is 1 always, and those tokens look at it alone.
    """
    with torch.no_grad():
        model.decoder_norm.weight[0], model.decoder_norm.bias[0] = 0.0, 1.0
        model.output.weight[:, 0] = 0.0
        model.output.weight[[PAD, BOS, EOS], 0] = -1000.0


def _write_test(project: Path, home: Path, rows: int) -> None:
    (home / PREPARED).mkdir(parents=True)
    test = pd.read_parquet(project / PREPARED / "test.parquet").sort_values("id")[:rows]
    test.to_parquet(home / PREPARED / "test.parquet", index=False)
    tokenizer = Tokenizer.load(home / TOKENIZERS / "src.json")
    lines = (" ".join(map(str, ids)) + "\n" for ids in tokenizer.encode_batch(test["src"].tolist()))
    (home / "sources").write_text("".join(lines), encoding="utf-8")


def make_task(home: Path, length: int, sentences: int, threads: int) -> DecodeTask:
    """Say what all systems shall do."""
    model, described = load_model(home / TRANSFORMER, torch.device("cpu"))
    config = model.config
    return DecodeTask(
        home=str(home),
        sources=str(home / "sources"),
        folder="",
        result="",
        variant="",
        src_vocab=described.src_vocab,
        tgt_vocab=described.tgt_vocab,
        d_model=config.d_model,
        d_ff=config.d_ff,
        heads=config.heads,
        layers=config.layers,
        beam=BEAM,
        sentences=sentences,
        length=length,
        threads=threads,
    )


COLUMNS = ("system", "version", "sentences/s", "ours is", "BLEU")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def main() -> None:
    """Measure and print."""
    chosen = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="race-", dir=chosen.work))
    peers = tuple(
        peer
        for peer in PEERS
        if not chosen.only or any(name in f"{peer.runner} {peer.variant}" for name in chosen.only)
    )
    try:
        for table in chosen.tables:
            home = folder / table
            if table == "text":
                build_text(chosen.project, home, chosen.rows)
            else:
                build_forced(chosen.project, home, chosen.rows, chosen.size)
            test = pd.read_parquet(home / PREPARED / "test.parquet")
            for sentences in chosen.sentences:
                length = LENGTH if table == "forced" else 0
                task = make_task(home, length, sentences, chosen.threads)
                print(f"{_title(table, task, len(test))}\n\n{HEAD}", flush=True)
                race = Race(task, folder, test["tgt"].tolist() if table == "text" else None)
                for row in race.rows(peers):
                    print(row, flush=True)
    except (HanyiError, Failed) as error:
        sys.exit(str(error))
    finally:
        if chosen.keep:
            print(folder)
        else:
            shutil.rmtree(folder)


def _title(table: str, task: DecodeTask, rows: int) -> str:
    outputs = f"{task.length} tokens each" if task.length else "until their end"
    batches = (
        "one by one" if task.sentences == 1 else f"batches of {task.sentences}, ours by tokens"
    )
    return (
        f"{table}: {rows} sentences, {outputs}, {batches}, beam {task.beam}, {task.threads} cores, "
        f"d_model {task.d_model}, {task.layers} + {task.layers} layers, "
        f"vocabularies {task.src_vocab} + {task.tgt_vocab}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--project", type=Path, default=Path(), help="folder of a project that is built")
    add("--tables", nargs="+", choices=("text", "forced"), default=("text", "forced"))
    add("--rows", type=int, default=1000, help="of the test split, at most")
    add("--size", choices=SIZES, default="small", help="of the model that is forced")
    add("--sentences", type=int, nargs="+", default=(BATCH, 1), help="in a batch")
    add("--only", nargs="*", help="runners or variants, such as ctranslate marian int8")
    add("--threads", type=int, default=os.cpu_count())
    add("--work", type=Path, help="folder for temporary files")
    add("--keep", action="store_true", help="leave the temporary files, logs among them")
    return parser.parse_args()


if __name__ == "__main__":
    main()

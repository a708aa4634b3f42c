"""JoeyNMT's own beam search, with random weights."""

from __future__ import annotations

import sys
from importlib.metadata import version
from types import SimpleNamespace

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.peers.joeynmt import settings

PAD, BOS, EOS = 1, 2, 3  # unk is 0 there


def main() -> None:
    """Build a model, then translate batch after batch."""
    task = DecodeTask.read(sys.argv[1])
    training = task.training()
    model_config = settings(training)["model"]

    import torch
    from joeynmt.batch import Batch
    from joeynmt.model import build_model
    from joeynmt.search import search
    from joeynmt.vocabulary import Vocabulary

    torch.set_num_threads(task.threads)
    names = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>", "sep": None}
    special = SimpleNamespace(
        **{f"{name}_token": token for name, token in names.items()},
        **{f"{name}_id": number for number, name in enumerate(("unk", "pad", "bos", "eos"))},
        sep_id=None,
        lang_tags=[],
    )
    vocabularies = [Vocabulary(training.words(side), special) for side in ("src", "tgt")]
    model = build_model(model_config, *vocabularies).eval()
    model.log_parameters_list = None

    def translate(sources: list[list[int]]) -> None:
        for batch in task.batches(sources):
            rows = [torch.tensor([*sources[row], EOS]) for row in batch]
            src = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
            lengths = torch.tensor([len(row) for row in rows])
            held = Batch(
                src=src,
                src_length=lengths,
                src_prompt_mask=None,
                trg=None,
                trg_prompt_mask=None,
                indices=torch.tensor(batch),
                device=torch.device("cpu"),
                pad_index=PAD,
                eos_index=EOS,
                is_train=False,
            )
            search(
                model,
                held,
                max_output_length=task.length,
                min_output_length=task.length,
                beam_size=task.beam,
                beam_alpha=1.0,
                n_best=1,
            )

    task.measure(version("joeynmt"), translate)


if __name__ == "__main__":
    main()

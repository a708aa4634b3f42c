"""fairseq's own beam search, with random weights."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.peers.fairseq import arguments, preprocess


def main() -> None:
    """Build a model, then translate batch after batch."""
    task = DecodeTask.read(sys.argv[1])
    training = task.training()
    folder = Path(task.folder)
    preprocess(training, folder)

    import torch
    from fairseq import options, tasks
    from fairseq.data.data_utils import collate_tokens
    from fairseq.sequence_generator import SequenceGenerator

    torch.set_num_threads(task.threads)
    chosen = options.parse_args_and_arch(
        options.get_training_parser(), arguments(training, folder)[1:]
    )
    given = tasks.setup_task(chosen)
    model = given.build_model(chosen).eval()
    model.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
    words = given.source_dictionary
    generator = SequenceGenerator(
        [model],
        given.target_dictionary,
        beam_size=task.beam,
        max_len_a=0,
        max_len_b=task.length,
        min_len=task.length,
    )

    @torch.no_grad()
    def translate(sources: list[list[int]]) -> None:
        for batch in task.batches(sources):
            rows = [
                torch.tensor([*(words.index(str(one)) for one in sources[row]), words.eos()])
                for row in batch
            ]
            src = collate_tokens(rows, words.pad(), left_pad=True)
            lengths = torch.tensor([len(row) for row in rows])
            generator.generate([model], {"net_input": {"src_tokens": src, "src_lengths": lengths}})

    task.measure(version("fairseq-fixed"), translate)


if __name__ == "__main__":
    main()

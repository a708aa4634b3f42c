"""OpenNMT-py's own translation, with the model of a training of one update."""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.peers.opennmt import settings

UPDATE = {"train_steps": 1, "save_checkpoint_steps": 1, "warmup_steps": 1, "bucket_size": 64}


def main() -> None:
    """Train one update, then translate."""
    task = DecodeTask.read(sys.argv[1])
    training = task.training()

    import torch
    from onmt.bin.train import main as train
    from onmt.inference_engine import InferenceEnginePY
    from onmt.opts import translate_opts
    from onmt.utils.parse import ArgumentParser

    torch.set_num_threads(task.threads)
    torch.load = partial(torch.load, weights_only=False)  # its files hold more than weights
    sys.argv = ["train", "-config", str(training.write_config({**settings(training), **UPDATE}))]
    train()
    parser = ArgumentParser()
    translate_opts(parser)
    options = {
        "model": Path(task.folder, "model_step_1.pt"),
        "src": task.sources,
        "output": Path(task.folder, "output"),
        "beam_size": task.beam,
        "batch_size": task.sentences,
        "min_length": task.length,
        "max_length": task.length,
        "gpu": -1,
    }
    chosen = parser.parse_args(
        [part for name, value in options.items() for part in (f"-{name}", str(value))]
    )
    ArgumentParser.validate_translate_opts(chosen)
    ArgumentParser._get_all_transform_translate(chosen)
    ArgumentParser._validate_transforms_opts(chosen)
    ArgumentParser.validate_translate_opts_dynamic(chosen)
    engine = InferenceEnginePY(chosen)

    def translate(sources: list[list[int]]) -> None:
        engine.infer_list([" ".join(map(str, source)) for source in sources])

    task.measure(version("opennmt-py"), translate)


if __name__ == "__main__":
    main()

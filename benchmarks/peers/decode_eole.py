"""Eole's own translation, with the model of a training of one update."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.decode_task import DecodeTask
from benchmarks.peers.eole import settings


def main() -> None:
    """Train one update, then translate."""
    task = DecodeTask.read(sys.argv[1])
    training = task.training()
    config = settings(training)
    config["training"] |= {"train_steps": 1, "save_checkpoint_steps": 1, "warmup_steps": 1}
    config["training"]["bucket_size"] = 64
    file = training.write_config(config)

    import torch
    from eole.bin.main import main as run
    from eole.config.run import PredictConfig
    from eole.inference_engine import InferenceEnginePY

    torch.set_num_threads(task.threads)
    sys.argv = ["eole", "train", "-config", str(file)]
    run()
    engine = InferenceEnginePY(
        PredictConfig(
            model_path=str(Path(task.folder, "model")),
            src=task.sources,
            output=str(Path(task.folder, "output")),
            beam_size=task.beam,
            batch_size=task.sentences,
            min_length=task.length,
            max_length=task.length,
            max_length_ratio=0,
            compute_dtype="fp32",
            gpu_ranks=[],
            world_size=1,
        )
    )

    def translate(sources: list[list[int]]) -> None:
        engine.infer_list([" ".join(map(str, source)) for source in sources])

    task.measure(version("eole"), translate)


if __name__ == "__main__":
    main()

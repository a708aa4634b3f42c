"""Where the artifacts lie; a contract test holds these equal to the wiring in `dvc.yaml`."""

from pathlib import Path

RAW = Path("data/raw")
PREPARED = Path("data/prepared")
TOKENIZERS = Path("models/tokenizers")
ENCODED = Path("data/encoded")
TRANSFORMER = Path("models/transformer")
CHECKPOINTS = Path("models/checkpoints")
DECODED = Path("data/decoded")
METRICS = Path("metrics")
CURVES = METRICS / "train"
FUNNEL = METRICS / "prepare"
REPORT = METRICS / "score"

"""The stages of the pipeline, one thin script each, run as `python -m stages.NAME`."""

import sys
from pathlib import Path

# An editable install points at one workspace; `dvc exp run --temp` and queue workers use another.
# The library beside these scripts must win.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

"""The stages of the pipeline, one thin script each, run as `python -m stages.NAME`.

Beside them stand scripts that look at what they made (summary, check, compare, report, sweep), one
that sets parameters (preset), and what scripts share.
"""

import sys
from pathlib import Path

# An editable install points at one workspace; `dvc exp run --temp` and queue workers use another.
# The library beside these scripts must win.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

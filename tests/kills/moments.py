"""The moments at which a training is killed: at a call of a function, or after a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

POINTS = {
    "data": ["hanyi.training.data.collate"],
    "forward": ["hanyi.training.gradients.TeacherForcing.forward"],
    "backward": ["torch.Tensor.backward"],
    "optimizer": ["torch.optim.AdamW.step", "hanyi.training.averages.MovingAverage.update"],
    "validation": [
        "hanyi.training.validation.Validator.__call__",
        "hanyi.model.transformer.Transformer.start",
        "hanyi.training.validation.score_all",
    ],
    "saving": ["torch.save", "os.fsync", "pathlib.Path.replace", "shutil.rmtree"],
    "publishing": [
        "hanyi.training.curve.write_picture",
        "hanyi.model.storage.save_model",
        "hanyi.training.state.StateFolder.remove",
    ],
}
"""The parts of a training, and functions in the midst of each."""

FUNCTIONS = [name for names in POINTS.values() for name in names]
LOOP = {"data", "forward", "backward", "optimizer"}
"""Parts in which a SIGTERM is always obeyed: the state is saved, the exit code is 75."""

WHILE = "any time"


@dataclass(frozen=True, slots=True)
class Moment:
    """When a training is killed, and how."""

    part: str
    signal: str  # kill | term
    function: str  # empty: after some seconds
    call: int  # of the function, from 1
    after: bool  # the call, not before it
    seconds: float

    def __str__(self) -> str:
        """Write it for a table."""
        if not self.function:
            return f"{self.part}: {self.seconds:.2f} s after its start"
        side = "after" if self.after else "before"
        name = ".".join(self.function.split(".")[-2:])
        return f"{self.part}: {side} call {self.call} of `{name}`"


def draw(
    rng: np.random.Generator, number: int, counts: Mapping[str, int], seconds: float
) -> Moment:
    """Draw a moment; the parts take turns, so that a few moments reach all of them.

    `counts` are the calls of each function in an unbroken run, `seconds` is how long that took.
    """
    part = [*POINTS, WHILE][number % (len(POINTS) + 1)]
    sign = "term" if rng.random() < 0.4 else "kill"
    if part == WHILE:
        return Moment(part, sign, "", 0, False, float(rng.uniform(0, seconds)))
    function = str(rng.choice([name for name in POINTS[part] if counts.get(name)]))
    call = int(rng.integers(1, counts[function] + 1))
    return Moment(part, sign, function, call, bool(rng.random() < 0.5), 0.0)

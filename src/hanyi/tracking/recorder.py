"""The recorder: a process beside each stage that writes what it is handed into MLflow.

`open_tracker` starts it as `python -m hanyi.tracking.recorder STAGE`. It reads one JSON message a
line from its standard input and ends with it; when that ends without a last word, the stage was
killed, and the run is marked so. After the first failure it says so in one line and gives up.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from hanyi.errors import HanyiError
from hanyi.params import read_params
from hanyi.tracking.identity import project_root, read_identity, upstream
from hanyi.tracking.tracker import KILLED

if TYPE_CHECKING:
    from hanyi.tracking.mirror import Mirror

LONGEST_REASON = 160  # characters; MLflow quotes whole requests
GATHER = 2.0  # seconds between two batches while a stage runs

# A server that is dead or slow costs seconds, and nothing leaves the machine unasked.
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
}

Message = Mapping[str, Any]
LOST: Message = {"kind": "end", "status": KILLED}


def record(stage: str, messages: queue.SimpleQueue[Message]) -> None:
    """Write messages into the experiment's run until the stage ends."""
    from hanyi.tracking.mirror import Store

    identity, params = read_identity()
    mirror = Store(project_root()).run(identity, params)
    _write(mirror, stage, _skipped(stage))
    ended = False
    while not ended:
        batch = _gather(messages)
        ended = batch[-1]["kind"] == "end"
        _write(mirror, stage, batch)


def _write(mirror: Mirror, stage: str, messages: Sequence[Message]) -> None:
    # Points of all messages go in one call; a training sends several each second.
    mirror.metrics(
        [
            (f"{stage}/{key}", value, message["step"], message["time"])
            for message in messages
            if message["kind"] == "metrics"
            for key, value in message["values"].items()
        ]
    )
    for message in messages:
        kind = message["kind"]
        if kind == "stage":
            mirror.stage(message["name"], message["values"], message["time"])
        elif kind == "tags":
            mirror.tags(message["values"])
        elif kind == "artifact" and Path(message["path"]).exists():
            mirror.artifact(Path(message["path"]), message["folder"])
        elif kind == "text":
            mirror.text(message["text"], message["name"])
        elif kind == "end":
            mirror.finish(message["status"])


def _skipped(stage: str) -> list[Message]:
    # DVC does not run what is unchanged, but the row shall show the metrics of every stage.
    wiring = Path("dvc.yaml")
    if not wiring.exists():
        return []
    found: list[Message] = []
    for name in upstream(stage, read_params(wiring)):
        path = Path("metrics") / f"{name}.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        found.append({"kind": "stage", "name": name, "values": values, "time": _now()})
    return found


def _gather(messages: queue.SimpleQueue[Message]) -> list[Message]:
    batch = [messages.get()]
    deadline = time.monotonic() + GATHER
    while batch[-1]["kind"] != "end" and (message := _next(messages, deadline)):
        batch.append(message)
    return batch


def _next(messages: queue.SimpleQueue[Message], deadline: float) -> Message | None:
    try:
        return messages.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        return None


def _read(messages: queue.SimpleQueue[Message]) -> None:
    try:
        for line in sys.stdin:
            messages.put(json.loads(line))
    except ValueError:  # the stage was killed in the middle of a line
        pass
    finally:
        messages.put(LOST)


def prepare_mlflow() -> None:
    """Set what MLflow reads when it is imported, unless the user has set it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)


def _now() -> int:
    return int(time.time() * 1000)


def main() -> None:
    """Record the stage named on the command line, whatever the state of the store."""
    stage = sys.argv[1]
    prepare_mlflow()
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    # A thread keeps the pipe empty: a slow server must never make the stage wait to write.
    threading.Thread(target=_read, args=(messages,), daemon=True).start()
    import hanyi.tracking.mirror  # noqa: F401 - a broken MLflow keeps its traceback

    try:
        record(stage, messages)
    except HanyiError:
        return  # unreadable parameters: the stage itself says so
    except Exception as error:  # noqa: BLE001 - the mirror must not hurt the stage, whatever happens
        reason = str(error) or type(error).__name__
        reason = shorten(reason, LONGEST_REASON, placeholder=" ...")
        sys.stderr.write(f"{stage}: warning: tracking is off for this stage: {reason}\n")


if __name__ == "__main__":
    main()

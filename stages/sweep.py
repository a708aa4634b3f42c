"""A search over parameters as DVC experiments: `python -m stages.sweep NAME=VALUES...`.

Not a stage of the pipeline. Each combination of the values (a grid), or each of so many that are
drawn (`--random N`), is queued as one experiment; `dvc queue start` runs them, and a table shows
them, the best first. The same command again goes on: what is done stays, what failed is tried anew.
"""

from __future__ import annotations

import argparse
import difflib
import math
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hanyi.errors import ArtifactError, ParamsError
from hanyi.params import flatten, read_params
from hanyi.sections import faults
from stages import experiments
from stages.experiments import Experiment
from stages.harness import one_line_errors
from stages.tables import Sheet
from stages.trials import Trial, changed, draw, grid, parse_axis

METRICS = ("score/bleu.score", "score/chrf.score")
LOWER = ("loss", "valid_loss", "perplexity", "ter", "health", "cut", "empty", "unmet")
"""Parts of the names of metrics that are better when lower."""
NAP, LONGEST_NAP = 2.0, 30.0  # seconds between two looks at the queue
PATIENCE = 60.0  # seconds that no worker may be seen at work before others are started
STARTS = 3  # of workers that take no trial

EPILOG = """\
NAME=VALUES is one of
  model.layers=1,2,3                     these values, in YAML
  train.warmup=100..500                  whole numbers; a grid takes each of them
  train.learning_rate=0.001..0.004 log   numbers for --random, evenly in their logarithm
"""


def main(arguments: Sequence[str]) -> int:
    """Queue what is not done yet, wait for it, print the table; give 1 when a trial failed."""
    flags = _flags(arguments)
    axes = [parse_axis(text) for text in flags.axes]
    trials = draw(axes, flags.random, flags.seed) if flags.random else grid(axes)
    if flags.name:
        trials = [Trial(f"{flags.name}-{name}", values) for name, values in trials]
    wanted = _checked(trials)
    if flags.dry:
        sys.stdout.write(_table(trials, {}, (), flags.markdown))
        return 0
    baseline = experiments.head()
    _queue(trials, experiments.read(baseline), wanted)
    found = _wait(trials, baseline, flags.jobs)
    ranked = rank(trials, found, flags.metric)
    sys.stdout.write(_table(ranked, found, flags.metric, flags.markdown))
    lost = [name for name, _ in ranked if found[name].state != experiments.DONE]
    for name in lost:
        _say(f"{name} failed; see `dvc queue logs {name}`, then run the same sweep again")
    return 1 if lost else 0


def _flags(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m stages.sweep",
        description="Try combinations of parameters as DVC experiments, and compare them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("axes", nargs="+", metavar="NAME=VALUES", help="a parameter and its values, see below")
    add("--random", type=_positive, metavar="N", help="draw N combinations; else all (the grid)")
    add("--seed", type=int, default=1, help="of the draws (1)")
    add("--jobs", type=_positive, default=1, metavar="N", help="trials side by side (1)")
    add(
        "--metric",
        action="append",
        metavar="STAGE/NAME",
        help="of the table; it sorts by the first",
    )
    add("--name", metavar="PREFIX", help="beginning of the names of the experiments")
    add("--dry", action="store_true", help="show the trials, queue nothing")
    add("--markdown", action="store_true", help="print the table as Markdown")
    flags = parser.parse_args(arguments)
    flags.metric = flags.metric or list(METRICS)
    return flags


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _checked(trials: Sequence[Trial]) -> dict[str, dict[str, Any]]:
    """Give the parameters of each trial; raise `ParamsError` if a section does not take one."""
    params = read_params()
    wanted = {name: changed(params, values) for name, values in trials}
    for name, whole in wanted.items():
        if found := faults(whole):
            found[0].args = (f"trial {name}: {found[0]}",)
            raise found[0]
    return wanted


def _queue(
    trials: Sequence[Trial],
    known: Mapping[str, Experiment],
    wanted: Mapping[str, Mapping[str, Any]],
) -> None:
    for trial in trials:
        there = known.get(trial.name)
        if there is not None:
            _require_same(there, wanted[trial.name])
            if there.state != experiments.FAILED:
                continue
            experiments.forget(trial.name)
        experiments.queue(trial)
        _say(f"queued {trial.name}")


def _require_same(there: Experiment, wanted: Mapping[str, Any]) -> None:
    expected = flatten(wanted)
    other = [
        f"{name} {value}"
        for name, value in there.params.items()
        if name in expected and expected[name] != value
    ]
    if other:
        raise ParamsError(
            f"experiment {there.name}",
            f"it is there with {', '.join(other)}",
            "the same parameters as now",
            f"give --name, or remove it: dvc exp remove {there.name}",
        )


def _wait(trials: Sequence[Trial], baseline: str, jobs: int) -> dict[str, Experiment]:
    """Wait until all trials have ended; start workers when none has been at work for a while."""
    began = time.monotonic()
    told, busy, starts = "", -math.inf, 0
    while True:
        known = experiments.read(baseline)
        found = {name: known[name] for name, _ in trials if name in known}
        if lost := [name for name, _ in trials if name not in found]:
            where = f"experiment {lost[0]}"
            raise ArtifactError(where, "it is gone", "what was queued", "run the same sweep again")
        states = Counter(experiment.state for experiment in found.values())
        told = _tell(states, told)
        if not states - Counter(dict.fromkeys((experiments.DONE, experiments.FAILED), len(found))):
            return found
        now = time.monotonic()
        if states[experiments.RUNNING]:
            busy, starts = now, 0
        elif now - busy > PATIENCE:
            if starts == STARTS:
                raise _idle(found)
            experiments.start(jobs)
            busy, starts = time.monotonic(), starts + 1
        time.sleep(min(max((now - began) / 10, NAP), LONGEST_NAP))


def _idle(found: Mapping[str, Experiment]) -> ArtifactError:
    ended = (experiments.DONE, experiments.FAILED)
    name, state = next((one.name, one.state) for one in found.values() if one.state not in ended)
    remedy = f"look into {experiments.WORKER_LOGS}; what a dead worker left: dvc queue kill {name}"
    return ArtifactError(f"experiment {name}", f"{state}, and no worker on it", "one", remedy)


def rank(
    trials: Sequence[Trial], found: Mapping[str, Experiment], metrics: Sequence[str]
) -> list[Trial]:
    """Sort trials by the first metric, the best first; those without it come last."""
    known = {name for experiment in found.values() for name in experiment.metrics}
    for metric in metrics:
        if known and metric not in known:
            near = difflib.get_close_matches(metric, known, n=3, cutoff=0.0)
            expected = ", ".join(near)
            raise ParamsError(metric, "no trial has this metric", expected, "name another")
    sign = 1 if set(metrics[0].replace("/", ".").split(".")) & set(LOWER) else -1

    def place(trial: Trial) -> float:
        value = found[trial.name].metrics.get(metrics[0])
        return math.inf if value is None or math.isnan(value) else sign * value

    return sorted(trials, key=place)  # those of one value stay in their order


def _table(
    trials: Sequence[Trial],
    found: Mapping[str, Experiment],
    metrics: Sequence[str],
    markdown: bool,
) -> str:
    rows = [_row(trial, found.get(trial.name), metrics) for trial in trials]
    sheet = Sheet(["experiment", *trials[0].values, *metrics], rows, texts=("experiment",))
    return sheet.markdown() if markdown else sheet.terminal()


def _row(trial: Trial, experiment: Experiment | None, metrics: Sequence[str]) -> list[str]:
    values = experiment.metrics if experiment else {}
    figures = [str(values[metric]) if metric in values else "-" for metric in metrics]
    return [trial.name, *map(str, trial.values.values()), *figures]


def _tell(states: Mapping[str, int], told: str) -> str:
    now = ", ".join(f"{count} {state}" for state, count in sorted(states.items()) if count)
    if now != told:
        _say(now)
    return now


def _say(text: str) -> None:
    sys.stderr.write(f"sweep: {text}\n")


if __name__ == "__main__":
    with one_line_errors("sweep"):
        raise SystemExit(main(sys.argv[1:]))

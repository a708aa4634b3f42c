"""The MLflow mirror of the pipeline: one row for each experiment, never a reason to fail."""

from hanyi.tracking.tracker import Tracker, open_tracker

__all__ = ["Tracker", "open_tracker"]

"""The MLflow mirror of the pipeline: one row for each experiment, and never a reason for a stage to fail."""

from hanyi.tracking.tracker import Tracker, open_tracker

__all__ = ["Tracker", "open_tracker"]

"""Training: loss, schedule, trainer, validation and exact resume."""

"""What the service counts of itself, for Prometheus. It stays here until somebody reads it."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
TOKENS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


class Metrics:
    """The counters of one service, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self.requests = Counter(
            "hanyi_requests", "Requests answered.", ["method", "path", "status"], registry=own
        )
        self.request_seconds = Histogram(
            "hanyi_request_seconds",
            "From a request to the end of its answer.",
            ["path"],
            buckets=SECONDS,
            registry=own,
        )
        self.rejected = Counter(
            "hanyi_rejected", "Requests refused or given up.", ["code"], registry=own
        )
        self.texts = Counter("hanyi_texts", "Texts translated.", registry=own)
        self.batch_texts = Histogram(
            "hanyi_batch_texts", "Texts of a batch.", buckets=SIZES, registry=own
        )
        self.batch_tokens = Histogram(
            "hanyi_batch_tokens", "Source tokens of a batch.", buckets=TOKENS, registry=own
        )
        self.batch_seconds = Histogram(
            "hanyi_batch_seconds", "The model's time for a batch.", buckets=SECONDS, registry=own
        )
        self.queue_seconds = Histogram(
            "hanyi_queue_seconds", "Wait of a text for the model.", buckets=SECONDS, registry=own
        )
        ProcessCollector(registry=own)

    def gauge(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Show a value that is looked up when somebody reads."""
        Gauge(name, meaning, registry=self.registry).set_function(value)

    def describe(self, **labels: str) -> None:
        """Show what is served."""
        Info("hanyi_model", "What is served.", registry=self.registry).info(labels)

    def text(self) -> bytes:
        """Give all in Prometheus' text format."""
        return generate_latest(self.registry)

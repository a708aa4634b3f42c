"""How much the service takes on. What is more is refused, never cut."""

from __future__ import annotations

from hanyi.params import at_least, config


@config
class Limits:
    """Sizes, places and times; `hanyi serve` has an option for each."""

    texts: int  # of a request
    chars: int  # of all texts of a request together
    body_bytes: int  # of a request
    beams: int  # beam_size of a request
    queue_texts: int  # that wait for the model, of all requests
    streams: int  # streams and explanations at once, those that wait among them
    batch_texts: int  # that the model takes at once; decode.batch_tokens limits them too
    gather_seconds: float  # that an idle model waits for further texts
    timeout_seconds: float  # from a request to its answer
    grace_seconds: float  # for requests that are being answered when the service stops

    def __post_init__(self) -> None:
        """Check ranges, and that a request can fit into the queue."""
        whole = ("texts", "chars", "body_bytes", "beams", "queue_texts", "streams", "batch_texts")
        for name in whole:
            at_least(name, getattr(self, name), 1)
        for name in ("gather_seconds", "grace_seconds"):
            at_least(name, getattr(self, name), 0)
        if not 0 < self.timeout_seconds < float("inf"):
            raise ValueError(f"timeout_seconds must be over 0, got {self.timeout_seconds}")
        at_least("queue_texts", self.queue_texts, self.texts)


USUAL = Limits(
    texts=64,
    chars=20_000,
    body_bytes=1 << 20,
    beams=16,
    queue_texts=512,
    streams=16,
    batch_texts=32,
    gather_seconds=0.002,
    timeout_seconds=60.0,
    grace_seconds=30.0,
)
"""What `hanyi serve` takes unless told otherwise."""

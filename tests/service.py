"""A tiny model behind the service, for several tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from hanyi.service.app import create_app
from hanyi.service.limits import Limits
from hanyi.translator import Result, Translator
from tests.models import save_tiny_model, tiny_tokenizers

TINY = "我爱你。"


def tiny_translator(home: Path) -> Translator:
    """Make a model in a folder and load it."""
    pair = tiny_tokenizers(home / "tokenizers")
    save_tiny_model(home / "transformer", *pair, max_tokens=8)
    return Translator.load(home, device="cpu")


@contextmanager
def client(translator: Translator, limits: Limits) -> Iterator[TestClient]:
    """Give a client of the application, which runs until the end of the block."""
    app = create_app(translator, limits)
    with TestClient(app, raise_server_exceptions=False) as made:
        yield made


class Held:
    """A translator whose model is busy until it is let go."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.begun = threading.Semaphore(0)
        self.free = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.translator, name)

    def translate(self, texts: Sequence[str], *args: Any, **options: Any) -> list[Result]:
        """Wait, then translate."""
        self.begun.release()
        assert self.free.wait(20)
        return self.translator.translate(texts, *args, **options)

"""What unit tests share: a site on loopback to download from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hanyi.corpus.sources import download
from tests.loopback import Site, serving


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Stand in an empty folder, beside a site that is tried again without a wait."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "FIRST_WAIT", 0.01)
    with serving() as made:
        yield made

from __future__ import annotations

import signal

import pytest

from hanyi.training import signals
from hanyi.training.signals import stop_signals
from tests.training import in_child


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_asks_and_a_later_one_kills(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    def work() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with stop_signals() as stop:
            assert not stop()
            signal.raise_signal(number)
            assert stop()
            signal.raise_signal(number)  # as from the next thread of a parent that is killed
            monkeypatch.setattr(signals, "ECHO_SECONDS", 0.0)
            signal.raise_signal(number)
            pytest.fail("it lives")

    assert in_child(work) == -number


def test_signals_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with stop_signals():
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before

"""What a check of the gate says of one thing."""

from __future__ import annotations

from typing import NamedTuple

OK = "ok"


class Finding(NamedTuple):
    """What a check found at one place; the outcome tells why, and what to do."""

    check: str
    where: str
    outcome: str
    passed: bool


def passed(check: str, where: object, outcome: str = OK) -> Finding:
    """Give a finding that lets the gate open."""
    return Finding(check, str(where), outcome, passed=True)


def failed(check: str, where: object, outcome: str) -> Finding:
    """Give a finding that keeps the gate shut."""
    return Finding(check, str(where), " ".join(outcome.split()), passed=False)

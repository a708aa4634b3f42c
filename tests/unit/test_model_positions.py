"""Both sinusoidal layouts against their formulas, number by number."""

from __future__ import annotations

import math

import pytest
import torch

from hanyi.model.positions import POSITIONS, START_LENGTH


def interleaved(position: int, place: int, d_model: int) -> float:
    angle = position / 10000 ** ((place - place % 2) / d_model)
    return math.sin(angle) if place % 2 == 0 else math.cos(angle)


def concatenated(position: int, place: int, d_model: int) -> float:
    half = d_model // 2
    angle = position / 10000 ** (place % half / (half - 1))
    return math.sin(angle) if place < half else math.cos(angle)


FORMULAS = {"interleaved": interleaved, "concatenated": concatenated}


def test_each_encoding_has_a_formula_here() -> None:
    assert set(FORMULAS) == set(POSITIONS)


@pytest.mark.parametrize("name", POSITIONS)
@pytest.mark.parametrize("d_model", [4, 10, 512])
def test_table_is_the_formula(name: str, d_model: int) -> None:
    table = POSITIONS[name](d_model)(0, 40)
    expected = [
        [FORMULAS[name](position, place, d_model) for place in range(d_model)]
        for position in range(40)
    ]
    torch.testing.assert_close(table, torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", POSITIONS)
def test_any_start_and_any_length(name: str) -> None:
    encoding = POSITIONS[name](8)
    whole = POSITIONS[name](8).encode(3 * START_LENGTH)
    assert torch.equal(encoding(5, 3), whole[5:8])
    assert torch.equal(encoding(START_LENGTH + 10, 20), whole[START_LENGTH + 10 :][:20])
    assert torch.equal(encoding(0, 7), whole[:7])


@pytest.mark.parametrize("name", POSITIONS)
def test_smallest_size(name: str) -> None:
    table = POSITIONS[name](2)(0, 3)
    angles = torch.arange(3.0)
    torch.testing.assert_close(table, torch.stack((angles.sin(), angles.cos()), dim=1))


@pytest.mark.parametrize("name", POSITIONS)
def test_nothing_of_it_is_stored(name: str) -> None:
    assert not POSITIONS[name](8).state_dict()

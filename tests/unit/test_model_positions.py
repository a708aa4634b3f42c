"""Position encodings against their formulas, number by number."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from hanyi.model.positions import (
    ADDED,
    POSITIONS,
    START_LENGTH,
    TURNING,
    RotaryPositions,
    Turn,
    Waves,
    turn,
)


def interleaved(position: int, place: int, d_model: int) -> float:
    angle = position / 10000 ** ((place - place % 2) / d_model)
    return math.sin(angle) if place % 2 == 0 else math.cos(angle)


def concatenated(position: int, place: int, d_model: int) -> float:
    half = d_model // 2
    angle = position / 10000 ** (place % half / (half - 1))
    return math.sin(angle) if place < half else math.cos(angle)


FORMULAS = {"interleaved": interleaved, "concatenated": concatenated}


def test_each_encoding_has_a_formula_here() -> None:
    assert {*FORMULAS, *TURNS} == set(POSITIONS) == {*ADDED, *TURNING}


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("d_model", [4, 10, 512])
def test_table_is_the_formula(name: str, d_model: int) -> None:
    table = ADDED[name](d_model)(0, 40)
    expected = [
        [FORMULAS[name](position, place, d_model) for place in range(d_model)]
        for position in range(40)
    ]
    torch.testing.assert_close(table, torch.tensor(expected), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ADDED)
def test_any_start_and_any_length(name: str) -> None:
    encoding = ADDED[name](8)
    whole = ADDED[name](8).encode(3 * START_LENGTH)
    assert torch.equal(encoding(5, 3), whole[5:8])
    assert torch.equal(encoding(START_LENGTH + 10, 20), whole[START_LENGTH + 10 :][:20])
    assert torch.equal(encoding(0, 7), whole[:7])


@pytest.mark.parametrize("name", ADDED)
def test_smallest_size(name: str) -> None:
    table = ADDED[name](2)(0, 3)
    angles = torch.arange(3.0)
    torch.testing.assert_close(table, torch.stack((angles.sin(), angles.cos()), dim=1))


def rotary(position: int, d_head: int) -> Tensor:
    """Build the rotation of a position, `[d_head, d_head]` (Su et al. 2021, 15).

    The paper's pairs are neighbours, 2i and 2i + 1; here they are i and i + d_head / 2.
    """
    rotation = torch.zeros(d_head, d_head, dtype=torch.float64)
    for pair in range(d_head // 2):
        angle = position / 10000 ** (2 * pair / d_head)
        one, other = pair, pair + d_head // 2
        rotation[one, one] = rotation[other, other] = math.cos(angle)
        rotation[one, other], rotation[other, one] = -math.sin(angle), math.sin(angle)
    return rotation


TURNS = {"rotary": rotary}


@pytest.mark.parametrize("name", TURNING)
@pytest.mark.parametrize("d_head", [2, 4, 10])
def test_turns_are_the_rotation_of_each_position(name: str, d_head: int) -> None:
    states = torch.randn(2, 3, 40, d_head)
    start = START_LENGTH - 20  # the table grows
    found = TURNING[name](d_head)(states, start, states.size(2))
    for place in range(40):
        expected = states[:, :, place].double() @ TURNS[name](start + place, d_head).T
        torch.testing.assert_close(found[:, :, place].double(), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("length", [1, 5])
def test_the_fast_turn_and_its_gradient_are_those_of_the_formula(length: int) -> None:
    # A view, as queries and keys are.
    states = torch.randn(2, 5, 3, 8, dtype=torch.float64).transpose(1, 2).requires_grad_()
    angles = torch.randn(length, 4, dtype=torch.float64)
    sines, cosines = angles.sin(), angles.cos()
    expected, found = turn(states, sines, cosines), Turn.apply(states, sines, cosines)
    torch.testing.assert_close(found, expected)
    asked = torch.randn_like(expected)
    gradients = [torch.autograd.grad(one, states, asked)[0] for one in (expected, found)]
    torch.testing.assert_close(gradients[1], gradients[0])


def test_rotary_scores_depend_on_distance_alone() -> None:
    rotate = RotaryPositions(16)
    query, key = torch.randn(1, 1, 1, 16), torch.randn(1, 1, 1, 16)
    scores = [(rotate(query, 9 + far, 1) * rotate(key, 4 + far, 1)).sum() for far in (0, 3, 500)]
    torch.testing.assert_close(scores[1:], [scores[0]] * 2, atol=1e-4, rtol=1e-4)
    assert not torch.isclose(scores[0], (rotate(query, 9, 1) * rotate(key, 3, 1)).sum(), rtol=1e-2)


@pytest.mark.parametrize("kind", [*ADDED.values(), *TURNING.values()])
def test_nothing_of_it_is_stored(kind: type[Waves]) -> None:
    assert not kind(8).state_dict()

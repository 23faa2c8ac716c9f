"""Pickers and merges beside plain twins, on machines of every shape: the fuzz target in short."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.lockstep import Choices, run_merges, run_pickers

MANY = 1500


@pytest.mark.parametrize("seed", range(2))
def test_pickers_keep_step_with_their_twins(seed: int) -> None:
    chance = Random(seed)  # noqa: S311  # the same machines every time
    for _ in range(MANY):
        run_pickers(Choices(chance.randbytes(120)))


@pytest.mark.parametrize("seed", range(2))
def test_merges_keep_step_with_the_full_walk(seed: int) -> None:
    chance = Random(seed)  # noqa: S311
    for _ in range(MANY):
        run_merges(Choices(chance.randbytes(120)))

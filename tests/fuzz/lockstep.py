"""Pickers and merges on machines of every shape, compared with naive twins: ``tests/support/lockstep.py``."""

from __future__ import annotations

from random import Random

from tests.fuzz.target import Target
from tests.support.lockstep import Choices, run_merges, run_pickers


def run_lockstep(data: bytes) -> None:
    (run_pickers, run_merges)[data[:1] > b"\x7f"](Choices(data[1:]))


def _seeds() -> list[bytes]:
    chance = Random(1)  # noqa: S311  # to begin with something, not a secret
    return [bytes((kind,)) + chance.randbytes(120) for kind in (0, 255) for _ in range(20)]


LOCKSTEP = {"lockstep": Target(run_lockstep, _seeds)}

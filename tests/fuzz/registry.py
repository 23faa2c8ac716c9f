"""All that is fuzzed, by name: parsers of text or bytes from outside, and the engine beside its twins."""

from __future__ import annotations

from tests.fuzz.documents import DOCUMENTS
from tests.fuzz.lockstep import LOCKSTEP
from tests.fuzz.machines import MACHINES
from tests.fuzz.target import Target
from tests.fuzz.values import VALUES

TARGETS: dict[str, Target] = {**VALUES, **DOCUMENTS, **MACHINES, **LOCKSTEP}

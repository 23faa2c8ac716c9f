"""All fuzz targets by name: parsers, forms of answers, and the engine compared with its twins."""

from __future__ import annotations

from tests.fuzz.answers import ANSWERS
from tests.fuzz.documents import DOCUMENTS
from tests.fuzz.lockstep import LOCKSTEP
from tests.fuzz.machines import MACHINES
from tests.fuzz.target import Target
from tests.fuzz.values import VALUES

TARGETS: dict[str, Target] = {**ANSWERS, **VALUES, **DOCUMENTS, **MACHINES, **LOCKSTEP}

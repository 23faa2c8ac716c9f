"""Every parser of text or bytes from outside, by the name it is fuzzed under."""

from __future__ import annotations

from tests.fuzz.documents import DOCUMENTS
from tests.fuzz.machines import MACHINES
from tests.fuzz.target import Target
from tests.fuzz.values import VALUES

TARGETS: dict[str, Target] = {**VALUES, **DOCUMENTS, **MACHINES}

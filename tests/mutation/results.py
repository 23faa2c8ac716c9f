"""Results, one JSON object per line and one file per group, so that a stopped run can be continued."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation.mutants import ModuleGroup, Mutant


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a mutant.

    ``outcome`` is ``killed``, ``timeout`` (killed, too), ``survived``, or ``same`` if the compiled code is
    that of the original. ``by`` names the test that failed; ``requested`` sums up the tests that did not;
    ``left`` counts those that did not fit into the budget.
    """

    key: str
    outcome: str
    by: str = ""
    requested: str = ""
    left: int = 0
    seconds: float = 0.0

    @property
    def survived(self) -> bool:
        """Return whether no test has noticed."""
        return self.outcome == "survived"


class Results:
    """The results of a group so far."""

    def __init__(self, folder: Path, group: ModuleGroup) -> None:
        self._path = folder / f"{group.name}.jsonl"
        self._found: dict[str, Result] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                result = Result(**json.loads(line))
                self._found[result.key] = result

    def of(self, mutant: Mutant) -> Result | None:
        """Return the last result of a mutant whose function has not changed since."""
        return self._found.get(mutant.key)

    def add(self, result: Result) -> None:
        """Store a result immediately."""
        self._found[result.key] = result
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")

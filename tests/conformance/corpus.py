"""Reading recorded answers: one JSON object a line, ``{"case": ..., "expect": ..., markers}``."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One case, the kubelet's answer and the markers beside them."""

    case: Json
    expect: Json
    markers: Json = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call the case in a report."""
        return str(self.case.get("name") or json.dumps(self.case, ensure_ascii=False)[:100])

    @property
    def operation(self) -> str:
        """The operation, whole-node scenario where none is named."""
        return str(self.case.get("op", "node"))


def version_of(case: Json) -> KubeletVersion:
    """Return the release that a case was run on, 1.36 where it names none."""
    return KubeletVersion.parse(case["kubeletVersion"]) if "kubeletVersion" in case else DEFAULT_VERSION


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One topic file; ``machines`` resolves the machine names its cases use."""

    name: str
    path: Path
    machines: Json

    def recorded(self) -> Iterator[Recorded]:
        """Yield every recorded answer; lines without one (benchmark input) are left out."""
        with gzip.open(self.path, "rt", encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                if "expect" in entry:
                    case, expect = self._of_release | entry.pop("case"), entry.pop("expect")
                    yield Recorded(self._with_machine(case), expect, entry)

    def inputs(self) -> Iterator[Json]:
        """Yield every line as it is: benchmark inputs have no recorded answer."""
        with gzip.open(self.path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    @property
    def _of_release(self) -> Json:
        """The release that a folder's name tells, for cases that do not."""
        folder = self.path.parent.name
        return {"kubeletVersion": folder} if re.fullmatch(r"1\.[0-9]+", folder, re.ASCII) else {}

    def _with_machine(self, case: Json) -> Json:
        """Put machines in the place of their names, in the case and in the steps that change hardware."""
        if isinstance(name := case.get("machine"), str):
            case = case | {"machine": self.machines[name]}
        if "steps" in case:
            case = case | {"steps": [self._with_machine(step) for step in case["steps"]]}
        return case


def corpus_files(directory: Path) -> list[CorpusFile]:
    """List the topic files of a corpus directory and of its sub-directories, by name.

    A sub-directory without a ``machines.json`` of its own uses that of *directory*.
    """
    return [
        CorpusFile(
            str(path.relative_to(directory)).removesuffix(".jsonl.gz"), path, _machines(path, directory)
        )
        for path in sorted(directory.rglob("*.jsonl.gz"), key=lambda path: (len(path.parts), str(path)))
    ]


def _machines(path: Path, directory: Path) -> Json:
    own = path.parent / "machines.json"
    found = own if own.exists() else directory / "machines.json"
    machines: Json = json.loads(found.read_text(encoding="utf-8"))
    return machines

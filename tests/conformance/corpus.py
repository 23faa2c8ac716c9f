"""Reading recorded answers: one JSON object a line, ``{"case": ..., "expect": ..., markers}``.

The default tests run a part of the longer files, ``make conformance`` and ``make recordings`` all of them.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cpuctl.kubelet.version import DEFAULT_VERSION, KubeletVersion

Json = dict[str, Any]

ONE_IN = 1 if os.environ.get("RECORDINGS") == "all" else 15
"""A part is one answer in this many, plus every answer that shows something those do not."""
_WHOLE_UP_TO = 100
_SETTING = re.compile(r'(?<!"name":)(?!"name":)"[A-Za-z][A-Za-z-]*"(?::(?:true|false|"[A-Za-z-]*")?)?')


@dataclass(frozen=True, slots=True)
class Recorded:
    """One case, the kubelet's answer and their markers."""

    case: Json
    expect: Json
    markers: Json = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the case in a report."""
        return str(self.case.get("name") or json.dumps(self.case, ensure_ascii=False)[:100])

    @property
    def operation(self) -> str:
        """The operation; if none is named, a whole-node scenario."""
        return str(self.case.get("op", "node"))


def version_of(case: Json) -> KubeletVersion:
    """Return the release that a case was run on, 1.36 if it names none."""
    return KubeletVersion.parse(case["kubeletVersion"]) if "kubeletVersion" in case else DEFAULT_VERSION


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One topic file, and the path of the machines that its cases name."""

    name: str
    path: Path
    machines_path: Path

    def recorded(self) -> Iterator[Recorded]:
        """Yield every recorded answer; lines without one (benchmark input) are left out."""
        with gzip.open(self.path, "rt", encoding="utf-8") as lines:
            yield from self._read(lines)

    def part(self) -> Iterator[Recorded]:
        """Yield a part that depends only on the answers, the same in every run.

        It contains every setting, step and outcome of the file at least once; a short file is its own part.
        """
        with gzip.open(self.path, "rt", encoding="utf-8") as lines:
            all_lines = list(lines)
        yield from self._read(all_lines if len(all_lines) <= _WHOLE_UP_TO else _part(all_lines))

    def _read(self, lines: Iterable[str]) -> Iterator[Recorded]:
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
        """The release that a folder is named after, for cases that name none."""
        folder = self.path.parent.name
        return {"kubeletVersion": folder} if re.fullmatch(r"1\.[0-9]+", folder, re.ASCII) else {}

    def _with_machine(self, case: Json) -> Json:
        """Replace names of machines by the machines, in the case and in steps that change hardware."""
        if isinstance(name := case.get("machine"), str):
            case = case | {"machine": _machines(self.machines_path)[name]}
        if "steps" in case:
            case = case | {"steps": [self._with_machine(step) for step in case["steps"]]}
        return case


def _part(lines: Iterable[str]) -> Iterator[str]:
    """Choose by a checksum of each line: its position in the file does not matter."""
    seen: set[str] = set()
    for checksum, line in sorted((zlib.crc32(line.encode()), line) for line in lines):
        settings = set(_SETTING.findall(line))
        if checksum % ONE_IN == 0 or not settings <= seen:
            seen |= settings
            yield line


def corpus_files(directory: Path) -> list[CorpusFile]:
    """List the topic files of a corpus directory and of its sub-directories, by name.

    A sub-directory without its own ``machines.json`` uses that of *directory*.
    """
    return [
        CorpusFile(
            str(path.relative_to(directory)).removesuffix(".jsonl.gz"), path, _machines_path(path, directory)
        )
        for path in sorted(directory.rglob("*.jsonl.gz"), key=lambda path: (len(path.parts), str(path)))
    ]


def _machines_path(path: Path, directory: Path) -> Path:
    own = path.parent / "machines.json"
    return own if own.exists() else directory / "machines.json"


@cache
def _machines(path: Path) -> Json:
    machines: Json = json.loads(path.read_text(encoding="utf-8"))
    return machines

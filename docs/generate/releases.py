"""The page about releases: the number of recorded answers for each, and the differences between them."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from cpuctl.kubelet.releases.differences import DIFFERENCES
from cpuctl.kubelet.releases.recorded import LAST_WITH_ALL
from cpuctl.kubelet.version import LAST_PATCHES, NEWEST, OLDEST
from docs.generate.common import NOTICE, PARTLY_RECORDED

_CORPUS = Path("fixtures") / "conformance"
_NOT_OF_A_KUBELET = frozenset({"bench_cases", "bench_16numa_full", "cpuset", "quantity"})
_TOPICS = {
    "admission": "admission",
    "assignment": "exclusive CPUs",
    "cgroupvalues": "cgroup values",
    "checkpoint": "state files",
    "config": "configuration",
    "fresh": "mixed cases",
    "hints": "topology hints",
    "lint": "pod validation",
    "memory": "memory on NUMA nodes",
    "podlevel": "pod-level resources",
    "podrestart": "pods after a restart",
    "qos": "QoS classes and OOM scores",
    "resize": "in-place resizes",
    "strange": "unusual machines",
    "upgrade": "state files after an upgrade",
    "validation": "startup validation",
}
"""The names of topics in the table, by file name."""
_INTRODUCTION = f"""# Releases

The number of answers that were recorded from real kubelets. cpuctl gives the same answers, word for word;
`make conformance` runs all of them, and counts those that depend on chance as not covered. If a cell is
empty, the topic was not recorded on that release: cpuctl follows the source code and documentation, and
assumes that {PARTLY_RECORDED} behave like 1.{LAST_WITH_ALL}, except for known differences. Every answer that
depends on this is marked "not verified". The recordings are from the patch releases below; a version without
a patch number means that patch release."""

_DIFFERENCES = """## Differences

To see which of these differences affect a configuration and its pods, run `cpuctl config versions`."""
_COLUMNS = ["since", "area", "before", "after", "recorded on", "source"]


def releases_page(root: Path) -> str:
    """Write the page: a table of recorded answers by topic and release, and a table of differences."""
    counted = recorded_answers(root)
    minors = range(OLDEST, NEWEST + 1)
    topics = sorted({topic for topic, _ in counted}, key=lambda topic: _TOPICS[topic].lower())
    rows = ([_TOPICS[topic], *(str(counted.get((topic, minor), "")) for minor in minors)] for topic in topics)
    patches = ["last known patch", *map(_patch, minors)]
    recorded = _table(["topic", *(f"1.{minor}" for minor in minors)], [patches, *rows])
    parts = [f"<!-- {NOTICE} -->", _INTRODUCTION, recorded, _DIFFERENCES, _table(_COLUMNS, _rows())]
    return "\n\n".join(parts) + "\n"


def _patch(minor: int) -> str:
    return f"1.{minor}.{LAST_PATCHES[minor]}" if minor in LAST_PATCHES else "-"


def recorded_answers(root: Path) -> Mapping[tuple[str, int], int]:
    """Count recorded answers by topic and minor version; files outside the release folders are for 1.36."""
    found: Counter[tuple[str, int]] = Counter()
    for path in sorted((root / _CORPUS).rglob("*.jsonl.gz")):
        topic = path.name.removesuffix(".jsonl.gz")
        if topic in _NOT_OF_A_KUBELET:
            continue
        folder = path.parent.name
        minor = int(folder.removeprefix("1.")) if folder.startswith("1.") else 36
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                version = entry.get("case", {}).get("kubeletVersion")
                found[topic, int(version.split(".")[1]) if version else minor] += "expect" in entry
    return found


def _rows() -> Iterator[list[str]]:
    for difference in sorted(DIFFERENCES.values(), key=lambda each: each.since):
        yield [
            difference.begin,
            str(difference.area),
            difference.before,
            difference.after,
            ", ".join(difference.recorded_on) or str(difference.evidence),
            difference.source,
        ]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])

"""Large inputs: the cost of a command with 5,000 or 50,000 pods, or 4,096 CPUs on 64 NUMA nodes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.robustness import large
from tests.robustness.measured import cost

PODS, MOST_PODS = 5000, 50_000
COMMANDS: Sequence[tuple[str, str]] = (
    ("plan of 110 pods", "plan -q -m {machine} --kubelet-config {kubelet} -f {few}"),
    ("plan of 110 pods -o json", "plan -q -m {machine} --kubelet-config {kubelet} -f {few} -o json"),
    (f"plan of {PODS:,} pods", "plan -q -m {machine} --kubelet-config {kubelet} -f {many}"),
    (f"plan of {PODS:,} pods -o json", "plan -q -m {machine} --kubelet-config {kubelet} -f {many} -o json"),
    (
        f"plan of {MOST_PODS:,} pods -o json",
        "plan -q -m {machine} --kubelet-config {kubelet} -f {most} -o json",
    ),
    (
        f"explain of one refused after {PODS:,}",
        "explain -q -m {machine} --kubelet-config {kubelet} -f {many} -T huge=3000/3000,1Gi huge",
    ),
    (f"pods lint of {PODS:,} pods", "pods lint -q -f {many}"),
    (f"pods show of {PODS:,} pods -o json", "pods show -q -f {many} -o json"),
    (f"pods show of {PODS:,} pods -o yaml", "pods show -q -f {many} -o yaml"),
    ("topology of 4,096 CPUs -o wide", "topology -q -m {machine} -o wide"),
    ("topology of 4,096 CPUs -o yaml", "topology -q -m {machine} -o yaml"),
)


def report() -> Iterator[str]:
    """Write a table of commands: CPU seconds, and the peak memory of the process."""
    yield f"{'large inputs':40}{'CPU s':>10}{'peak MiB':>12}{'exit':>6}"
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        inputs = {
            "machine": large.MACHINE,
            "kubelet": large.write_kubelet(directory / "kubelet.json"),
            "few": large.write_pods(directory / "few.json", 110),
            "many": large.write_pods(directory / "many.json", PODS),
            "most": large.write_pods(directory / "most.json", MOST_PODS),
        }
        for title, line in COMMANDS:
            measured = cost([word.format(**inputs) for word in line.split()])
            yield f"{title:40}{measured.seconds:>10.1f}{measured.mebibytes:>12.0f}{measured.code:>6}"

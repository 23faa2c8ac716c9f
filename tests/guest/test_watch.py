"""Watching a node with a real kernel while it changes: each change is reported, once, and soon."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import HERE, ROOT, one_boot
from tests.guest.harness.guest import run_in_guest
from tests.guest.test_audit import LAYOUTS
from tests.support.schemas import follow_schema

pytestmark = pytest.mark.guest

SOON = 60.0
"""Seconds; emulated by one thread, an audit alone takes five to ten."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The reports and output in the guest."""

    folder: Path

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "watch.jsonl").read_text().splitlines()]

    def step(self, event: str, code: str = "") -> dict[str, Any]:
        found: dict[str, Any] = next(
            each for each in self.read("steps.json") if (each["event"], each["code"]) == (event, code)
        )
        return found


@pytest.fixture(scope="module", params=one_boot("watch", ("v2-8-nodes", "v1-2-nodes")))
def watched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Boot a machine once, and do everything in it."""
    layout = LAYOUTS[request.param]
    shared = ("watch_node.py", "audit_node.py", "audit-kubelet.yaml", "audit-pods.yaml")
    result = run_in_guest(
        f"python3 watch_node.py {layout.driver} {layout.runtime}",
        replace(layout.machine, cgroup=layout.cgroup),
        tmp_path_factory.mktemp("watch"),
        share=[ROOT / "cpuctl", *(HERE / name for name in shared)],
    )
    assert result.code == 0, result.stderr
    return Watched(result.out_dir)


def test_every_change_is_reported_soon_with_the_kernels_values(watched: Watched) -> None:
    steps = watched.read("steps.json")
    assert {each["seconds"] < SOON for each in steps} == {True}, [each["seconds"] for each in steps]
    for code in ("foreign-processes", "interrupt", "cpus-unused"):
        step = watched.step("Found", code)
        assert step["data"]["finding"]["detected"] == step["kernel"], code
    differs = watched.step("Found", "cpuset-differs")
    assert differs["data"]["finding"]["detected"] == differs["kernel"]
    quota = watched.step("Found", "quota-on-exclusive")
    assert quota["kernel"].split()[0] in quota["data"]["finding"]["detected"]
    added = watched.step("PodAdded")
    assert (added["data"]["pod"]["pod"], added["data"]["pod"]["exclusive"]) == (
        "shop/gone",
        [{"container": "worker", "cpus": added["kernel"]}],
    )
    assert watched.step("PodRemoved")["kernel"] == "False"


def test_each_change_is_reported_once_and_nothing_else(watched: Watched) -> None:
    reported = Counter(
        (each["event"], (each.get("finding") or {}).get("code", "")) for each in watched.events
    )
    codes = ("foreign-processes", "interrupt", "cpuset-differs", "quota-on-exclusive", "cpus-unused")
    once = {*(("Found", code) for code in codes), *(("Resolved", code) for code in codes)}
    once |= {("Watching", ""), ("PodAdded", ""), ("PodRemoved", "")}
    assert {each: reported[each] for each in once} == dict.fromkeys(once, 1)
    # Both state files are written in two halves, each of which may be seen, and then at once.
    assert 4 <= reported.pop(("StateFileWritten", "")) <= 6
    # On the new pod's CPUs: threads and interrupts that may run there, because they were only moved away from
    # the other pods' CPUs. After its end, the pod keeps its CPUs until the kubelet releases them, which takes
    # a while here.
    additional = {"kernel-threads", "interrupts-default", "interrupts-allowed", "kernel-work", "stale-entry"}
    assert {code for _, code in reported.keys() - once} <= additional
    assert all(reported["Found", code] == reported["Resolved", code] <= 1 for code in additional)
    for event in watched.events:
        follow_schema(event)


def test_the_textfile_equals_the_output_of_an_audit(watched: Watched) -> None:
    written, printed = ((watched.folder / name).read_text() for name in ("textfile.prom", "audit.prom"))

    def lasting(text: str) -> list[str]:
        return [line for line in text.splitlines() if 'what="threads"' not in line]

    assert lasting(written) == lasting(printed)
    assert 'cpuctl_audit_findings{severity="error"} 0' in written
    assert (watched.folder / "collector.txt").read_text() == "cpuctl_audit.prom"


def test_a_watch_ends_as_requested(watched: Watched) -> None:
    assert watched.read("codes.json") == {"watch": 0, "clean": 0, "broken": 3}
    last = (watched.folder / "broken.txt").read_text().splitlines()[-1]
    assert last.endswith("[cpuset-differs]")


def test_a_quiet_node_with_110_pods_costs_little(watched: Watched) -> None:
    """CPU time is scaled to this machine by the time of the same loop here and in the guest."""
    measured = watched.read("measured.json")
    loop = [sys.executable, "-c", measured["loop"]]
    here = subprocess.run(loop, capture_output=True, text=True, check=True)
    assert measured["code"] == 0
    assert measured["processes"] > 220
    share = measured["share"] * float(here.stdout) / measured["loop_took"]
    assert share < 0.03, measured

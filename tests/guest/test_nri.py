"""``cpuctl nri run`` with a real containerd and runc: the facts from one boot of ``nri_node``."""

from __future__ import annotations

import json
import shutil
from functools import reduce
from importlib.util import find_spec
from operator import or_
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from tests.guest.conftest import HERE, ROOT
from tests.guest.harness.debian import debian_tree
from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.image import guest_cache
from tests.guest.harness.machine import GuestMachine, even_nodes

pytestmark = pytest.mark.guest

MACHINE = GuestMachine(sockets=2, cores=4, threads=2, nodes=even_nodes(2, cpus=8, mib=768))
PACKAGES = ("containerd", "runc", "libc6", "libseccomp2")
"""From Debian 13, whose programs need its own C library; the host's programs run with that, too."""
PROGRAMS = ("bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr", "sbin/runc")
# The shell is static: no running program is linked with the library that is replaced.
START = """\
for place in usr lib lib64 sbin; do mkdir -p /$place; done
cp -a /share/tree/. /
rm -r /share/tree
mkdir -p /var/run/nri /var/lib /run /var/tmp
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib && mkdir -p /dev/shm /dev/pts
mount -t devpts devpts /dev/pts
export PATH=$PATH:/usr/sbin:/sbin
python3 nri_node.py
"""


def lay_out(tree: Path) -> None:
    """Copy the needed files of the packages: four programs, and the libraries in the guest's own paths."""
    source = debian_tree(guest_cache(), "trixie", PACKAGES)
    for program in PROGRAMS:
        target = tree / "usr" / program
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / "usr" / program, target)
    for library in (source / "usr/lib/x86_64-linux-gnu").glob("*.so*"):
        target = tree / "lib/x86_64-linux-gnu" / library.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    (tree / "lib64").mkdir()
    shutil.copy(source / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", tree / "lib64")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    work = tmp_path_factory.mktemp("nri")
    tree = work / "tree"
    lay_out(tree)
    protobuf = Path(str(find_spec("google.protobuf").origin)).parents[1]  # type: ignore[union-attr]
    share = [tree, protobuf, ROOT / "cpuctl", HERE / "nri_node.py"]
    result = run_in_guest(START, MACHINE, work / "out", share=share)
    logs = "\n".join(f"--- {log.name}\n{log.read_text()[-6000:]}" for log in result.out_dir.glob("*.log"))
    assert result.code == 0, f"{result.stdout}\n{result.stderr}\n{logs}"
    return json.loads((result.out_dir / "facts.json").read_text())


def cpus(facts: Any, when: str) -> dict[str, str]:
    """Return the CPUs on which the kernel lets containers run."""
    return {name: sets[0] for name, sets in facts[when].items()}


def test_containers_run_on_planned_cpus_and_others_on_the_rest(facts: Any) -> None:
    assert cpus(facts, "before") == {"early/main": "0-15"}
    assert cpus(facts, "created") == {"early/main": "0-1,6-15", "a/a": "2-5", "b/b": "0-1,6-15"}


def test_the_pool_shrinks_and_grows_with_containers_that_come_and_go(facts: Any) -> None:
    shared = dict.fromkeys(("early/main", "b/b"), "0-1,8-15")
    assert cpus(facts, "pool shrunk") == {**shared, "a/a": "2-5", "c/c": "6-7"}
    assert cpus(facts, "stopped") == cpus(facts, "created")


def test_a_killed_plugin_recovers_its_assignments_and_catches_up(facts: Any) -> None:
    assert cpus(facts, "killed") == {**cpus(facts, "stopped"), "late/main": "0-15"}
    assert cpus(facts, "started again") == {**cpus(facts, "stopped"), "late/main": "0-1,6-15"}


def test_the_plugin_reconnects_to_a_killed_runtime(facts: Any) -> None:
    shared = dict.fromkeys(("early/main", "b/b", "late/main"), "0-1,8-15")
    assert cpus(facts, "runtime restarted") == {**shared, "a/a": "2-5", "c/c": "6-7"}


def test_a_slow_plugin_corrects_containers_later(facts: Any) -> None:
    assert cpus(facts, "too slow") == {**cpus(facts, "runtime restarted"), "slow/main": "0-15"}
    assert cpus(facts, "put right") == {**cpus(facts, "runtime restarted"), "slow/main": "0-1,8-15"}


def test_the_runtime_rejects_conflicting_plugins(facts: Any) -> None:
    """As documented in docs/nri.md; after one of them has ended, containers can be created again."""
    assert 'plugins "20-cpuctl" and "10-cpuctl" both tried to set CPU pinning' in facts["conflict"]
    assert cpus(facts, "alone again") == {**cpus(facts, "put right"), "after/main": "0-1,8-15"}


def test_a_policy_separates_containers_and_recognizes_them_again(facts: Any) -> None:
    first, again = cpus(facts, "policy"), cpus(facts, "policy again")
    for found, own in ((first, {"a/a": 4, "c/c": 2, "d/d": 2}), (again, {"e/e": 4, "c/c": 2, "d/d": 2})):
        sets = {name: CPUSet.parse(found.pop(name)) for name in own}
        assert {name: len(each) for name, each in sets.items()} == own
        taken = reduce(or_, sets.values())
        assert len(taken) == 8
        assert set(found.values()) == {str(CPUSet.parse("0-15") - taken)}
    assert len(found) == 5
    first, again = cpus(facts, "policy"), cpus(facts, "policy again")
    assert (first["c/c"], first["d/d"]) == (again["c/c"], again["d/d"]), "CPUs are kept"

"""The machines that the guest tests boot, and their output: one boot for all tests of a machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import GuestMachine, even_nodes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

LABELS = ("node", "socket", "core", "l1d", "l1i", "l2", "l3")
"""What puts CPUs into groups, in the order of lscpu's columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A machine to boot, and which of its CPUs are offline or isolated by the kernel."""

    machine: GuestMachine
    offline: str = ""
    isolated: str = ""


CASES = {
    "2-sockets-16-cpus": Case(
        machine=GuestMachine(
            sockets=2,
            cores=4,
            threads=2,
            nodes=even_nodes(2, cpus=8, mib=256),
            distances=((10, 21), (21, 10)),
        )
    ),
    "8-nodes-32-cpus": Case(
        machine=GuestMachine(
            sockets=2,
            dies=4,
            cores=2,
            threads=2,
            nodes=even_nodes(8, cpus=4, mib=128),
            distances=tuple(
                tuple(10 if a == b else 12 if a // 4 == b // 4 else 32 for b in range(8)) for a in range(8)
            ),
            parameters="isolcpus=30-31",
        ),
        offline="5",
        isolated="30-31",
    ),
}


def one_boot(kind: str, names: Iterable[str]) -> list[ParameterSet]:
    """Make parameters whose tests one worker runs: it boots each of the machines once for all of them."""
    return [pytest.param(name, id=f"<{kind} {name}>") for name in names]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Keep the tests of one boot together, by their names: workers report nothing else."""

    class ByBoot(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            machine = re.search("<.+>", nodeid)
            return machine[0] if machine else nodeid.partition("::")[0]

    return ByBoot(config, log)


@dataclass(frozen=True, slots=True)
class Observed:
    """The output of the commands in the guest of one case."""

    case: Case
    folder: Path

    def text(self, name: str) -> str:
        """Return the output of a command; a command that failed fails the test, with its own words."""
        code = self.folder / f"{name}.code"
        assert code.read_text() == "0\n", (self.folder / f"{name}.stderr").read_text()
        return (self.folder / name).read_text()

    def lscpu(self) -> dict[int, dict[str, str]]:
        """Return lscpu's output for every online CPU: its node, socket, core and caches."""
        rows = (line.replace(":", " ").split() for line in self.text("lscpu.txt").splitlines()[1:])
        return {int(cpu): dict(zip(LABELS, labels, strict=True)) for cpu, *labels in rows}


@pytest.fixture(scope="session", params=one_boot("observed", CASES))
def observed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    """Boot a machine once and run every command in it."""
    case = CASES[request.param]
    result = run_in_guest(
        f"sh observe.sh '{case.offline}'",
        case.machine,
        tmp_path_factory.mktemp("out"),
        share=[ROOT / "cpuctl", HERE / "observe.sh", HERE / "kubelet.yaml"],
    )
    assert (result.code, result.stdout, result.stderr) == (0, "", "")
    return Observed(case, result.out_dir)

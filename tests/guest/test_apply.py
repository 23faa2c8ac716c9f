"""``cgroups apply`` on real kernels: the facts from ``apply_node``'s scenarios, in one boot per machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpuctl.cpuset import CPUSet
from tests.guest.conftest import HERE, ROOT, one_boot
from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import Cgroup, GuestMachine, even_nodes

pytestmark = pytest.mark.guest


def two_nodes(cgroup: Cgroup) -> GuestMachine:
    return GuestMachine(sockets=2, cores=4, threads=2, nodes=even_nodes(2, cpus=8, mib=256), cgroup=cgroup)


def eight_nodes(cgroup: Cgroup) -> GuestMachine:
    return GuestMachine(
        sockets=2, dies=4, cores=2, threads=2, nodes=even_nodes(8, cpus=4, mib=128), cgroup=cgroup
    )


MACHINES = {
    "v2-2-nodes": two_nodes("v2"),
    "v1-2-nodes": two_nodes("v1"),
    "v2-8-nodes": eight_nodes("v2"),
    "v1-8-nodes": eight_nodes("v1"),
}
EVERYWHERE = "done refused killed hotplug hotplug_while_watching shrink_below_a_child competitor"
# Scenarios that do not depend on the number of NUMA nodes run with two of them.
WITH_TWO_NODES = (
    "interrupted hotplug_and_undo dry_run rival_in_between container_ends by_audit state_moves_on terminated "
    "locked_out references quota failing"
)
WITH_V2 = "without_a_list partitions"


def scenarios(name: str) -> str:
    """Return the scenarios for a machine."""
    return " ".join(
        [EVERYWHERE, *[WITH_TWO_NODES] * ("-2-" in name), *[WITH_V2] * name.startswith("v2")],
    )


class Facts(dict[str, Any]):
    """The facts from the scenarios of one machine, by name."""

    v1 = False

    @property
    def writes(self) -> int:
        """Return how many writes correct the node."""
        count: int = self["done"]["result"]["writes"]
        return count

    def __missing__(self, name: str) -> Any:
        raise AssertionError(f"the scenario {name} was not played")


@pytest.fixture(scope="session")
def machine_facts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Facts]:
    """Boot every requested machine once."""
    known: dict[str, Facts] = {}

    def facts_of(name: str) -> Facts:
        if name not in known:
            known[name] = boot(name, tmp_path_factory.mktemp(name))
        return known[name]

    return facts_of


def boot(name: str, folder: Path) -> Facts:
    command = f"python3 -m apply_node {scenarios(name)}"
    share = [ROOT / "cpuctl", HERE / "apply_node"]
    result = run_in_guest(command, MACHINES[name], folder, share=share)
    assert result.code == 0, result.stderr
    found = Facts(json.loads((result.out_dir / "apply.json").read_text()))
    found.v1 = name.startswith("v1")
    return found


@pytest.fixture(params=one_boot("apply", MACHINES))
def facts(request: pytest.FixtureRequest, machine_facts: Callable[[str], Facts]) -> Facts:
    return machine_facts(request.param)


def on(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("facts", one_boot("apply", names), indirect=True)


two = on("v2-2-nodes", "v1-2-nodes")


def codes(found: Any, *names: str) -> list[int]:
    """Return the exit codes of some runs; a scenario that broke off is a text."""
    assert not isinstance(found, str), found
    return [found[name]["code"] for name in names]


@two
def test_a_dry_run_changes_nothing(facts: Facts) -> None:
    found = facts["dry_run"]
    assert codes(found, "plain") == [0]
    assert (found["strict"], found["changed"], found["audit"]) == (3, {}, 3)


def test_values_are_written_and_apply_to_every_thread(facts: Facts) -> None:
    found = facts["done"]
    assert codes(found, "result", "again") == [0, 0]
    assert found["lists"] == found["effective"] == found["due"]
    assert found["threads"] == {pod: [cpus] for pod, cpus in found["due"].items()}
    assert found["mems"][0] == found["mems"][1]
    assert found["steps"] == ["writing", "written"] * found["result"]["writes"]
    assert (found["again"]["outcome"], found["audit"]) == ("Clean", 0)


def test_a_rejected_write_restores_every_value(facts: Facts) -> None:
    found = facts["refused"]
    assert not isinstance(found, str), found
    assert len(found) == facts.writes >= 6
    for run in found:
        assert (run["code"], run["outcome"], run["changed"]) == (5, "Undone", {})
        assert "Permission denied" in run["failure"]


@two
def test_any_error_of_a_write_restores_every_value(facts: Facts) -> None:
    found = facts["failing"]
    assert not isinstance(found, str), found
    assert len(found["runs"]) == 21
    for run in found["runs"]:
        assert (run["code"], run["outcome"], run["changed"]) == (5, "Undone", {}), run
        assert run["error"] in run["failure"]
    busy = found["busy"]
    assert (busy["code"], busy["outcome"], busy["changed"]) == (5, "Undone", {})
    assert (found["busyForAMoment"]["code"], found["busyForAMoment"]["audit"]) == (0, 0)


@two
def test_an_interrupt_at_any_write_restores_every_value(facts: Facts) -> None:
    found = facts["interrupted"]
    assert not isinstance(found, str), found
    assert len(found) == facts.writes
    for run in found:
        assert (run["code"], run["outcome"], run["changed"]) == (130, "Undone", {})
        assert run["failure"] == "interrupted"


def test_a_second_run_after_a_kill_at_any_write_ends_clean(facts: Facts) -> None:
    found = facts["killed"]
    assert not isinstance(found, str), found
    assert len(found["runs"]) == facts.writes + 1
    for run in found["runs"]:
        assert (run["killed"], run["found"], run["again"]["code"], run["left"]) == (-9, 3, 0, {})
    assert found["audit"] == 0


@on("v2-2-nodes", "v2-8-nodes")
@pytest.mark.parametrize("how", ["refused", "interrupted"])
def test_a_group_without_a_list_gets_the_inherited_one_and_is_reported(facts: Facts, how: str) -> None:
    found = facts["without_a_list"]
    assert codes(found, how, "result") == [6, 0]
    assert found[how]["changed"] == {found["loose"]: ["", found["inherited"]]}
    assert found[how]["notRestored"] == [found["loose"]]


@two
def test_a_plan_of_audit_is_applied_only_if_its_state_is_unchanged(facts: Facts) -> None:
    found = facts["by_audit"]
    assert codes(found, "moved", "result") == [3, 0]
    assert found["moved"]["objections"] == ["state-moved"]
    assert found["audit"] == 0


def test_offline_cpus(facts: Facts) -> None:
    """With --force-offline, v2 accepts them for later; v1 rejects them, and loses others."""
    found = facts["hotplug"]
    assert codes(found, "refused", "forced", "result") == [3, 5 if facts.v1 else 0, 0]
    assert found["refused"]["objections"] == ["offline"]
    assert found["audit"] == 0


def test_a_cpu_that_goes_offline_during_the_watch(facts: Facts) -> None:
    found = facts["hotplug_while_watching"]
    assert codes(found, "result", "again") == [0, 0]
    assert found["again"]["outcome"] == ("Applied" if facts.v1 else "Clean")
    assert found["audit"] == 0


@two
def test_undoing_after_a_cpu_has_gone_offline(facts: Facts) -> None:
    """v2 accepts the old values; from v1's lists the kernel has removed the CPU, and cpuctl reports it."""
    found = facts["hotplug_and_undo"]
    assert not isinstance(found, str), found
    if not facts.v1:
        assert (found["code"], found["changed"]) == (130, {})
        return
    assert found["code"] == 6
    assert set(found["notRestored"]) <= found["changed"].keys()
    for before, now in found["changed"].values():
        assert CPUSet.parse(before) - CPUSet.parse(now) == CPUSet.of([9])


def test_groups_below_a_container_shrink_with_it(facts: Facts) -> None:
    found = facts["shrink_below_a_child"]
    assert codes(found, "result") == [0]
    assert found["lists"] == ["4-5", "4-5"]


@on("v2-2-nodes", "v2-8-nodes")
def test_partitions_are_rejected(facts: Facts) -> None:
    found = facts["partitions"]
    assert codes(found, "taken", "onTheWay", "result") == [3, 3, 0]
    assert found["taken"]["objections"] == ["outside"]
    assert found["onTheWay"]["objections"] == ["partition"]


def test_values_of_a_competing_kubelet_are_not_overwritten(facts: Facts) -> None:
    """A kubelet that does not check, and one that writes the same values, cause no conflict."""
    found = facts["competitor"]
    assert codes(found, "content", "restarted", "other") == [0, 0, 6]
    assert "another process, perhaps the kubelet, has written '0-2'" in found["other"]["failure"]
    assert found["left"] == ["0-2", "0-2"]
    assert sorted(found["other"]["changed"]) == sorted(found["rivals"])
    assert sorted(found["other"]["notRestored"]) == sorted(found["rivals"])


@two
def test_values_that_a_rival_writes_in_between_are_kept(facts: Facts) -> None:
    found = facts["rival_in_between"]
    assert codes(found, "done", "toCome") == [6, 5]
    for run in found.values():
        assert "another process, perhaps the kubelet, has written '5'" in run["failure"]
        assert [now for _, now in run["changed"].values()] == ["5"]
        assert [*run["changed"]] == [run["rival"]]
    assert found["done"]["notRestored"] == [found["done"]["rival"]]


@two
def test_a_container_that_ends_is_not_a_failure(facts: Facts) -> None:
    found = facts["container_ends"]
    assert codes(found, "watching", "writing", "again") == [0, 0, 0]
    assert found["audit"] == 0


@two
def test_a_changed_state_file_undoes_everything(facts: Facts) -> None:
    found = facts["state_moves_on"]
    assert not isinstance(found, str), found
    assert (found["code"], found["changed"]) == (5, {})
    assert "cpu_manager_state" in found["failure"]


@two
def test_signals_undo_everything(facts: Facts) -> None:
    found = facts["terminated"]
    assert codes(found, "SIGHUP", "SIGINT", "SIGTERM") == [129, 130, 143]
    assert [run["changed"] for run in found.values()] == [{}, {}, {}]


@two
def test_only_one_run_at_a_time(facts: Facts) -> None:
    found = facts["locked_out"]
    assert codes(found, "result") == [5]
    assert found["changed"] == {}


@two
def test_containers_by_name(facts: Facts) -> None:
    found = facts["references"]
    assert codes(found, "taken", "forced", "reserved", "swapped") == [3, 0, 3, 0]
    assert (found["taken"]["objections"], found["reserved"]["objections"]) == (["exclusive"], ["reserved"])
    assert (found["given"], found["lists"]) == ("4-6", ["6-7", "4-5"])


@two
def test_quotas_are_lifted_with_exclusive_cpus(facts: Facts) -> None:
    found = facts["quota"]
    assert codes(found, "result") == [0]
    assert found["quotas"] == (["-1", "-1"] if facts.v1 else ["max 100000", "max 100000"])
    assert found["audit"] == 0

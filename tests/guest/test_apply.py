"""``cgroups apply`` on real kernels: what ``apply_scenarios.py`` has left of one boot of every machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guest.harness.guest import run_in_guest
from tests.guest.harness.machine import Cgroup, GuestMachine, even_nodes

pytestmark = pytest.mark.long_guest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def two_nodes(cgroup: Cgroup) -> GuestMachine:
    return GuestMachine(sockets=2, cores=4, threads=2, nodes=even_nodes(2, cpus=8, mib=256), cgroup=cgroup)


def eight_nodes(cgroup: Cgroup) -> GuestMachine:
    return GuestMachine(
        sockets=2, dies=4, cores=2, threads=2, nodes=even_nodes(8, cpus=4, mib=128), cgroup=cgroup
    )


MACHINES = {
    "v2-2-nodes": two_nodes("v2"),
    "v2-8-nodes": eight_nodes("v2"),
    "v1-2-nodes": two_nodes("v1"),
    "v1-8-nodes": eight_nodes("v1"),
}


class Facts(dict[str, Any]):
    """What the scenarios of one machine have found, by their names."""

    v1 = False

    def __missing__(self, name: str) -> Any:
        raise AssertionError(f"the scenario {name} was not run")


@pytest.fixture(scope="module", params=MACHINES)
def facts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    machine = MACHINES[request.param]
    result = run_in_guest(
        "python3 apply_scenarios.py",
        machine,
        tmp_path_factory.mktemp("out"),
        share=[ROOT / "cpuctl", HERE / "apply_scenarios.py"],
        timeout=900,
    )
    assert result.code == 0, result.stderr
    found = Facts(json.loads((result.out_dir / "apply.json").read_text()))
    found.v1 = machine.cgroup == "v1"
    return found


def codes(found: Any, *names: str) -> list[int]:
    """Return the exit codes of some runs; a scenario that broke off is a text."""
    assert not isinstance(found, str), found
    return [found[name]["code"] for name in names]


def test_a_dry_run_changes_nothing(facts: Facts) -> None:
    found = facts["dry_run"]
    assert codes(found, "plain") == [0]
    assert (found["strict"], found["same"], found["audit"]) == (3, True, 3)


def test_it_is_written_in_force_and_every_thread_follows(facts: Facts) -> None:
    found = facts["done"]
    assert codes(found, "result", "again") == [0, 0]
    assert found["lists"] == found["effective"] == found["due"]
    assert found["threads"] == {pod: [cpus] for pod, cpus in found["due"].items()}
    assert found["steps"] == ["writing", "written"] * found["result"]["writes"]
    assert (found["again"]["outcome"], found["audit"]) == ("Clean", 0)


def test_whichever_write_fails_every_value_is_as_before(facts: Facts) -> None:
    found = facts["refused_writes"]
    assert not isinstance(found, str), found
    assert len(found) >= 5
    for run in found:
        assert (run["code"], run["outcome"], run["changed"]) == (5, "Undone", {})
        assert "Permission denied" in run["failure"]


def test_killed_at_any_write_a_second_run_ends_clean(facts: Facts) -> None:
    found = facts["killed"]
    assert not isinstance(found, str), found
    assert len(found) >= 5
    for run in found:
        assert (run["killed"], run["found"], run["again"]["code"], run["audit"]) == (-9, 3, 0, 0)


def test_a_group_that_had_no_list_gets_what_it_inherited_and_is_named(facts: Facts) -> None:
    if facts.v1:
        return  # every group has a list there
    found = facts["without_a_list"]
    assert codes(found, "result") == [6]
    assert found["changed"] == {found["loose"]: found["inherited"]}
    (left,) = found["result"]["notRestored"]
    assert left["group"] == f"/{found['loose']}"


def test_a_plan_of_audit_is_applied_as_long_as_its_state_is_the_same(facts: Facts) -> None:
    found = facts["by_audit"]
    assert codes(found, "moved", "result") == [3, 0]
    assert found["moved"]["objections"] == ["state-moved"]
    assert found["audit"] == 0


def test_cpus_that_are_offline(facts: Facts) -> None:
    """v2 takes them, as the user insists, and they come into force later; v1 refuses, and forgets others."""
    found = facts["hotplug"]
    assert codes(found, "refused", "forced", "result") == [3, 5 if facts.v1 else 0, 0]
    assert found["refused"]["objections"] == ["offline"]
    assert found["audit"] == 0


def test_a_cpu_that_goes_while_it_is_watched(facts: Facts) -> None:
    found = facts["hotplug_while_watching"]
    assert codes(found, "result", "again") == [0, 0]
    assert found["again"]["outcome"] == ("Applied" if facts.v1 else "Clean")
    assert found["audit"] == 0


def test_groups_below_a_container_shrink_with_it(facts: Facts) -> None:
    found = facts["shrink_below_a_child"]
    assert codes(found, "result") == [0]
    assert found["lists"] == ["4-5", "4-5"]


def test_partitions_are_refused(facts: Facts) -> None:
    if facts.v1:
        return  # it has none
    found = facts["partitions"]
    assert codes(found, "taken", "onTheWay", "result") == [3, 3, 0]
    assert found["taken"]["objections"] == ["outside"]
    assert found["onTheWay"]["objections"] == ["partition"]


def test_a_competitor_is_not_fought_over(facts: Facts) -> None:
    found = facts["competitor"]
    assert codes(found, "result") == [6]
    assert "somebody else has written '0-2'" in found["result"]["failure"]
    assert (found["left"], found["changed"]) == ("0-2", [found["rival"]])


def test_a_state_that_moves_on_meanwhile_undoes_everything(facts: Facts) -> None:
    found = facts["state_moves_on"]
    assert codes(found, "result") == [5]
    assert "cpu_manager_state" in found["result"]["failure"]
    assert found["changed"] == []


def test_signals_undo_everything(facts: Facts) -> None:
    found = facts["terminated"]
    assert codes(found, "SIGHUP", "SIGINT", "SIGTERM") == [129, 130, 143]
    assert [run["changed"] for run in found.values()] == [[], [], []]


def test_only_one_at_a_time(facts: Facts) -> None:
    found = facts["locked_out"]
    assert codes(found, "result") == [5]
    assert found["same"]


def test_containers_by_name(facts: Facts) -> None:
    found = facts["references"]
    assert codes(found, "taken", "forced", "reserved", "swapped") == [3, 0, 3, 0]
    assert (found["taken"]["objections"], found["reserved"]["objections"]) == (["exclusive"], ["reserved"])
    assert (found["given"], found["lists"]) == ("4-6", ["6-7", "4-5"])


def test_quotas_are_lifted_with_exclusive_cpus(facts: Facts) -> None:
    found = facts["quota"]
    assert codes(found, "result") == [0]
    assert found["quotas"] == (["-1", "-1"] if facts.v1 else ["max 100000", "max 100000"])
    assert found["audit"] == 0

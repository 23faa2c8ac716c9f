"""Laws of audits: any tree gives an answer or a clear error, and never a false alarm."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cpuctl.audit.checks import audit, verdicts
from cpuctl.audit.plan import plan_changes
from cpuctl.cgroups.names import Driver
from cpuctl.cpuset import CPUSet
from cpuctl.errors import InputError
from cpuctl.records import replace
from tests.audit.node_tree import DATABASE, RESERVED, SERVER, NodeTree, clean_node

CORE_SETS = st.sampled_from(["1,5", "2,6", "3,7", "1-2,5-6", "2-3,6-7", "1-3,5-7"])
VERSIONS, DRIVERS = st.sampled_from([1, 2]), st.sampled_from(Driver)
WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "0-7", "max", "-1", "99999", "7-0", "0-9999999", "member", "\0", "0,2 x"]),
)


def with_own(node: NodeTree, own: CPUSet) -> NodeTree:
    """Give the database different cores, as a kubelet would."""
    pool = CPUSet.parse("0-7") - own
    node.state = replace(node.state, default_cpu_set=pool, entries={DATABASE: {"server": own}})
    node.cpuset(node.server, cpus=str(own), mems="0")
    node.cpuset(node.front, cpus=str(pool))
    node.process(90, "postgres", node.server, str(own), mems="0")
    node.process(91, "writer", node.server, str(own), mems="0", of=90)
    node.process(95, "nginx", node.front, str(pool))
    node.process(15, "migration/1", "/", str(own.lowest), parent=2, fixed=True)
    return node


@given(VERSIONS, DRIVERS, CORE_SETS, st.booleans())
def test_a_correct_node_is_clean_with_any_cores(version: int, driver: Driver, own: str, named: bool) -> None:
    node = with_own(clean_node(version, driver), CPUSet.parse(own))
    node.named = named
    assert node.findings() == ()


@given(VERSIONS, CORE_SETS, st.sets(st.integers(0, 7), min_size=1))
def test_any_other_set_is_found_and_planned_to_be_restored(
    version: int, own: str, given_cpus: set[int]
) -> None:
    wanted, found = CPUSet.parse(own), CPUSet.of(given_cpus)
    node = with_own(clean_node(version), wanted)
    node.cpuset(node.server, cpus=str(found), mems="0")
    snapshot = node.snapshot()
    reported = [finding for finding in audit(snapshot, ["cpusets"]) if finding.place.path == node.server]
    assert bool(reported) == (found != wanted)
    planned = [
        (change.owner.container_id, change.cpus.now, change.cpus.wanted)
        for change in plan_changes(snapshot)
        if change.cpus is not None
    ]
    assert planned == ([] if found == wanted else [(SERVER, found, wanted)])


@given(CORE_SETS, st.sets(st.integers(0, 7), min_size=1))
def test_a_host_process_is_reported_exactly_if_it_may_run_on_exclusive_cpus(own: str, cpus: set[int]) -> None:
    exclusive, allowed = CPUSet.parse(own), CPUSet.of(cpus)
    node = with_own(clean_node(), exclusive)
    node.process(71, "sshd", "/system.slice/sshd.service", str(allowed))
    found = node.codes()
    assert found == ([] if allowed.isdisjoint(exclusive) else ["foreign-processes"])


@given(VERSIONS, st.data())
def test_no_file_of_a_tree_makes_an_audit_fail(version: int, data: st.DataObject) -> None:
    """Files that no kernel writes are rejected, or reported as unreadable."""
    node = clean_node(version)
    paths = sorted(path for path in node.files if path.startswith(("sys/fs", "proc", "etc")))
    for path in data.draw(st.lists(st.sampled_from(paths), max_size=4)):
        node.files[path] = data.draw(WORDS)
    try:
        snapshot = node.snapshot()
    except InputError:
        return
    findings = audit(snapshot)
    assert all(finding.message and finding.place.subject for finding in findings)
    assert len(verdicts(snapshot)) == len(snapshot.containers)
    assert CPUSet.parse(RESERVED) <= snapshot.housekeeping

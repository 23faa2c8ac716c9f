"""The values in a control group's files, and the expected values: CPU sets, weights, quotas, memory.

Expected are the CPUs in the kubelet's state, and the values that follow from pods' resources.

Rule for the groups above pods, ``kubepods`` and those of the QoS classes: kubelet v1.36
``cm/node_container_manager_linux.go`` and ``cm/qos_container_manager_linux.go``, which rewrites the latter
every minute. No kubelet sets a quota there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from cpuctl.audit.pod_values import pod_values
from cpuctl.audit.snapshot import NodeSnapshot
from cpuctl.cgroups.groups import Cgroup, CpusetValues
from cpuctl.cgroups.names import Driver, Level
from cpuctl.cpuset import CPUSet
from cpuctl.pods.cgroups.files import CgroupHost, WeightFormula, v1_files, v2_files
from cpuctl.pods.cgroups.linux_resources import NO_QUOTA, page_size_name, shares_of
from cpuctl.pods.cgroups.values import (
    CgroupSettings,
    CgroupValues,
    class_reservation,
)
from cpuctl.pods.model import QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.requests import pod_requests
from cpuctl.pods.rules import NodeRules
from cpuctl.quantity import Quantity
from cpuctl.records import Record


class PodsLimit(NamedTuple):
    """The total that all pods of a node may use; ``memory`` in bytes, None if unknown."""

    milli_cpu: int
    memory: int | None


class ValueRules(NamedTuple):
    """The settings that determine a kubelet's cgroup values.

    ``formula`` is None if the runtime is unknown, ``room`` if the configuration is unknown;
    ``qos_reserved``: the gate QOSReserved bounds the memory of QoS classes.
    """

    node: NodeRules
    settings: CgroupSettings
    formula: WeightFormula | None = None
    pods_limit: PodsLimit | None = None
    qos_reserved: bool = False


def file_texts(
    snapshot: NodeSnapshot,
    group: Cgroup,
    values: CgroupValues,
    settings: CgroupSettings,
    formula: WeightFormula | None,
) -> dict[str, tuple[str, ...]]:
    """Write values in the format of a group's files; more than one text if the runtime decides."""
    systemd = group.role.driver is Driver.SYSTEMD
    host = CgroupHost(systemd=systemd, memory_page=settings.memory_page)
    if snapshot.hierarchies is not None and snapshot.hierarchies.version == 1:
        return {name: (file.text,) for name, file in v1_files(values, host).items()}
    formulas = (formula,) if formula else tuple(WeightFormula)
    texts: dict[str, tuple[str, ...]] = {}
    for each in formulas:
        for name, file in v2_files(values, each, host).items():
            texts[name] = tuple(dict.fromkeys((*texts.get(name, ()), file.text)))
    return texts


_QUOTA_FILES = frozenset({"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"})
_ZERO = Quantity()
_LEAST_SHARES = 2
_UNBOUNDED = 1 << 62
_NO_BOUND = {1: ("-1",), 2: (str(_UNBOUNDED), "max")}
"""The texts for "no limit", by version: kernels may also use a limit that no machine reaches."""


class FileValue(Record):
    """A file's text, None if there is no such file, and the texts it may have; empty if unknown."""

    actual: str | None
    expected: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether it is known to be wrong."""
        return bool(self.expected) and self.actual is not None and self.actual not in self.expected


def group_values(snapshot: NodeSnapshot, group: Cgroup, rules: ValueRules) -> dict[str, FileValue]:
    """Return the values of a group by the name of the file."""
    expected = {**_expected_files(snapshot, group, rules), **_expected_sets(snapshot, group)}
    version = snapshot.hierarchies.version if snapshot.hierarchies else 2
    actual = actual_files(group, version)
    return {name: FileValue(text, expected.get(name, ())) for name, text in actual.items()}


def actual_files(group: Cgroup, version: int) -> dict[str, str | None]:
    """Return the values read from a group in the format of its files."""
    sets = _actual_sets(group, version)
    return sets | (_actual_v2(group) if version == 2 else _actual_v1(group))


def _actual_sets(group: Cgroup, version: int) -> dict[str, str | None]:
    cpuset, two = group.cpuset, version == 2
    return {
        "cpuset.cpus": _list(cpuset.cpus),
        "cpuset.cpus.effective" if two else "cpuset.effective_cpus": _list(cpuset.effective),
        "cpuset.mems": _list(cpuset.mems),
        "cpuset.mems.effective" if two else "cpuset.effective_mems": _list(cpuset.effective_mems),
        **(_actual_partition(cpuset) if two else {}),
    }


def _actual_partition(cpuset: CpusetValues) -> dict[str, str | None]:
    return {
        "cpuset.cpus.partition": cpuset.partition or None,
        "cpuset.cpus.exclusive": _list(cpuset.exclusive),
        "cpuset.cpus.exclusive.effective": _list(cpuset.effective_exclusive),
    }


def _actual_v2(group: Cgroup) -> dict[str, str | None]:
    cpu, memory = group.cpu, group.memory
    quota = "max" if cpu.quota is None else str(cpu.quota)
    files: dict[str, str | None] = {
        "cpu.weight": _number(cpu.weight),
        "cpu.max": None if cpu.period is None else f"{quota} {cpu.period}",
    }
    limits = {"max": memory.limit, "high": memory.high, "low": memory.low, "min": memory.minimum}
    for name, limit in limits.items() if memory.known else ():
        files[f"memory.{name}"] = "max" if limit is None else str(limit)
    for size, limit in memory.hugepages.items():
        files[f"hugetlb.{page_size_name(size)}.max"] = "max" if limit is None else str(limit)
    return files


def _actual_v1(group: Cgroup) -> dict[str, str | None]:
    cpu, memory = group.cpu, group.memory
    quota = -1 if cpu.quota is None else cpu.quota
    files: dict[str, str | None] = {
        "cpu.shares": _number(cpu.shares),
        "cpu.cfs_quota_us": None if cpu.period is None else str(quota),
        "cpu.cfs_period_us": _number(cpu.period),
    }
    if memory.known:
        files["memory.limit_in_bytes"] = "-1" if memory.limit is None else str(memory.limit)
    for size, limit in memory.hugepages.items():
        files[f"hugetlb.{page_size_name(size)}.limit_in_bytes"] = "-1" if limit is None else str(limit)
    return files


def _expected_sets(snapshot: NodeSnapshot, group: Cgroup) -> dict[str, tuple[str, ...]]:
    """Return the lists of a container's own group; a kubelet writes no others."""
    observed = snapshot.container_at.get(group.path)
    if observed is None:
        return {}
    two = snapshot.hierarchies is None or snapshot.hierarchies.version == 2
    # On version 1 its online part is also correct, because v1 loses the other CPUs.
    cpus, mems = observed.expected.cpus, observed.expected.mems
    sets = tuple(map(str, observed.expected.choices)) if cpus is None else (str(cpus),)
    running = () if cpus is None else (str(cpus & snapshot.machine.online),)
    nodes = () if mems is None else (str(mems),)
    return {
        "cpuset.cpus": sets if two else tuple(dict.fromkeys((*sets, *running))),
        "cpuset.cpus.effective" if two else "cpuset.effective_cpus": running,
        "cpuset.mems": nodes,
        "cpuset.mems.effective" if two else "cpuset.effective_mems": nodes,
        "cpuset.cpus.partition": ("member",),
        "cpuset.cpus.exclusive": ("",),
    }


def _expected_files(
    snapshot: NodeSnapshot, group: Cgroup, rules: ValueRules
) -> Mapping[str, tuple[str, ...]]:
    role, owner = group.role, snapshot.owners.get(group.path)
    if role.level in (Level.KUBEPODS, Level.QOS):
        return _upper_files(snapshot, group, rules)
    if role.uid not in snapshot.pods or owner is None:
        return _lifted_quota(snapshot, group, rules.settings)
    values = pod_values(snapshot, group, rules.node, rules.settings)
    if values is None:
        return {}
    formula = rules.formula if role.level is Level.CONTAINER else WeightFormula.LINEAR
    return file_texts(snapshot, group, values, rules.settings, formula)


def _lifted_quota(
    snapshot: NodeSnapshot, group: Cgroup, settings: CgroupSettings
) -> Mapping[str, tuple[str, ...]]:
    """Return "no quota" for a container or pod with exclusive CPUs, which the state alone shows."""
    cpu, owner = snapshot.state.cpu, snapshot.owners.get(group.path)
    if cpu is None or owner is None or not (settings.cfs_quota and settings.lifts_quota):
        return {}
    held = snapshot.state.entries.get(owner.uid, {})
    holds = {Level.POD: bool(held), Level.CONTAINER: owner.container in held}.get(group.role.level, False)
    if not holds or owner.uid in cpu.pod_entries:
        return {}
    values = CgroupValues(shares=_LEAST_SHARES, quota=NO_QUOTA, period=settings.period)
    texts = file_texts(snapshot, group, values, settings, WeightFormula.LINEAR)
    return {name: text for name, text in texts.items() if name in _QUOTA_FILES}


def _list(cpus: CPUSet | None) -> str | None:
    return None if cpus is None else str(cpus)


def _number(number: int | None) -> str | None:
    return None if number is None else str(number)


def _upper_files(snapshot: NodeSnapshot, group: Cgroup, rules: ValueRules) -> Mapping[str, tuple[str, ...]]:
    """Return the expected values of the files of a group above pods; unknown values are left out."""
    top = group.role.level is Level.KUBEPODS
    if top and rules.pods_limit is None:
        return {}
    memory = rules.pods_limit.memory if top and rules.pods_limit else None
    shares = _shares(snapshot, group, rules)
    reserved = _reserved(snapshot, rules, None if top else group.role.qos)
    values = CgroupValues(
        shares=shares or _LEAST_SHARES,
        memory=memory,
        hugetlb=dict.fromkeys(rules.settings.page_sizes, _UNBOUNDED),
        memory_min=reserved.get("min"),
        memory_low=reserved.get("low"),
    )
    texts = file_texts(snapshot, group, values, rules.settings, WeightFormula.LINEAR)
    unknown = {"cpu.weight", "cpu.shares"} if shares is None else set()
    if memory is None if top else rules.qos_reserved:
        unknown |= {"memory.max", "memory.limit_in_bytes"}
    no_bound = _NO_BOUND[snapshot.hierarchies.version if snapshot.hierarchies else 2]
    return {
        name: no_bound if name.startswith("hugetlb.") else text
        for name, text in texts.items()
        if name not in unknown
    }


def _shares(snapshot: NodeSnapshot, group: Cgroup, rules: ValueRules) -> int | None:
    """Return the shares of all pods, the minimum for BestEffort, or the sum of Burstable pods."""
    if group.role.level is Level.KUBEPODS:
        return shares_of(rules.pods_limit.milli_cpu) if rules.pods_limit else None
    if group.role.qos is not QosClass.BURSTABLE:
        return _LEAST_SHARES
    requests = _requests(snapshot, rules.node, QosClass.BURSTABLE, "cpu")
    return None if requests is None else shares_of(requests.milli_value)


def _reserved(snapshot: NodeSnapshot, rules: ValueRules, qos: QosClass | None) -> Mapping[str, int]:
    """Return the memory that is protected for a class, or for all pods."""
    settings = rules.settings
    burstable = _requests(snapshot, rules.node, QosClass.BURSTABLE, "memory")
    guaranteed = _requests(snapshot, rules.node, QosClass.GUARANTEED, "memory")
    if burstable is None or guaranteed is None or qos is QosClass.BEST_EFFORT:
        return {}
    if qos is QosClass.BURSTABLE:
        return class_reservation(burstable.value, qos, settings)
    return class_reservation(burstable.value + guaranteed.value, QosClass.GUARANTEED, settings)


def _requests(snapshot: NodeSnapshot, rules: NodeRules, qos: QosClass, resource: str) -> Quantity | None:
    """Add up the requests of a class's running pods; None if pods are unknown.

    Also None if claims count: it is unknown whether a kubelet adds them to the sum of a class.
    """
    if not snapshot.pods_known:
        return None
    running = (pod for uid, pod in snapshot.pods.items() if uid in snapshot.uids and not pod.terminal)
    pods = [pod for pod in map(rules.view, running) if pod_qos(pod).qos_class is qos]
    if any(claim for pod in pods for claim in pod.counted_claims):
        return None
    return sum((pod_requests(pod).get(resource, _ZERO) for pod in pods), _ZERO)

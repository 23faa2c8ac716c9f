"""Machine, devices and pods from the words of a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cpuctl.errors import InputError, UsageError
from cpuctl.inputs.configuration import LIVE_MACHINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cpuctl.engine.pod_server import PodServer
    from cpuctl.inputs.sources import Sources
    from cpuctl.machine.cadvisor.machine_info import MachineInfo
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.sources import MachineSource
    from cpuctl.pods.governing.limit_range import LimitRange
    from cpuctl.pods.governing.resource_quota import ResourceQuota
    from cpuctl.pods.model import Pod
    from cpuctl.pods.reading.manifests import Manifests
    from cpuctl.pods.rules import PodRules, ServerRules


def refuse_stdin_twice(*names: str | None) -> None:
    """Raise UsageError where more than one input is ``-``: only the first would get anything."""
    if names.count("-") > 1:
        message = "standard input (-) is named twice, but can be read only once"
        raise UsageError(message, hint="give the other input as a file")


def load_machine(spec: str, sources: Sources) -> MachineSource:
    """Read the machine from the source that ``-m`` names."""
    from cpuctl.machine.sources import read_machine

    sources.add("machine", spec, "live" if spec == LIVE_MACHINE else "given")
    return read_machine(spec)


def load_devices(name: str, sources: Sources, *, info: MachineInfo | None = None) -> DeviceInventory | None:
    """Read what device plugins have on the node; None where no file is named: that is not known then.

    Warn where the file leaves something open, or names NUMA nodes that the machine does not have.
    """
    if not name:
        return None

    from cpuctl.cpuset import CPUSet
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.machine.devices.reading import read_devices

    source = source_name(name)
    sources.add("devices", source, "given")
    read = read_devices(read_input(name), source)
    if not read.in_use_known:
        sources.warnings.append(
            f"{source} does not tell what pods hold (List): all its devices are taken for free"
        )
    known = CPUSet.of(node.id for node in info.nodes if node.id >= 0) if info else read.inventory.numa_nodes
    if unknown := read.inventory.numa_nodes - known:
        sources.warnings.append(
            f"{source} names NUMA nodes that the machine does not have: {unknown}; a kubelet aligns nothing "
            "with devices there"
        )
    return read.inventory


class GivenPods(NamedTuple):
    """Pods as they were written, and what governs their namespaces."""

    pods: tuple[Pod, ...]
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()

    def stored(self, rules: PodRules) -> tuple[Pod, ...]:
        """Return the pods as an API server hands them on."""
        from cpuctl.pods.stored import handed_pod

        # They come: what a status tells of containers is of others that ran elsewhere.
        return tuple(handed_pod(pod._replace(statuses=()), rules, self.limit_ranges) for pod in self.pods)

    def server(self, rules: ServerRules, running: Iterable[Pod], wanted: Iterable[Pod]) -> PodServer:
        """Return the API server that the pods come through; it has those that run, and those with a phase."""
        from cpuctl.engine.pod_server import PodServer

        server = PodServer(rules, self.limit_ranges, self.quotas)
        server.count(running)
        server.count(pod for pod in wanted if pod.phase)
        return server


def tell_passed_over(found: Manifests, sources: Sources) -> None:
    """Name the objects that make no pods, with their number, and those of which pods are guessed."""
    from collections import Counter

    from cpuctl.exports.wording import few
    from cpuctl.pods.reading.workloads import WORKLOADS

    kinds = Counter(item.kind for item in found.skipped)
    if kinds:
        passed_over = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        sources.add("passedOver", passed_over, "given")
    unreadable = (each for each in found.skipped if each.why)
    sources.warnings += (f"the pods of a {each.kind} are left out: {each.why}" for each in unreadable)
    owners = dict.fromkeys(pod.owner for pod in found.pods if pod.owner)
    guessed = [owner for owner in owners if owner.partition("/")[0] not in WORKLOADS]
    if guessed:
        sources.warnings.append(
            f"the pods of {few(guessed)} come from the pod templates that stand in them: their names and "
            "number are a guess"
        )


def load_pods(
    files: Sequence[str], templates: Sequence[str], sources: Sources, *, needed: bool = True
) -> GivenPods:
    """Read manifests and templates, in the order given.

    Raise UsageError where there are none although they are *needed*.
    """
    from cpuctl.documents.files import source_name
    from cpuctl.pods.identity import with_uids

    if needed and not files and not templates:
        raise UsageError(
            "no pods to plan", hint="name manifests with -f PODS, or describe pods with -T web=4/4"
        )
    pods: list[Pod] = []
    found = None
    if files:
        from cpuctl.pods.reading.manifest_files import read_manifests

        sources.add("pods", ", ".join(map(source_name, files)), "given")
        found = read_manifests(files)
        pods.extend(found.pods)
        tell_passed_over(found, sources)
    if templates:
        from cpuctl.pods.reading.template import pods_from_template

        pods.extend(pod for template in templates for pod in pods_from_template(template))
    try:
        named = tuple(with_uids(pods))
    except ValueError as error:
        raise InputError(str(error)) from None
    return GivenPods(named, found.limit_ranges, found.quotas) if found else GivenPods(named)

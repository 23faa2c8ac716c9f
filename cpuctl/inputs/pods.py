"""Pods as specified: new ones from manifests and templates, and running ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from cpuctl import option_names
from cpuctl.errors import CpuctlError, InputError, UsageError
from cpuctl.records import Record, replace

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpuctl.engine.pod_server import PodServer
    from cpuctl.inputs.sources import Sources
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.model import Machine
    from cpuctl.machine.sources import MachineSource
    from cpuctl.machine.support.crictl import RuntimeNames
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.model import Pod, RuntimeClass, StoredPod
    from cpuctl.pods.reading.events import RejectionEvent
    from cpuctl.pods.reading.manifests import DRAObject, Manifests
    from cpuctl.pods.resource_quotas import ResourceQuota
    from cpuctl.pods.rules import PodRules, ServerRules

T = TypeVar("T")

_MOST_LISTED = 50
_INSPECTED = "oc adm must-gather and oc adm inspect store them in namespaces/NAMESPACE/core/pods.yaml"


class GivenPods(Record):
    """Pods as written, and the policy objects that govern them."""

    pods: tuple[Pod, ...]
    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    dra: tuple[DRAObject, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()

    def on(self, machine: Machine) -> GivenPods:
        """Return the pods on a machine, whose architecture is the default for virtual machines."""
        if all(pod.virtual_machine is None for pod in self.pods):
            return self

        from cpuctl.pods.launcher_pod import GO_NAMES, on_architecture

        name = GO_NAMES.get(machine.architecture or "", "")
        return replace(self, pods=tuple(on_architecture(pod, name) for pod in self.pods))

    def merged(self, others: GivenPods) -> GivenPods:
        """Return the namespace objects of both, each once, without pods."""
        return GivenPods(
            pods=(),
            limit_ranges=_each_once(self.limit_ranges, others.limit_ranges),
            quotas=_each_once(self.quotas, others.quotas),
            dra=_each_once(self.dra, others.dra),
        )

    def stored(self, rules: PodRules) -> tuple[StoredPod, ...]:
        """Return the pods as an API server stores them."""
        from cpuctl.pods.stored import stored_pod

        # They are new here: containers in their status ran on another node.
        return tuple(stored_pod(pod._replace(statuses=()), rules, self.limit_ranges) for pod in self.pods)

    def server(
        self, rules: ServerRules, running: Iterable[StoredPod], incoming: Iterable[StoredPod]
    ) -> PodServer:
        """Return the API server that the pods go through; it has the running pods, and those with a phase."""
        from cpuctl.engine.pod_server import PodServer

        server = PodServer(rules, self.limit_ranges, self.quotas)
        server.count(running)
        server.count(pod for pod in incoming if pod.phase)
        return server


def _each_once(known: tuple[T, ...], others: tuple[T, ...]) -> tuple[T, ...]:
    """Add the missing objects: compare by identity, because both sides come from one reading."""
    if not known or not others:
        return known or others
    there = {id(each) for each in known}
    return (*known, *(each for each in others if id(each) not in there))


def _warn_of_ignored(found: Manifests, sources: Sources) -> None:
    """Report the number of objects that do not create pods, and those whose pods are guessed."""
    from collections import Counter

    from cpuctl.phrases import few
    from cpuctl.pods.reading.workloads import WORKLOADS

    kinds = Counter(item.kind for item in found.skipped)
    if kinds:
        passed_over = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        sources.add("skippedObjects", passed_over, "given")
    unreadable = (each for each in found.skipped if each.why)
    sources.warnings += (f"the pods of a {each.kind} are skipped: {each.why}" for each in unreadable)
    owners = dict.fromkeys(pod.owner for pod in found.pods if pod.owner)
    computed = {pod.owner for pod in found.pods if pod.virtual_machine}
    guessed = [each for each in owners if each.partition("/")[0] not in WORKLOADS and each not in computed]
    if guessed:
        sources.warnings.append(
            f"the pods of {few(guessed)} are created from pod templates: their names and number are a guess"
        )


def _warn_of_misspelt(found: Manifests, sources: Sources) -> None:
    """Report fields that are ignored although CPUs or memory seem to be meant."""
    from itertools import islice

    from cpuctl.documents.document import Origin
    from cpuctl.pods.reading.pods import misspelt_fields

    named = [origin for pod in found.pods if isinstance(origin := pod.origin, Origin)]
    objects = {id(each): each for each in named}.values()  # replicas have one
    misspelt = (text for each in objects for text in misspelt_fields(each))
    sources.warn(*islice(misspelt, _MOST_LISTED))


def _note_computed(found: Manifests, sources: Sources) -> None:
    """Report by which rules the pods of virtual machines were derived, and their caveats."""
    if found.computed:
        sources.add("virtualMachines", found.computed, "default")
    sources.warnings += found.notes


def _warn_of_overhead(found: Manifests, sources: Sources) -> None:
    """Report RuntimeClasses that are not given: only these have the overhead of the pods that name them."""
    if all(pod.runtime_class is None for pod in found.pods):
        return

    from cpuctl.pods.runtime_classes import uncounted_overhead, unknown_classes

    if names := unknown_classes(found.pods):
        sources.warnings.append(uncounted_overhead(names))


def load_pods(
    files: Sequence[str],
    templates: Sequence[str],
    sources: Sources,
    *,
    needed: bool = True,
    purpose: str = "to plan",
    hint: str = "specify manifests with -f PODS, or pods with -T web=4/4,1Gi",
) -> GivenPods:
    """Read manifests, then templates, without any default; pods without a UID get one.

    Objects that do not create pods are named in *sources*. Raise UsageError without pods if they are *needed*
    for the *purpose*, with a *hint*, InputError for two pods of one UID.
    """
    if needed and not files and not templates:
        raise UsageError(f"no pods {purpose}", hint=hint)
    pods: list[Pod] = []
    found = None
    if files:
        from cpuctl.documents.files import source_name
        from cpuctl.pods.reading.manifest_files import read_manifests

        sources.add("pods", ", ".join(map(source_name, files)), "given")
        found = read_manifests(files)
        pods.extend(found.pods)
        _warn_of_ignored(found, sources)
        _warn_of_misspelt(found, sources)
        _note_computed(found, sources)
        _warn_of_overhead(found, sources)
    if templates:
        from cpuctl.pods.reading.template import pods_from_template

        pods.extend(pod for template in templates for pod in pods_from_template(template))
    named = identified(pods)
    if found is None:
        return GivenPods(named)
    return GivenPods(named, found.limit_ranges, found.quotas, found.dra, found.runtime_classes)


def identified(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Give UIDs to pods that have none; raise InputError for two pods of one UID."""
    from cpuctl.pods.identity import with_uids

    try:
        return tuple(with_uids(pods))
    except ValueError as error:
        raise InputError(str(error)) from None


def load_running(name: str, rules: PodRules, sources: Sources) -> tuple[StoredPod, ...]:
    """Read the pods that run on the node (kubectl's JSON); ended pods are left out.

    Raise UsageError for pods of several nodes: it is unknown which of them is meant.
    """
    return running_pods(load_listed(name, sources), rules, name)


def load_listed(name: str, sources: Sources) -> tuple[Pod, ...]:
    """Read the pods of the node (kubectl's JSON), ended ones included; none without a file."""
    if not name:
        return ()

    sources.add("runningPods", name, "given")
    return listed_pods(name)


def running_pods(listed: Iterable[Pod], rules: PodRules, name: str) -> tuple[StoredPod, ...]:
    """Return the running pods of those listed in the file *name*; raise as ``load_running`` does."""
    from cpuctl.documents.files import source_name
    from cpuctl.pods.stored import stored_pod

    # The pod of a virtual machine is only computed: it was not observed running.
    pods = [pod for pod in listed if not pod.terminal and pod.virtual_machine is None]
    nodes = {pod.node_name for pod in pods if pod.node_name}
    if len(nodes) > 1:
        raise UsageError(
            f"expected the pods of one node, found those of {', '.join(sorted(nodes)[:3])}",
            where=f"{option_names.PODS} {source_name(name)}",
            hint=f"list one node's pods with {option_names.PODS_OF_NODE}",
        )
    # Among pods that have a node, one without waits for the scheduler.
    return tuple(stored_pod(pod, rules) for pod in pods if pod.node_name or not nodes)


def doubts_about_pods(listed: Mapping[str, Pod], name: str, uids: Collection[str]) -> Iterator[str]:
    """Warn if pods in the file *name*, by UID, cannot be those of the node, which has pods with *uids*."""
    from cpuctl.phrases import few
    from cpuctl.pods.identity import is_made_up

    if uids and listed.keys().isdisjoint(uids):
        doubt = f"no pod on this node is among those in {name}: are these all pods of this node?"
        yield f"{doubt} ({option_names.PODS_OF_NODE})"
    elif nameless := [pod.full_name for uid, pod in listed.items() if is_made_up(uid, pod.full_name)]:
        has, it = ("has", "it is") if len(nameless) == 1 else ("have", "they are")
        yield (
            f"{few(nameless)} in {name} {has} no UID, so {it} not among the pods of this node"
            f" (list these with {option_names.PODS_OF_NODE})"
        )


def listed_pods(name: str) -> tuple[Pod, ...]:
    """Read the API server's pods from a file, or those of a node in a must-gather: ``PATH#NODE``."""
    from cpuctl.pods.reading.manifest_files import read_manifests

    if "#" in name:
        from pathlib import Path

        from cpuctl.machine.sources import with_node

        path, node = with_node(name)
        if node:
            return _gathered_pods(Path(path), node)
    try:
        return read_manifests([name], empty=True).pods
    except InputError:
        _refuse_must_gather(name)
        raise


def rejected_names(name: str) -> list[str]:
    """Return the pods of a file that the kubelet rejected, according to their status."""
    from cpuctl.pods.manifest import status_reason
    from cpuctl.pods.reading.events import rejects

    return [pod.full_name for pod in listed_pods(name) if pod.terminal and rejects(status_reason(pod))]


def _refuse_must_gather(name: str) -> None:
    """Raise InputError for a packed must-gather without ``#NODE``."""
    from contextlib import suppress
    from pathlib import Path
    from shlex import quote

    from cpuctl.machine.support.must_gather import PackedFiles, gathered_nodes
    from cpuctl.phrases import few

    path = Path(name)
    nodes: tuple[str, ...] = ()
    with suppress(CpuctlError):
        nodes = gathered_nodes(PackedFiles(name, lambda: path.open("rb"))) if path.is_file() else ()
    if nodes:
        one, *others = nodes
        hint = f"name the node: {option_names.PODS} {quote(name)}#{'NODE' if others else one}"
        raise InputError(
            "is a must-gather, which has the pods of all nodes",
            where=name,
            hint=f"{hint} (it has {few(nodes)})" if others else hint,
        )


def _gathered_pods(path: Path, node: str) -> tuple[Pod, ...]:
    """Return the pods that were bound to a node, each once: several images may inspect the same node."""
    from cpuctl.machine.support.must_gather import pod_files
    from cpuctl.pods.reading.manifests import Allowance, decode_manifests

    allowance = Allowance()
    pods = [pod for where, data in pod_files(path) for pod in decode_manifests(data, where, allowance).pods]
    found = {(pod.uid, pod.full_name): pod for pod in reversed(pods) if pod.node_name == node}
    if not found:
        known = sorted({pod.node_name for pod in pods if pod.node_name})
        hint = f"it has pods of {', '.join(known[:_MOST_LISTED])}" if known else _INSPECTED
        raise InputError(f"contains no pods of node {node}", where=str(path), hint=hint)
    return tuple(reversed(found.values()))


def load_pod_names(machine: MachineSource | None, sources: Sources) -> RuntimeNames | None:
    """Read the pod names from the container runtime in a node's sosreport; None if not recorded.

    These are names from the time of the report: they do not show which pods run.
    """
    if machine is None or machine.gathered is None or machine.files is None:
        return None

    from cpuctl.machine.support.crictl import runtime_names

    names = runtime_names(machine.files)
    sources.warnings += (f"{machine.origin}: {problem}" for problem in names.problems)
    if not names.pods:
        return None
    sources.add(
        "podNames",
        f"crictl in {machine.origin}, at collection time: names only, not what is running now",
        "capture",
    )
    return names


def load_rejections(name: str, sources: Sources) -> tuple[RejectionEvent, ...]:
    """Read which pods a kubelet rejected from a file of events, the last first; none without a file.

    Raise UsageError for events without rejections.
    """
    if not name:
        return ()

    from cpuctl.documents.files import read_input, source_name
    from cpuctl.pods.reading.events import decode_events

    sources.add("events", source_name(name), "given")
    found = decode_events(read_input(name), source_name(name))
    if not found:
        raise UsageError(
            "contains no pod that the kubelet rejected for lack of resources",
            where=f"{option_names.EVENTS} {source_name(name)}",
            hint="name the pod to explain: cpuctl explain POD -f PODS",
        )
    return found


def as_granted(pods: Iterable[StoredPod]) -> tuple[StoredPod, ...]:
    """Give pods the resources that their status reports as allocated."""
    from cpuctl.engine.resize.running import running_pod

    return tuple(running_pod(pod).allocated for pod in pods)


def read_rounds(text: str, most: int = 10**9 - 1) -> int | Literal["max"] | None:
    """Read how many times pods are planned; ``max``: as often as they fit, None if not specified.

    Raise UsageError for anything but ``max`` or a number up to *most*.
    """
    if text in ("", "max"):
        return "max" if text else None
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
        raise UsageError(f"expected 1 to {most}, or max, found {text!r}", where=option_names.REPEAT)
    return int(text)


def rules_of_pods(kubelet: Kubelet) -> PodRules:
    """Return how the kubelet, and an API server of its release and gates, read pods."""
    from cpuctl.engine.pod_rules import node_rules, server_rules
    from cpuctl.pods.rules import PodRules

    return PodRules(server=server_rules(kubelet.gates), node=node_rules(kubelet.gates))


def load_usage(name: str, sources: Sources) -> dict[str, int] | None:
    """Read the memory that pods use, in bytes by full name; None if not given."""
    from cpuctl.documents.files import read_input, source_name
    from cpuctl.pods.reading.usage import decode_usage

    if not name:
        return None
    sources.add("usage", source_name(name), "given")
    return decode_usage(read_input(name), source_name(name))


_WHERE = "POD"
_SHOWN = 5


class PodChoice(Record):
    """A pod by its position among the new or (``running``) the running pods, and optionally a container."""

    place: int
    container: str = ""
    running: bool = False


def choose_pod(text: str, incoming: Sequence[StoredPod], running: Sequence[StoredPod]) -> PodChoice:
    """Find the pod named by ``NAME``, ``NAMESPACE/NAME``, ``NAMESPACE/NAME/CONTAINER`` or a UID.

    New pods are searched first. Raise UsageError if there is not exactly one such pod.
    """
    _, container = _split(text)
    for pods, are_running in ((incoming, False), (running, True)):
        places = matching(text, pods)
        if len(places) > 1:
            raise _ambiguous(text, [pods[place] for place in places])
        if places:
            _check_container(pods[places[0]], container)
            return PodChoice(places[0], container, are_running)
    raise _unknown(text, (*incoming, *running))


def matching(text: str, pods: Iterable[Pod]) -> list[int]:
    """Return the positions of the pods that *text* names, as for ``choose_pod``."""
    name, _ = _split(text)
    return [place for place, pod in enumerate(pods) if name in (pod.uid, pod.name, pod.full_name)]


def _split(text: str) -> tuple[str, str]:
    parts = text.split("/")
    if len(parts) > 3 or not all(parts):
        hint = "write NAME, NAMESPACE/NAME or NAMESPACE/NAME/CONTAINER"
        raise UsageError(f"expected a pod name, found {text!r}", where=_WHERE, hint=hint)
    return "/".join(parts[:2]), parts[2] if len(parts) == 3 else ""


def _check_container(pod: StoredPod, name: str) -> None:
    names = [container.name for container in pod.all_containers]
    if name and name not in names:
        message = f"pod {pod.full_name} has no container {name!r}"
        raise UsageError(message, where=_WHERE, hint=f"its containers: {few_names(names)}")


def _ambiguous(text: str, pods: Sequence[StoredPod]) -> UsageError:
    message = f"{text!r} matches {len(pods)} pods: {few_names(_distinct_names(pods))}"
    hint = "use the UID" if len({pod.full_name for pod in pods}) == 1 else "add the namespace, or use the UID"
    return UsageError(message, where=_WHERE, hint=hint)


def _distinct_names(pods: Sequence[StoredPod]) -> Iterator[str]:
    """Name pods; add the UIDs of those that share a full name."""
    names = [pod.full_name for pod in pods]
    return (
        f"{pod.full_name} (UID {pod.uid})" if names.count(pod.full_name) > 1 else pod.full_name
        for pod in pods
    )


def _unknown(text: str, pods: Sequence[StoredPod]) -> UsageError:
    from cpuctl.spelling import did_you_mean

    names = list(dict.fromkeys(pod.full_name for pod in pods))
    otherwise = f"known pods: {few_names(names)}" if names else ""
    replicas = [each for each in names if each.startswith(f"{text}-") or f"/{text}-" in each]
    if replicas:
        hint = f"did you mean {'one of ' if replicas[1:] else ''}{few_names(replicas)}?"
    else:
        hint = did_you_mean(text, (*names, *(pod.name for pod in pods)), otherwise)
    return UsageError(f'there is no pod "{text}"', where=_WHERE, hint=hint)


def few_names(names: Iterable[str]) -> str:
    """List the first few names, and count the others."""
    names = list(names)
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"

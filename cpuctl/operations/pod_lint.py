"""What ``cpuctl pods lint`` finds in manifests by the rules of the API server, a kubelet and a node.

LimitRanges, ResourceQuotas and RuntimeClasses among the manifests apply to the pods next to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.diagnostics import Component, Severity
from cpuctl.documents.document import Document, Syntax
from cpuctl.documents.positions import Position
from cpuctl.engine.pod_lints import PodLintSubject, lint_pod
from cpuctl.engine.pod_server import PodServer
from cpuctl.errors import InputError
from cpuctl.inputs.configuration import ServerInputs
from cpuctl.inputs.kubelet import kubelet_gates, load_cgroup_version, load_kubelet, server_gates
from cpuctl.inputs.machine import load_machine
from cpuctl.inputs.sources import Sources
from cpuctl.pods.reading.manifests import decode_governing, is_governing, refuse_kubectl_table
from cpuctl.pods.reading.workloads import KUBEVIRT_MACHINES, decides_on_machines
from cpuctl.pods.rules import PodRules
from cpuctl.pods.runtime_classes import uncounted_overhead, unknown_classes, with_runtime_classes
from cpuctl.pods.stored import stored_pod
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.lint import MOST_FINDINGS, Linted, lint_document
from cpuctl.pods.validation.objects import (
    ManifestObject,
    Unreadable,
    documents_of,
    objects_of,
    rejects_pods_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpuctl.capture.collected import Progress
    from cpuctl.engine.pod_lints import KubeletView, TrialNode
    from cpuctl.inputs.configuration import KubeletInputs
    from cpuctl.kubelet.kubelet import Kubelet
    from cpuctl.machine.devices.inventory import DeviceInventory
    from cpuctl.machine.sources import MachineSource
    from cpuctl.operations.machine_lint import MachineSetting
    from cpuctl.pods.limit_ranges import LimitRange
    from cpuctl.pods.model import Pod, RuntimeClass, StoredPod
    from cpuctl.pods.reading.kubevirt import KubeVirtContext
    from cpuctl.pods.reading.manifest_files import ManifestFile
    from cpuctl.pods.reading.namespace_objects import NamespaceObject
    from cpuctl.pods.resource_quotas import ResourceQuota
    from cpuctl.pods.validation.lint import LintRules


_RESIZE = "InPlacePodLevelResourcesVerticalScaling"


class LintInputs(NamedTuple):
    """The inputs that determine the rules for manifests."""

    kubelet: KubeletInputs
    machine: str = ""
    server: ServerInputs = ServerInputs()
    cgroup_version: str = ""
    static: bool = False


class LintSetting(NamedTuple):
    """The rules and the node: ``trial`` is an empty node, None if no ``machine`` is named."""

    rules: LintRules
    kubelet: KubeletView
    trial: TrialNode | None
    versions: Mapping[str, str]
    configured: Kubelet
    machine: MachineSource | None = None


def load_setting(inputs: LintInputs, sources: Sources) -> LintSetting:
    """Read node, kubelet and API server."""
    import json

    from cpuctl.engine.pod_lints import KubeletView
    from cpuctl.engine.pod_rules import node_rules, server_rules
    from cpuctl.pods.rules import PodRules
    from cpuctl.pods.validation.lint import LintRules
    from cpuctl.pods.validation.shape import PodSchema
    from cpuctl.schemas import schema_text

    machine = load_machine(inputs.machine, sources) if inputs.machine else None
    known_kubelet = machine is not None or _names_configuration(inputs.kubelet)
    kubelet = load_kubelet(inputs.kubelet, sources, machine=machine).kubelet
    if not known_kubelet:
        # Only its release and gates use defaults: its policies are unknown.
        sources.entries.pop("kubeletConfiguration", None)
    gates = kubelet_gates(kubelet, sources)
    server = server_gates(inputs.server, gates, sources)
    sources.add_unrecorded(server.minor, ("pod validation",))
    rules = LintRules(
        pods=PodRules(server=server_rules(server), node=node_rules(gates)),
        shapes=PodSchema(json.loads(schema_text("podresources"))),
        static=inputs.static,
        cgroup_version=load_cgroup_version(inputs.cgroup_version, machine, sources),
        resizable=server.enabled(_RESIZE),
    )
    trial = None if machine is None else _trial(machine, kubelet, sources, inputs=inputs)
    view = KubeletView.of(kubelet) if known_kubelet else KubeletView(rules=rules.pods.node)
    return LintSetting(
        rules=rules,
        kubelet=view if trial is None else view._replace(unit=trial.unit),
        trial=trial,
        versions={"kubelet": f"1.{gates.minor}", "apiserver": f"1.{server.minor}"},
        configured=kubelet,
        machine=machine,
    )


def _names_configuration(inputs: KubeletInputs) -> bool:
    """Whether anything names a configuration."""
    return inputs.config is not None or inputs.arguments is not None or bool(inputs.config_dir)


def _trial(
    machine: MachineSource,
    kubelet: Kubelet,
    sources: Sources,
    devices: DeviceInventory | None = None,
    inputs: LintInputs | None = None,
) -> TrialNode | None:
    """Start an empty node; return None if its kubelet does not start, and nothing can be tried on it."""
    from cpuctl.engine.node import Node
    from cpuctl.engine.outcome import KubeletFault, StartRefused
    from cpuctl.engine.pod_lints import TrialNode
    from cpuctl.engine.start import start_node
    from cpuctl.operations.command_lines import kubelet_command

    node = start_node(machine.info, kubelet, fit=True, devices=devices)
    if isinstance(node, Node):
        return TrialNode(node)
    why = node.error if isinstance(node, StartRefused) else node.why
    fails = isinstance(node, StartRefused | KubeletFault)
    what = "its kubelet would not start" if fails else "this is unknown"
    following = ""
    if fails and inputs is not None:
        check = kubelet_command(("config", "check"), inputs.machine, inputs.kubelet)
        following = f" (see: {check})"
    sources.warnings.append(f"whether the node admits these pods is not checked: {what}: {why}{following}")
    return None


class GoverningObjects(NamedTuple):
    """All objects among the documents that govern the creation of pods."""

    limit_ranges: tuple[LimitRange, ...] = ()
    quotas: tuple[ResourceQuota, ...] = ()
    runtime_classes: tuple[RuntimeClass, ...] = ()


def governing_objects(documents: Iterable[Document]) -> GoverningObjects:
    """Collect the objects that govern pods; unreadable ones are reported at their place."""
    from cpuctl.pods.model import RuntimeClass
    from cpuctl.pods.reading.namespace_objects import by_kind

    found: list[NamespaceObject] = []
    classes: list[RuntimeClass] = []
    for document, item in _governing(documents):
        try:
            read = _decode(document, item)
        except InputError:
            continue
        if isinstance(read, RuntimeClass):
            classes.append(read)
        else:
            found.append(read)
    return GoverningObjects(*by_kind(found), tuple(classes))


def _decode(document: Document, item: ManifestObject) -> NamespaceObject | RuntimeClass:
    return decode_governing(item.cursor(document), item.kind)


def governing_findings(document: Document, item: ManifestObject) -> Iterator[Finding]:
    """Report why an object that should govern pods is invalid."""
    from cpuctl.pods.limit_ranges import LimitRange

    if not is_governing(item.kind, item.group):
        return
    try:
        read = _decode(document, item)
    except InputError as error:
        yield item.place.rejected(f"bad-{_code(item.kind)}", str(error), fix=error.hint)
        return
    for problem in read.problems if isinstance(read, LimitRange) else ():
        yield FieldPath(item.place.path, "").rejected(f"bad-{_code(item.kind)}", problem)


def running_pods(documents: Iterable[Document], rules: PodRules) -> Iterator[StoredPod]:
    """Yield the pods that are already in the cluster: quotas have counted them."""
    for document in documents:
        for item in objects_of(document):
            if isinstance(item, ManifestObject):
                yield from (stored_pod(pod, rules) for pod in _pods(document, item) if pod.phase)


def governed_findings(
    document: Document, linted: Linted, rules: LintRules, server: PodServer
) -> Iterator[Finding]:
    """Create the pods of an object, and report which of them admission plugins reject."""
    draft, item = linted.draft, linted.item
    if draft is None or item is None or draft.pod.static:
        return
    field_path = FieldPath(draft.spec.path, "")
    new = with_runtime_classes(tuple(_pods(document, item)), rules.runtime_classes)
    pods = [stored_pod(pod, rules.pods, server.limit_ranges) for pod in new]
    created = [server.create(pod) for pod in pods]
    if draft.exists:
        return
    for code, texts in (
        ("runtime-class", [each.beyond_class for each in created]),
        ("limit-range", [each.beyond_limits for each in created]),
        ("resource-quota", [each.beyond_quotas for each in created]),
    ):
        refused = [each for each in texts if each]
        note = "" if item.kind == "Pod" else _pods_rejected(item, len(refused), len(pods))
        yield from (field_path.rejected(code, text, note=note) for text in (refused[0] if refused else ()))


def _pods_rejected(item: ManifestObject, refused: int, number: int) -> str:
    which = "its pods" if refused == number else f"{refused} of its {number} pods"
    if item.template is not None:
        return rejects_pods_of(item.kind, which)
    return f"the API server accepts the {item.kind}, but rejects {which}"


def _pods(document: Document, item: ManifestObject) -> Iterable[Pod]:
    """Read the pods of an object as a plan does; an unreadable object has none."""
    from cpuctl.pods.reading.custom_resources import pods_of_template
    from cpuctl.pods.reading.pods import decode_pod
    from cpuctl.pods.reading.workloads import decode_workload

    cursor = item.cursor(document)
    try:
        if item.template is not None:
            return pods_of_template(cursor, item.template, item.kind, item.group)
        if not item.spec_steps:
            return ()
        return (decode_pod(cursor),) if item.kind == "Pod" else decode_workload(cursor, item.kind)
    except InputError:
        return ()


def _governing(documents: Iterable[Document]) -> Iterator[tuple[Document, ManifestObject]]:
    for document in documents:
        for item in objects_of(document):
            if isinstance(item, ManifestObject) and is_governing(item.kind, item.group):
                yield document, item


_CODES = {"LimitRange": "limit-range", "ResourceQuota": "resource-quota", "RuntimeClass": "runtime-class"}


def _code(kind: str) -> str:
    return _CODES[kind]


class PlacedFinding(NamedTuple):
    """A finding and its position; ``about`` is the object that it is about."""

    source: str
    place: Position
    about: Linted
    finding: Finding


@dataclass(slots=True)
class LintRun:
    """What has been checked so far: ``objects`` counts pods and workloads, ``others`` everything else.

    Of ``custom_resources`` only the pod templates were checked.
    """

    setting: LintSetting
    server: PodServer | None = None
    notes: list[PlacedFinding] = field(default_factory=list)
    files: int = 0
    objects: int = 0
    others: int = 0
    custom_resources: dict[str, None] = field(default_factory=dict)
    pod_names: set[tuple[str, str]] = field(default_factory=set)
    machines: tuple[KubeVirtContext, MachineSetting] | None = None
    unknown_classes: dict[str, None] = field(default_factory=dict)

    def govern(self, parts: Iterable[Document | Unreadable]) -> None:
        """Apply the objects that govern pods, of all documents, except to static pods."""
        documents = [part for part in parts if isinstance(part, Document)]
        found = governing_objects(documents)
        if self.setting.rules.static or not any(found):
            return
        rules = replace(
            self.setting.rules, limit_ranges=found.limit_ranges, runtime_classes=found.runtime_classes
        )
        self.setting = self.setting._replace(rules=rules)
        self.server = PodServer(rules.server, found.limit_ranges, found.quotas)
        if found.quotas:
            self.server.count(running_pods(documents, rules.pods))

    def collect_kubevirt(self, parts: Iterable[Document | Unreadable], sources: Sources) -> None:
        """Collect the objects that affect virtual machines; raise InputError for unreadable ones."""
        documents = [part for part in parts if isinstance(part, Document)]
        if self.setting.rules.static or not any(map(_names_kubevirt, documents)):
            return

        from cpuctl.operations.machine_lint import MachineSetting, kubevirt_context
        from cpuctl.pods.launcher_pod import GO_NAMES

        around = kubevirt_context(documents, governing_objects(documents).quotas)
        if around is None:
            return
        sources.add("virtualMachines", around.computed, "default")
        sources.warnings += around.notes
        machine, rules = self.setting.machine, self.setting.rules
        setting = MachineSetting(
            rules=rules.pods,
            kubelet=self.setting.kubelet,
            trial=None if machine is None else _machine_trial(machine, self.setting.configured),
            architecture=GO_NAMES.get(machine.machine.architecture or "", "") if machine else "",
            limit_ranges=rules.limit_ranges,
            server=self.server,
        )
        self.machines = around, setting

    def inspect(self, source: str, parts: Iterable[Document | Unreadable]) -> None:
        """Check the documents of one file; findings are added in the order of its lines.

        Raise InputError for more than MOST_FINDINGS findings in all.
        """
        self.files += 1
        notes: list[PlacedFinding] = []
        for document in parts:
            if isinstance(document, Unreadable):
                notes.append(_unreadable(document, source))
            else:
                notes.extend(self._document(document))
            if len(self.notes) + len(notes) > MOST_FINDINGS:
                hint = "check fewer manifests at a time"
                raise InputError(f"more than {MOST_FINDINGS:,} findings", where=source, hint=hint)
        self.notes.extend(sorted(notes, key=lambda note: note.place))

    def _document(self, document: Document) -> Iterator[PlacedFinding]:
        yield from _repeats(document)
        for linted in lint_document(document, self.setting.rules):
            self._count(linted)
            if linted.pod is not None and linted.draft is not None and not linted.draft.exists:
                self.unknown_classes |= dict.fromkeys(unknown_classes([linted.pod]))
            governed = [*self._again(linted), *self._governed(document, linted)]
            on_node = () if governed and linted.kind == "Pod" else self._on_node(linted)
            machines = self._machines(document, linted)
            for finding in (*linted.findings, *governed, *on_node, *machines):
                yield PlacedFinding(
                    document.source, document.nearest_position(finding.place.path), linted, finding
                )

    def _again(self, linted: Linted) -> Iterator[Finding]:
        """Report a second pod with the same name, which the API server does not create."""
        item = linted.item
        if item is None or item.kind != "Pod" or item.group or self.setting.rules.static:
            return
        name = item.own_name
        key = (item.namespace or "default", name)
        if name and key in self.pod_names:
            place = FieldPath((*item.place.path, "metadata", "name"), "")
            yield place.rejected("name-exists", f'pods "{name}" already exists')
        if not any(each.severity is Severity.ERROR for each in linted.findings):
            self.pod_names.add(key)

    def _count(self, linted: Linted) -> None:
        item = linted.item
        if item is not None and item.template is not None and linted.looked_at:
            self.custom_resources[f"{item.kind}.{item.group}/{item.name}"] = None
        machine = self.machines is not None and _is_machine(item)
        # An object of another kind is rejected as a static pod.
        checked = linted.looked_at or bool(linted.findings)
        self.objects += machine or (checked and not linted.again)
        governing = item is not None and is_governing(item.kind, item.group)
        self.others += bool(linted.kind) and not checked and not governing and not machine

    def _governed(self, document: Document, linted: Linted) -> Iterator[Finding]:
        if linted.item is not None and not self.setting.rules.static:
            yield from governing_findings(document, linted.item)
        if self.server is not None:
            yield from governed_findings(document, linted, self.setting.rules, self.server)

    def _machines(self, document: Document, linted: Linted) -> Iterator[Finding]:
        if self.machines is None or linted.item is None or not _is_machine(linted.item):
            return

        from cpuctl.operations.machine_lint import machine_findings

        yield from machine_findings(document, linted.item, *self.machines)

    def _on_node(self, linted: Linted) -> Iterator[Finding]:
        if linted.pod is not None and linted.draft is not None:
            subject = PodLintSubject(linted.pod, linted.draft.spec, self.setting.kubelet)
            yield from lint_pod(subject, self.setting.trial)


def _names_kubevirt(document: Document) -> bool:
    return any(isinstance(item, ManifestObject) and _is_machine(item) for item in objects_of(document))


def _is_machine(item: ManifestObject | None) -> bool:
    """Return whether an object creates launcher pods of KubeVirt."""
    if item is None or item.kind not in KUBEVIRT_MACHINES:
        return False
    return decides_on_machines(item.kind, item.group)


def _machine_trial(machine: MachineSource, kubelet: Kubelet) -> TrialNode | None:
    """Start an empty node with the devices that virt-handler offers; its warnings have been given before."""
    from cpuctl.machine.devices.inventory import with_unplaced
    from cpuctl.pods.launcher_pod import MOST_DEVICES, PERMANENT_DEVICES

    devices = with_unplaced(None, sorted(PERMANENT_DEVICES), MOST_DEVICES)
    return _trial(machine, kubelet, Sources(), devices)


def lint_manifests(names: Sequence[str], inputs: LintInputs, sources: Sources, progress: Progress) -> LintRun:
    """Check all named manifests; raise InputError if there is nothing to check."""
    from cpuctl.documents.files import source_name
    from cpuctl.phrases import few
    from cpuctl.pods.reading.manifest_files import find_manifest_files

    where = ", ".join(map(source_name, names))
    sources.add("pods", where, "given")
    files = find_manifest_files(names)
    run = LintRun(load_setting(inputs, sources))
    read = [(file.source, parts_of(file)) for file in files]
    run.govern(part for _, parts in read for part in parts)
    run.collect_kubevirt((part for _, parts in read for part in parts), sources)
    for number, (source, parts) in enumerate(read):
        progress("checking manifests", number, len(files))
        run.inspect(source, parts)
    if not run.objects and not run.notes:
        hint = "found only objects that do not create pods" if run.others else ""
        raise InputError("no pods: expected a Pod, a list of pods or a workload", where=where, hint=hint)
    if run.unknown_classes:
        sources.warnings.append(uncounted_overhead(list(run.unknown_classes)))
    if run.custom_resources:
        which = few(list(run.custom_resources))
        sources.warnings.append(
            f"only the pod templates of {which} are checked, not their own schemas and webhooks"
        )
    return run


def parts_of(file: ManifestFile) -> list[Document | Unreadable]:
    """Read the documents of a file; raise InputError for kubectl's output for humans."""
    content = file.read()
    refuse_kubectl_table(content, file.source)
    return list(documents_of(content, file.source))


def _repeats(document: Document) -> Iterator[PlacedFinding]:
    """Report duplicate keys: ``kubectl`` rejects a YAML text with them."""
    for repeat in document.repeats:
        key = str(repeat.path[-1])
        by = Component.KUBECTL if document.syntax is Syntax.YAML else Component.API_SERVER
        finding = FieldPath(repeat.path, "").rejected(
            "repeated-key", f'key "{key}" already set in map', by=by
        )
        yield PlacedFinding(document.source, repeat.position, Linted(), finding)


def _unreadable(found: Unreadable, source: str) -> PlacedFinding:
    finding = FieldPath((), "").rejected("syntax", found.message, by=Component.KUBECTL, fix=found.hint)
    return PlacedFinding(source, found.place, Linted(), finding)

"""Conversion of a Pod object, or of a workload's pod template, to a ``Pod``.

Only what planning needs is checked: containers with unique names, and quantities that parse. Validation
checks everything else that the API server would refuse.
References to resources of containers are read as the downward API resolves them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.document import Origin
from cpuctl.pods.model import (
    Container,
    ContainerKind,
    Pod,
    PodClaim,
    QosClass,
    ResourceFieldRef,
    ResourceRequirements,
    RuntimeClass,
)
from cpuctl.quantity import Quantity
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.pods.node_selection import NodeSelection

_NOTHING = Quantity()


def read_field_refs(spec: Cursor) -> tuple[ResourceFieldRef, ...]:
    """Return those of variables, init containers' first, then those of volumes.

    Raise InputError with file, line and path for a value that an API server could not decode.
    """
    return (*_variables(spec, "initContainers"), *_variables(spec, "containers"), *_files(spec))


def _variables(spec: Cursor, group: str) -> Iterator[ResourceFieldRef]:
    for container in _list(spec, group):
        for variable in _list(container, "env"):
            source = variable.get("valueFrom")
            ref = None if source is None else source.get("resourceFieldRef")
            if ref is not None:
                yield replace(
                    _ref(ref),
                    name=variable.optional("name", Cursor.text, ""),
                    reader=container.required("name").text(),
                )


def _files(spec: Cursor) -> Iterator[ResourceFieldRef]:
    for volume in _list(spec, "volumes"):
        own, projected = volume.get("downwardAPI"), volume.get("projected")
        if own is not None:
            yield from _items(volume, own, projected=False)
        for source in _list(projected, "sources") if projected is not None else ():
            part = source.get("downwardAPI")
            if part is not None:
                yield from _items(volume, part, projected=True)


def _items(volume: Cursor, source: Cursor, *, projected: bool) -> Iterator[ResourceFieldRef]:
    for item in _list(source, "items"):
        ref = item.get("resourceFieldRef")
        if ref is not None:
            yield replace(
                _ref(ref),
                name=item.optional("path", Cursor.text, ""),
                volume=volume.optional("name", Cursor.text, ""),
                projected=projected,
            )


def _ref(ref: Cursor) -> ResourceFieldRef:
    return ResourceFieldRef(
        resource=ref.optional("resource", Cursor.text, ""),
        container=ref.optional("containerName", Cursor.text, ""),
        divisor=ref.optional("divisor", Cursor.quantity, _NOTHING),
        name="",
    )


def _list(parent: Cursor, key: str) -> list[Cursor]:
    below = parent.get(key)
    return [] if below is None else below.items()


_NO_REQUIREMENTS = ResourceRequirements()
_AMOUNTS = frozenset({"requests", "limits", "claims"})
_INDENTED = frozenset({"requests", "limits"})
_CONFIG_SOURCE = "kubernetes.io/config.source"
_MIRROR = "kubernetes.io/config.mirror"
_RESTART = "RestartContainer"
LONGEST_NAME = 253  # a DNS name (RFC 1123), the longest that Kubernetes accepts for any object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def decode_pod(pod: Cursor) -> Pod:
    """Read a Pod object; raise InputError with the location of a missing or invalid value."""
    metadata = pod.required("metadata")
    status = pod.get("status")
    decoded = decode_spec(pod.required("spec"))._replace(
        name=decode_name(metadata),
        namespace=decode_namespace(metadata),
        uid=_uid(metadata),
        generation=metadata.optional("generation", Cursor.integer, 1),
        static=_is_static(metadata),
        origin=pod.origin,
    )
    if status is None:
        return decoded

    from cpuctl.pods.reading.statuses import decode_counted_claims, decode_resize_status, decode_statuses

    return decoded._replace(
        phase=status.optional("phase", Cursor.text, ""),
        qos_class=status.optional("qosClass", _qos_class, None),
        statuses=decode_statuses(status),
        resize=decode_resize_status(status),
        counted_claims=decode_counted_claims(status),
    )


def decode_spec(spec: Cursor) -> Pod:
    """Return a pod without a name from its spec.

    Raise InputError with file, line and path for a value that an API server could not decode, and without any
    container.
    """
    containers = tuple(_container(item, ContainerKind.APP) for item in spec.required("containers").items())
    if not containers:
        raise spec.required("containers").error("expected at least one container, found none")
    inits = spec.optional("initContainers", _init_containers, ())
    _refuse_repeated_names(spec)
    return Pod(
        name="",
        containers=containers,
        init_containers=inits,
        resources=spec.optional("resources", _requirements, None),
        overhead=spec.optional("overhead", Cursor.quantities, {}),
        priority=spec.optional("priority", Cursor.integer, None),
        priority_class_name=spec.optional("priorityClassName", Cursor.text, ""),
        node_name=spec.optional("nodeName", Cursor.text, ""),
        os_name=spec.optional("os", _os_name, ""),
        has_deadline=spec.optional("activeDeadlineSeconds", Cursor.integer, -1) >= 0,
        crosses_namespaces=spec.optional("affinity", _crosses_namespaces, False),
        scale_down_grace=spec.optional("scaleDownGracePeriodSeconds", Cursor.integer, None),
        restart_policy=spec.optional("restartPolicy", Cursor.text, "") or "Always",
        field_refs=read_field_refs(spec),
        node_selection=_node_selection(spec),
        resource_claims=spec.optional("resourceClaims", _pod_claims, ()),
        runtime_class=spec.optional("runtimeClassName", _runtime_class, None),
    )


def _pod_claims(claims: Cursor) -> tuple[PodClaim, ...]:
    return tuple(
        PodClaim(
            name=each.required("name").text(),
            claim=each.optional("resourceClaimName", _name, ""),
            template=each.optional("resourceClaimTemplateName", _name, ""),
        )
        for each in claims.items()
    )


def _runtime_class(name: Cursor) -> RuntimeClass | None:
    return RuntimeClass(_name(name)) if name.text() else None


def _node_selection(spec: Cursor) -> NodeSelection | None:
    if all(spec.get(member) is None for member in ("nodeSelector", "affinity", "tolerations")):
        return None
    from cpuctl.pods.reading.node_selection import decode_node_selection

    return decode_node_selection(spec)


def decode_name(metadata: Cursor) -> str:
    """Return the name, or ``generateName`` followed by ``0`` for an object that has no name yet.

    Raise InputError if both are missing.
    """
    name = metadata.optional("name", _name, "")
    prefix = metadata.optional("generateName", _name, "")
    if not name and not prefix:
        raise metadata.error("name is missing")
    return name or f"{prefix}0"


def decode_namespace(metadata: Cursor) -> str:
    """Return the namespace, by default ``default``."""
    return metadata.optional("namespace", _name, "") or "default"


def _name(text: Cursor) -> str:
    """Return a name, even an invalid one: only its length matters, because every replica has it."""
    name = text.text()
    if len(name) > LONGEST_NAME:
        raise text.error(f"expected a name of at most {LONGEST_NAME} characters, found {len(name)}")
    return name


def _uid(metadata: Cursor) -> str:
    """Return the UID by which the kubelet knows a pod: a mirror pod names that of its static pod."""
    annotations = metadata.get("annotations")
    mirrored = annotations.optional(_MIRROR, _name, "") if annotations is not None else ""
    return mirrored or metadata.optional("uid", _name, "")


def _is_static(metadata: Cursor) -> bool:
    """Return whether the kubelet took the pod from a file or URL; its mirror pod is annotated as well."""
    annotations = metadata.get("annotations")
    if annotations is None:
        return False
    source = annotations.optional(_CONFIG_SOURCE, Cursor.text, "")
    return source in ("file", "http") or annotations.get(_MIRROR) is not None


def _init_containers(inits: Cursor) -> tuple[Container, ...]:
    return tuple(_container(item, _init_kind(item)) for item in inits.items())


def _init_kind(container: Cursor) -> ContainerKind:
    policy = container.optional("restartPolicy", Cursor.text, "")
    return ContainerKind.SIDECAR if policy == "Always" else ContainerKind.INIT


def _container(container: Cursor, kind: ContainerKind) -> Container:
    name = _name(container.required("name"))
    if not name:
        raise container.required("name").error("expected a container name, found an empty string")
    resources = container.optional("resources", _requirements, _NO_REQUIREMENTS)
    restarts = container.optional("resizePolicy", _restarts, frozenset())
    policy = container.optional("restartPolicy", Cursor.text, "")
    return Container(name, kind, resources, restarts, restart_policy=policy)


def _restarts(policies: Cursor) -> frozenset[str]:
    """Return the resources whose change restarts a container."""
    return frozenset(
        policy.required("resourceName").text()
        for policy in policies.items()
        if policy.optional("restartPolicy", Cursor.text, "") == _RESTART
    )


def _refuse_repeated_names(spec: Cursor) -> None:
    groups = (spec.get("initContainers"), spec.get("containers"))
    seen: set[str] = set()
    for container in (item for group in groups if group is not None for item in group.items()):
        name = container.required("name")
        if name.text() in seen:
            raise name.error(f'two containers are called "{name.text()}"')
        seen.add(name.text())


def _requirements(resources: Cursor) -> ResourceRequirements:
    return ResourceRequirements(
        requests=resources.optional("requests", Cursor.quantities, {}),
        limits=resources.optional("limits", Cursor.quantities, {}),
        claims=resources.optional("claims", _claims, ()),
    )


def _claims(claims: Cursor) -> tuple[str, ...]:
    return tuple(claim.required("name").text() for claim in claims.items())


def _os_name(os: Cursor) -> str:
    return os.optional("name", Cursor.text, "")


def _qos_class(word: Cursor) -> QosClass:
    return QosClass(word.one_of(QosClass))


def _crosses_namespaces(affinity: Cursor) -> bool:
    """Return whether a term of ``podAffinity`` or ``podAntiAffinity`` names namespaces or selects them.

    Rule: ``pkg/quota/v1/evaluator/core/pods.go`` of 1.36.
    """
    groups = (affinity.get("podAffinity"), affinity.get("podAntiAffinity"))
    terms = [term for group in groups if group is not None for term in _terms(group)]
    return any(
        term.get("namespaceSelector") is not None or term.optional("namespaces", Cursor.items, [])
        for term in terms
    )


def _terms(group: Cursor) -> Iterator[Cursor]:
    yield from group.optional(_REQUIRED, Cursor.items, [])
    for weighted in group.optional(_PREFERRED, Cursor.items, []):
        yield weighted.required("podAffinityTerm")


def misspelt_fields(origin: Origin) -> Iterator[str]:
    """Yield notes about fields that appear to be misspelt: the version, and those for CPUs and memory.

    Amounts beside ``resources`` have the wrong indentation. An API server ignores all of these fields unless
    strict validation is requested, as kubectl does.
    """
    item = Cursor.at(origin)
    spec = _pod_spec(item)
    for at, wanted in ((item, ("apiVersion",)), *(_wanted(spec) if spec is not None else ())):
        for name in wanted:
            if found := at.misspelt(name):
                yield f"{at.members()[found].where} is ignored: did you mean {name}?"
    for parent in (spec, *_containers(spec)) if spec is not None else ():
        for name, amounts in parent.members().items():
            if name in _INDENTED:
                yield f"{amounts.where} is ignored: did you mean resources.{name}?"


def _containers(spec: Cursor) -> tuple[Cursor, ...]:
    return (*_list(spec, "initContainers"), *_list(spec, "containers"))


def _pod_spec(item: Cursor) -> Cursor | None:
    """Return the spec with containers: a pod's, or that in a workload's template."""
    spec = item.get("spec")
    if spec is None or spec.get("containers") is not None:
        return spec
    template = spec.get("template") or spec.get("jobTemplate")
    return None if template is None else _pod_spec(template)


def _wanted(spec: Cursor) -> Iterator[tuple[Cursor, Sequence[str]]]:
    """Yield the mappings that may have misspelt fields, with the fields' names, unless all are known."""
    if any(each.startswith("init") for each in spec.members()):
        yield spec, ("initContainers",)
    for container in _containers(spec):
        resources = container.get("resources")
        if resources is None:
            yield container, ("resources",)
        elif not resources.members().keys() <= _AMOUNTS:
            yield resources, ("requests", "limits")

"""Conversion of a manifest's object to a draft, despite any errors: unreadable parts are omitted.

Values of a wrong type are reported by the schema (``cpuctl.pods.validation.shape``); amounts that are not
quantities are reported here, and their resources ignored in the whole pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cpuctl.golang.text import GoError
from cpuctl.pods.model import Container, ContainerKind, Pod, QosClass, ResourceRequirements, RuntimeClass
from cpuctl.pods.stored import with_amounts
from cpuctl.pods.validation.draft import ContainerDraft, EphemeralDraft, PodDraft, ResizePolicy
from cpuctl.pods.validation.field_refs import FieldRef
from cpuctl.pods.validation.finding import FieldPath, Finding
from cpuctl.pods.validation.raw import items_of, mapping_of, member_of, text_of
from cpuctl.pods.validation.resource_requirements import Claim, ClaimNames, PodClaim, is_hugepages
from cpuctl.quantity import Quantity, amount_text
from cpuctl.records import Record, replace

_CONFIG_SOURCE, _MIRROR = "kubernetes.io/config.source", "kubernetes.io/config.mirror"
_STORED = ("uid", "resourceVersion", "creationTimestamp")
_HINT = "write a quantity such as 4, 500m or 2Gi"


class ReadDraft(Record):
    """A draft, and findings about its unreadable amounts."""

    draft: PodDraft
    findings: tuple[Finding, ...]


def read_draft(kind: str, value: object, place: FieldPath, spec_steps: tuple[str, ...]) -> ReadDraft:
    """Read an object of a kind whose pod spec is at *spec_steps* (such as ``template``, ``spec``)."""
    reader = _Reader(kind)
    metadata = mapping_of(member_of(value, "metadata"))
    spec: object = value
    for step in spec_steps:
        spec = member_of(spec, step)
    spec, field_path = mapping_of(spec), place.child(*spec_steps)
    pod = reader.pod(metadata, spec, field_path)._replace(qos_class=_qos_class(value))
    draft = PodDraft(
        kind=kind,
        metadata=place.child("metadata"),
        spec=field_path,
        pod=_without(pod, reader.doubtful) if reader.doubtful else pod,
        generate_name=text_of(metadata.get("generateName")),
        stored=any(metadata.get(name) for name in _STORED),
        mirror=kind == "Pod" and _MIRROR in mapping_of(metadata.get("annotations")),
        containers=reader.drafts(spec.get("containers"), field_path.child("containers")),
        inits=reader.drafts(spec.get("initContainers"), field_path.child("initContainers")),
        ephemeral=reader.ephemeral(spec.get("ephemeralContainers"), field_path.child("ephemeralContainers")),
        claim_names=ClaimNames.of(
            text_of(member_of(item, "name")) for item in items_of(spec.get("resourceClaims"))
        ),
        pod_claims=tuple(map(_pod_claim, items_of(spec.get("resourceClaims")))),
        pod_level=_pod_level(spec),
        os_given=spec.get("os") is not None,
        restart_policy=text_of(spec.get("restartPolicy")),
        runtime_class=text_of(spec.get("runtimeClassName")),
        field_refs=tuple(reader.volume_refs(spec.get("volumes"), field_path.child("volumes"))),
        empty_dirs=tuple(reader.empty_dirs(spec.get("volumes"), field_path.child("volumes"))),
    )
    return ReadDraft(draft, tuple(reader.findings))


class _Reader:
    """A reader of amounts; ``doubtful`` are the resources with an unreadable amount."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.findings: list[Finding] = []
        self.doubtful: set[str] = set()

    def pod(self, metadata: Mapping[str, object], spec: Mapping[str, object], field_path: FieldPath) -> Pod:
        """Read the fields of a pod's model."""
        annotations = mapping_of(metadata.get("annotations"))
        resources = spec.get("resources")
        return Pod(
            name=text_of(metadata.get("name")),
            namespace=text_of(metadata.get("namespace")) or "default",
            containers=self._containers(
                spec.get("containers"), field_path.child("containers"), ContainerKind.APP
            ),
            init_containers=self._containers(
                spec.get("initContainers"), field_path.child("initContainers"), ContainerKind.INIT
            ),
            resources=None
            if resources is None
            else self._requirements(resources, field_path.child("resources")),
            overhead=self._amounts(spec.get("overhead"), field_path.child("overhead")),
            os_name=text_of(member_of(spec.get("os"), "name")),
            restart_policy=text_of(spec.get("restartPolicy")) or "Always",
            runtime_class=RuntimeClass(name) if (name := text_of(spec.get("runtimeClassName"))) else None,
            static=annotations.get(_CONFIG_SOURCE) in ("file", "http") or _MIRROR in annotations,
        )

    def ephemeral(self, value: object, field_path: FieldPath) -> tuple[EphemeralDraft, ...]:
        """Read the ephemeral containers and the fields that they must not have."""
        raw = items_of(value)
        return tuple(
            EphemeralDraft(
                container=container,
                resources=self._requirements(
                    member_of(item, "resources"), container.field_path.child("resources")
                ),
                forbidden=_set_fields(mapping_of(item)),
            )
            for item, container in zip(raw, self.drafts(value, field_path), strict=True)
        )

    def _containers(self, value: object, field_path: FieldPath, kind: ContainerKind) -> tuple[Container, ...]:
        return tuple(
            Container(
                name=text_of(member_of(item, "name")),
                kind=_kind(item, kind),
                resources=self._requirements(
                    member_of(item, "resources"), field_path.item(number).child("resources")
                ),
                restarts=_restarts(member_of(item, "resizePolicy")),
                restart_policy=text_of(member_of(item, "restartPolicy")),
            )
            for number, item in enumerate(items_of(value))
        )

    def _requirements(self, value: object, field_path: FieldPath) -> ResourceRequirements:
        resources = mapping_of(value)
        if not resources:
            return _NOTHING
        return ResourceRequirements(
            requests=self._amounts(resources.get("requests"), field_path.child("requests")),
            limits=self._amounts(resources.get("limits"), field_path.child("limits")),
            claims=tuple(claim.name for claim in _claims(resources.get("claims"))),
        )

    def _amounts(self, value: object, field_path: FieldPath) -> dict[str, Quantity]:
        amounts = {}
        for name, raw in mapping_of(value).items():
            try:
                # A value that is neither text nor number is read as empty text, which is invalid.
                amount = Quantity.parse(amount_text(raw) or "")
            except GoError as error:
                self.doubtful.add(name)
                self.findings.append(self._no_quantity(field_path.key(name), error))
            else:
                amounts[name] = amount.rounded_up_to_milli()
        return amounts

    def drafts(self, value: object, field_path: FieldPath) -> tuple[ContainerDraft, ...]:
        """Read the parts of a container that its model omits."""
        return tuple(
            replace(each, field_refs=tuple(self._variables(item, each.field_path)))
            for item, each in zip(items_of(value), _containers(value, field_path), strict=True)
        )

    def _variables(self, container: object, field_path: FieldPath) -> Iterator[FieldRef]:
        for number, item in enumerate(items_of(member_of(container, "env"))):
            ref = member_of(member_of(item, "valueFrom"), "resourceFieldRef")
            place = field_path.child("env").item(number).child("valueFrom", "resourceFieldRef")
            yield from self._ref(ref, place, in_volume=False)

    def volume_refs(self, volumes: object, field_path: FieldPath) -> Iterator[FieldRef]:
        """Read the references of downward API volumes; the API server omits items from their names."""
        for number, volume in enumerate(items_of(volumes)):
            of_volume = field_path.item(number)
            yield from self._files(member_of(volume, "downwardAPI"), of_volume.child("downwardAPI"))
            sources = of_volume.child("projected", "sources")
            for index, source in enumerate(items_of(member_of(member_of(volume, "projected"), "sources"))):
                place = sources.item(index).child("downwardAPI")
                yield from self._files(member_of(source, "downwardAPI"), place)

    def _files(self, source: object, field_path: FieldPath) -> Iterator[FieldRef]:
        for number, item in enumerate(items_of(member_of(source, "items"))):
            place = field_path.child("items").item(number).child("resourceFieldRef")
            named = FieldPath(place.path, field_path.child("resourceFieldRef").field)
            yield from self._ref(member_of(item, "resourceFieldRef"), named, in_volume=True)

    def _ref(self, ref: object, field_path: FieldPath, *, in_volume: bool) -> Iterator[FieldRef]:
        if isinstance(ref, Mapping):
            yield FieldRef(
                field_path=field_path,
                resource=text_of(ref.get("resource")),
                container=text_of(ref.get("containerName")),
                divisor=self._amount(ref.get("divisor"), field_path.child("divisor")) or Quantity(),
                in_volume=in_volume,
            )

    def empty_dirs(self, volumes: object, field_path: FieldPath) -> Iterator[tuple[FieldPath, Quantity]]:
        """Read the size limits of volumes on the node."""
        for number, volume in enumerate(items_of(volumes)):
            place = field_path.item(number).child("emptyDir", "sizeLimit")
            size = self._amount(member_of(member_of(volume, "emptyDir"), "sizeLimit"), place)
            if size is not None:
                yield place, size

    def _amount(self, raw: object, field_path: FieldPath) -> Quantity | None:
        if raw is None:
            return None
        try:
            return Quantity.parse(amount_text(raw) or "")
        except GoError as error:
            self.findings.append(self._no_quantity(field_path, error))
            return None

    def _no_quantity(self, field_path: FieldPath, error: GoError) -> Finding:
        owner = f'{self.kind} in version "v1" cannot be handled as a {self.kind}'
        return field_path.rejected("bad-quantity", f"{owner}: {error}", fix=_HINT)


_NOTHING = ResourceRequirements()


def _qos_class(value: object) -> QosClass | None:
    """Read the class of a stored pod."""
    word = member_of(member_of(value, "status"), "qosClass")
    return next((each for each in QosClass if each == word), None)


def _restarts(policies: object) -> frozenset[str]:
    """Return the resources whose change restarts a container."""
    return frozenset(
        text_of(member_of(policy, "resourceName"))
        for policy in items_of(policies)
        if member_of(policy, "restartPolicy") == "RestartContainer"
    )


def _kind(container: object, kind: ContainerKind) -> ContainerKind:
    if kind is ContainerKind.INIT and member_of(container, "restartPolicy") == "Always":
        return ContainerKind.SIDECAR
    return kind


def _containers(value: object, field_path: FieldPath) -> tuple[ContainerDraft, ...]:
    return tuple(
        ContainerDraft(
            field_path=field_path.item(number),
            name=text_of(member_of(item, "name")),
            claims=_claims(member_of(member_of(item, "resources"), "claims")),
            resize_policy=tuple(
                ResizePolicy(
                    text_of(member_of(policy, "resourceName")), text_of(member_of(policy, "restartPolicy"))
                )
                for policy in items_of(member_of(item, "resizePolicy"))
            ),
            restart_policy=text_of(member_of(item, "restartPolicy")),
        )
        for number, item in enumerate(items_of(value))
    )


def _claims(value: object) -> tuple[Claim, ...]:
    return tuple(
        Claim(text_of(member_of(item, "name")), text_of(member_of(item, "request")))
        for item in items_of(value)
    )


def _pod_claim(value: object) -> PodClaim:
    source = member_of(value, "source")
    named = value if source is None else source
    claim, template = (member_of(named, each) for each in ("resourceClaimName", "resourceClaimTemplateName"))
    return PodClaim(
        text_of(member_of(value, "name")),
        None if claim is None else text_of(claim),
        None if template is None else text_of(template),
        in_source=source is not None,
    )


def _pod_level(spec: Mapping[str, object]) -> tuple[Claim, ...] | None:
    claims = member_of(spec.get("resources"), "claims")
    return None if claims is None else _claims(claims)


def _set_fields(container: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields that an ephemeral container must not set; empty maps in ``resources`` count, too."""
    resources = mapping_of(container.get("resources"))
    found = []
    if any(resources.get(name) is not None for name in ("requests", "limits", "claims")):
        found.append("resources")
    if container.get("resizePolicy") is not None:
        found.append("resizePolicy")
    return tuple(found)


def _without(pod: Pod, names: set[str]) -> Pod:
    """Drop some resources from every list: resources with an unknown amount cannot be compared.

    Huge pages require cpu or memory as well, so they are dropped together with those.
    """
    pages = bool(names & {"cpu", "memory"})

    def kept(amounts: Mapping[str, Quantity]) -> dict[str, Quantity]:
        return {
            name: amount
            for name, amount in amounts.items()
            if name not in names and not (pages and is_hugepages(name))
        }

    return with_amounts(pod, kept)

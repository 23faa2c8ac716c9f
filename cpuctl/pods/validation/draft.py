"""A pod as written in a manifest, valid or not, with the locations of its parts."""

from cpuctl.pods.model import Pod, ResourceRequirements
from cpuctl.pods.validation.field_refs import FieldRef
from cpuctl.pods.validation.finding import FieldPath
from cpuctl.pods.validation.resource_requirements import Claim, ClaimNames, PodClaim
from cpuctl.quantity import Quantity
from cpuctl.records import Record


class ResizePolicy(Record):
    """The effect of an in-place resize of one resource on a container."""

    resource: str
    restart: str


class ContainerDraft(Record):
    """The parts of a container that its model omits; its amounts are in the pod's model."""

    field_path: FieldPath
    name: str
    claims: tuple[Claim, ...] = ()
    resize_policy: tuple[ResizePolicy, ...] = ()
    restart_policy: str = ""
    field_refs: tuple[FieldRef, ...] = ()


class EphemeralDraft(Record):
    """An ephemeral container: it must not have resources, but a manifest can contain some."""

    container: ContainerDraft
    resources: ResourceRequirements
    forbidden: tuple[str, ...] = ()


class PodDraft(Record):
    """A Pod object, or the pod template of a workload.

    ``pod`` holds everything that could be read, with each list of containers in its original length and
    order. ``stored`` pods come from an API server; a kubelet creates ``mirror`` pods for static ones.
    ``generate_name`` replaces a missing name. ``pod_claims`` are the claims that containers may name.
    ``pod_level`` is None if ``spec.resources`` has no claims, which differs from an empty list.
    ``field_refs`` are those of volumes, ``empty_dirs`` the locations and sizes of limited volumes.
    """

    kind: str
    metadata: FieldPath
    spec: FieldPath
    pod: Pod
    generate_name: str = ""
    stored: bool = False
    mirror: bool = False
    containers: tuple[ContainerDraft, ...] = ()
    inits: tuple[ContainerDraft, ...] = ()
    ephemeral: tuple[EphemeralDraft, ...] = ()
    claim_names: ClaimNames = ClaimNames()
    pod_claims: tuple[PodClaim, ...] = ()
    pod_level: tuple[Claim, ...] | None = None
    os_given: bool = False
    restart_policy: str = ""
    runtime_class: str = ""
    field_refs: tuple[FieldRef, ...] = ()
    empty_dirs: tuple[tuple[FieldPath, Quantity], ...] = ()

    @property
    def is_template(self) -> bool:
        """Whether pods are created from it later: the API server sets defaults only then."""
        return self.kind != "Pod"

    @property
    def exists(self) -> bool:
        """Whether it is a pod that an API server has already created."""
        return self.stored and not self.is_template

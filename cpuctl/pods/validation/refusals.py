"""All reasons why an API server refuses the creation of one pod, in the order of its checks.

First comes the RuntimeClass (``plugin/pkg/admission/runtimeclass``), then validation, of the pod with its
defaults (``pkg/apis/core/validation``), then every LimitRange of the namespace
(``plugin/pkg/admission/limitranger``). A server stops at the first stage that refuses; here
all of them are reported. ResourceQuotas depend on the pods before: ``governing.resource_quota``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.diagnostics import Severity
from cpuctl.pods.manifest import manifest_of
from cpuctl.pods.model import Container, ContainerKind, Pod
from cpuctl.pods.rules import ServerRules
from cpuctl.pods.validation.draft import ContainerDraft, PodDraft, ResizePolicy
from cpuctl.pods.validation.finding import FieldPath
from cpuctl.pods.validation.reading import ReadDraft, read_draft
from cpuctl.pods.validation.resource_requirements import Claim, ClaimNames
from cpuctl.pods.validation.server import check_metadata, check_restart, check_spec, defaulted_pod
from cpuctl.records import replace

if TYPE_CHECKING:
    from cpuctl.pods.limit_ranges import LimitRange

_SPEC = FieldPath(("spec",), "spec")
_METADATA = FieldPath(("metadata",), "metadata")


def invalid_parts(pod: Pod, rules: ServerRules) -> tuple[str, ...]:
    """Return the validation errors of *pod*, which has its defaults, each once."""
    return _errors(_read(pod).draft, pod, rules)


def invalid(pod: Pod, rules: ServerRules, limit_ranges: Sequence[LimitRange] = ()) -> Iterator[str]:
    """Yield the errors in reading *pod*, which has its defaults, and its validation errors.

    Amounts are reported as written, while those of *pod* may be as its kubelet gets them.
    """
    read = _read(pod)
    yield from (each.message for each in read.findings)
    written = defaulted_pod(read.draft, rules, limit_ranges)
    if texts := _errors(read.draft, written._replace(restart_policy=pod.restart_policy), rules):
        yield f'Pod "{pod.name}" is invalid: {_listed(texts)}'


def _errors(draft: PodDraft, pod: Pod, rules: ServerRules) -> tuple[str, ...]:
    found = (*check_metadata(draft), *check_spec(draft, pod, rules), *check_restart(pod, draft.spec))
    return tuple(dict.fromkeys(str(each) for each in found if each.severity is Severity.ERROR))


def beyond_runtime_class(pod: Pod) -> Iterator[str]:
    """Yield the refusal of *pod* for an overhead that its RuntimeClass does not define."""
    if pod.runtime_class is None or not pod.overhead:
        return

    from cpuctl.pods.runtime_classes import overhead_refusal

    if text := overhead_refusal(pod):
        yield f'pods "{pod.name}" is forbidden: {text}'


def beyond_limit_ranges(pod: Pod, limit_ranges: Sequence[LimitRange]) -> Iterator[str]:
    """Yield the refusals of *pod* by each LimitRange of its namespace."""
    if not limit_ranges:
        return

    from cpuctl.pods.limit_ranges import applied

    for limit_range in applied(limit_ranges, pod.namespace):
        if texts := limit_range.violations(pod):
            yield f'pods "{pod.name}" is forbidden: {_listed(texts)}'


def _listed(texts: Sequence[str]) -> str:
    """Format errors as Go prints a list of them."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _read(pod: Pod) -> ReadDraft:
    """Read the manifest of a pod, or without one, its model."""
    written = manifest_of(pod)
    if written is None:
        return ReadDraft(_draft_of_model(pod), ())
    read = read_draft(
        "Pod", {"metadata": written.metadata, "spec": written.spec}, FieldPath((), ""), ("spec",)
    )
    own = read.draft.pod
    # A copy has its own name, and a generated name is not in any manifest.
    name = "" if written.metadata and not own.name else pod.name
    return replace(read, draft=replace(read.draft, pod=own._replace(name=name, namespace=pod.namespace)))


def _draft_of_model(pod: Pod) -> PodDraft:
    """Return the draft without a manifest: the model omits parts that do not affect resources."""
    claims = None if pod.resources is None or not pod.resources.claims else pod.resources.claims
    return PodDraft(
        kind="Pod",
        metadata=_METADATA,
        spec=_SPEC,
        pod=pod,
        containers=_drafts("containers", pod.containers),
        inits=_drafts("initContainers", pod.init_containers),
        claim_names=ClaimNames.of(claims or ()),
        pod_level=None if claims is None else tuple(map(Claim, claims)),
        os_given=bool(pod.os_name),
        restart_policy=pod.restart_policy,
        runtime_class="given" if pod.overhead else "",
    )


def _drafts(kind: str, containers: Sequence[Container]) -> tuple[ContainerDraft, ...]:
    field_path = _SPEC.child(kind)
    return tuple(
        ContainerDraft(
            field_path.item(number),
            each.name,
            resize_policy=_resize_policy(each),
            restart_policy=each.restart_policy,
        )
        for number, each in enumerate(containers)
    )


def _resize_policy(container: Container) -> tuple[ResizePolicy, ...]:
    # Errors about ordinary init containers name a place in the list, which the model does not have.
    known = () if container.kind is ContainerKind.INIT else sorted(container.restarts)
    return tuple(ResizePolicy(resource, "RestartContainer") for resource in known)

"""The answer of ``cpuctl checkpoint dump`` as a plain document (schema: ``cpuctl schema checkpointdump``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from cpuctl.answering import API_VERSION
from cpuctl.answering.checkpoint.parts import block_answers, file_answer, order_by_name, owner_answer
from cpuctl.answering.memory_answer import node_answers
from cpuctl.checkpoints.model import (
    ClaimEntry,
    ClaimsStateFile,
    CPUStateFile,
    DevicesStateFile,
    MemoryStateFile,
    PodsStateFile,
    RecordedPod,
)
from cpuctl.cpuset import CPUSet
from cpuctl.engine.state_checks.cpu_findings import union
from cpuctl.engine.state_checks.owners import Owners, OwnerStatus
from cpuctl.exports.answer_text import mark_of
from cpuctl.inputs.state_files import StateInput
from cpuctl.operations.checkpoint.states import container_names

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.values import Sources

_NO_IDS: Mapping[str, CPUSet] = MappingProxyType({})


def dump_document(states: Sequence[StateInput], owners: Owners, sources: Sources) -> answers.CheckpointDump:
    """Describe files and the holders in them."""
    document: answers.CheckpointDump = {
        "apiVersion": API_VERSION,
        "kind": "CheckpointDump",
        "sources": sources,
        "files": [file_answer(state) for state in states],
    }
    for each in states:
        match each.inspection.state:
            case CPUStateFile() as cpu:
                document["cpus"] = held_cpus(cpu, owners, each.inspection.container_ids)
            case MemoryStateFile() as memory:
                document["memory"] = _memory(memory, owners)
            case PodsStateFile() as pods:
                document.setdefault("pods", []).extend(_pods(each.file_name, pods, owners))
            case DevicesStateFile() as devices:
                document["devices"] = _devices(devices, owners)
            case ClaimsStateFile() as claims:
                document["claims"] = [_claim(claim, owners) for claim in claims.claims]
            case None:
                pass
    return document


def held_cpus(
    state: CPUStateFile, owners: Owners, container_ids: Mapping[str, CPUSet] = _NO_IDS
) -> answers.HeldCPUs:
    """Describe the holders of CPUs; *container_ids* are the entries of the oldest format, by id."""
    marks = map(mark_of, count())
    holders = [*_holders(state, owners, marks), *_by_id(container_ids, owners, marks)]
    exclusive = union(
        [
            *state.pod_entries.values(),
            *container_ids.values(),
            *(cpus for containers in state.entries.values() for cpus in containers.values()),
        ]
    )
    return {
        "sharedPool": str(state.default_cpu_set),
        "sharedCPUs": len(state.default_cpu_set),
        "exclusive": str(exclusive),
        "exclusiveCPUs": len(exclusive),
        "holders": holders,
    }


def _holders(state: CPUStateFile, owners: Owners, marks: Iterator[str]) -> Iterator[answers.CPUHolder]:
    for uid in sorted({*state.pod_entries, *state.entries}, key=lambda uid: order_by_name(uid, owners)):
        if uid in state.pod_entries:
            yield _holder(next(marks), "pod", owner_answer(owners, uid), state.pod_entries[uid])
        for name, cpus in sorted(state.entries.get(uid, {}).items()):
            baseline = state.baselines.get(uid, {}).get(name)
            yield _holder(next(marks), "container", owner_answer(owners, uid, name), cpus, baseline)


def _by_id(
    container_ids: Mapping[str, CPUSet], owners: Owners, marks: Iterator[str]
) -> Iterator[answers.CPUHolder]:
    """Describe entries of the oldest format, which identifies containers by id."""
    known = {**owners.containers, **container_names(owners)}
    for container_id, cpus in sorted(container_ids.items()):
        names = known.get(container_id)
        gone = OwnerStatus.UNKNOWN if owners.pods is None else OwnerStatus.CONTAINER_GONE
        owner = owner_answer(owners, *(names or ("",)))
        if not names:
            owner["owner"] = gone.value
        yield _holder(next(marks), "container", owner, cpus, container_id=container_id)


def _holder(
    mark: str,
    holding: Literal["container", "pod"],
    owner: answers.Owner,
    cpus: CPUSet,
    baseline: CPUSet | None = None,
    container_id: str | None = None,
) -> answers.CPUHolder:
    by_id: answers.NamelessHolder = {} if container_id is None else {"containerID": container_id}
    return {
        "mark": mark,
        "holding": holding,
        **owner,
        "cpus": str(cpus),
        "count": len(cpus),
        "baseline": None if baseline is None else str(baseline),
        **by_id,
    }


def _memory(state: MemoryStateFile, owners: Owners) -> answers.HeldMemory:
    holders: list[answers.MemoryHolder] = []
    for uid in sorted({*state.pod_entries, *state.entries}, key=lambda uid: order_by_name(uid, owners)):
        if uid in state.pod_entries:
            blocks = block_answers(state.pod_entries[uid])
            holders.append({"holding": "pod", **owner_answer(owners, uid), "blocks": blocks})
        for name, held in sorted(state.entries.get(uid, {}).items()):
            blocks = block_answers(held)
            holders.append({"holding": "container", **owner_answer(owners, uid, name), "blocks": blocks})
    return {"holders": holders, "numaNodes": node_answers(state.machine_state)}


def _pods(
    file_name: answers.StateFileName, state: PodsStateFile, owners: Owners
) -> Iterator[answers.RecordedPod]:
    for uid, pod in sorted(state.pods.items(), key=lambda item: order_by_name(item[0], owners)):
        yield {
            "file": file_name,
            **owner_answer(owners, uid),
            "resources": list(_amounts(pod)),
            "resize": state.resizes.get(uid),
        }


def _devices(state: DevicesStateFile, owners: Owners) -> answers.HeldDevices:
    """Describe the holders of devices, and the number of registered ones by resource."""
    entries = sorted(
        state.entries, key=lambda each: (*order_by_name(each.pod_uid, owners), each.container, each.resource)
    )
    return {
        "holders": [
            {
                **owner_answer(owners, entry.pod_uid, entry.container),
                "resource": entry.resource,
                "devices": list(entry.names),
                "numaNodes": str(CPUSet.of(node for node in entry.devices if node >= 0)),
            }
            for entry in entries
        ],
        "registered": [
            {"resource": resource, "devices": len(devices)}
            for resource, devices in sorted(state.registered.items())
        ],
    }


def _claim(claim: ClaimEntry, owners: Owners) -> answers.PreparedClaim:
    return {
        "namespace": claim.namespace,
        "claim": claim.name,
        "claimUID": claim.uid,
        "pods": [owner_answer(owners, uid) for uid in claim.pod_uids],
        "devices": list(claim.devices),
    }


def _amounts(pod: RecordedPod) -> Iterator[answers.RecordedAmount]:
    groups = [(name, each) for name, each in sorted(pod.containers.items())]
    for name, resources in [("", pod.pod_level), *groups] if pod.pod_level else groups:
        for resource in sorted({*resources.requests, *resources.limits}):
            request, limit = resources.requests.get(resource), resources.limits.get(resource)
            yield {
                "container": name or None,
                "resource": resource,
                "request": None if request is None else str(request),
                "limit": None if limit is None else str(limit),
            }

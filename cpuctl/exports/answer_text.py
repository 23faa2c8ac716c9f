"""Parts of answers in words, the same in tables and pictures: names of pods, a kubelet's policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cpuctl.cpuset import CPUSet
from cpuctl.option_names import EMPTY_STATE
from cpuctl.phrases import REPAIR_STEPS, all_of, counted, named

if TYPE_CHECKING:
    from cpuctl.answers.audit import Audit
    from cpuctl.answers.checkpoint import CPUHolder, MemoryHolder, Owner
    from cpuctl.answers.start import KubeletPolicies, PlanningHeader
    from cpuctl.answers.values import Found, NamespacedName


def mark_of(place: int) -> str:
    """Name an owner in pictures by its place, from 0: a to z, then aa, ab and so on."""
    mark = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        mark = chr(ord("a") + letter) + mark
    return mark


GUESSED = "a guess based on maximum frequencies"
"""A note on performance and efficiency cores that the kernel does not report."""

TWO_WEIGHTS = "Two values of cpu.weight: they depend on the OCI runtime (--oci-runtime)"
WHOLE_POD = "(whole pod)"
_KEEP_OFF = "set strict-cpu-reservation (1.33+; 1.32 with CPUManagerPolicyAlphaOptions)"
_WITH_STATE = f", {REPAIR_STEPS}"
_WITHOUT_STATE = " before the kubelet first starts"


def advice(finding: Found) -> str:
    """Return how to fix what was found or, if that is unknown, the command that shows more about it."""
    return finding["fix"] or finding.get("see", "")


def full_name(each: NamespacedName) -> str:
    """Write ``namespace/name``."""
    return f"{each['namespace']}/{each['name']}"


def pod_name(owner: Owner) -> str:
    """Write ``namespace/pod`` if the pod is known, else its UID."""
    return owner["podUID"] or "-" if owner["pod"] is None else f"{owner['namespace']}/{owner['pod']}"


def pod_of_cpus(holder: CPUHolder) -> str:
    """Write the pod's name or, for a container known only by its ID, that ID."""
    container_id = holder.get("containerID")
    unknown = holder["pod"] is None and not holder["podUID"]
    return f"container {container_id[:12]}" if container_id and unknown else pod_name(holder)


def container_name(holder: CPUHolder | MemoryHolder) -> str:
    """Write the container's name."""
    return holder["container"] or (WHOLE_POD if holder["holding"] == "pod" else "-")


def holder_name(holder: CPUHolder) -> str:
    """Write pod and container in one."""
    pod, container = pod_of_cpus(holder), container_name(holder)
    return pod if container == "-" else f"{pod} {container}"


def kubelet_text(kubelet: KubeletPolicies) -> str:
    """Write a kubelet's release and policies in one line."""
    options = ", ".join(f"{name}={value}" for name, value in kubelet["cpuManagerPolicyOptions"].items())
    return (
        f"kubelet {kubelet['version']}, CPU Manager {kubelet['cpuManagerPolicy']}"
        f"{f' ({options})' if options else ''}, Topology Manager {kubelet['topologyManagerPolicy']}, "
        f"Memory Manager {kubelet['memoryManagerPolicy']}"
    )


def starts_first(plan: PlanningHeader) -> bool:
    """Return whether a plan is for a node whose kubelet has not written a state file yet."""
    sources = plan["sources"]
    has_files = "state" in sources and EMPTY_STATE not in sources["state"]["value"]
    return "state" not in plan and not has_files and "runningPods" not in sources


def shared_sentence(shared: str, reserved: str, *, is_strict: bool = False, is_new: bool = False) -> str:
    """Write where containers without exclusive CPUs run: also on reserved CPUs, unless an option is set.

    *is_strict*: the option is set, but the state file does not fit it. *is_new*: there is no state file,
    which a kubelet would otherwise refuse to load with the option (kubelet v1.36 ``validateState``), until it
    is repaired: this takes the reserved CPUs out of the shared pool, which keeps others.
    """
    if not shared:
        return "Containers without exclusive CPUs have no CPUs to run on"
    pool, kept = CPUSet.parse(shared), CPUSet.parse(reserved)
    who = f"Containers without exclusive CPUs run on {named(pool)}"
    if not kept:
        return who
    among = kept & pool
    if among == pool:
        return f"Containers without exclusive CPUs run only on the reserved {named(among)}"
    if not among:
        return f"{who}, not on the reserved {named(kept)}"
    if is_strict:
        return f"{who}, including the reserved {named(among)}"
    off = f"to keep them off the reserved {'CPU' if len(kept) == 1 else 'CPUs'}"
    how = f"{_KEEP_OFF}{_WITHOUT_STATE if is_new else _WITH_STATE}"
    return f"{who}, including the reserved {named(among)}; {off}, {how}"


def container_counts(audit: Audit) -> Iterator[str]:
    """Count the containers of an audit; sandboxes, which its table omits, are counted separately."""
    containers = audit["summary"]["containers"]
    sandboxes = sum(each["part"] == "sandbox" for each in audit["containers"])
    if containers is not None:
        yield counted(containers - sandboxes, "container")
    if sandboxes:
        yield f"{sandboxes} sandbox{'es' if sandboxes > 1 else ''}"


def state_files_text(files: Sequence[str]) -> str:
    """Say what to do with state files of other settings."""
    they = "it does" if len(files) == 1 else "they do"
    names = all_of(files)
    return f"drain the node, and delete {names} before the kubelet starts: {they} not fit the new settings"

"""What kernel, runtime, systemd and libvirt report when CPUs of a control group or a process are set.

Sources: the kernel's documents ``admin-guide/cgroup-v1/cpusets.rst`` and ``admin-guide/cgroup-v2.rst``, and
``kernel/cgroup/cpuset.c``; runc and crun put "write PATH: REASON" in front of the kernel's reason. libvirt
uses ``sched_setaffinity(2)``; its text is quoted in kubevirt/kubevirt#1622.
"""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

_SHOW = "sudo cpuctl cgroups show"
_AUDIT = "sudo cpuctl audit --check cpusets"


def _refused(file: str, reason: str) -> tuple[Text, ...]:
    """Write the kernel's reason as runc, a Go program, and as crun and systemd, C programs, print it."""
    stated = reason.capitalize()
    return Text(f"{file}: {reason}"), Text(f"{file}: {stated}"), Text(f"{file}`: {stated}")


CGROUP_WRITES = (
    Message(
        code="cpuset-invalid",
        speaker=Speaker.RUNTIME,
        texts=(
            *_refused("cpuset.cpus", "invalid argument"),
            *_refused("cpuset.cpus.exclusive", "invalid argument"),
        ),
        meaning="the kernel rejects the CPU list: it contains CPUs that the machine does not have, or "
        "exclusive CPUs of a sibling group (on cgroup v2 only in cpuset.cpus.exclusive)",
        fix="check whether CPUs have gone offline, whether the kubelet runs in a container or VM with "
        "fewer CPUs than it detects, and whether a sibling group has these CPUs exclusively",
        commands=("cpuctl topology show", "sudo cpuctl checkpoint verify", _SHOW),
    ),
    Message(
        code="cpuset-denied",
        speaker=Speaker.RUNTIME,
        texts=(*_refused("cpuset.cpus", "permission denied"), *_refused("cpuset.mems", "permission denied")),
        meaning="on cgroup v1 a cgroup can only use the CPUs and NUMA nodes of its parent, and the "
        "parent has fewer: another agent, LXC or a systemd slice has restricted a parent group",
        fix="extend the parent group first: kubepods and its slices must contain all CPUs",
        commands=(_SHOW, _AUDIT),
        evidence=r"(?i:\bwrit)",
    ),
    Message(
        code="cpuset-busy",
        speaker=Speaker.RUNTIME,
        texts=tuple(
            text
            for name in ("cpuset.cpus", "cpuset.mems", "cpuset.cpu_exclusive")
            for text in _refused(name, "device or resource busy")
        ),
        meaning="a child cgroup still uses the CPUs or NUMA nodes to be removed, or tasks with a "
        "real-time or deadline reservation run on them",
        fix="restrict the child groups first, from the innermost outwards; cpuctl cgroups apply does this "
        "in the right order",
        commands=(_SHOW, "sudo cpuctl cgroups apply"),
    ),
    Message(
        code="cpuset-empty",
        speaker=Speaker.RUNTIME,
        texts=tuple(
            text
            for name in ("cpuset.cpus", "cpuset.mems", "cgroup.procs", "tasks")
            for text in _refused(name, "no space left on device")
        ),
        meaning="a group with tasks must have CPUs and NUMA nodes: this write would leave it none or, on "
        "cgroup v1, it has none yet",
        fix="set cpuset.cpus and cpuset.mems of the group before moving tasks into it; to lift a "
        "restriction, write all CPUs or NUMA nodes of the parent group instead of an empty list",
        commands=(_SHOW,),
        evidence="cpuset",
    ),
    Message(
        code="cpuset-mems-invalid",
        speaker=Speaker.RUNTIME,
        texts=_refused("cpuset.mems", "invalid argument"),
        meaning="the kernel rejects the NUMA nodes: one of them has no memory or does not exist",
        commands=("cpuctl topology show --numa-memory", _SHOW),
    ),
    Message(
        code="cpuset-not-provided",
        speaker=Speaker.K3S,
        texts=(Text("Failed to find cpuset cgroup (v2)"), Text("failed to find cpuset cgroup (v2)")),
        meaning="k3s or rke2 does not start: the root cgroup that it sees has no cpuset controller, "
        "because the kernel provides none on cgroup v2 or the host does not delegate it to the container",
        fix="boot with cgroup_enable=cpuset and without cgroup v1 (systemd.unified_cgroup_hierarchy=1) or, "
        "in a container, have the host delegate it (Delegate=cpuset)",
        commands=(_SHOW,),
    ),
    Message(
        code="cpuset-missing",
        speaker=Speaker.RUNTIME,
        texts=(
            *_refused("cpuset.cpus", "no such file or directory"),
            *_refused("cpuset.cpus.effective", "no such file or directory"),
            Text("controller `cpuset` is not available"),
        ),
        meaning="the cgroup has no cpuset controller: the cgroup no longer exists, or the controller is not "
        "enabled in cgroup.subtree_control of a parent group",
        fix="enable the controller from the root downwards, or have systemd delegate it (Delegate=cpuset)",
        commands=(_SHOW,),
    ),
    Message(
        code="cpuset-not-updated",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("ReconcileState: failed to update container"),),
        meaning="the CPU Manager tried to change the CPUs of a container, but the runtime could not set "
        "them: see err= for the reason",
        commands=(_AUDIT, _SHOW),
        general=True,
    ),
    Message(
        code="systemd-cpus",
        speaker=Speaker.SYSTEMD,
        texts=(
            Text("Failed to parse AllowedCPUs={cpus:rest}"),
            Text("Failed to parse CPUAffinity={cpus:rest}"),
            Text("Failed to parse CPU affinity {cpus:rest}"),
        ),
        meaning="systemd ignores a CPU list in a unit: it is not a valid list, or exceeds what systemd "
        "supports",
        commands=(_AUDIT,),
    ),
    Message(
        code="affinity-rejected",
        speaker=Speaker.LIBVIRT,
        texts=(Text("cannot set CPU affinity on process {reason:rest}"),),
        meaning="the CPU Manager gave CPUs of the shared pool to other containers, libvirt set the "
        "affinity of a guest process again, and the kernel rejected it: Operation not permitted means "
        "that the virt-launcher container is missing CAP_SYS_NICE, Invalid argument that it may run on "
        "none of the CPUs",
        fix="check which CPUs the virt-launcher container has, and that no admission policy "
        "(a mutating webhook, or an SCC of OpenShift) drops its CAP_SYS_NICE",
        commands=(_SHOW, _AUDIT),
    ),
)

"""What kernel, runtime and systemd say when the CPU set of a control group is written.

Sources: the kernel's documents ``admin-guide/cgroup-v1/cpusets.rst`` and ``admin-guide/cgroup-v2.rst``, and
``kernel/cgroup/cpuset.c``; runc and crun put "write PATH: REASON" in front of the kernel's reason.
"""

from __future__ import annotations

from cpuctl.messages.message import Message, Speaker, Text

_SHOW = "cpuctl cgroups show"
_AUDIT = "cpuctl audit --check cpusets"

CGROUP_WRITES = (
    Message(
        code="cpuset-invalid",
        speaker=Speaker.RUNTIME,
        texts=(
            Text("cpuset.cpus: invalid argument"),
            Text("cpuset.cpus: Invalid argument"),
            Text("cpuset.cpus`: Invalid argument"),
            Text("cpuset.cpus` : Invalid argument"),
            Text("cpuset.cpus.exclusive: invalid argument"),
        ),
        meaning="the kernel takes no such CPUs: the list names CPUs that the machine has not, or under "
        "cgroup v1 exclusive ones of a sibling",
        fix="see whether CPUs went offline, and whether a container or VM around the kubelet has fewer CPUs "
        "than the host that the kubelet counts",
        commands=("cpuctl topology show", "cpuctl checkpoint verify /var/lib/kubelet", _SHOW),
    ),
    Message(
        code="cpuset-denied",
        speaker=Speaker.RUNTIME,
        texts=(
            Text("cpuset.cpus: permission denied"),
            Text("cpuset.cpus: Permission denied"),
            Text("cpuset.cpus`: Permission denied"),
            Text("cpuset.mems: permission denied"),
            Text("cpuset.mems: Permission denied"),
        ),
        meaning="under cgroup v1 a control group gets only CPUs and NUMA nodes of its parent, and this "
        "one's has fewer: another agent, LXC or a systemd slice narrowed a group above",
        fix="widen the group above first: kubepods and its slices have to hold all CPUs",
        commands=(_SHOW, _AUDIT),
    ),
    Message(
        code="cpuset-busy",
        speaker=Speaker.RUNTIME,
        texts=(
            Text("cpuset.cpus: device or resource busy"),
            Text("cpuset.cpus: Device or resource busy"),
            Text("cpuset.cpus`: Device or resource busy"),
            Text("cpuset.mems: device or resource busy"),
            Text("cpuset.mems: Device or resource busy"),
            Text("cpuset.cpu_exclusive: device or resource busy"),
        ),
        meaning="a control group below still uses CPUs or NUMA nodes that are taken away, or tasks run with "
        "a real-time or deadline reservation on them",
        fix="narrow the groups below first, the innermost before the others; cpuctl cgroups apply keeps "
        "that order",
        commands=(_SHOW, "cpuctl cgroups apply"),
    ),
    Message(
        code="cpuset-empty",
        speaker=Speaker.RUNTIME,
        texts=(
            Text("cpuset.cpus: no space left on device"),
            Text("cpuset.mems: no space left on device"),
            Text("cgroup.procs: no space left on device"),
            Text("tasks: no space left on device"),
        ),
        meaning="under cgroup v1 a group with tasks must have CPUs and NUMA nodes, and this one has none, "
        "or would have none left",
        fix="set cpuset.cpus and cpuset.mems of the group before tasks go there",
        commands=(_SHOW,),
    ),
    Message(
        code="cpuset-mems-invalid",
        speaker=Speaker.RUNTIME,
        texts=(Text("cpuset.mems: invalid argument"), Text("cpuset.mems: Invalid argument")),
        meaning="the kernel takes no such NUMA nodes: one of them has no memory, or does not exist",
        commands=("cpuctl topology show --memory", _SHOW),
    ),
    Message(
        code="cpuset-missing",
        speaker=Speaker.RUNTIME,
        texts=(
            Text("cpuset.cpus: no such file or directory"),
            Text("cpuset.cpus: No such file or directory"),
            Text("cpuset.cpus.effective: no such file or directory"),
            Text("controller `cpuset` is not available"),
            Text("Failed to find cpuset cgroup (v2)"),
            Text("failed to find cpuset cgroup (v2)"),
        ),
        meaning="the control group has no cpuset controller: it is gone, or the controller is not switched "
        "on in cgroup.subtree_control of a group above",
        fix="switch the controller on from the root down, or let systemd delegate it (Delegate=cpuset)",
        commands=(_SHOW,),
    ),
    Message(
        code="cpuset-not-updated",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("ReconcileState: failed to update container"),
            Text("failed to update container"),
        ),
        meaning="the CPU Manager wants a container on other CPUs, and the runtime could not set them: the "
        "reason stands behind err=",
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
        meaning="systemd passes over a list of CPUs in a unit: it is no list, or beyond what systemd holds",
        commands=(_AUDIT,),
    ),
)

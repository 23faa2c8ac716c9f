"""What a kubelet reports about the files in which it keeps its allocations.

Sources: ``pkg/kubelet/cm/cpumanager``, ``memorymanager`` and ``checkpointmanager`` of 1.27 to 1.36.
"""

from __future__ import annotations

from cpuctl.checkpoints.model import DRAIN, FROM_NODE
from cpuctl.messages.message import Message, Speaker, Text

_VERIFY = "sudo cpuctl checkpoint verify"
_REPAIR = "sudo cpuctl checkpoint repair"
_MIGRATE = "sudo cpuctl checkpoint migrate -m live --to VERSION"
_BOTH = (_VERIFY, _REPAIR)

STATE_FILES = (
    Message(
        code="claims-corrupted",
        speaker=Speaker.KUBELET,
        texts=(Text("checkpoint is corrupted"),),
        meaning="the kubelet cannot read dra_manager_state: an older release may have written it in a format "
        "that no later one converts",
        fix="drain the node, and delete the file",
        commands=(_VERIFY,),
        evidence="dra_manager_state|(?i:claim ?info)",
    ),
    Message(
        code="other-policy",
        speaker=Speaker.KUBELET,
        texts=(
            Text("configured policy {configured:quoted} differs from state checkpoint policy {found:quoted}"),
        ),
        meaning="the state file was written with a different policy: after cpuManagerPolicy or "
        "memoryManagerPolicy is changed, the kubelet does not start with the old file",
        fix="restore the old policy, or drain the node and repair or delete the file",
        commands=_BOTH,
    ),
    Message(
        code="other-cpus",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "current set of available CPUs {machine:quoted} doesn't match with CPUs in state "
                "{found:quoted}"
            ),
        ),
        meaning="the set of online CPUs has changed since cpu_manager_state was written: CPUs were "
        "switched on or off manually, by the firmware or by resizing the virtual machine",
        fix="bring the CPUs back online, or repair the file",
        commands=("cpuctl topology show", *_BOTH),
    ),
    Message(
        code="reserved-cpus-not-shared",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("not all reserved cpus: {reserved:quoted} are present in defaultCpuSet: {pool:quoted}"),
            Text(
                "some of strictly reserved cpus: {reserved:quoted} are present in defaultCpuSet: "
                "{pool:quoted}",
                32,
            ),
        ),
        meaning="reservedSystemCPUs or strict-cpu-reservation has changed since cpu_manager_state was "
        "written, or a container was allocated a reserved CPU (kubernetes issue 124066)",
        fix="restore the old setting, or repair the file: pods that hold reserved CPUs get others",
        commands=_BOTH,
    ),
    Message(
        code="cpus-twice",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "pod: {pod:word}, container: {container:word} cpuset: {cpus:quoted} overlaps with "
                "default cpuset "
                "{pool:quoted}"
            ),
        ),
        meaning="cpu_manager_state assigns CPUs to a container that are also in the shared pool",
        fix="repair the file",
        commands=_BOTH,
    ),
    Message(
        code="empty-pool",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("default cpuset cannot be empty"),),
        meaning="cpu_manager_state lists containers, but the shared pool is empty",
        fix=f"remove a pod with exclusive CPUs {FROM_NODE}, then repair the file with the list of the pods "
        "that are left",
        commands=(_VERIFY, f"{_REPAIR} --pods RUNNING"),
    ),
    Message(
        code="other-memory",
        speaker=Speaker.MEMORY_MANAGER,
        texts=(
            Text("[memorymanager] the expected machine state is different from the real one"),
            Text("[memorymanager] machine state can not be empty when it has memory assignments"),
            Text("the memory assignment uses the NUMA that does not exist"),
            Text("the memory assignment uses memory resource that does not exist"),
        ),
        meaning="the machine's memory, huge pages or reservations have changed since memory_manager_state "
        "was written; even a reboot can change the memory size by a few pages",
        fix="repair the file",
        commands=_BOTH,
    ),
    Message(
        code="not-migrated",
        speaker=Speaker.CPU_MANAGER,
        texts=(Text("containerID '{container:word}' not found in initial containers list"),),
        meaning="cpu_manager_state was written by a very old kubelet, and contains a container that is no "
        "longer running",
        fix=DRAIN,
        commands=(_VERIFY,),
    ),
    Message(
        code="state-cpus",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text("could not parse default cpu set {text:quoted}: {cause:rest}"),
            Text("could not parse cpuset {text:quoted} for {cause:rest}"),
        ),
        meaning="cpu_manager_state contains an invalid CPU list",
        fix=f"repair the file or, if a repair cannot read it, {DRAIN}",
        commands=_BOTH,
    ),
    Message(
        code="corrupted",
        speaker=Speaker.KUBELET,
        texts=(Text("checkpoint is corrupted"),),
        meaning="the checksum of a state file does not match its content: the file was edited manually, or "
        "written by a release that computes checksums differently",
        fix="repair the file, or migrate it if it was written by another release",
        commands=(_VERIFY, _REPAIR, _MIGRATE),
    ),
    Message(
        code="state-format",
        speaker=Speaker.CPU_MANAGER,
        texts=(
            Text(
                "json: cannot unmarshal {value:word} into Go struct field "
                "CPUManagerCheckpoint{field:word} of type {type:rest}"
            ),
        ),
        meaning="cpu_manager_state has the format of another release, as after a downgrade, or of a feature "
        "gate that is disabled now",
        fix="migrate the file to this release",
        commands=(_VERIFY, _MIGRATE),
    ),
    Message(
        code="state-file",
        speaker=Speaker.KUBELET,
        texts=(
            Text("could not restore state from checkpoint: {cause:rest}"),
            Text(
                "please drain this node and delete the {manager:rest} manager checkpoint file {file:quoted}"
            ),
        ),
        meaning="the kubelet cannot use a state file, and exits",
        fix=f"repair the file or, if a repair cannot read it, {DRAIN}, which loses all assignments",
        commands=_BOTH,
        general=True,
    ),
)

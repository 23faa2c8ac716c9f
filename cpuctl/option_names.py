"""The command line names of options, for messages about their values from below the commands.

Commands declare options by these names, so that no message can name an option that does not exist.
"""

from typing import Final

API_SERVER_GATES: Final = "--apiserver-feature-gates"
API_SERVER_VERSION: Final = "--apiserver-version"
ASSUME_DEVICES: Final = "--assume-devices"
CAPACITY: Final = "--capacity"
CGROUP_VERSION: Final = "--cgroup-version"
COMPARE: Final = "--compare"
CONFIG_DIR: Final = "--config-dir"
CPU_COUNT: Final = "--cpu-count"
DASK_SCHEDULER: Final = "--dask-scheduler"
DEVICES: Final = "--devices"
DRIVER_ARGS: Final = "--driver-args"
EDITED: Final = "--edited"
EVENTS: Final = "--events"
FEATURE_GATES: Final = "--feature-gates"
IGNORE_UNKNOWN_GATES: Final = "--ignore-unknown-gates"
INCLUDE_COMPLETED: Final = "--include-completed"
KEEP: Final = "--keep"
KUBELET_ARGS: Final = "--kubelet-args"
KUBELET_CONFIG: Final = "--kubelet-config"
KUBELET_VERSION: Final = "--kubelet-version"
LOG: Final = "--log"
MEMORY: Final = "--memory"
NODES: Final = "--nodes"
NUMA_MEMORY: Final = "--numa-memory"
NUMA_NODE: Final = "--numa-node"
OCI_RUNTIME: Final = "--oci-runtime"
PLAN: Final = "--plan"
PODS: Final = "--pods"
POLICY: Final = "--policy"
POD_RESOURCES: Final = "--pod-resources"
REPEAT: Final = "--repeat"
RESERVED_CPUS: Final = "--reserved-cpus"
ROOT: Final = "--root"
SET: Final = "--set"
SKIP_API_SERVER: Final = "--skip-apiserver"
STATE: Final = "--state"
STORAGE: Final = "--ephemeral-storage"
TO: Final = "--to"
TO_FEATURE_GATES: Final = "--to-feature-gates"
UNTIL: Final = "--until"
YES: Final = "--yes"

OWN_SOCKET: Final = "live"
"""The value of POD_RESOURCES for the socket in the kubelet's own directory."""
NO_STATE: Final = "none"
"""The value of STATE for a node without state files, although it has some."""
EMPTY_STATE: Final = "none, as on a fresh node"
"""What answers name as the source of a state without files, with the reason behind it."""

FORMER_NAMES = (
    ("--memory", NUMA_MEMORY),
    ("--node", NUMA_NODE),
    ("--reserved-cpus", CPU_COUNT),
    ("--scheduler", DASK_SCHEDULER),
    ("--skip-api-server", SKIP_API_SERVER),
    ("--to", EDITED),
    ("--to-kubelet", TO),
    ("--to-kubelet-version", TO),
    ("--warnings-as-errors", "--strict"),
)
"""The options' names in the previous release, with their current names: accepted for one release."""

PODS_OF_NODE: Final = "kubectl get pods -A --field-selector spec.nodeName=NODE -o json"
"""What lists the running pods of one node for ``--pods``."""

NO_POD_LEFT: Final = (
    f"check that {PODS} lists all pods of this node ({PODS_OF_NODE}); if none of the pods in the state files "
    "is left, delete the files instead: the kubelet writes new ones"
)
"""What to do if no listed pod is in the state files: the list may be another node's."""

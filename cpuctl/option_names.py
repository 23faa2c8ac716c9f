"""Options by their names on the command line, for what is said of their values below the commands.

A command declares an option by the name that stands here, so that no complaint names one that there is not.
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
UNTIL: Final = "--until"
YES: Final = "--yes"

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
"""What options were called in the release before, with their names of today: taken for one release."""

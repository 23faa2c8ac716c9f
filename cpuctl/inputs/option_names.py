"""Options by their names on the command line, for what is said of their values below the commands.

A command declares an option by the name that stands here, so that no complaint names one that there is not.
"""

from typing import Final

API_SERVER_GATES: Final = "--apiserver-feature-gates"
API_SERVER_VERSION: Final = "--apiserver-version"
CGROUP_VERSION: Final = "--cgroup-version"
COMPARE: Final = "--compare"
CONFIG_DIR: Final = "--config-dir"
DRIVER_ARGS: Final = "--driver-args"
EVENTS: Final = "--events"
FEATURE_GATES: Final = "--feature-gates"
KUBELET_ARGS: Final = "--kubelet-args"
KUBELET_VERSION: Final = "--kubelet-version"
LOG: Final = "--log"
MEMORY: Final = "--memory"
OCI_RUNTIME: Final = "--oci-runtime"
PODS: Final = "--pods"
POLICY: Final = "--policy"
POD_RESOURCES: Final = "--pod-resources"
RESERVED_CPUS: Final = "--reserved-cpus"
ROOT: Final = "--root"
SET: Final = "--set"
STORAGE: Final = "--ephemeral-storage"
TO: Final = "--to"
UNTIL: Final = "--until"
YES: Final = "--yes"

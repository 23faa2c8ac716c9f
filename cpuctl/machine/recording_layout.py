"""Where a recording keeps what is not the kernel's, relative to its root, beside ``sys`` and ``proc``.

The kubelet's files have these places in every capture, wherever the recorded kubelet has them.
"""

from __future__ import annotations

MANIFEST = "MANIFEST.json"
LAYOUT_VERSION = "v1"
"""What a manifest calls this layout."""
PROCESSES = "processes.jsonl"
CONFIG = "var/lib/kubelet/config.yaml"
DROP_INS = "etc/kubernetes/kubelet.conf.d"
STATE_DIRECTORY = "var/lib/kubelet"
STATE_FILES = ("actuated_pods_state", "allocated_pods_state", "cpu_manager_state", "memory_manager_state")

CONTAINER_LOGS = "var/log/containers"
"""A kubelet's directory of links whose names tell pod, namespace, container and container id."""
IRQBALANCE_FILES = ("etc/default/irqbalance", "etc/sysconfig/irqbalance")

RECORDED_FILES = frozenset(
    {
        MANIFEST,
        PROCESSES,
        CONFIG,
        *IRQBALANCE_FILES,
        *(f"{STATE_DIRECTORY}/{name}" for name in STATE_FILES),
    }
)
RECORDED_DIRECTORIES = (DROP_INS, CONTAINER_LOGS)

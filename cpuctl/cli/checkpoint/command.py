"""``cpuctl checkpoint``: read and change the kubelet's state files without a kubelet."""

from cpuctl.cli.app import verb_group

HELP = """Show, verify, migrate and repair the kubelet's state files.

State files are internals of the kubelet: their formats depend on its version and may change with the next
one. Supported files and formats:

\b
  cpu_manager_state            V1 (1.12 to 1.17), V2 (to 1.36), V4 (1.37+)
  memory_manager_state         V1 (1.21 to 1.36), V3 (1.37+)
  allocated_pods_state         for resizes, with actuated_pods_state (1.33+)
  pod_status_manager_state     for resizes, V1 (to 1.31), V2 (1.32)
  kubelet_internal_checkpoint  devices, in device-plugins/
  dra_manager_state            claims, V1 to V3 (to 1.30), V4 (1.31+)

Also, for 1.36 with PodLevelResourceManagers, cpu_manager_state V3 and memory_manager_state V2; see cpuctl
checkpoint versions. Nothing is written without --yes or --write-state, nothing is replaced without a backup,
and nothing is written while a kubelet is running.
"""

app = verb_group(
    "checkpoint",
    HELP,
    {
        "dump": "checkpoint.dump",
        "verify": "checkpoint.verify",
        "diff": "checkpoint.diff",
        "migrate": "checkpoint.migrate",
        "repair": "checkpoint.repair",
        "new": "checkpoint.new",
        "versions": "checkpoint.versions",
    },
)

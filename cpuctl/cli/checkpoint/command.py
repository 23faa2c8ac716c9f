"""``cpuctl checkpoint``: the kubelet's state files, looked at and changed without a kubelet."""

from cpuctl.cli.app import verb_group

HELP = """Look at the kubelet's state files, tell whether it would start on them, and change them.

cpu_manager_state, memory_manager_state, allocated_pods_state and actuated_pods_state are internals of the
kubelet. Their formats belong to releases, are no interface, and may change with the next one. cpuctl knows

\b
  cpu_manager_state     V1 (1.12 to 1.17), V2 (to 1.36), V4 (1.37 on)
  memory_manager_state  V1 (1.21 to 1.36), V3 (1.37 on)

and the formats between them, V3 and V2, of 1.36 with PodLevelResourceManagers; cpuctl checkpoint versions
says who reads which. Nothing is written without being told to, nothing is replaced in place without a backup,
nor under a running kubelet.
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

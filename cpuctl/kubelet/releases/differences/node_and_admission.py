"""How releases up to 1.36 differ in the configurations and pods that they accept."""

from __future__ import annotations

from collections.abc import Mapping

from cpuctl.kubelet.releases.difference import Difference

NODE_AND_ADMISSION: Mapping[str, Difference] = {
    "drop_ins": Difference(
        since=28,
        area="configuration",
        before="the flag --config-dir does not exist",
        after="--config-dir works if the environment variable KUBELET_CONFIG_DROPIN_DIR_ALPHA is set",
        source="KEP-3983",
        evidence="documented",
    ),
    "drop_ins_without_variable": Difference(
        since=30,
        area="configuration",
        before="--config-dir needs the environment variable KUBELET_CONFIG_DROPIN_DIR_ALPHA",
        after="--config-dir works without an environment variable",
        source="KEP-3983",
        evidence="documented",
    ),
    "merges_drop_ins_as_text": Difference(
        since=29,
        area="configuration",
        before="a drop-in is treated as a complete configuration: its defaults override the main file, "
        "its zero values do not",
        after="a drop-in overrides only the fields that it sets",
        source="121193",
        evidence="documented",
    ),
    "defaults_after_drop_ins": Difference(
        since=32,
        area="configuration",
        before="a drop-in may have any kind; its lists are merged element by element, and null has no effect",
        after="a drop-in must be a KubeletConfiguration; its lists replace earlier ones, and null "
        "restores the default",
        source="server.go, 1.32",
        evidence="documented",
    ),
    "default_inode_threshold_of_images": Difference(
        since=30,
        area="configuration",
        before="evictionHard has no default for imagefs.inodesFree",
        after="evictionHard has the default imagefs.inodesFree 5%",
        source="121834",
        evidence="documented",
    ),
    "knows_no_swap": Difference(
        since=30,
        area="configuration",
        before="memorySwap.swapBehavior may be LimitedSwap or UnlimitedSwap",
        after="memorySwap.swapBehavior may be LimitedSwap or NoSwap",
        source="KEP-2400",
        evidence="documented",
    ),
    "checks_each_enforcement": Difference(
        since=31,
        area="configuration",
        before="enforceNodeAllocatable other than [] is rejected without cgroupsPerQOS",
        after="enforceNodeAllocatable other than [none] is rejected without cgroupsPerQOS, and duplicate "
        "entries always are",
        source="124268",
        evidence="documented",
    ),
    "collects_locked_gates": Difference(
        since=31,
        area="configuration",
        before="if several locked feature gates are set to the wrong value, the error names one of them",
        after="if several locked feature gates are set to the wrong value, the error names all of them",
        source="feature_gate.go, 1.31",
        evidence="documented",
    ),
    "defaults_by_gates": Difference(
        since=32,
        area="configuration",
        before="the kubelet exits with an error if a file sets an unknown or locked feature gate",
        after="the kubelet panics if a file sets an unknown or locked feature gate",
        source="defaults.go, 1.32",
        evidence="verified",
        cases=("1.31/hints nodehints-p-31", "1.32/hints nodehints-p-31"),
    ),
    "enforces_compressible": Difference(
        since=32,
        area="configuration",
        before="enforceNodeAllocatable accepts pods, system-reserved, kube-reserved or none",
        after="enforceNodeAllocatable also accepts system-reserved-compressible and "
        "kube-reserved-compressible",
        source="125982",
        evidence="documented",
    ),
    "ignores_topology_options_of_none": Difference(
        since=28,
        area="topology manager",
        before="topologyManagerPolicyOptions are checked even with policy none",
        after="topologyManagerPolicyOptions are ignored with policy none",
        source="topology_manager.go, 1.28",
        evidence="verified",
        cases=("1.27/hints merge-p-575", "1.28/hints opt-max-allowable-numa-nodes"),
    ),
    "knows_sidecars": Difference(
        since=28,
        area="admission",
        before="an init container with restartPolicy Always is an ordinary init container",
        after="an init container with restartPolicy Always is a sidecar, unless the feature gate "
        "SidecarContainers is off",
        source="KEP-753",
        evidence="documented",
    ),
    "fits_zero_requests": Difference(
        since=28,
        area="admission",
        before="a pod without a CPU or memory request does not fit on a node where that resource is "
        "overcommitted",
        after="a resource that a pod does not request is not checked",
        source="fit.go, 1.28",
        evidence="documented",
    ),
    "admits_sidecars": Difference(
        since=29,
        area="admission",
        before="pods with sidecars are rejected (InitContainerRestartPolicyForbidden)",
        after="pods with sidecars are admitted",
        source="KEP-753",
        evidence="documented",
        gate="SidecarContainers",
    ),
    "reports_missing_cpu_count": Difference(
        since=29,
        area="admission",
        before="the rejection only says that there are not enough CPUs",
        after="the rejection says how many CPUs were requested and how many are available",
        source="cpu_assignment.go, 1.29",
        evidence="verified",
        cases=("1.28/assignment take-p-561", "1.29/assignment take-p-2622"),
    ),
    "reports_expected_capacity": Difference(
        since=30,
        area="configuration",
        before="if reservations exceed capacity, the error shows the negative value that would be left",
        after="if reservations exceed capacity, the error shows the reservation and the capacity",
        source="119764",
        evidence="verified",
        cases=("1.29/config config-68", "1.30/config config-68"),
    ),
    "reports_no_free_cores": Difference(
        since=32,
        area="exclusive CPUs",
        before="with full-pcpus-only and no free core, the rejection says that the number of CPUs is wrong",
        after="with full-pcpus-only and no free core, the rejection says that there are not enough free "
        "physical CPUs",
        source="127959",
        evidence="verified",
        cases=("1.31/hints nodehints-p-143-allowed", "1.32/hints nodehints-p-143-allowed"),
    ),
    "ignores_missing_devices_of_inits": Difference(
        since=31,
        area="admission",
        before="a pod is rejected (reason OutOf followed by the device name) if an init container requests "
        "devices that the node does not have; requests of app containers for them are ignored",
        after="requests for devices that the node does not have are ignored in all containers",
        source="predicate.go, 1.31",
        evidence="documented",
    ),
    "knows_books": Difference(
        since=32,
        area="exclusive CPUs",
        before="on s390x, cores with the same IDs in different books or drawers are treated as one core",
        after="on s390x, cores in different books or drawers are different cores",
        source="sysinfo.go, 1.32",
        evidence="documented",
    ),
    "lowers_oom_scores_of_sidecars": Difference(
        since=32,
        area="admission",
        before="the OOM score of a sidecar depends on its own memory request",
        after="the OOM score of a sidecar is at most that of the app container with the smallest memory "
        "request",
        source="128029",
        evidence="documented",
    ),
}

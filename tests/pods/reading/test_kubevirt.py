"""Virtual machines of KubeVirt among manifests: what their launcher pods request.

Figures come from KubeVirt v1.9.0's own tests if a case says so (``pkg/hypervisor/kvm``,
``pkg/virt-controller/services``), and are otherwise derived from its rules by hand. A guest of one vCPU needs
beyond its memory: 220Mi for processes, 8Mi for the I/O thread, 8Mi for the vCPU, 32Mi of video memory.
"""

from __future__ import annotations

import pytest

from cpuctl.errors import InputError
from cpuctl.pods.launcher_pod import on_architecture
from cpuctl.pods.model import ContainerKind, QosClass
from cpuctl.pods.qos import pod_qos
from cpuctl.pods.rules import PodRules
from cpuctl.pods.stored import stored_pod
from cpuctl.quantity import Quantity
from tests.pods.reading.kubevirt_objects import (
    BASE,
    GI,
    ISOLATED,
    MI,
    ONE_GIB,
    PARITY,
    PINNED,
    Object,
    amounts,
    compute,
    kubevirt,
    limited,
    named,
    pod_of,
    read,
    requested,
    vmi,
)

# CPUs

POOL = {"ioThreadsPolicy": "supplementalPool"}

DEDICATED = {
    "vCPUs only": ({"cpu": {"cores": 8, **PINNED}}, False, "8"),
    "sockets, cores and threads": ({"cpu": {"sockets": 2, "cores": 2, "threads": 2, **PINNED}}, False, "8"),
    "the emulator has its own CPU (kubevirt pull request 10593)": (
        {"cpu": {"cores": 8, **ISOLATED}},
        False,
        "9",
    ),
    "even parity, even vCPUs": ({"cpu": {"cores": 8, **ISOLATED}}, True, "10"),
    "even parity, odd vCPUs": ({"cpu": {"cores": 7, **ISOLATED}}, True, "8"),
    "I/O threads (KubeVirt's test: 2 + 4 + 1)": (
        {"cpu": {"cores": 2, **ISOLATED}, **POOL, "ioThreads": {"supplementalPoolThreadCount": 4}},
        False,
        "7",
    ),
    "even parity counts a pool's threads twice: 6 + 2, and 2 once more": (
        {"cpu": {"cores": 6, **ISOLATED}, **POOL, "ioThreads": {"supplementalPoolThreadCount": 2}},
        True,
        "10",
    ),
    "even parity leaves an odd pool odd: 8 + 1 + 1 is even, so the emulator gets two": (
        {"cpu": {"cores": 8, **ISOLATED}, **POOL, "ioThreads": {"supplementalPoolThreadCount": 1}},
        True,
        "11",
    ),
    "vCPUs from the limit": ({"cpu": PINNED, "resources": {"limits": {"cpu": "4"}}}, False, "4"),
    "parity has no effect without an isolated emulator": ({"cpu": {"cores": 7, **PINNED}}, True, "7"),
}


@pytest.mark.parametrize(("domain", "even", "cpus"), DEDICATED.values(), ids=DEDICATED)
def test_dedicated_cpus(domain: Object, even: bool, cpus: str) -> None:
    annotations = {PARITY: ""} if even else {}
    pod = pod_of(vmi({"memory": {"guest": "1Gi"}, **domain}, annotations=annotations))
    assert (requested(pod, "cpu"), limited(pod, "cpu")) == (cpus, cpus)
    assert requested(pod, "memory") == limited(pod, "memory")


SHARED = {
    "one vCPU by default": ({}, "100m", None),
    "a tenth of the vCPUs": ({"cpu": {"cores": 3}}, "300m", None),
    "more than ten": ({"cpu": {"cores": 12}}, "1200m", None),
    "as requested": ({"cpu": {"cores": 4}, "resources": {"requests": {"cpu": "2"}}}, "2", None),
    "as limited": ({"resources": {"limits": {"cpu": "3"}}}, "3", "3"),
}


@pytest.mark.parametrize(("domain", "request_", "limit"), SHARED.values(), ids=SHARED)
def test_shared_cpus(domain: Object, request_: str, limit: str | None) -> None:
    pod = pod_of(vmi({"memory": {"guest": "1Gi"}, **domain}))
    assert Quantity.parse(requested(pod, "cpu") or "0") == Quantity.parse(request_)
    assert limited(pod, "cpu") == limit


def test_cpu_allocation_ratio_of_the_cluster() -> None:
    """KubeVirt's tests: one CPU per vCPU with a ratio of 1; a third is written with all its digits."""
    guest = vmi({"cpu": {"cores": 1}, "memory": {"guest": "1Gi"}})
    ratios = [kubevirt({"developerConfiguration": {"cpuAllocationRatio": ratio}}) for ratio in (1, 3, 0)]
    pods = [pod_of(guest, each) for each in ratios]
    assert [requested(each, "cpu") for each in pods] == ["1", "333333334n", None]


# Memory

MEMORY = {
    "KubeVirt's base overhead": ({}, {}, BASE),
    "eight vCPUs": ({"cpu": {"sockets": 2, "cores": 2, "threads": 2}}, {}, BASE + 56 * MI),
    "no graphics": ({"devices": {"autoattachGraphicsDevice": False}}, {}, BASE - 32 * MI),
    "arm64": ({}, {"architecture": "arm64"}, BASE + 128 * MI),
    "a host device": ({"devices": {"hostDevices": [{"name": "x", "deviceName": "v.io/x"}]}}, {}, BASE + GI),
    "a GPU": ({"devices": {"gpus": [{"name": "x", "deviceName": "v.io/x"}]}}, {}, BASE + GI),
    "SR-IOV": ({"devices": {"interfaces": [{"name": "x", "sriov": {}}]}}, {}, BASE + GI),
    "a TPM": ({"devices": {"tpm": {}}}, {}, BASE + 53 * MI),
    "a TPM that is off": ({"devices": {"tpm": {"enabled": False}}}, {}, BASE),
    "SEV": ({"launchSecurity": {"sev": {}}}, {}, BASE + 256 * MI),
    "downward metrics": ({}, {"volumes": [{"name": "m", "downwardMetrics": {}}]}, BASE + MI),
    "one exec probe": ({}, {"livenessProbe": {"exec": {"command": ["x"]}}}, BASE + 110 * MI),
    "two exec probes": (
        {},
        {"livenessProbe": {"exec": {}}, "readinessProbe": {"exec": {}}},
        BASE + 120 * MI,
    ),
    "other probes": ({}, {"livenessProbe": {"httpGet": {"port": 80}}}, BASE),
    "dedicated CPUs": ({"cpu": {"cores": 1, **PINNED}}, {}, BASE + 100 * MI),
    "passt": ({"devices": {"interfaces": [{"name": "default", "passtBinding": {}}]}}, {}, BASE + 250 * MI),
}


@pytest.mark.parametrize(("domain", "spec", "total"), MEMORY.values(), ids=MEMORY)
def test_memory_overhead(domain: Object, spec: Object, total: int) -> None:
    pod = pod_of(vmi({**ONE_GIB, **domain}, **spec))
    assert compute(pod).resources.requests["memory"].value == total


def test_page_tables_are_computed_only_from_requests() -> None:
    """``GetMemoryOverhead`` ignores memory.guest: 4Gi and 220 + 8 + 64 + 32 + 100 Mi."""
    pod = pod_of(vmi({"cpu": {"cores": 8, **ISOLATED}, "memory": {"guest": "4Gi"}}))
    assert requested(pod, "memory") == limited(pod, "memory") == "4520Mi"


def test_overhead_ratio_multiplies_in_thousands() -> None:
    """270Mi are 283116 thousands, rounded up; another 2.2 times that is 622855 thousands, truncated."""
    cluster = kubevirt({"additionalGuestMemoryOverheadRatio": "3.2"})
    pod = pod_of(vmi(ONE_GIB), cluster)
    assert compute(pod).resources.requests["memory"].value == BASE + 622_855_000
    for invalid_number in ("no_float", "", "inf", "nan"):
        pod = pod_of(vmi(ONE_GIB), kubevirt({"additionalGuestMemoryOverheadRatio": invalid_number}))
        assert compute(pod).resources.requests["memory"].value == BASE


def test_limits_get_the_overhead_too() -> None:
    resources = {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    pod = pod_of(vmi({"resources": resources}))
    assert compute(pod).resources.limits["memory"].value == GI + BASE
    pod = pod_of(vmi({"resources": {**resources, "overcommitGuestOverhead": True}}))
    assert (requested(pod, "memory"), limited(pod, "memory")) == ("1Gi", str(Quantity.parse("2318Mi")))


def test_memory_overcommit_of_the_cluster() -> None:
    cluster = kubevirt({"developerConfiguration": {"memoryOvercommit": 150}})
    pod = pod_of(vmi({"memory": {"guest": "3Gi"}}), cluster)
    assert compute(pod).resources.requests["memory"].value == 2 * GI + 268 * MI


def test_huge_pages() -> None:
    """The guest's memory consists of huge pages; plain memory is only the overhead."""
    domain = {
        "cpu": {"cores": 2, **PINNED, "numa": {"guestMappingPassthrough": {}}},
        "memory": {"hugepages": {"pageSize": "1Gi"}, "guest": "4Gi"},
    }
    pod = pod_of(vmi(domain))
    assert (requested(pod, "hugepages-1Gi"), limited(pod, "hugepages-1Gi")) == ("4Gi", "4Gi")
    assert (requested(pod, "memory"), limited(pod, "memory")) == ("376Mi", "376Mi")


def test_huge_pages_below_the_requested_memory() -> None:
    """Requests beyond the guest's memory stay plain memory: 1Gi, and 8Mi of page tables."""
    domain = {
        "resources": {"requests": {"memory": "4Gi"}},
        "memory": {"hugepages": {"pageSize": "2Mi"}, "guest": "3Gi"},
    }
    pod = pod_of(vmi(domain))
    assert requested(pod, "hugepages-2Mi") == "3Gi"
    # 4Gi are 4294968 thousands: a 512th of them is 8388609 bytes.
    assert compute(pod).resources.requests["memory"].value == GI + 268 * MI + 8_388_609


def test_a_guest_with_only_a_huge_page_size_has_one_page() -> None:
    pod = pod_of(vmi({"memory": {"hugepages": {"pageSize": "1Gi"}}}))
    assert requested(pod, "hugepages-1Gi") == "1Gi"


# Other containers, devices and claims


def test_console_log_is_on_by_default_and_guaranteed_with_dedicated_cpus() -> None:
    shared = pod_of(vmi({"memory": {"guest": "1Gi"}}))
    (log,) = shared.init_containers
    assert (log.name, log.kind) == ("guest-console-log", ContainerKind.SIDECAR)
    assert amounts(log) == ({"cpu": "5m", "memory": "35M"}, {"cpu": "15m", "memory": "60M"})
    pinned = pod_of(vmi({"cpu": {"cores": 1, **PINNED}, "memory": {"guest": "1Gi"}}))
    assert amounts(pinned.init_containers[0]) == ({"cpu": "15m", "memory": "60M"},) * 2
    assert pod_qos(stored_pod(pinned, PodRules())).qos_class is QosClass.GUARANTEED


@pytest.mark.parametrize(
    ("devices", "disabled", "logs"),
    [
        ({}, True, False),
        ({"logSerialConsole": True}, True, True),
        ({"logSerialConsole": False}, False, False),
        ({"logSerialConsole": True, "autoattachSerialConsole": False}, False, False),
    ],
)
def test_console_log_can_be_off(devices: Object, disabled: bool, logs: bool) -> None:
    options: Object = {"virtualMachineOptions": {"disableSerialConsoleLog": {}}} if disabled else {}
    pod = pod_of(vmi({"devices": devices}), kubevirt(options))
    assert bool(pod.init_containers) is logs


def test_container_disks_are_image_volumes_unless_the_gate_is_disabled() -> None:
    guest = vmi(
        {"cpu": {"cores": 1, **PINNED}, "memory": {"guest": "1Gi"}, "devices": {"logSerialConsole": False}},
        volumes=[
            {"name": "root", "containerDisk": {"image": "fedora"}},
            {"name": "init", "cloudInitNoCloud": {}},
        ],
    )
    pod = pod_of(guest)
    assert [each.name for each in pod.all_containers] == ["volumeroot", "compute"]
    disk = {"cpu": "10m", "memory": "40M"}
    assert amounts(pod.init_containers[0]) == ({**disk, "ephemeral-storage": "50M"}, disk)
    off = kubevirt({"developerConfiguration": {"disabledFeatureGates": ["ImageVolume"]}})
    names = [each.name for each in pod_of(guest, off).all_containers]
    assert names == ["container-disk-binary", "volumeroot-init", "compute", "volumeroot"]


def test_sidecars_and_shared_directories() -> None:
    hooks = {"hooks.kubevirt.io/hookSidecars": '[{"image": "a"}, {"image": "b"}]'}
    domain = {
        "cpu": {"cores": 1, **PINNED},
        "memory": {"guest": "1Gi"},
        "devices": {"filesystems": [{"name": "conf", "virtiofs": {}}], "logSerialConsole": False},
    }
    pod = pod_of(vmi(domain, annotations=hooks, volumes=[{"name": "conf", "configMap": {"name": "c"}}]))
    assert {each.name: amounts(each)[0] for each in pod.containers[1:]} == {
        "virtiofs-conf": {"cpu": "100m", "memory": "80M"},
        "hook-sidecar-0": {"cpu": "200m", "memory": "64M"},
        "hook-sidecar-1": {"cpu": "200m", "memory": "64M"},
    }


def test_resources_of_support_containers_come_from_the_cluster() -> None:
    resources = {"requests": {"cpu": "1m"}, "limits": {"cpu": "30m", "memory": "0"}}
    cluster = kubevirt({"supportContainerResources": [{"type": "guest-console-log", "resources": resources}]})
    (log,) = pod_of(vmi(), cluster).init_containers
    assert amounts(log) == ({"cpu": "1m", "memory": "35M"}, {"cpu": "30m", "memory": "60M"})


def test_hotplugged_volumes_have_a_separate_pod() -> None:
    claim = {"claimName": "data", "hotpluggable": True}
    pods = read(vmi(volumes=[{"name": "data", "persistentVolumeClaim": claim}])).pods
    assert [pod.name for pod in pods] == ["virt-launcher-guest-0", "hp-volume-guest-0"]
    assert amounts(pods[1].containers[0]) == (
        {"cpu": "10m", "memory": "2M"},
        {"cpu": "100m", "memory": "80M"},
    )


DEVICES = {
    "a default network": ({}, {}, {"kvm", "tun", "vhost-net"}),
    "no network": ({"autoattachPodInterface": False}, {}, {"kvm"}),
    "a network card of another model": (
        {"interfaces": [{"name": "default", "model": "e1000", "bridge": {}}]},
        {},
        {"kvm", "tun"},
    ),
    "emulation": ({}, {"developerConfiguration": {"useEmulation": True}}, {"tun"}),
    "vsock": ({"autoattachVSOCK": True}, {}, {"kvm", "tun", "vhost-net", "vhost-vsock"}),
    "another hypervisor": (
        {},
        {
            "developerConfiguration": {"featureGates": ["ConfigurableHypervisor"]},
            "hypervisors": [{"name": "hyperv-direct"}],
        },
        {"mshv", "tun", "vhost-net"},
    ),
    "a hypervisor without its gate": (
        {},
        {"hypervisors": [{"name": "hyperv-direct"}]},
        {"kvm", "tun", "vhost-net"},
    ),
    "a shared disk": (
        {"disks": [{"name": "d", "lun": {"reservation": True}}]},
        {},
        {"kvm", "tun", "vhost-net", "pr-helper"},
    ),
}


@pytest.mark.parametrize(("devices", "configuration", "names"), DEVICES.values(), ids=DEVICES)
def test_devices_of_virtualization(devices: Object, configuration: Object, names: set[str]) -> None:
    limits = compute(pod_of(vmi({"devices": devices}), kubevirt(configuration))).resources.limits
    assert {name for name in limits if "/" in name} == {f"devices.kubevirt.io/{name}" for name in names}


def test_gpus_and_host_devices_of_plugins_and_claims() -> None:
    devices = {
        "gpus": [{"name": "a", "deviceName": "nvidia.com/T4"}, {"name": "b", "deviceName": "nvidia.com/T4"}],
        "hostDevices": [{"name": "c", "claimName": "fpga", "requestName": "one"}],
    }
    resources = compute(pod_of(vmi({"devices": devices}))).resources
    assert str(resources.requests["nvidia.com/T4"]) == str(resources.limits["nvidia.com/T4"]) == "2"
    assert resources.claims == ("fpga",)


def test_devices_of_networks_come_from_their_attachment() -> None:
    guest = vmi(
        {"devices": {"interfaces": [{"name": "fast", "sriov": {}}, {"name": "slow", "bridge": {}}]}},
        networks=[
            {"name": "fast", "multus": {"networkName": "nets/fast"}},
            {"name": "slow", "multus": {"networkName": "slow"}},
        ],
    )
    attachment = named("NetworkAttachmentDefinition", {}, "fast", "k8s.cni.cncf.io/v1")
    attachment["metadata"] |= {
        "namespace": "nets",
        "annotations": {"k8s.v1.cni.cncf.io/resourceName": "intel.com/vf"},
    }
    found = read(guest, attachment)
    assert requested(found.pods[0], "intel.com/vf") == "1"
    (note,) = found.notes
    assert "among the manifests: slow" in note


def test_memory_limit_of_a_namespace_with_a_quota_of_limits() -> None:
    quota = named("ResourceQuota", {"hard": {"limits.memory": "10Gi", "limits.cpu": "10"}}, "q", "v1")
    pod = pod_of(vmi({**ONE_GIB, "cpu": {"cores": 4}}), quota)
    assert compute(pod).resources.limits["memory"].value == 2 * (BASE + 24 * MI)
    assert (requested(pod, "cpu"), limited(pod, "cpu")) == ("400m", "4")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vms"}}
    space["metadata"]["labels"] = {"alpha.kubevirt.io/auto-memory-limits-ratio": "1.5"}  # type: ignore[index]
    pod = pod_of(space, quota, vmi(ONE_GIB))
    assert compute(pod).resources.limits["memory"].value == BASE * 3 // 2
    written = {"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}}}
    assert compute(pod_of(quota, vmi(written))).resources.limits["memory"].value == BASE


def test_cpu_limit_of_a_labelled_namespace() -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vms", "labels": {"tier": "a"}}}
    for expression, limit in (
        ({"matchLabels": {"tier": "a"}}, "2"),
        ({"matchLabels": {"tier": "b"}}, None),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["b"]}]}, "2"),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, None),
    ):
        cluster = kubevirt({"autoCPULimitNamespaceLabelSelector": expression})
        assert limited(pod_of(cluster, space, vmi({"cpu": {"cores": 2}})), "cpu") == limit


# The cluster


def test_even_parity_of_the_cluster_needs_its_gate() -> None:
    guest = vmi({"cpu": {"cores": 8, **ISOLATED}, "memory": {"guest": "1Gi"}})
    for gates, cpus in (([], "9"), (["AlignCPUs"], "10")):
        cluster = kubevirt({"developerConfiguration": {"featureGates": gates}}, annotations={PARITY: ""})
        assert requested(pod_of(guest, cluster), "cpu") == cpus


def test_release_and_settings_are_named() -> None:
    found = read(vmi())
    assert found.computed == "launcher pods as created by KubeVirt 1.9, with KubeVirt's default settings"
    found = read(vmi(), kubevirt({}, status={"observedKubeVirtVersion": "v1.5.1"}))
    assert found.computed.endswith("with the settings of vms.json: items[1]")
    assert found.notes == (
        "the cluster runs KubeVirt v1.5.1, but launcher pods are computed as KubeVirt 1.9 creates them",
    )
    assert read(vmi(), kubevirt({}, status={"observedKubeVirtVersion": "v1.9.2"})).notes == ()


def test_the_nodes_architecture_counts_if_none_is_given() -> None:
    pod = pod_of(vmi(ONE_GIB))
    assert compute(on_architecture(pod, "arm64")).resources.requests["memory"].value == BASE + 128 * MI
    cluster = kubevirt({}, status={"defaultArchitecture": "amd64"})
    assert on_architecture(pod_of(vmi(ONE_GIB), cluster), "arm64") == pod_of(vmi(ONE_GIB), cluster)


def test_network_binding_plugins() -> None:
    bindings = {"passt": {"sidecarImage": "x", "computeResourceOverhead": {"requests": {"memory": "500Mi"}}}}
    interfaces = [{"name": "a", "binding": {"name": "passt"}}, {"name": "b", "binding": {"name": "passt"}}]
    domain = {**ONE_GIB, "devices": {"interfaces": interfaces, "logSerialConsole": False}}
    cluster = {"network": {"binding": bindings}, "additionalGuestMemoryOverheadRatio": "1.0"}
    pod = pod_of(vmi(domain), kubevirt(cluster))
    assert compute(pod).resources.requests["memory"].value == BASE + 500 * MI
    assert [each.name for each in pod.all_containers] == ["compute", "hook-sidecar-0"]


# What KubeVirt rejects

REFUSED = {
    "isolateEmulatorThread: needs": {"cpu": {"cores": 2, "isolateEmulatorThread": True}},
    "guestMappingPassthrough: needs memory.hugepages": {
        "cpu": {"cores": 2, **PINNED, "numa": {"guestMappingPassthrough": {}}},
        "memory": {"guest": "1Gi"},
    },
    "guestMappingPassthrough: needs dedicated": {
        "cpu": {"cores": 2, "numa": {"guestMappingPassthrough": {}}},
        "memory": {"hugepages": {"pageSize": "1Gi"}},
    },
    "realtime: needs numa": {"cpu": {"cores": 2, **PINNED, "realtime": {}}, "memory": {"guest": "1Gi"}},
    "dedicatedCpuPlacement: needs memory": {"cpu": {"cores": 2, **PINNED}},
    "not a multiple of 1Gi": {"memory": {"hugepages": {"pageSize": "1Gi"}, "guest": "1536Mi"}},
    "many is not a valid page size": {"memory": {"hugepages": {"pageSize": "many"}, "guest": "1Gi"}},
    "at most two threads": {"cpu": {"threads": 4, **PINNED}, "memory": {"guest": "1Gi"}},
    "result in 2": {"cpu": {"cores": 2, **PINNED}, "resources": {"limits": {"cpu": "3", "memory": "1Gi"}}},
    "not a whole number": {"cpu": PINNED, "resources": {"limits": {"cpu": "2500m", "memory": "1Gi"}}},
    "memory differs": {
        "cpu": {"cores": 1, **PINNED},
        "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}},
    },
    "2Gi exceeds the limit of 1Gi": {
        "resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    },
    "expected at least 1M": {"resources": {"requests": {"memory": "1k"}}},
    "must not be negative, found -1": {"resources": {"requests": {"cpu": "-1"}}},
    "at least one thread": {"ioThreadsPolicy": "supplementalPool"},
    "expected one of shared, auto": {"ioThreadsPolicy": "none"},
    "feature gate ReservedOverheadMemlock is disabled": {
        "memory": {"reservedOverhead": {"addedOverhead": "1Gi"}}
    },
    "3 sockets exceed maxSockets, which is 2": {"cpu": {"sockets": 3, "maxSockets": 2}},
}


@pytest.mark.parametrize(("why", "domain"), REFUSED.items(), ids=REFUSED)
def test_rejected_guests_have_no_pods(why: str, domain: Object) -> None:
    with pytest.raises(InputError) as raised:
        read(vmi(domain))
    assert why in raised.value.hint
    assert "KubeVirt rejects it: spec.domain." in raised.value.hint
    found = read(vmi(domain), vmi() | {"metadata": {"name": "other"}})
    assert [pod.name for pod in found.pods] == ["virt-launcher-other-0"]


def test_gates_and_permitted_devices_of_the_cluster_are_checked() -> None:
    memory = {"memory": {"guest": "1Gi", "reservedOverhead": {"addedOverhead": "100Mi"}}}
    cluster = kubevirt({"developerConfiguration": {"featureGates": ["ReservedOverheadMemlock"]}})
    assert requested(pod_of(vmi(memory), cluster), "memory") == "1392Mi"
    gpu = vmi({"devices": {"gpus": [{"name": "a", "deviceName": "nvidia.com/T4"}]}})
    listed = {"pciHostDevices": [{"resourceName": "nvidia.com/A100"}]}
    with pytest.raises(InputError) as raised:
        read(gpu, kubevirt({"permittedHostDevices": listed}))
    assert "nvidia.com/T4 is not among" in raised.value.hint


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"domain": {"cpu": {"cores": "8"}}}, "spec.domain.cpu.cores: expected a whole number"),
        ({"domain": {"cpu": {"cores": -1}}}, "spec.domain.cpu.cores: expected a whole number of at least 0"),
        ({"domain": {"memory": {"guest": "4GB"}}}, "spec.domain.memory.guest: expected a quantity"),
        ({"domain": {"cpu": {"dedicatedCpuPlacement": "yes"}}}, "expected true or false"),
        ({}, "spec: domain is missing"),
        ({"domain": {"memory": {"hugepages": {}}}}, "pageSize is missing"),
    ],
)
def test_unreadable_members_are_reported_with_their_place(spec: Object, where: str) -> None:
    with pytest.raises(InputError) as raised:
        read(vmi() | {"spec": spec})
    assert where in str(raised.value)


def test_two_kubevirt_objects_are_rejected() -> None:
    with pytest.raises(InputError, match="expected a single KubeVirt object"):
        read(vmi(), kubevirt({}), kubevirt({}))


def test_hooks_that_are_not_a_list() -> None:
    for text in ("{}", "[", "x"):
        with pytest.raises(InputError) as raised:
            read(vmi(annotations={"hooks.kubevirt.io/hookSidecars": text}))
        assert "is not a JSON list" in raised.value.hint

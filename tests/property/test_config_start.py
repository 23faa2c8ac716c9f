"""Configurations drawn from the whole schema: each starts, or is rejected with a text and a counted error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cpuctl.answering.config.check_answer import CheckedStart, check_document, unloaded_document
from cpuctl.answering.config.starts import start_text
from cpuctl.engine.start import Started, check_start
from cpuctl.inputs.configuration import Arguments, KubeletSetup, LoadedKubelet
from cpuctl.kubelet.configuration.loading import ConfigSources, LoadedConfiguration, load_configuration
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.configuration.schema import FIELD_TYPES, STRUCTS
from cpuctl.kubelet.kubelet import Kubelet
from cpuctl.kubelet.validation.later import LATER, NOT_CHECKED
from cpuctl.kubelet.validation.rules import RULES
from cpuctl.kubelet.version import NEWEST, OLDEST, KubeletVersion
from cpuctl.machine.sources import read_machine
from cpuctl.operations.reservable import reservable_cpus

HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
MACHINE = read_machine("synthetic:1s2n4c2t,mem=16Gi")
NUMA_NODES = len(MACHINE.machine.numa_nodes)

BY_MANAGERS = {
    "cpuManagerPolicy", "cpuManagerPolicyOptions", "evictionHard", "featureGates", "kubeReserved",
    "memoryManagerPolicy", "mergeDefaultEvictionSettings", "qosReserved", "systemReserved",
    "topologyManagerPolicyOptions",
}  # fmt: skip
"""Fields that managers or gates reject: tested by ``config`` recordings and separate tests."""
TAKES_ANYTHING = {
    "clusterDNS", "clusterDomain", "contentType", "cpuCFSQuota", "cpuManagerReconcilePeriod",
    "enableContentionProfiling", "enableControllerAttachDetach", "enableDebugFlagsHandler",
    "enableDebuggingHandlers", "enableProfilingHandler", "enableServer", "enableSystemLogHandler",
    "evictionMaxPodGracePeriod", "evictionPressureTransitionPeriod", "fileCheckFrequency",
    "healthzBindAddress",
    "httpCheckFrequency", "imageServiceEndpoint", "kernelMemcgNotification", "localStorageCapacityIsolation",
    "makeIPTablesUtilChains", "nodeStatusReportFrequency", "nodeStatusUpdateFrequency", "podCIDR",
    "podPidsLimit", "providerID", "rotateCertificates", "runtimeRequestTimeout", "seccompDefault",
    "serializeImagePulls", "staticPodURL", "staticPodURLHeader", "streamingConnectionIdleTimeout",
    "volumePluginDir", "volumeStatsAggPeriod",
}  # fmt: skip
"""Fields for which a kubelet accepts every value that it can decode: from the sources of 1.27 to 1.36."""

SCALARS: Mapping[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int32": st.sampled_from(
        [-(1 << 31), -1001, -2, -1, 0, 1, 2, 31, 32, 100, 101, 65535, 65536, (1 << 31) - 1]
    ),
    "int64": st.sampled_from([-(1 << 63), -1, 0, 65535, 65536, 65537, 1 << 32, (1 << 63) - 1]),
    "float64": st.sampled_from([-1.0, 0.0, 1e-9, 0.5, 1.0, 1.5, 1e300]),
    "string": st.sampled_from(
        ["", "none", "static", "Static", "pod", "0", "0-1", "9", "text", "json", "1.30", "/x", "ö"]
    ),
    "v1.Duration": st.sampled_from(["0s", "-1s", "1ns", "999ms", "1s", "3s", "5m0s", "2562047h47m16s"]),
    "v1.TimeOrMetaDuration": st.sampled_from(["5s", "-5s", 0, -1, 5_000_000_000]),
    "v1.VerbosityLevel": st.sampled_from([0, 4, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]),
    "v1.Time": st.just("2026-01-01T00:00:00Z"),
    "resource.Quantity": st.sampled_from(["0", "1", "1.5", "1Gi", "500m", "-1", "1e30"]),
    "resource.QuantityValue": st.sampled_from(["0", "1Mi", "-1"]),
}
KEYS = st.sampled_from(
    [
        "cpu",
        "memory",
        "pid",
        "memory.available",
        "nodefs.available",
        "pods",
        "full-pcpus-only",
        "MemoryQoS",
        "x",
    ]
)


def values(go_type: str) -> st.SearchStrategy[Any]:
    """Draw values that decode as a type."""
    base = go_type.lstrip("*")
    base = {
        "v1.ResourceList": "map[string]resource.Quantity",
        "v1.VModuleConfiguration": "[]v1.VModuleItem",
    }.get(base, base)
    if base in STRUCTS:
        fields = {name: values(inner) for name, inner in STRUCTS[base].items()}
        return st.fixed_dictionaries({}, optional=fields)
    if base.startswith("[]"):
        return st.lists(values(base[2:]), max_size=2)
    if base.startswith("map["):
        return st.dictionaries(KEYS, values(base.partition("]")[2]), max_size=2)
    return SCALARS.get(base, SCALARS["string"])


FIELDS = {name: values(field.go_type) for name, field in FIELD_TYPES.items()}
CONFIGS = st.sets(st.sampled_from(sorted(FIELDS)), max_size=4).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in sorted(names)})
)


def load(config: dict[str, Any], version: KubeletVersion) -> LoadedConfiguration | ConfigRefusedError:
    try:
        return load_configuration(ConfigSources(main=(json.dumps(HEAD | config), "config.json")), version)
    except ConfigRefusedError as refused:
        return refused


@settings(max_examples=300)
@given(config=CONFIGS, minor=st.integers(OLDEST, NEWEST), cgroup_version=st.sampled_from([1, 2]))
def test_a_start_that_fails_is_an_error_with_a_text(
    config: dict[str, Any], minor: int, cgroup_version: int
) -> None:
    version = KubeletVersion(minor)
    loaded = load(config, version)
    if isinstance(loaded, ConfigRefusedError):
        assert loaded.refusal.error
        assert unloaded_document(loaded, {}, None)["summary"]["error"] == 1
        return
    kubelet = Kubelet(
        version=version,
        config=loaded.config,
        gates_of_main_file=loaded.gates_of_main_file,
        cgroup_version=cgroup_version,
    )
    outcome = check_start(MACHINE.info, kubelet)
    setup = KubeletSetup(version=version, main=None, base_directory="", drop_ins=None, arguments=Arguments())
    start = CheckedStart(outcome, reservable_cpus(MACHINE, kubelet, ()), NUMA_NODES)
    document = check_document(LoadedKubelet(kubelet, loaded, setup), start, [], {})
    assert bool(document["summary"]["error"]) is not isinstance(outcome, Started)
    assert bool(start_text(outcome)) is not isinstance(outcome, Started)


def test_every_field_has_a_rule_or_a_reason_to_have_none() -> None:
    ruled = {rule.path[0] for rule in (*RULES, *LATER)}
    unseen = {name for each in NOT_CHECKED for name in each.fields}
    assert FIELD_TYPES.keys() - ruled - unseen - BY_MANAGERS - TAKES_ANYTHING == set()
    assert ruled & TAKES_ANYTHING == set()
    assert FIELD_TYPES.keys() >= TAKES_ANYTHING | BY_MANAGERS

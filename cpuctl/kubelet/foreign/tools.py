"""Which tool a file is of, by its kinds or the names in it, and who reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.kubelet.foreign.clouds import AKS_FIELDS, aks, bottlerocket, configz, karpenter, node_config
from cpuctl.kubelet.foreign.found import Fields, Found, mapping
from cpuctl.kubelet.foreign.installers import k3s, kind, kops, kubeadm, shoot, talos
from cpuctl.kubelet.foreign.openshift import kubelet_config, machine_config, performance_profile

Reader = Callable[[Fields, str], Found]

KINDS: Mapping[tuple[str, str], Reader] = {
    ("performance.openshift.io", "PerformanceProfile"): performance_profile,
    ("machineconfiguration.openshift.io", "KubeletConfig"): kubelet_config,
    ("machineconfiguration.openshift.io", "MachineConfig"): machine_config,
    ("node.eks.aws", "NodeConfig"): node_config,
    ("kops.k8s.io", "Cluster"): kops,
    ("kops.k8s.io", "InstanceGroup"): kops,
    ("core.gardener.cloud", "Shoot"): shoot,
    ("kind.x-k8s.io", "Cluster"): kind,
    ("karpenter.k8s.aws", "EC2NodeClass"): karpenter,
    ("karpenter.azure.com", "AKSNodeClass"): karpenter,
    ("karpenter.sh", "NodePool"): karpenter,
    ("karpenter.sh", "Provisioner"): karpenter,
}
_KUBEADM = "kubeadm.k8s.io"


def read_tool_file(content: str, source: str) -> Found | None:
    """Read the file of a tool that is known; None for any other.

    Raise InputError for such a file that says nothing of a kubelet's configuration.
    """
    if (found := _toml(content, source)) is not None:
        return found
    try:
        documents = load_documents(content, source, last_wins=True)
    except InputError:
        return None
    values = [each.value for each in documents if isinstance(each.value, dict)]
    heads = [
        (str(value.get("apiVersion") or "").partition("/")[0], str(value.get("kind") or ""))
        for value in values
    ]
    if any(group == _KUBEADM for group, _ in heads):
        return kubeadm(values)
    for head, value in zip(heads, values, strict=True):
        if head in KINDS:
            return KINDS[head](value, source)
    for value in values:
        if reader := _without_kind(value):
            return reader(value, source)
    return None


def _without_kind(value: Fields) -> Reader | None:
    """Tell files without a kind by the names in them."""
    if isinstance(value.get("kubeletconfig"), dict):
        return configz
    if "kubelet-arg" in value or "kubelet-arg+" in value:
        return k3s
    if mapping(value, "machine", "kubelet") and "kind" not in value:
        return talos
    return aks if "kind" not in value and value and value.keys() <= AKS_FIELDS else None


def _toml(content: str, source: str) -> Found | None:
    if not re.search(r"^\s*\[settings\.kubernetes", content, re.MULTILINE):
        return None
    import tomllib

    try:
        value = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=source) from None
    except RecursionError:
        raise InputError("nesting is too deep", where=source) from None
    return bottlerocket(value, source)

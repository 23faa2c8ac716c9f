"""Which tool a file belongs to, by its kinds or the names in it, and its reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.kubelet.foreign.clouds import (
    AKS_FIELDS,
    AKS_OWN_NAMES,
    aks,
    bottlerocket,
    configz,
    karpenter,
    node_config,
)
from cpuctl.kubelet.foreign.found import Fields, ToolFile, WrongTypeError, unread_files
from cpuctl.kubelet.foreign.installers import k3s, kind, kops, kubeadm, shoot, talos
from cpuctl.kubelet.foreign.lines import lined, with_toml_lines
from cpuctl.kubelet.foreign.openshift import kubelet_config, machine_config, performance_profile

Reader = Callable[[Fields, str], ToolFile]

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


def read_tool_file(content: str, source: str) -> ToolFile | None:
    """Read the file of a known tool; return None for any other.

    Raise InputError for such a file without a kubelet configuration, or with values that the tool does not
    accept.
    """
    try:
        found = _found(content, source)
    except WrongTypeError as error:
        raise error.within(source) from None
    return found and found._replace(assumed=(*found.assumed, *unread_files(found.flags)))


def _found(content: str, source: str) -> ToolFile | None:
    if (found := _toml(content, source)) is not None:
        return found
    try:
        documents = load_documents(content, source, last_wins=True)
    except InputError:
        return None
    mappings = [each for each in documents if isinstance(each.value, dict)]
    types = [_type_meta(each.value) for each in mappings]
    if any(group == _KUBEADM for group, _ in types):
        return kubeadm(map(lined, mappings))
    for type_meta, document in zip(types, mappings, strict=True):
        if type_meta in KINDS:
            return KINDS[type_meta](lined(document), source)
    for document in mappings:
        if reader := _without_kind(document.value):
            return reader(lined(document), source)
    return None


def _type_meta(value: Any) -> tuple[str, str]:  # noqa: ANN401  # a mapping with any content
    return str(value.get("apiVersion") or "").partition("/")[0], str(value.get("kind") or "")


def _without_kind(value: Any) -> Reader | None:  # noqa: ANN401  # as above
    """Recognize files without a kind by the names in them."""
    if isinstance(value.get("kubeletconfig"), dict):
        return configz
    if "kubelet-arg" in value or "kubelet-arg+" in value:
        return k3s
    machine = value.get("machine")
    if isinstance(machine, dict) and machine.get("kubelet") and "kind" not in value:
        return talos
    return aks if value.keys() <= AKS_FIELDS and value.keys() & AKS_OWN_NAMES else None


def _toml(content: str, source: str) -> ToolFile | None:
    if not re.search(r"^\s*\[settings\.kubernetes", content, re.MULTILINE):
        return None
    import tomllib

    try:
        value = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=source) from None
    except RecursionError:
        raise InputError("nesting is too deep", where=source) from None
    return bottlerocket(with_toml_lines(value, content), source)

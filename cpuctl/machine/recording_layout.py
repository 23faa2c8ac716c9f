"""Where a recording keeps files that are not the kernel's: relative to its root, next to ``sys``, ``proc``.

The kubelet's files have these places in every capture, regardless of their places on the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from cpuctl.state_names import (
    ACTUATED_FILE,
    ALLOCATED_FILE,
    CLAIMS_FILE,
    CPU_FILE,
    DEVICES_FILE,
    MEMORY_FILE,
    STATUS_FILE,
)

if TYPE_CHECKING:
    from cpuctl.answers.checkpoint import StateFileName

MANIFEST = "MANIFEST.json"
LAYOUT_VERSION: Final = "v1"
"""The name of this layout in a manifest."""
RECORD_AGAIN: Final = "record the node again: sudo cpuctl capture FILE"
"""What to do if a recording contains something that no node has."""
PROCESSES = "processes.jsonl"
CPU_SETTINGS = "cpu-settings.jsonl"
"""What systemd's files say about CPUs; if it is missing, they were not recorded."""
CONFIG = "var/lib/kubelet/config.yaml"
OPENSHIFT_CONFIG = "etc/kubernetes/kubelet.conf"
DROP_INS = "etc/kubernetes/kubelet.conf.d"
STATE_DIRECTORY = "var/lib/kubelet"
MADE_BY_KUBELET = frozenset({"device-plugins", "pki", "pods"})
"""Directories that a running kubelet makes there; its configuration is written before it runs."""
STATE_FILES: Mapping[StateFileName, str] = {
    ACTUATED_FILE: ACTUATED_FILE,
    ALLOCATED_FILE: ALLOCATED_FILE,
    CPU_FILE: CPU_FILE,
    CLAIMS_FILE: CLAIMS_FILE,
    DEVICES_FILE: f"device-plugins/{DEVICES_FILE}",
    MEMORY_FILE: MEMORY_FILE,
    STATUS_FILE: STATUS_FILE,
}
"""The kubelet's state files, and their paths below its root directory."""

CDI_FILE = "var/run/cdi/dra.cpu.json"
"""The file (CDI) in which the driver ``dra.cpu`` describes prepared claims to container runtimes."""
CDI_FILES = (CDI_FILE, "run/cdi/dra.cpu.json")
"""Its possible places: trees without the link ``/var/run`` have it below ``/run``."""
CDI_KIND, CDI_VARIABLE = "dra.k8s.io/cpu", "DRA_CPUSET_"
"""The kind of its devices, one per claim, and the prefix of the variable that holds a claim's CPUs."""
CONTAINER_LOGS = "var/log/containers"
"""A kubelet's directory of links whose names contain pod, namespace, container and container id."""
IRQBALANCE_FILES = ("etc/default/irqbalance", "etc/sysconfig/irqbalance")


def prepared_claims_file(read: Callable[[str], str | None]) -> tuple[str, str] | None:
    """Return path and text of the driver's file in a tree that *read* reads; None if it has none."""
    return next(((path, text) for path in CDI_FILES if (text := read(path)) is not None), None)


PODS_DIRECTORY = f"{STATE_DIRECTORY}/pods"
DOWNWARD_API_VOLUMES, PROJECTED_VOLUMES = "kubernetes.io~downward-api", "kubernetes.io~projected"
"""Directories of a pod's volumes by kind, below ``pods/UID/volumes``."""


def in_downward_api_volume(path: str) -> bool:
    """Return whether a file of a recording is in a pod's downward API volume."""
    parts = path.removeprefix(f"{PODS_DIRECTORY}/").split("/")
    return path.startswith(f"{PODS_DIRECTORY}/") and parts[1:3] == ["volumes", DOWNWARD_API_VOLUMES]


UNIT = "kubelet.service"
EMBEDDING_UNITS = (
    "k3s.service",
    "k3s-agent.service",
    "rke2-server.service",
    "rke2-agent.service",
    "k0sworker.service",
    "k0scontroller.service",
)
"""Units of programs that contain a kubelet."""
UNIT_DIRECTORIES = (
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    "etc/systemd/system",
    "etc/systemd/system.attached",
    "run/systemd/system",
    "run/systemd/system.attached",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "run/systemd/generator.late",
)
"""Where systemd looks for units; earlier directories hide later ones."""

FLAG_FILES = {
    "var/lib/kubelet/kubeadm-flags.env": "KUBELET_KUBEADM_ARGS",
    "etc/default/kubelet": "KUBELET_EXTRA_ARGS",
    "etc/sysconfig/kubelet": "KUBELET_EXTRA_ARGS",
}
"""Files that hold flags on a kubeadm node, and the variable that passes them to the kubelet."""

SOS_COMMANDS = "sos_commands"
"""Where a sosreport keeps the output of commands."""
SOS_FILES = (
    SOS_COMMANDS,
    f"{SOS_COMMANDS}/process/ps_auxwwwm",
    f"{SOS_COMMANDS}/processor/lscpu_-ae",
    "installed-debs",
    "installed-rpms",
    "ps",
)
"""Files about a node in a sosreport, in addition to those at the node's own paths."""
SOS_CRICTL = f"{SOS_COMMANDS}/crio"
"""Where a sosreport keeps crictl's output about pods and containers."""
CRICTL_POD, CRICTL_CONTAINER = "crictl_inspectp_", "crictl_inspect_"
"""The prefixes of file names with output about one pod or one container."""


def is_crictl_output(path: str) -> bool:
    """Return whether a file holds the container runtime's output about a pod or a container."""
    name = path.rpartition("/")[2]
    return path.startswith(f"{SOS_CRICTL}/") and name.startswith((CRICTL_POD, CRICTL_CONTAINER))


_KUBERNETES = ("etc", "kubernetes")
_OF_KUBELET = "kubelet"


def _may_configure(path: str) -> bool:
    """Return whether a file is where distributions keep a kubelet's configuration."""
    parts = path.split("/")
    if tuple(parts[:2]) != _KUBERNETES:
        return False
    return len(parts) == 3 or (len(parts) == 4 and parts[2].startswith(_OF_KUBELET))


MICROK8S_FLAGS = "var/snap/microk8s/current/args/kubelet"
"""The command line of the kubelet in MicroK8s."""

_UNITS = (UNIT, *EMBEDDING_UNITS)
_RANCHERS = ("k3s", "rke2")
_UNITS_VARIABLES = (
    "etc/os-release",
    "etc/node-sizing.env",
    "etc/hostname",
    "etc/machine-id",
    *(
        f"etc/{kind}/{unit.removesuffix('.service')}"
        for kind in ("default", "sysconfig")
        for unit in EMBEDDING_UNITS
    ),
    *(f"etc/systemd/system/{unit}.env" for unit in EMBEDDING_UNITS),
    *(f"usr/local/lib/systemd/system/rke2-{role}.env" for role in ("server", "agent")),
)

RECORDED_FILES = frozenset(
    {
        *CDI_FILES,
        *FLAG_FILES,
        *_UNITS_VARIABLES,
        *(f"{directory}/{unit}" for directory in UNIT_DIRECTORIES for unit in _UNITS),
        *(f"etc/rancher/{program}/config.yaml" for program in _RANCHERS),
        MICROK8S_FLAGS,
        "var/lib/k0s/kubelet-config.yaml",
        MANIFEST,
        PROCESSES,
        CPU_SETTINGS,
        CONFIG,
        *IRQBALANCE_FILES,
        *SOS_FILES,
        *(f"{STATE_DIRECTORY}/{path}" for path in STATE_FILES.values()),
    }
)
RECORDED_DIRECTORIES = (
    DROP_INS,
    CONTAINER_LOGS,
    *(f"{directory}/{kind}.d" for directory in UNIT_DIRECTORIES for kind in (*_UNITS, "service")),
    *(f"{directory}/multi-user.target.wants" for directory in UNIT_DIRECTORIES),
    *(f"etc/rancher/{program}/config.yaml.d" for program in _RANCHERS),
    *(f"var/lib/rancher/{program}/agent/etc/kubelet.conf.d" for program in _RANCHERS),
)
_MADE = frozenset(f"{STATE_DIRECTORY}/{name}" for name in MADE_BY_KUBELET)
_BELOW = tuple(f"{name}/" for name in RECORDED_DIRECTORIES)


def is_of_kubelet(path: str) -> bool:
    """Return whether a recording keeps a file that is not the kernel's: the kubelet's, or one about it."""
    return (
        path in RECORDED_FILES
        or path in _MADE
        or path.startswith(_BELOW)
        or _may_configure(path)
        or is_crictl_output(path)
        or in_downward_api_volume(path)
    )

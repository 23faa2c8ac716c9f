"""Starting a kubelet from a recorded configuration, and what a start answers."""

from __future__ import annotations

import json

from cpuctl.engine.node import Node
from cpuctl.engine.start import Kubelet, StartResult, start_node
from cpuctl.kubelet.config_file import read_kubelet_config
from cpuctl.kubelet.version import DEFAULT_VERSION
from tests.conformance.corpus import Json
from tests.conformance.machines import machine_info

_HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}


def start_kubelet(machine: Json, config: Json) -> StartResult:
    """Start a kubelet of 1.36 on a recorded machine."""
    told = read_kubelet_config(json.dumps(_HEAD | config), "case").config
    return start_node(machine_info(machine), Kubelet(version=DEFAULT_VERSION, config=told))


def started_answer(node: Node, machine: Json, config: Json) -> Json:
    return {}

"""Files of installers and clouds that cannot be converted: the error, and what to use instead."""

from __future__ import annotations

import base64
import gzip
import json
import time
import tracemalloc

import pytest

from cpuctl.errors import InputError
from cpuctl.kubelet.configuration.main_file import read_main_file
from cpuctl.kubelet.configuration.refusal import ConfigRefusedError
from cpuctl.kubelet.foreign.reading import read_foreign


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kind: ConfigMap\napiVersion: v1\ndata: {kubelet: x}\n", "data.kubelet"),
        ("kind: Node\napiVersion: v1\n", "/proxy/configz"),
        ("kind: Deployment\napiVersion: apps/v1\n", "its --config flag"),
        ("kind: ClusterConfig\napiVersion: eksctl.io/v1alpha5\n", "kubeletExtraConfig"),
        ("kind: MachineConfigPool\napiVersion: machineconfiguration.openshift.io/v1\n", "rendered"),
        ("kind: Config\napiVersion: v1\n", "a kubeconfig"),
        (
            "kind: CredentialProviderConfig\napiVersion: kubelet.config.k8s.io/v1\n",
            "--image-credential-provider-config",
        ),
        ("[Service]\nExecStart=/usr/bin/kubelet\n", "a systemd unit"),
        (
            "# of the kubelet\nKUBELET_ARGS=--a=b --c\n",
            "this is an environment file: pass its flags with --kubelet-args",
        ),
        ("#cloud-config\nwrite_files: []\n", "cloud-init user data"),
        ('MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B\n', "multipart user data"),
        ("write-kubeconfig-mode: '0644'\ntoken: a\n", "sets no kubelet-arg"),
        (
            "version: v1alpha1\nmachine:\n  type: worker\n",
            "Talos machine configuration has no machine.kubelet",
        ),
        ("version = 2\n[plugins]\n", "this is TOML: the only supported TOML is Bottlerocket user data"),
        (
            "[settings.host-containers.admin]\nenabled = true\n",
            "this is TOML: the only supported TOML is Bottlerocket user data",
        ),
        ("cpuManagerPolicy: static\n", "start it with the lines apiVersion: "),
    ],
)
def test_a_file_of_another_kind_gets_a_hint_what_to_use_instead(text: str, hint: str) -> None:
    assert read_foreign(text, "file") is None
    with pytest.raises(ConfigRefusedError) as caught:
        read_main_file(text, "file", 36)
    assert hint in caught.value.hint


def test_endlessly_nested_toml_is_rejected() -> None:
    content = "[settings.kubernetes]\na = " + "[" * 100_000
    with pytest.raises(InputError, match=r"^node\.toml: nesting is too deep$"):
        read_foreign(content, "node.toml")


@pytest.mark.parametrize(
    "text", ["\n" * 300_000, "A=" * 300_000, "[" * 300_000, "a" * 300_000, " \n#\n" * 99_999]
)
def test_the_kind_of_a_large_file_is_recognized_quickly(text: str) -> None:
    started = time.process_time()
    with pytest.raises(InputError):
        read_main_file(text, "file", 36)
    assert time.process_time() - started < 5


def machine_config(contents: dict[str, str]) -> str:
    files = [{"path": "/etc/other"}, {"path": "/etc/kubernetes/kubelet.conf", "contents": contents}]
    head = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\n"
    return f"{head}spec: {json.dumps({'config': {'storage': {'files': files}}})}\n"


TALOS = "version: v1alpha1\nmachine:\n  kubelet:\n    "


KIND_CLUSTER = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"


KOPS = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\n"


PROFILE = """apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
spec: {{numa: {{topologyPolicy: restricted}}}}
metadata:
  annotations:
    kubeletconfig.experimental: '{{"systemReserved": {{"memory": "{}"}}}}'
"""


EKS = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"


UNDECODED = "spec.config.storage.files[1].contents: /etc/kubernetes/kubelet.conf cannot be decoded"


JOIN = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kubelet-arg: {a: b}", "kubelet-arg: expected a list, found a mapping"),
        (
            "kubelet-arg: [a=b, {c: d}]",
            "kubelet-arg[1]: expected an argument (NAME=VALUE), found a mapping",
        ),
        ("kubelet-arg+: 5", "kubelet-arg+: expected a list, found the number 5"),
        (
            f"{TALOS}extraArgs: [1]",
            "machine.kubelet.extraArgs[0]: expected an argument (NAME=VALUE), found the number 1",
        ),
        (
            f"{TALOS}extraArgs: {{a: {{b: c}}}}",
            "machine.kubelet.extraArgs.a: expected the value of an argument, found a mapping",
        ),
        (f"{TALOS}extraConfig: [3]", "machine.kubelet.extraConfig: expected a mapping, found a list"),
        (f"{TALOS[:-5]} 3", "machine.kubelet: expected a mapping, found the number 3"),
        (
            f"{JOIN}nodeRegistration: {{kubeletExtraArgs: [{{name: 5}}]}}",
            "nodeRegistration.kubeletExtraArgs[0]: expected an argument (NAME=VALUE), found a mapping",
        ),
        (f"{KOPS}spec: []", "spec: expected a mapping, found a list"),
        (f"{KOPS}spec: {{kubelet: x}}", 'spec.kubelet: expected a mapping, found the string "x"'),
        (
            f"{EKS}spec: {{kubelet: {{config: 1}}}}",
            "spec.kubelet.config: expected a mapping, found the number 1",
        ),
        (PROFILE.format("5%"), 'systemReserved.memory: expected a quantity, found the string "5%"'),
        (f"{KIND_CLUSTER}nodes: {{}}", "nodes: expected a list, found a mapping"),
        (f"{KIND_CLUSTER}nodes: [1]", "nodes[0]: expected a mapping, found the number 1"),
        (
            machine_config({"source": "data:text/plain;base64,!!!!"}),
            f"{UNDECODED}: damaged base64",
        ),
        (
            machine_config({"source": "data:;base64,YWI"}),
            f"{UNDECODED}: damaged base64",
        ),
        (
            machine_config({"source": "data:;base64,/w=="}),
            f"{UNDECODED}: not UTF-8",
        ),
        (
            machine_config({"source": "data:;base64,YWJj", "compression": "gzip"}),
            f"{UNDECODED}: damaged gzip data, or more than 4 MiB unpacked",
        ),
    ],
)
def test_a_file_that_no_tool_accepts_is_reported_with_the_place(text: str, error: str) -> None:
    with pytest.raises(InputError) as caught:
        read_foreign(text, "file")
    assert str(caught.value) == f"file: {error}"


def test_a_file_that_unpacks_endlessly_is_rejected_early() -> None:
    packed = base64.b64encode(gzip.compress(bytes(64 << 20))).decode()
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 4 MiB"):
        read_foreign(machine_config({"source": f"data:;base64,{packed}", "compression": "gzip"}), "file")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


def test_files_named_by_flags_of_a_tool_are_reported_as_not_read() -> None:
    found = read_foreign("kubelet-arg:\n- config=/etc/kubelet.yaml\n- config-dir=/etc/k.d\n", "config.yaml")
    assert found is not None
    assert found.assumed[-2:] == (
        "not read: --config=/etc/kubelet.yaml, which is a file on the node: specify it with --kubelet-config",
        "not read: --config-dir=/etc/k.d, which is a file on the node: specify it with --config-dir",
    )


def test_patches_of_kind_that_are_not_read_are_named() -> None:
    patches = "kubeadmConfigPatchesJSON6902:\n  - {kind: KubeletConfiguration, patch: '[]'}\n"
    for text in (patches, "nodes:\n- role: worker\n  " + patches.replace("\n", "\n  ")):
        found = read_foreign(f"kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n{text}", "kind.yaml")
        assert found is not None
        assert "not read: kubeadmConfigPatchesJSON6902" in found.assumed

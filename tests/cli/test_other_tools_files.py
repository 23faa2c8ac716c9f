"""Files of other tools given to ``--kubelet-config``: they are read and named, with what they leave open."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

FILES = {
    "k3s.yaml": "kubelet-arg:\n- cpu-manager-policy=static\n- reserved-cpus=0-1\n",
    "configz.json": json.dumps(
        {"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}}
    ),
    "pp.yaml": "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nspec:\n"
    "  cpu: {isolated: 2-15, reserved: 0-1}\n",
}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("k3s.yaml", "a k3s or RKE2 configuration"),
        ("configz.json", "the kubelet's /configz"),
        ("pp.yaml", "a PerformanceProfile"),
    ],
)
def test_it_is_read_as_what_the_kubelet_gets(cpuctl: Cpuctl, tmp_path: Path, name: str, what: str) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", str(path))
    result = cpuctl("config", "check", *words, "-o", "json")
    node = json.loads(result.out)["node"]
    assert (result.code, node["cpuManagerPolicy"], node["reservedCPUs"]) == (0, "static", "0-1")
    assert f"note: {path}: read as {what}" in result.err
    plan = json.loads(cpuctl("plan", *words, "-T", "a=2/2,1Gi", "-o", "json").out)
    assert plan["sources"]["kubeletConfiguration"]["value"] == f"{path} ({what})"


def test_explicit_flags_override_those_in_the_file(cpuctl: Cpuctl, tmp_path: Path) -> None:
    path = tmp_path / "k3s.yaml"
    path.write_text(FILES["k3s.yaml"], encoding="utf-8")
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", str(path), "--kubelet-args=--reserved-cpus=3")
    node = json.loads(cpuctl("config", "check", *words, "-o", "json").out)["node"]
    assert node["reservedCPUs"] == "3"


PLACED = {
    "talos.yaml": (
        (
            "version: v1alpha1\nmachine:\n  kubelet:\n    extraConfig:\n      cpuManagerPolicy: none\n"
            "      maxPods: -1\n"
        ),
        "talos.yaml:6: maxPods",
    ),
    "profile.yaml": (
        (
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nspec:\n  cpu:\n"
            "    isolated: 2-15\n    reserved: 0-99\n"
        ),
        "profile.yaml:6: reservedSystemCPUs",
    ),
    "kubeadm.yaml": (
        (
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n"
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: -1\n"
        ),
        "kubeadm.yaml:6: maxPods",
    ),
    "kind.yaml": (
        (
            "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nkubeadmConfigPatches:\n- |\n"
            "  kind: KubeletConfiguration\n  maxPods: -1\n"
        ),
        "kind.yaml:6: maxPods",
    ),
    "kops.yaml": (
        (
            "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec:\n  kubelet:\n"
            "    evictionHard: memory.available<-5%\n"
        ),
        'kops.yaml:5: evictionHard["memory.available"]',
    ),
    "shoot.yaml": (
        (
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec:\n  kubernetes:\n    kubelet:\n"
            "      evictionHard:\n        memoryAvailable: -5%\n"
        ),
        'shoot.yaml:7: evictionHard["memory.available"]',
    ),
    "nodeadm.yaml": (
        (
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n"
            "      kubeReserved:\n        cpu: some\n"
        ),
        "nodeadm.yaml:7: kubeReserved.cpu",
    ),
    "configz.json": (
        '{\n "kubeletconfig": {\n  "port": 10250,\n  "maxPods": -1\n }\n}\n',
        "configz.json:4: maxPods",
    ),
    "aks.json": ('{\n "cpuManagerPolicy": "none",\n "podMaxPids": "x"\n}\n', "aks.json:3: podPidsLimit"),
    "nodeclass.yaml": (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n  kubelet:\n    maxPods: -1\n",
        "nodeclass.yaml:5: maxPods",
    ),
    "bottlerocket.toml": (
        '[settings.kubernetes]\ncpu-manager-policy = "none"\nmax-pods = -1\n',
        "bottlerocket.toml:3: maxPods",
    ),
    "reserved.toml": (
        '[settings.kubernetes]\n\n[settings.kubernetes.kube-reserved]\ncpu = "some"\n',
        "reserved.toml:4: kubeReserved.cpu",
    ),
    "kubeletconfig.yaml": (
        (
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec:\n"
            "  kubeletConfig:\n    maxPodz: 5\n    maxPods: -1\n"
        ),
        "kubeletconfig.yaml:6: maxPods",
    ),
    "k3s.yaml": (
        "kubelet-arg:\n- max-pods=5\n- cpu-manager-policy=statik\n- reserved-cpus=0\n",
        "k3s.yaml:3: cpuManagerPolicy",
    ),
    "rke2.yaml": (
        'kubelet-arg+:\n  - "max-pods=many"\n',
        'rke2.yaml:2: invalid argument "many" for "--max-pods" flag',
    ),
    "args.yaml": (
        (
            "version: v1alpha1\nmachine:\n  kubelet:\n    extraArgs:\n      v: 2\n"
            "      topology-manager-policy: nearest\n"
        ),
        "args.yaml:6: topologyManagerPolicy",
    ),
    "join.yaml": (
        (
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration:\n"
            "  kubeletExtraArgs:\n  - name: max-pods\n    value: '-1'\n  - name: no-such-flag\n    value: x\n"
        ),
        "join.yaml:7: unknown flag",
    ),
    "nodes.yaml": (
        (
            "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnodes:\n- role: worker\n"
            "  kubeadmConfigPatches:\n  - |\n    kind: JoinConfiguration\n    nodeRegistration:\n"
            "      kubeletExtraArgs:\n        topology-manager-scope: node\n"
        ),
        "nodes.yaml:10: topologyManagerScope",
    ),
    "flags.yaml": (
        (
            "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n"
            "    - --node-labels=a=b\n    - --cpu-manager-policy=dynamic\n"
        ),
        "flags.yaml:7: cpuManagerPolicy",
    ),
    "mc.json": (
        json.dumps(
            {
                "apiVersion": "machineconfiguration.openshift.io/v1",
                "kind": "MachineConfig",
                "spec": {
                    "config": {
                        "storage": {
                            "files": [
                                {
                                    "path": "/etc/kubernetes/kubelet.conf",
                                    "contents": {
                                        "source": "data:,apiVersion%3A%20kubelet.config.k8s.io/v1beta1%0A"
                                        "kind%3A%20KubeletConfiguration%0AmaxPods%3A%20-1%0A"
                                    },
                                }
                            ]
                        }
                    }
                },
            }
        ),
        "mc.json: /etc/kubernetes/kubelet.conf:3: maxPods",
    ),
}


@pytest.mark.parametrize("name", PLACED)
def test_findings_point_to_lines_of_the_tools_own_file(cpuctl: Cpuctl, tmp_path: Path, name: str) -> None:
    text, place = PLACED[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", name, "-q")
    result = cpuctl("config", "check", *words, columns=400, cwd=tmp_path)
    assert result.code == 3
    found = re.fullmatch(r"(.*:\d+): (.*)", place)
    assert found
    assert f"  where: {found[1]}" in result.out
    assert found[2] in result.out


def test_settings_added_by_the_tool_have_no_line(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "k3s.yaml").write_text(FILES["k3s.yaml"], encoding="utf-8")
    words = ("-m", "synthetic:1s1n8c2t", "--kubelet-config", "k3s.yaml")
    shown = cpuctl("config", "show", *words, "-o", "json", cwd=tmp_path).out
    places = {each["setting"]: each["where"] for each in json.loads(shown)["settings"]}
    assert places["failSwapOn"] == "k3s.yaml"
    assert places['evictionHard["nodefs.available"]'] == "k3s.yaml"


def test_a_machine_is_written_in_formats_of_other_tools(cpuctl: Cpuctl, tmp_path: Path) -> None:
    written = {
        form: cpuctl("topology", "-m", "synthetic:2s4n2c2t", "-o", form)
        for form in ("lscpu", "numactl", "hwloc-xml")
    }
    assert '<object type="Machine"' in written["hwloc-xml"].out
    assert written["lscpu"].out.startswith("# CPU,Core,Socket,Node,")
    assert written["numactl"].out.startswith("available: 4 nodes (0-3)\nnode 0 cpus: 0")
    for form, result in written.items():
        (tmp_path / form).write_text(result.out, encoding="utf-8")
        again = cpuctl("topology", "-m", str(tmp_path / form), "-o", form)
        assert (result.code, again.code, again.out) == (0, 0, result.out)


@pytest.mark.parametrize(
    "words", [("--columns", "cpu"), ("--cpus", "0"), ("--numa-memory",), ("--svg", "node.svg")]
)
def test_formats_of_other_tools_cover_the_whole_machine(cpuctl: Cpuctl, words: tuple[str, ...]) -> None:
    result = cpuctl("topology", "-m", "synthetic:1n2c", "-o", "lscpu", *words)
    assert (result.code, result.out) == (2, "")
    assert f"{words[0]}: cannot be used with -o lscpu: it always writes the whole machine" in result.err


def test_numactl_output_requires_numa_nodes(cpuctl: Cpuctl) -> None:
    result = cpuctl("topology", "-m", "synthetic:0n1c", "-o", "numactl")
    assert (result.code, result.out) == (4, "")
    assert "has no NUMA nodes" in result.err


def test_what_hwloc_cannot_express_is_reported(cpuctl: Cpuctl) -> None:
    words = ("topology", "-m", "synthetic:1s1n4c,l3=0-1/2-3,sockets=0-2/3", "-o", "hwloc-xml")
    result = cpuctl(*words)
    assert (result.code, "<topology" in result.out) == (0, True)
    assert (
        "warning: left out because hwloc requires objects with CPUs to be nested: L3 cache of CPUs 2-3"
        in result.err
    )
    assert "warning" not in cpuctl(*words, "-q").err

"""Every option of the static policy on a machine of 4,096 CPUs and 16 NUMA nodes.

With more nodes, a kubelet that aligns visits so many sets of nodes that it never finishes.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cpuctl.cli.app import run
from cpuctl.cpuset import CPUSet

MACHINE = "synthetic:8s16n256c2t"
RESERVED = CPUSet.parse("0-15,2048-2063")
PODS = ("-T", "narrow=6/6,2Gi x40", "-T", "wide=96/96,4Gi x5", "-T", "shared=500m/1,1Gi x10")
FIXED = (
    "--cpu-manager-policy=static",
    f"--reserved-cpus={RESERVED}",
    "--topology-manager-policy-options=max-allowable-numa-nodes=64",
    "--feature-gates=CPUManagerPolicyAlphaOptions=true,TopologyManagerPolicyAlphaOptions=true",
)


def kubelet(options: str, policy: str) -> str:
    """Write the flags of a kubelet with these policy options enabled."""
    switched = (f"--cpu-manager-policy-options={name}=true" for name in options.split())
    return " ".join((*FIXED, f"--topology-manager-policy={policy}", *switched))


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ("", "none"),
        ("full-pcpus-only", "best-effort"),
        ("distribute-cpus-across-numa", "restricted"),
        ("full-pcpus-only distribute-cpus-across-numa", "best-effort"),
        ("align-by-socket", "restricted"),
        ("align-by-socket full-pcpus-only", "best-effort"),
        ("prefer-align-cpus-by-uncorecache full-pcpus-only", "restricted"),
        ("distribute-cpus-across-cores", "best-effort"),
        ("strict-cpu-reservation", "restricted"),
        (
            "align-by-socket distribute-cpus-across-numa strict-cpu-reservation full-pcpus-only",
            "best-effort",
        ),
    ],
)
def test_every_pod_gets_its_own_cpus(options: str, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "plan",
                "-q",
                "-m",
                MACHINE,
                *PODS,
                "--kubelet-args",
                kubelet(options, policy),
                "-o",
                "json",
            ]
        )
        == 0
    )
    pods: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["pods"]
    taken = RESERVED
    for pod, count in zip(pods, [6] * 40 + [96] * 5 + [0] * 10, strict=True):
        (container,) = pod["containers"]
        cpus = CPUSet.parse(container["cpus"])
        assert container["exclusive"] is (count > 0)
        if count:
            assert len(cpus) == count
            assert cpus.isdisjoint(taken)
            taken |= cpus
            if "full-pcpus-only" in options:
                assert {cpu + 2048 for cpu in cpus if cpu < 2048} == {cpu for cpu in cpus if cpu >= 2048}

"""Pods that share a name, or that the API server rejects whatever the kubelet does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cpuctl

NODE = ("-m", "synthetic:1s1n4c2t,mem=8Gi", "--kubelet-args", "--cpu-manager-policy=static --reserved-cpus=0")
TWICE = ("-T", "a=2/2,1Gi", "-T", "a=1/1,1Gi")
SAME = 'several pods have the same name (default/a): an API server accepts only the first ("already exists")'


@pytest.mark.parametrize("command", ["plan", "advise"])
def test_pods_with_one_name_are_pointed_out(command: str, cpuctl: Cpuctl) -> None:
    assert f"warning: {SAME}\n" in cpuctl(command, *NODE, *TWICE).err
    assert SAME not in cpuctl(command, *NODE, "-T", "a=1/1,1Gi x3", "-T", "b=1/1,1Gi").err


MADE_UP = """apiVersion: v1
kind: Pod
metadata: {generateName: w-}
spec: {containers: [{name: c}]}
---
apiVersion: v1
kind: Pod
metadata: {generateName: w-}
spec: {containers: [{name: c}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {template: {spec: {containers: [{name: c}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: a}
spec: {template: {spec: {containers: [{name: c}], restartPolicy: Never}}}
"""


def test_generated_names_are_never_the_same(cpuctl: Cpuctl, tmp_path: Path) -> None:
    (tmp_path / "pods.yaml").write_text(MADE_UP)
    planned = cpuctl("plan", *NODE, "-f", str(tmp_path / "pods.yaml"))
    assert "4 pods: 4 admitted" in planned.out
    assert "the same name" not in planned.err


def test_of_pods_with_one_name_the_uid_tells_which_is_meant(cpuctl: Cpuctl) -> None:
    asked = cpuctl("explain", "default/a", *NODE, *TWICE)
    assert (asked.code, asked.out) == (2, "")
    assert asked.err.endswith("\nhint: use the UID\n")


def test_no_setting_helps_a_pod_that_the_api_server_rejects(cpuctl: Cpuctl, tmp_path: Path) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "2"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bad"},
        "spec": {"containers": [container]},
    }
    (tmp_path / "bad.json").write_text(json.dumps(pod))
    advised = cpuctl("advise", *NODE, "-f", str(tmp_path / "bad.json"))
    assert "warning: the API server rejects default/bad, which no kubelet setting changes\n" in advised.err
    assert f"\nNext, to see why: cpuctl pods lint -f {tmp_path / 'bad.json'} " in advised.out

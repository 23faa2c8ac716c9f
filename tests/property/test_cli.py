"""No command line and no file, however odd, ends in a traceback or an internal error."""

from __future__ import annotations

import copy
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from cpuctl.cli.app import run

OK, USAGE, NO, INPUT = 0, 2, 3, 4
READERS = ("plan", "explain", "topology", "schema")
"""Commands that write no files with any arguments."""

MACHINE = ("-m", "synthetic:2s4n8c2t")
STATIC = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "false"}
reservedSystemCPUs: 0,16
kubeReserved: {memory: 1Gi}
featureGates: {CPUManagerPolicyAlphaOptions: true}
cpuManagerReconcilePeriod: 10s
evictionHard: {memory.available: 100Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
"""
PODS = """
apiVersion: v1
kind: List
items:
  - kind: Pod
    metadata: {name: web, namespace: shop, uid: "1"}
    spec:
      initContainers: [{name: init, restartPolicy: Always, resources: {limits: {cpu: 2, memory: 1Gi}}}]
      containers: [{name: main, resources: {requests: {cpu: 4}, limits: {cpu: 4, memory: 1Gi}}}]
      overhead: {cpu: 100m}
      resources: {limits: {cpu: "8", memory: 4Gi}}
    status: {phase: Running, qosClass: Guaranteed}
  - kind: Deployment
    metadata: {name: api}
    spec: {replicas: 2, template: {spec: {containers: [{name: main}]}}}
"""
CADVISOR = """
num_cores: 4
num_sockets: 1
memory_capacity: 8000000000
topology:
  - node_id: 0
    memory: 8000000000
    hugepages: [{page_size: 2048, num_pages: 4}]
    distances: [10, 21]
    cores:
      - {core_id: 0, thread_ids: [0, 2], socket_id: 0, uncore_caches: [{id: 0, level: 3, size: 1024}]}
      - {core_id: 1, thread_ids: [1, 3], socket_id: 0, caches: [{type: Data, level: 1, size: 32}]}
    caches: [{id: 1, level: 3, type: Unified, size: 4096}]
  - {node_id: 1, cores: []}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A separate working directory, where defects raise their causes."""
    path = tmp_path_factory.mktemp("cli")
    (path / "pods.yaml").write_text(PODS)
    (path / "kubelet.yaml").write_text(STATIC)
    (path / "machine.json").write_text(json.dumps(yaml.safe_load(CADVISOR)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.setenv("CPUCTL_DEBUG", "1")
        yield path


def exit_code(*words: str, stdin: bytes = b"") -> int:
    """Run cpuctl in this process; an exception is a defect and propagates."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run(words)
    assert (out.getvalue() == "") == (code in (USAGE, INPUT))
    assert code in (OK, NO) or "rror: " in err.getvalue()
    return code


# A word of a command line is any bytes but NUL; bytes that are not UTF-8 arrive as lone surrogates.
anything = st.binary(max_size=12).map(lambda data: os.fsdecode(data.replace(b"\0", b"")))
OPTIONS = """
-m -f -T -o -q -h --machine --kubelet-config --kubelet-version --feature-gates --no-color --exit-zero
--columns --cpus --version -- - -x
"""
VALUES = """
live synthetic:2s4c pods.yaml kubelet.yaml machine.json . wide json yaml web=4/4,1Gi web=500m 1.30 A=true
node:0 0-3 cpu,l3 all topology list show map distances plan
"""
words = st.sampled_from(OPTIONS.split()) | st.sampled_from(VALUES.split()) | anything


@given(st.sampled_from(READERS), st.lists(words, max_size=8))
@example("plan", ["-f", "-", "-f", "-"])
def test_no_command_line_is_an_internal_error(folder: Path, command: str, rest: list[str]) -> None:
    assert exit_code(command, *rest, stdin=PODS.encode()) in (OK, USAGE, NO, INPUT)


@given(st.lists(anything, max_size=3))
def test_no_first_word_is_an_internal_error(folder: Path, line: list[str]) -> None:
    assert exit_code(*line) in (OK, USAGE)


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 9),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["0-3", "1e400", "-1", "2Gi", "100m", "9" * 30, "static", "\x1b[2J", "\ud800"]),
    st.sampled_from(["1", "2", "4", "Always", "restricted", "0", "true", "Pod"]),
)
trees = st.recursive(
    leaves,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=4), below, max_size=3),
)


@st.composite
def altered(draw: st.DrawFn, text: str) -> bytes:
    """Take a correct document, and replace or remove one or two of its parts."""
    document: Any = yaml.safe_load(text)
    for _ in range(draw(st.integers(1, 2))):
        document = _altered(draw, document)
    written = json.dumps(document) if draw(st.booleans()) else str(yaml.safe_dump(document))
    return written.encode(errors="surrogatepass")


def _altered(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value:
        return draw(leaves)
    value = copy.copy(value)
    key = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    match draw(st.integers(0, 15)):
        case 15:
            del value[key]
        case 14:
            value[key] = draw(trees)
        case _:
            value[key] = _altered(draw, value[key])
    return value


forms = st.sampled_from(["table", "wide", "json", "yaml"])
ENDS = {"plan": (OK, NO, INPUT), "explain": (OK, NO, INPUT, USAGE)}
"""Exit codes of commands that decide: if every pod is admitted, the one to explain must be named."""
deciders = st.sampled_from(list(ENDS))


@given(
    st.one_of(altered(PODS), st.binary(max_size=200), trees.map(lambda tree: json.dumps(tree).encode())),
    forms,
    deciders,
)
def test_no_manifest_is_an_internal_error(folder: Path, content: bytes, form: str, command: str) -> None:
    line = (command, *MACHINE, "--kubelet-config", "kubelet.yaml", "-f", "-", "-o", form)
    assert exit_code(*line, stdin=content) in ENDS[command]


@given(altered(STATIC) | st.binary(max_size=200), forms, deciders)
def test_no_kubelet_configuration_is_an_internal_error(
    folder: Path, content: bytes, form: str, command: str
) -> None:
    line = (command, *MACHINE, "--kubelet-config", "-", "-f", "pods.yaml", "-o", form)
    assert exit_code(*line, stdin=content) in ENDS[command]


@given(altered(CADVISOR) | st.binary(max_size=200).map(b"{".__add__), forms)
def test_no_machine_information_is_an_internal_error(folder: Path, content: bytes, form: str) -> None:
    file = folder / "odd.json"
    file.write_bytes(content)
    assert exit_code("topology", "-m", "odd.json", "-o", form) in (OK, INPUT)
    line = ("plan", "-m", "odd.json", "--kubelet-config", "kubelet.yaml", "-T", "web=2/2,1Gi", "-o", form)
    assert exit_code(*line) in (OK, NO, INPUT)


numbers = st.sampled_from(["0", "1", "2", "3", "4", "8", "9", "-1", "", "x", "99999999"])
figures = st.lists(st.builds("{}{}".format, numbers, st.sampled_from("snct")), max_size=4).map("".join)
SYNTHETIC_OPTIONS = """
l3 mem offline absent isolated nohz_full pcores ecores cores sockets nodes distances hugepages-2Mi
hugepages-1Gi hugepages- x
"""
synthetic_options = st.builds(
    "{}={}".format,
    st.sampled_from(SYNTHETIC_OPTIONS.split()),
    st.lists(st.sampled_from([*"0123/+-:", "64Gi", "none", "0-1", "10", "é"]), max_size=6).map("".join),
)
synthetic = st.one_of(
    anything,
    st.builds(
        lambda first, more: ",".join([first, *more]),
        figures | st.sampled_from(["4c", "2s4n4c2t", "0n2c"]),
        st.lists(synthetic_options | st.sampled_from(["near", "far", "interleaved"]), max_size=3),
    ),
)
verbs = st.sampled_from(["show", "map", "distances"])


@given(synthetic, verbs, forms)
def test_no_synthetic_machine_is_an_internal_error(folder: Path, text: str, verb: str, form: str) -> None:
    machine = ("-m", f"synthetic:{text}")
    assert exit_code("topology", verb, *machine, "-o", form) in (OK, INPUT)
    assert exit_code("plan", *machine, "-T", "web=2/2,1Gi", "-o", form) in (OK, NO, INPUT)

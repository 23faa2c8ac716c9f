"""Pasted messages are recognized, with any text around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpuctl.messages.message import PLACEHOLDER, Message, Speaker, Text
from cpuctl.messages.recognition import MESSAGES, recognize
from tests.conformance.corpus import corpus_files, version_of

CORPUS = Path("fixtures/conformance")
SAID_IN = frozenset({"message", "error", "panic", "errors"})
SAMPLES = {
    "n": "7",
    "set": "0-3,8",
    "quoted": '"some text"',
    "word": "example.com/device",
    "resource": "example.com/device",
    "native": "cpu",
    "extended": "example.com/device",
    "podkind": "Deployment",
    "fault": "index out of range [3] with length 3",
    "limited": "memory",
    "name": "SomeGate",
    "map": "map[a:b]",
    "object": "spec.containers[0].resources.limits[cpu]",
    "setting": "logging.format",
    "rest": "anything at all",
    "reason": "port (--port) -1 must be between 1 and 65535, inclusive",
}
REGULAR = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
FULL = "Node didn't have enough resource: cpu, requested: 4000, used: 5000, capacity: 8000"
ALL_TEXTS = [(message, text) for message in MESSAGES for text in message.texts]


def codes(line: str) -> list[str]:
    return [found.message.code for found in recognize(line)]


def _texts(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _texts(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each, key)
    elif isinstance(value, str) and key in SAID_IN and " " in value:
        yield value


def recorded_messages() -> Iterator[tuple[int, str]]:
    for file in corpus_files(CORPUS):
        for recorded in file.recorded():
            minor = version_of(recorded.case).minor
            yield from ((minor, text) for text in _texts(recorded.expect))


def test_every_recorded_message_is_recognized_for_its_release() -> None:
    stated = set(recorded_messages())
    assert {minor for minor, _ in stated} == set(range(27, 39))
    # Alone, some texts may as well be another program's.
    found = {(minor, text): recognize(f"node kubelet[1]: {text}") for minor, text in stated}
    assert [text for (_, text), messages in found.items() if not messages] == []
    others = [
        (minor, each.found)
        for (minor, _), messages in found.items()
        for each in messages
        if not each.text.printed_by(minor)
    ]
    assert not others


def filled(text: Text) -> str:
    return PLACEHOLDER.sub(lambda found: SAMPLES[found["kind"]], text.template)


WITH_EVIDENCE = {
    "resize-deferred": "PodResizePending",
    "claims-corrupted": "dra_manager_state",
    "cpuset-denied": "write",
    "static-pod-invalid": "manifest",
}
"""What else a line says."""


@pytest.mark.parametrize(("message", "text"), ALL_TEXTS, ids=[text.template[:60] for _, text in ALL_TEXTS])
def test_every_text_is_recognized_in_a_log_line(message: Message, text: Text) -> None:
    stated = filled(text)
    quoted = stated.replace("\\", "\\\\").replace('"', '\\"')
    log = 'Nov 24 node kubelet[1]: E1124 03:00:00.1 1 a.go:1] "FailedScheduling" in="cpuset"'
    line = f'{log} err="{quoted}" pod="shop/db-0"'
    if message.code == "quantity":
        line = line.replace("kubelet[1]: ", "")  # which is evidence for another one
    if message.code in WITH_EVIDENCE:
        line = line.replace("FailedScheduling", WITH_EVIDENCE[message.code])
    (found,) = [each for each in recognize(line) if each.message is message]
    assert found.pod == "shop/db-0"


def test_every_message_has_one_unique_explanation() -> None:
    assert len({message.code for message in MESSAGES}) == len(MESSAGES)
    assert len({(text.template, message.evidence) for message, text in ALL_TEXTS}) == len(ALL_TEXTS)
    assert {message.speaker for message in MESSAGES} == set(Speaker)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            'failed to write "4-7": write /sys/fs/cgroup/cpuset/kubepods/cpuset.cpus: permission denied',
            ["cpuset-denied"],
        ),
        (
            (
                'E1 "ReconcileState: failed to update container" err="failed to write \\"2-3\\": write '
                '/sys/fs/cgroup/kubepods.slice/x/cpuset.cpus: invalid argument"'
            ),
            ["cpuset-invalid"],
        ),
        ("crun: write to `cpuset.cpus`: Device or resource busy", ["cpuset-busy"]),
        (
            (
                "Pod was rejected: Allocate failed due to cannot allocate unregistered device "
                "nvidia.com/gpu, which is unexpected"
            ),
            ["devices-unregistered"],
        ),
        (
            (
                'err="start cpu manager error: [cpumanager] the static policy requires systemreserved.cpu + '
                'kubereserved.cpu to be greater than zero"'
            ),
            ["no-reserved-cpus"],
        ),
        (
            (
                "command Launcher.Sync failed:  virError(Code=38, Domain=0, Message='cannot set CPU affinity "
                "on process  1140: Operation not permitted')"
            ),
            ["affinity-rejected"],
        ),
        ('E1 "ReconcileState: failed to update container" err="timed out"', ["cpuset-not-updated"]),
        (
            "Warning TopologyAffinityError 4m kubelet Resources cannot be allocated with Topology locality",
            ["topology-affinity"],
        ),
        ("web-0   0/1   OutOfcpu   0   3s", ["node-full"]),
        ("a line about something else", []),
        (
            'pods "web" is forbidden: exceeded quota: q, requested: cpu=4, used: ...',
            ["exceeded-quota"],
        ),
        ('pods "web" is forbidden: failed quota: q: must specify limits.cpu for: app', ["exceeded-quota"]),
        (
            (
                'pods "web" is forbidden: [maximum cpu usage per Pod is 4.  No limit is specified, minimum '
                "memory usage per Container is 1Gi, but request is 1Mi]"
            ),
            ["limit-range"],
        ),
        (
            "cpu max limit to request ratio per Container is 2, but provided ratio is 4",
            ["limit-range"],
        ),
        (
            (
                'Error from server (BadRequest): error when creating "a": Pod in version "v1" cannot be '
                'handled as a Pod: strict decoding error: unknown field "spec.containers[0].resource"'
            ),
            ["unknown-field"],
        ),
        ('strict decoding error: unknown field "spec.containers[0].cpus"', ["unknown-field"]),
        (
            (
                'I1 codec.go:94] "Using lenient decoding as strict decoding failed" err="strict decoding '
                'error: unknown field \\"cpuManagerpolicy\\""'
            ),
            ["configuration-lenient"],
        ),
        (
            (
                "failed to load kubelet dropin file, path: /etc/d/1.conf, error: strict decoding error: "
                "duplicate field"
            ),
            ["configuration-decode"],
        ),
        ("0/9 nodes are available: 9 Insufficient example.com/gpu.", ["insufficient-devices"]),
        ("0/9 nodes are available: 9 Insufficient cpu.example.com/x.", ["insufficient-devices"]),
    ],
)
def test_lines_from_the_field(line: str, expected: list[str]) -> None:
    assert codes(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        "Pod was rejected: The node had condition: [MemoryPressure].",
        "Pod was rejected as the node is shutting down.",
        'pods "web" is forbidden: User "bob" cannot create resource "pods" in API group ""',
        'pods "web" is forbidden: violates PodSecurity "restricted:latest": privileged',
        'pods "web" is forbidden: error looking up service account default/x: serviceaccount "x" not found',
        'nodes "n1" is forbidden: User "bob" cannot get resource "nodes" in API group ""',
        "java.lang.OutOfMemoryError: Java heap space",
        "app-1  OutOfSync  Healthy",
        "OutOfDisk  Unknown  NodeStatusUnknown",
        'The RoleBinding "x" is invalid: roleRef: Invalid value: rbac.RoleRef{}: cannot change roleRef',
        'The ConfigMap "x" is invalid: data[a b]: Invalid value: "a b": a valid config key must consist of',
        'admission webhook "x" denied the request: replicas: Invalid value: 5: too many',
        'The Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 80: not in the valid range',
        'The PersistentVolumeClaim "x" is invalid: spec.resources.requests.storage: Forbidden: is immutable',
        'Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable',
        "Error: Insufficient regional quota to satisfy request: resource",
        "User has Insufficient permissions to list pods",
        "panic: open /etc/app.yaml: no such file or directory",
        "Error: OCI runtime error: crun: make `/proc`: Permission denied",
        "E1 kubelet[7]: OCI runtime error: crun: make `/proc`: Permission denied",
        """error: unable to decode "x.yaml": Object 'Kind' is missing in '{"apiVersion":"v1"}'""",
        'error: no kind "Deployment" is registered for version "apps/v1beta1" in scheme "x"',
        "error: failed to decode: cannot decode base64",
        'error: strconv.Atoi: parsing "abc": invalid syntax',
        "error: invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER",
        'error unmarshaling {Group:"kubeadm.k8s.io"}: strict decoding error: unknown "x"',
        'E1 remote.go:3] "UpdateContainerResources failed" err="rpc error: failed to update container"',
        "mmap: Insufficient memory available for operation",
        "tar: /backup/tasks: no space left on device",
        "open /sys/fs/cgroup/user.slice/cpuset.cpus: permission denied",
        "panic: open /var/lib/kubelet/device-plugins/kubelet.sock: no such file or directory",
        "nvidia-device-plugin: panic: failed to dial /var/lib/kubelet/device-plugins/x",
        """error: unable to decode "/var/lib/kubelet/pods.yaml": Object 'Kind' is missing in 'null'""",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into data',
        'The Node "n1" is invalid: status.capacity: Invalid value: "x"',
        'The PersistentVolume "p" is invalid: spec.capacity[storage]: Invalid value: "0": must be',
    ],
)
def test_texts_of_others_are_not_taken_for_known_ones(line: str) -> None:
    """No command of cpuctl tells the reason."""
    assert codes(line) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("OutOfhugepages-1Gi", ["node-full"]),
        (
            (
                "spec.resources.limits: Required value: Limit must be set for non overcommitable "
                'resources, spec.containers[1].image: Invalid value: "x": no'
            ),
            ["limit-missing", "pod-rejected"],
        ),
        (f"OutOfcpu: {FULL}", ["node-full"]),
        (f"type: PodResizePending, reason: Deferred, message: {FULL}", ["resize-deferred"]),
        ("Insufficient memory", ["insufficient-resource"]),
        (
            "Failed to prepare dynamic resources: DRA driver x.io is not registered",
            ["claim-driver-missing"],
        ),
        (
            "Warning FailedPrepareDynamicResources 11m kubelet Failed to prepare dynamic resources: x failed",
            ["claims-not-prepared"],
        ),
        ("write /sys/fs/cgroup/cpuset/x/tasks: no space left on device", ["cpuset-empty"]),
        (
            'spec.overhead: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
            ["request-unequal"],
        ),
        ('[spec.os: Required value, spec.overhead: Invalid value: "x": wrong]', ["pod-rejected"] * 2),
        ("spec: Forbidden: pod updates may not change fields other than `spec.x`", ["pod-immutable"]),
        (
            "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
            ["resize-removal"],
        ),
        (
            'kubelet[7]: "command failed" err="failed to run Kubelet: invalid configuration: x"',
            ["configuration-rejected"],
        ),
        (
            (
                'kubelet[7]: "command failed" err="failed to run Kubelet: invalid configuration: unable to '
                'parse reservedSystemCPUs (--reserved-cpus) 0, 1, error: strconv.Atoi: parsing \\" 1\\": no"'
            ),
            ["cpu-list"],
        ),
        ("OutOfnvidia.com/gpu", ["node-full"]),
        ("OutOfpods", ["too-many-pods"]),
        ("pod didn't trigger scale-up: 3 Insufficient memory, 1 Too many pods", ["not-scaled-up"]),
        (
            (
                "UnexpectedAdmissionError kubelet Unexpected error while attempting to recover from "
                "admission failure: preemption: error finding a set of pods to preempt"
            ),
            ["preemption-failed"],
        ),
        (
            (
                'The Pod "x" is invalid: spec.tolerations: Forbidden: existing toleration can not be '
                "modified except its tolerationSeconds"
            ),
            ["tolerations-immutable"],
        ),
        (FULL.replace("cpu", "pods"), ["too-many-pods"]),
        ("0/3 nodes are available: 3 Too many pods.", ["too-many-pods-scheduled"]),
        ("1 Insufficient cpu, 2 Insufficient memory.", ["insufficient-resource", "insufficient-resource"]),
        ("1 Insufficient cpu. preemption: 0/1 nodes: 1 Insufficient cpu.", ["insufficient-resource"]),
        ("1 Insufficient cpu, 2 Insufficient x.io/y.", ["insufficient-resource", "insufficient-devices"]),
        (
            'Deployment.apps "web" is invalid: spec.template.spec.containers[0].name: Required value',
            ["pod-rejected"],
        ),
        ('The Pod "web" is invalid: metadata.labels: Invalid value: "-": must start with', ["pod-rejected"]),
        (
            'spec.overhead[cpu]: Invalid value: "-1": must be greater than or equal to 0',
            ["negative-amount"],
        ),
        (f"failed to run Kubelet: {REGULAR}", ["configuration-quantity"]),
        (REGULAR, ["quantity"]),
        (
            "failed to run Kubelet: invalid configuration: [unable to read client-cert /var/lib/kubelet/x]",
            ["not-started"],
        ),
        (
            'failed to run Kubelet: failed to load: no kind "CredentialProviderConfig" is registered',
            ["not-started"],
        ),
        (
            '"Could not process manifest file" err="invalid pod: [spec.os: Required value]"',
            ["static-pod-invalid"],
        ),
        (
            "failed to get checkpoint dra_manager_state: checkpoint is corrupted",
            ["claims-corrupted"],
        ),
        ("kubelet[7]: panic: runtime error: index out of range [1] with length 1", ["crash"]),
        ("k3s[7]: panic: runtime error: index out of range [1] with length 1", ["crash"]),
        (
            (
                "/etc/kubernetes/a.yaml: couldn't parse as pod(Object 'Kind' is missing in 'null'), "
                "please check config file"
            ),
            ["static-pod-manifest"],
        ),
        (
            "failed to load Kubelet config file /etc/k.yaml, error Object 'Kind' is missing in 'null'",
            ["configuration-kind"],
        ),
        ('kubelet[7]: strconv.Atoi: parsing "abc": invalid syntax', ["cpu-list"]),
        (
            (
                "could not restore state from checkpoint: json: cannot unmarshal object into Go struct field "
                "CPUManagerCheckpointV1.entries of type string, please drain this node"
            ),
            ["state-format"],
        ),
    ],
)
def test_texts_are_known_by_their_details_or_their_line(line: str, expected: list[str]) -> None:
    assert codes(line) == expected


ALIGNED = (
    "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            'E1 a.go:1] "No" err="cgroup v1 support is unsupported" pod="shop/db"',
            "cgroup v1 support is unsupported",
        ),
        (
            'Nov 24 n kubelet: E1 a.go:1] "No" err="bad value for option \\"x\\": strconv: \\"y\\"" n="z"',
            'bad value for option "x": strconv: "y"',
        ),
        (f"new static policy error: {ALIGNED}", ALIGNED),
        ("[spec.os: Required value: x[1], more]", "spec.os: Required value: x[1], more"),
        (
            'W0813 10:00:00.000000 1 kubelet.go:1630] "cgroup v1 support is unsupported, please migrate"',
            "cgroup v1 support is unsupported, please migrate",
        ),
    ],
)
def test_a_text_ends_with_its_value(line: str, found: str) -> None:
    assert [each.found for each in recognize(line)] == [found]


def test_the_text_says_more_than_the_reason_before_it() -> None:
    why = "Allocate failed due to rpc error: no such device, which is unexpected"
    (found,) = recognize(f"Warning  UnexpectedAdmissionError  2m  kubelet  {why}")
    assert found.found == why


@pytest.mark.parametrize(
    ("line", "pod"),
    [
        ("5s  Warning  OutOfcpu  pod/web  Node didn't have enough resource", "web"),
        ("5s   Warning   OutOfcpu   Pod/web   Node didn't have enough resource", "web"),
        ('E1 a.go:1] "x" err="pods \\"web\\" is forbidden: exceeded quota: q, requested"', "web"),
        ("OutOfcpu in /pod/web", ""),
        ('The Pod "web" is invalid: spec.os: Required value', "web"),
    ],
)
def test_pods_are_read_as_kubectl_and_the_api_server_write_them(line: str, pod: str) -> None:
    (found,) = recognize(line)
    assert found.pod == pod


def test_values_pods_and_containers_are_read() -> None:
    line = (
        'I0 "Allocate failed" pod="shop/db" containerName="main" '
        'err="not enough cpus available to satisfy request: requested=4, available=2"'
    )
    (found,) = recognize(line)
    assert (found.values, found.pod, found.container) == ({"requested": "4", "free": "2"}, "shop/db", "main")


@pytest.mark.parametrize(
    "fields",
    [
        {
            "ts": 1.5,
            "msg": "Rejected",
            "pod": {"name": "db", "namespace": "shop"},
            "err": "default cpuset cannot be empty",
        },
        {"MESSAGE": 'E1 a.go:1] "x" err="default cpuset cannot be empty" pod="shop/db"', "_PID": "1"},
        {"involvedObject": {"name": "db", "namespace": "shop"}, "message": "default cpuset cannot be empty"},
    ],
)
def test_structured_lines_are_read(fields: dict[str, Any]) -> None:
    (found,) = recognize(json.dumps(fields))
    assert (found.message.code, found.pod) == ("empty-pool", "shop/db")


@pytest.mark.parametrize("name", ["x$(touch pwn)", "--help", "a b", "-m", "Shop"])
def test_only_names_of_pods_are_taken_for_pods(name: str) -> None:
    line = json.dumps({"msg": "SMTAlignmentError", "pod": {"name": name, "namespace": "shop"}})
    assert [found.pod for found in recognize(line)] == [""]


@pytest.mark.parametrize(("kind", "pod"), [("Pod", "shop/web-7c"), ("ReplicaSet", ""), ("Node", "")])
def test_only_pods_are_taken_from_events(kind: str, pod: str) -> None:
    about = {"kind": kind, "name": "web-7c", "namespace": "shop"}
    event = {"reason": "FailedCreate", "message": "cgroup v1 support is unsupported", "involvedObject": about}
    (found,) = recognize(json.dumps(event))
    assert (found.pod, found.found) == (pod, event["message"])


def test_a_specific_message_inside_a_general_one_wins() -> None:
    stated = "Pod was rejected: Allocate failed due to {}, which is unexpected"
    assert codes(stated.format("something")) == ["admission"]
    assert codes(stated.format("[memorymanager] preferred hint violates NUMA node allocation")) == [
        "memory-group"
    ]


@given(st.text() | st.lists(st.sampled_from([filled(text) for _, text in ALL_TEXTS])).map(" ".join))
def test_any_line_is_accepted(line: str) -> None:
    for found in recognize(line):
        assert found.found


def test_the_beginning_of_a_text_is_searched_once_per_word() -> None:
    """Otherwise a line of one long word would be searched from each of its letters."""
    leads = {
        text.template.partition(":")[2].partition("}")[0] for _, text in ALL_TEXTS if text.template[0] == "{"
    }
    assert leads == {"object", "setting", "name", "limited"}


def test_an_event_of_a_pending_pod_is_recognized_reason_by_reason() -> None:
    event = (
        "0/7 nodes are available: 1 cannot align init container, 1 invalid node topology data, "
        "2 node(s) were unschedulable, 3 Insufficient hugepages-1Gi."
    )
    assert codes(event) == ["cannot-align", "topology-data-stale", "insufficient-resource"]
    assert recognize(event)[2].values == {"resource": "hugepages-1Gi"}


def test_the_reason_of_a_refusal_says_less_than_its_text() -> None:
    """SMTAlignmentError is the reason both of an odd number of CPUs and of too few free cores."""
    few = (
        "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 20, requested CPUs = "
        "40, CPUs per core = 2"
    )
    odd = "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"
    assert codes(f"SMTAlignmentError: {few}") == ["too-few-free-cores"]
    assert codes(f"SMTAlignmentError: {odd}") == ["smt-alignment"]
    assert codes("SMTAlignmentError") == ["whole-cores"]

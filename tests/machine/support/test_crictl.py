"""Names of pods and containers in the container runtime, from a sosreport."""

from __future__ import annotations

import pytest

from cpuctl.machine.recording_layout import is_of_kubelet
from cpuctl.machine.support.crictl import runtime_names
from cpuctl.machine.tree import MemoryTree
from tests.machine.support.archives import crictl_output

CONTAINERS = "sos_commands/crio/containers"
GONE = 'FATA[0000] getting the status of the container "c": rpc error: code = NotFound\n'


def test_pods_are_named_by_uid_and_containers_by_id() -> None:
    names = runtime_names(MemoryTree(crictl_output("u1", "db-0", "app", "log") | crictl_output("u2", "web")))
    assert names.pods == {"u1": ("shop", "db-0"), "u2": ("shop", "web")}
    assert names.containers == {"app-u1": ("u1", "app"), "log-u1": ("u1", "log")}
    assert names.problems == ()


@pytest.mark.parametrize("left_out", ["/pods/", "/containers/"])
def test_either_file_names_the_pod(left_out: str) -> None:
    files = {path: text for path, text in crictl_output("u1", "db-0", "app").items() if left_out not in path}
    assert runtime_names(MemoryTree(files)).pods == {"u1": ("shop", "db-0")}


def test_older_reports_have_all_output_in_one_directory() -> None:
    files = {
        f"sos_commands/crio/{path.rpartition('/')[2]}": text
        for path, text in crictl_output("u1", "db-0", "app").items()
    }
    names = runtime_names(MemoryTree(files))
    assert (len(names.pods), len(names.containers)) == (1, 1)


def test_a_container_without_kubelet_labels_has_no_pod() -> None:
    files = {f"{CONTAINERS}/crictl_inspect_c": '{"status": {"id": "c", "labels": {}}}'}
    assert runtime_names(MemoryTree(files)) == ({}, {}, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GONE, "is not JSON as printed by crictl inspect"),
        ("", "is not JSON as printed by crictl inspect"),
        ('{"status": {"id": ', "not JSON"),
        ('{"info": {}}', "status"),
        ('{"status": {"id": "c"}}', "labels"),
        (
            '{"status": {"id": "c", "labels": {"io.kubernetes.pod.uid": 7}}}',
            "expected a string, found the number 7",
        ),
        ("{" * 5000, "nesting is deeper"),
    ],
)
def test_invalid_output_is_reported_and_affects_nothing_else(text: str, problem: str) -> None:
    files = crictl_output("u1", "db-0", "app") | {f"{CONTAINERS}/crictl_inspect_c": text}
    names = runtime_names(MemoryTree(files))
    assert (len(names.pods), len(names.containers)) == (1, 1)
    (reported,) = names.problems
    assert reported.startswith(f"{CONTAINERS}/crictl_inspect_c")
    assert problem in reported


def test_logs_and_images_are_left_in_the_archive() -> None:
    assert is_of_kubelet(f"{CONTAINERS}/crictl_inspect_c")
    for path in (f"{CONTAINERS}/logs/crictl_logs_-t_c", "sos_commands/crio/images/crictl_inspecti_i"):
        assert not is_of_kubelet(path)

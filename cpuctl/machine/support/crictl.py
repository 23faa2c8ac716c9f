"""The container runtime's names for pods and containers: ``crictl inspect`` and ``inspectp`` in a sosreport.

Source: ``sosreport/sos``, ``sos/report/plugins/crio.py``. The fields are those of the container runtime
interface (``k8s.io/cri-api``, ``ContainerStatus`` and ``PodSandboxStatus``) as crictl prints them, the labels
the kubelet's (``pkg/kubelet/types/labels.go``). The tables of ``crictl ps`` and ``crictl pods`` do not
contain UIDs.

These are names only: an old report does not show what is running now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cpuctl.documents.cursor import Cursor
from cpuctl.documents.loading import load_documents
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import CRICTL_POD, SOS_CRICTL, is_crictl_output
from cpuctl.machine.tree import Tree

_PLACES = (SOS_CRICTL, f"{SOS_CRICTL}/pods", f"{SOS_CRICTL}/containers")
"""Older releases of sos keep all output in one directory."""
_LABEL = "io.kubernetes"


class RuntimePod(NamedTuple):
    """The name of a pod; both parts are empty if there is no pod."""

    namespace: str
    name: str


class RuntimeContainer(NamedTuple):
    """The pod that a container belongs to, by UID, and its name there."""

    uid: str
    name: str


class RuntimeNames(NamedTuple):
    """Pods by UID, containers by id; *problems* are the outputs that cannot be read."""

    pods: Mapping[str, RuntimePod] = {}
    containers: Mapping[str, RuntimeContainer] = {}
    problems: tuple[str, ...] = ()


def runtime_names(tree: Tree) -> RuntimeNames:
    """Read the runtime's names of pods and containers; other output is reported and skipped.

    crictl prints an error instead if a container no longer existed.
    """
    pods: dict[str, RuntimePod] = {}
    containers: dict[str, RuntimeContainer] = {}
    problems: list[str] = []
    for path, text in _outputs(tree):
        try:
            status = _status(text, path)
            if path.rpartition("/")[2].startswith(CRICTL_POD):
                pods |= _pod(status)
            else:
                of_pod, of_container = _container(status)
                pods, containers = of_pod | pods, containers | of_container
        except InputError as error:
            problems.append(str(error))
    return RuntimeNames(pods, containers, tuple(problems))


def _outputs(tree: Tree) -> Iterator[tuple[str, str]]:
    for directory in _PLACES:
        for path in (f"{directory}/{name}" for name in tree.names(directory)):
            if is_crictl_output(path) and (text := tree.read(path)) is not None:
                yield path, text


def _status(text: str, path: str) -> Cursor:
    documents = load_documents(text, path) if text.lstrip().startswith("{") else []
    if not documents:
        raise InputError("is not JSON as printed by crictl inspect", where=path)
    return Cursor.at_root(documents[0]).required("status")


def _pod(status: Cursor) -> dict[str, RuntimePod]:
    metadata = status.required("metadata")
    name = RuntimePod(metadata.required("namespace").text(), metadata.required("name").text())
    return {metadata.required("uid").text(): name}


def _container(status: Cursor) -> tuple[dict[str, RuntimePod], dict[str, RuntimeContainer]]:
    """Return the names of a container and its pod; empty if no kubelet created it."""
    labels = status.required("labels")
    found = [
        labels.optional(f"{_LABEL}.{key}", Cursor.text, "")
        for key in ("pod.uid", "pod.namespace", "pod.name", "container.name")
    ]
    if not all(found):
        return {}, {}
    uid, namespace, pod, name = found
    return {uid: RuntimePod(namespace, pod)}, {status.required("id").text(): RuntimeContainer(uid, name)}

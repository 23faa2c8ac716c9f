"""Pieces that the answers about state files share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cpuctl.checkpoints.formats import Checked
from cpuctl.checkpoints.model import MemoryBlock
from cpuctl.checkpoints.versions import OTHER_FORMATS, state_formats
from cpuctl.engine.state_checks.owners import Owners
from cpuctl.inputs.state_files import StateInput

if TYPE_CHECKING:
    from cpuctl.answers import checkpoint as answers
    from cpuctl.answers.checkpoint import ReadingKubelet
    from cpuctl.answers.decisions import Block
    from cpuctl.checkpoints.reader import StateReader
    from cpuctl.kubelet.kubelet import Kubelet


def kubelet_answer(kubelet: Kubelet, reader: StateReader) -> ReadingKubelet:
    """Describe the kubelet to be started, as far as it affects state files."""
    config = kubelet.config
    return {
        "version": str(kubelet.version),
        "cpuManagerPolicy": config.cpu_manager_policy,
        "memoryManagerPolicy": config.memory_manager_policy,
        "podLevelResourceManagers": reader.pod_level_managers,
        "exclusiveResize": reader.exclusive_resize,
    }


def release_answer(reader: StateReader) -> ReadingKubelet:
    """Describe a kubelet of which only release and gates are known."""
    return {
        "version": f"1.{reader.minor}",
        "podLevelResourceManagers": reader.pod_level_managers,
        "exclusiveResize": reader.exclusive_resize,
    }


def order_by_name(uid: str, owners: Owners) -> tuple[bool, str, str]:
    """Return a key that sorts pods by name, those without a name last."""
    pod = owners.pod_name(uid)
    return pod is None, str(pod or ""), uid


LONGEST_TEXT = 4000
"""The maximum length of a kubelet's text that quotes a file: it may quote all 16 MiB."""


def file_answer(state: StateInput) -> answers.StateFile:
    """Describe a file without its content."""
    found = state.inspection
    policy = getattr(found.state, "policy_name", None)
    return {
        "file": state.file_name,
        "source": state.source,
        "format": found.format,
        "writtenBy": written_by(found.file_name, found.format),
        "policy": None if policy is None else shortened(policy),
        "checksums": [checksum_answer(each) for each in found.checksums],
        "embeddedDiffers": found.embedded_differs,
        "problem": shortened(found.problem),
    }


def checksum_answer(checked: Checked) -> answers.Checksum:
    """Describe a checksum."""
    return {"name": checked.name, "written": checked.written, "expected": checked.right, "ok": checked.ok}


def written_by(file_name: str, format_: str) -> str:
    """Name the releases that write a format; return an empty text for files that have only had one format."""
    names = {(each.file_name, each.name): each.written_by for each in state_formats()}
    names |= {(file, name): writer for file, name, writer, *_ in OTHER_FORMATS if name}
    return names.get((file_name, format_), "")


def owner_answer(owners: Owners, uid: str, container: str = "") -> answers.Owner:
    """Name a holder, as far as the running pods are known."""
    pod = owners.pod_name(uid)
    return {
        "podUID": uid,
        "namespace": pod.namespace if pod else None,
        "pod": pod.name if pod else None,
        "container": container or None,
        "owner": owners.status(uid, container).value,
    }


def block_answers(blocks: Iterable[MemoryBlock]) -> list[Block]:
    """Describe memory blocks."""
    return [{"resource": block.type, "bytes": block.size, "numaNodes": block.node_list} for block in blocks]


def shortened(text: str) -> str:
    """Cut a text that quotes a file, and mark the cut."""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}... ({len(text):,} characters)"

"""Drop-in directories of recordings: as a kubelet does, links to other directories are not followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cpuctl.capture.recorded_kubelet import RecordedDropIns
from cpuctl.machine.tree import DirectoryTree, MemoryTree, Tree

FILES = {"etc/d/10-a.conf": "a", "etc/d/real/30-c.conf": "c", "etc/other/20-b.conf": "b"}
LINKS = {"etc/d/linked": "../other", "etc/d/loop": ".", "etc/d/40-d.conf": "../other/20-b.conf"}


def on_disk(directory: Path) -> Tree:
    for name, text in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    for name, target in LINKS.items():
        (directory / name).symlink_to(target)
    return DirectoryTree(directory)


def in_an_archive(_: Path) -> Tree:
    return MemoryTree({**FILES, **dict.fromkeys(LINKS)}, LINKS)


@pytest.mark.parametrize("tree", [on_disk, in_an_archive])
def test_only_links_to_files_are_followed(tree: Callable[[Path], Tree], tmp_path: Path) -> None:
    drop_ins = RecordedDropIns(
        name="/etc/d", origin="node", tree=tree(tmp_path), used=True, complete=True, at="etc/d"
    )
    assert [text.decode() for _, text in drop_ins.files()] == ["a", "b", "c"]

"""What a recording tells about its kubelet: a capture's manifest, and the files beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cpuctl.documents import Cursor, load_documents
from cpuctl.errors import InputError
from cpuctl.machine.recording_layout import CONFIG, DROP_INS, LAYOUT_VERSION, MANIFEST
from cpuctl.machine.tree import Tree

if TYPE_CHECKING:
    from cpuctl.capture.collected import Unreadable

_PASSED_OVER = frozenset({"--config", "--config-dir", "--hostname-override"})
"""Flags that say where the node has files of which the recording has copies, and who the node is."""


class RecordedDropIns(NamedTuple):
    """The drop-in files of a recording, in the order in which the kubelet reads them.

    ``name`` is the directory on the node; ``used`` says that the kubelet was told to read it, ``complete``
    that all of it was recorded.
    """

    name: str
    origin: str
    tree: Tree
    used: bool
    complete: bool

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield every file's place in the recording and its content.

        Raise InputError where some could not be read when the node was recorded: what holds there is not
        known.
        """
        if not self.complete:
            raise InputError(
                f"it lacks drop-in files of {self.name}, which could not be read when it was recorded",
                where=self.origin,
                hint="record the node as root, or name a configuration with --kubelet-config",
            )
        yield from self._files()

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Name nothing: what does not count is not recorded."""
        return ()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        waiting = [DROP_INS]
        while waiting:
            path = waiting.pop()
            text = self.tree.read(path)
            if text is None:
                waiting.extend(f"{path}/{name}" for name in reversed(self.tree.names(path)))
            else:
                yield f"{self.origin}: {path}", text.encode()


class RecordedKubelet(NamedTuple):
    """Texts are empty where nothing is recorded; ``config`` is None then.

    ``config_refused`` says that the kubelet has a configuration which could not be recorded, ``config_path``
    where the node has it. ``flags`` are those of the running kubelet, None where none ran. A live one has its
    files where they are: ``config_path`` and ``config_directory``.
    """

    version: str = ""
    config: str | None = None
    config_refused: bool = False
    config_path: str = ""
    config_directory: str = ""
    flags: tuple[str, ...] | None = None
    drop_ins: RecordedDropIns | None = None

    @property
    def known(self) -> bool:
        """Whether anything is told of the node's own kubelet."""
        return bool(self.version) or self.config is not None or self.flags is not None


def recorded_kubelet(tree: Tree, origin: str = "") -> RecordedKubelet:
    """Read what a recording, called *origin*, holds of its kubelet.

    Raise InputError, with the place in the manifest, for one that another cpuctl wrote or nobody could have.
    """
    config = tree.read(CONFIG)
    manifest = _manifest(tree)
    if manifest is None:
        return RecordedKubelet(config=config)

    from cpuctl.capture.collected import FileState

    kubelet = manifest.required("kubelet")
    told = kubelet.required("config")
    state = told.required("state").one_of(FileState)
    return RecordedKubelet(
        version=kubelet.optional("version", Cursor.text, ""),
        config=config,
        config_refused=config is None and state != FileState.ABSENT,
        config_path=told.optional("path", Cursor.text, ""),
        flags=_flags(kubelet),
        drop_ins=_drop_ins(kubelet.required("dropIns"), tree, origin),
    )


def recorded_gaps(tree: Tree) -> Iterator[Unreadable]:
    """Yield what a recording lacks because it could not be read on the node; nothing where no capture is.

    Raise InputError, with the place in the manifest, for one that another cpuctl wrote or nobody could have.
    """
    from cpuctl.capture.collected import Unreadable

    manifest = _manifest(tree)
    for gap in manifest.optional("unreadable", Cursor.items, ()) if manifest is not None else ():
        yield Unreadable(gap.required("path").text(), gap.required("reason").text())


def _manifest(tree: Tree) -> Cursor | None:
    text = tree.read(MANIFEST)
    if text is None or not _is_ours(text):
        return None
    document, *_ = load_documents(text, MANIFEST)
    root = Cursor.at_root(document)
    layout = root.required("layoutVersion")
    if layout.text() != LAYOUT_VERSION:
        raise layout.expected(LAYOUT_VERSION, hint="read it with the cpuctl that recorded it")
    return root


def _is_ours(text: str) -> bool:
    # Other programs' archives may well have a file of this name.
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "cpuctl" in value


def _flags(kubelet: Cursor) -> tuple[str, ...] | None:
    flags = kubelet.optional("flags", Cursor.texts, None)
    if flags is None:
        return None
    return telling(flags)


def telling(flags: Iterable[str]) -> tuple[str, ...]:
    """Leave out the flags that say where files are, and who the node is."""
    return tuple(flag for flag in flags if flag.partition("=")[0] not in _PASSED_OVER)


def _drop_ins(told: Cursor, tree: Tree, origin: str) -> RecordedDropIns | None:
    directory = told.optional("directory", Cursor.text, "")
    if not directory:
        return None
    return RecordedDropIns(
        name=directory,
        origin=origin,
        tree=tree,
        used=told.optional("used", Cursor.boolean, default=False),
        complete=told.optional("complete", Cursor.boolean, default=True),
    )

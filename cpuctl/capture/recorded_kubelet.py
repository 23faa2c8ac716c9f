"""The kubelet of a recording or of the live host: its settings, and the files they are from."""

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.errors import CpuctlError, InputError
from cpuctl.machine.recording_layout import CONFIG, DROP_INS
from cpuctl.machine.tree import Tree
from cpuctl.records import Record

_PASSED_OVER = frozenset({"--config", "--config-dir", "--hostname-override"})
"""Flags that say where the node has files of which the recording has copies, and who the node is."""


class RecordedDropIns(Record):
    """The drop-in files of a recording, in the order in which the kubelet reads them.

    ``name`` is the directory on the node; ``used`` says that the kubelet is set to read it, ``complete``
    that all of it was recorded; ``at`` is its place in the recording.
    """

    name: str
    origin: str
    tree: Tree
    used: bool
    complete: bool
    at: str = DROP_INS

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield every file's place in the recording and its content.

        Raise InputError if some could not be read when the node was recorded, because the settings are then
        unknown.
        """
        if not self.complete:
            raise InputError(
                f"drop-in files of {self.name} are missing because they could not be read when the node "
                "was recorded",
                where=self.origin,
                hint="record the node as root, or specify a configuration with --kubelet-config",
            )
        yield from self._files()

    def left_out(self) -> Iterable[tuple[str, str]]:
        """Name nothing: what does not count is not recorded."""
        return ()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        waiting = [self.at]
        while waiting:
            path = waiting.pop()
            text = self.tree.read(path)
            if text is None:
                waiting.extend(f"{path}/{name}" for name in reversed(self.tree.names(path)))
            elif path.endswith(".conf"):
                yield f"{self.origin}: {path}", text.encode()


class RecordedKubelet(Record):
    """Texts are empty if nothing is recorded; ``config`` is None then.

    ``config_problem`` says what is in its place: a pipe, a link that leads to nothing or out of the root.
    ``config_refused`` says that the kubelet has a configuration which could not be recorded, ``config_path``
    where the node has it, ``config_at`` where the recording does. ``flags`` are those of the running kubelet
    or, if none ``runs``, those that its unit would start it with; None if neither is known.
    ``flags_gap`` says why some may be missing, ``other_flags`` names those without a value here,
    ``flag_files`` are the node's files that say so of one that does not run, ``flag_places`` the lines in
    them by the flag. A live one has its files where they are: ``config_path`` and ``config_directory``.
    """

    version: str = ""
    config: str | None = None
    config_problem: CpuctlError | None = None
    config_refused: bool = False
    config_path: str = ""
    config_at: str = CONFIG
    config_directory: str = ""
    flags: tuple[str, ...] | None = None
    runs: bool = False
    flags_gap: str = ""
    other_flags: tuple[str, ...] = ()
    flag_files: tuple[str, ...] = ()
    flag_places: Mapping[str, str] = {}
    drop_ins: RecordedDropIns | None = None

    @property
    def known(self) -> bool:
        """Whether anything is known about the node's own kubelet."""
        return bool(self.version) or self.config is not None or self.flags is not None


def relevant_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Leave out the flags that say where files are, and who the node is."""
    return tuple(flag for flag in flags if flag.partition("=")[0] not in _PASSED_OVER)

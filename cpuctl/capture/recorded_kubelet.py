"""The kubelet of a recording or of the live host: its settings, and the files that contain them."""

from collections.abc import Iterable, Iterator, Mapping

from cpuctl.errors import CpuctlError, InputError
from cpuctl.machine.recording_layout import CONFIG, DROP_INS
from cpuctl.machine.tree import Tree
from cpuctl.records import Record

_PASSED_OVER = frozenset({"--config", "--config-dir", "--hostname-override"})
"""Flags that specify files whose copies the recording has, or the node's name."""


class RecordedDropIns(Record):
    """The drop-in files of a recording, in the order in which the kubelet reads them.

    ``name`` is the directory on the node; ``used`` is True if the kubelet is configured to read it,
    ``complete`` if all of it was recorded; ``at`` is its place in the recording.
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
        """Yield nothing: files that the kubelet does not read are not recorded."""
        return ()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        waiting = [self.at]
        while waiting:
            path = waiting.pop()
            text = self.tree.read(path)
            if text is None:
                waiting.extend(reversed(list(self._below(path))))
            elif path.endswith(".conf"):
                yield f"{self.origin}: {path}", text.encode()

    def _below(self, directory: str) -> Iterator[str]:
        """Yield what a kubelet finds in a directory: it does not follow links to other directories."""
        real = self.tree.followed(directory)
        for name in self.tree.names(directory):
            path = f"{directory}/{name}"
            if not self.tree.names(path) or self.tree.followed(path) == f"{real}/{name}":
                yield path


class RecordedKubelet(Record):
    """A kubelet; if nothing is recorded, texts are empty and ``config`` is None.

    ``config_problem`` says what is at its path instead: a pipe, or a link that is dangling or leads out of
    the root. ``config_refused`` means that the kubelet has a configuration that could not be recorded.
    ``config_path`` is its path on the node, ``config_at`` that in the recording. ``flags`` are those of the
    running kubelet or, if it is not running (``runs``), those that its unit would start it with; None if
    neither is known. ``flags_gap`` says why some may be missing, and ``other_flags`` names those whose values
    are not recorded. For a stopped kubelet, ``flag_files`` are the node's files that set the flags, and
    ``flag_places`` the lines in them by flag. The files of a live kubelet stay in place: ``config_path`` and
    ``config_directory``.
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
    """Leave out the flags that specify where files are, or the node's name."""
    return tuple(flag for flag in flags if flag.partition("=")[0] not in _PASSED_OVER)

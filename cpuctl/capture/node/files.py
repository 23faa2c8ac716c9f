"""Reading a node's files to record them: one that cannot be read is noted, not an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence

from cpuctl.capture.collected import Content, Unreadable
from cpuctl.errors import CpuctlError
from cpuctl.machine.archive import MAX_KEPT_BYTES
from cpuctl.machine.tar_stream import MAX_MEMBERS
from cpuctl.machine.tree import Tree

_SPARE_BYTES = 48 << 20  # for the processes, the manifest and the list of checksums
_SPARE_MEMBERS = 1000
_SHORT_NAME = 100  # longer names take an extra header in a tar archive
_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)

Follow = Callable[[str], str | None]
"""Follow the links of a path and return where it leads inside the tree, or None if it leads outside."""


class NodeFiles:
    """Files of one tree, and what is kept of them, within the limits of the archive reader.

    ``refused`` holds the reason for every existing path that could not be recorded.
    """

    def __init__(self, tree: Tree, follow: Follow) -> None:
        self.members: dict[str, Content] = {}
        self.refused: dict[str, str] = {}
        self.left_out = 0
        self._tree = tree
        self._follow = follow
        self._bytes = MAX_KEPT_BYTES - _SPARE_BYTES
        self._headers = MAX_MEMBERS - _SPARE_MEMBERS

    def read(self, path: str) -> str | None:
        """Return a file's text; None if it does not exist or, which is noted, cannot be read."""
        return self._read(path, path)

    def read_followed(self, path: str) -> str | None:
        """Return the text of a file that may be a link."""
        target = self._follow(path)
        if target is None:
            self.refuse(path, "is a link out of the recorded tree")
            return None
        return self._read(target, path)

    def followed(self, path: str) -> str | None:
        """Return the path with all links resolved; None if it leads nowhere or outside."""
        return self._follow(path)

    def in_the_way(self, path: str) -> str:
        """Describe what is at a path instead of a readable file: a directory or a dangling link."""
        return self._tree.in_the_way(path)

    def is_link(self, path: str) -> bool:
        """Return whether the last part of a path is a link; its directories may be links."""
        parent, slash, name = path.rpartition("/")
        directory = self._follow(parent) if slash else ""
        return directory is None or self._follow(path) != f"{directory}{'/' if directory else ''}{name}"

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory, without those that are not valid text."""
        try:
            names = self._tree.names(path)
        except CpuctlError as error:
            self.refuse(path, error.message.removeprefix("cannot be read: "))
            return ()
        return [name for name in names if self._is_text(path, name)]

    def numbers(self, path: str) -> list[int]:
        """Return the names in a directory that are numbers, as numbers in ascending order."""
        return sorted(int(name) for name in self.names(path) if _NUMBER.fullmatch(name))

    def refuse(self, path: str, reason: str) -> None:
        """Note that a path exists but is not recorded."""
        self.refused.setdefault(path, reason)

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """What was refused, in order of discovery."""
        return tuple(Unreadable(path, reason) for path, reason in self.refused.items())

    def keep(self, path: str, content: Content) -> bool:
        """Keep one entry; return False, counted in ``left_out``, if the archive would become unreadable."""
        size = len(content.encode()) if isinstance(content, str) else 0
        headers = 1 + (len(path.encode()) > _SHORT_NAME)
        if size > self._bytes or headers > self._headers:
            self.left_out += 1
            return False
        self._bytes -= size
        self._headers -= headers
        self.members[path] = content
        return True

    def copy(self, path: str) -> bool:
        """Keep a file if it exists."""
        text = self.read(path)
        return text is not None and self.keep(path, text)

    def copy_some(self, directory: str, wanted: Container[str]) -> int:
        """Keep the wanted files of a directory and count them."""
        return sum(self.copy(f"{directory}/{name}") for name in self.names(directory) if name in wanted)

    def _read(self, path: str, shown: str) -> str | None:
        try:
            return self._tree.read(path)
        except CpuctlError as error:
            self.refuse(shown, error.message.removeprefix("cannot be read: "))
            return None

    def _is_text(self, path: str, name: str) -> bool:
        try:
            name.encode()
        except UnicodeEncodeError:
            shown = name.encode(errors="surrogateescape").decode(errors="backslashreplace")
            self.refuse(f"{path}/{shown}", "its name is not valid UTF-8")
            return False
        return True

"""A tree's files with the links on the way to them followed."""

from __future__ import annotations

from collections.abc import Sequence

from cpuctl.errors import CpuctlError
from cpuctl.machine.tree import Tree


class FollowedFiles:
    """What cannot be read is told apart from what is not there by its name, which stays listed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def read_followed(self, path: str) -> str | None:
        """Return the text of a file that may be a link."""
        try:
            return self._tree.read(path)
        except CpuctlError:
            return None

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory."""
        try:
            return self._tree.names(path)
        except CpuctlError:
            return ()

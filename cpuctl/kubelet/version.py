"""The kubelet release that an input means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_VERSION = r"v?1\.(?P<minor>[0-9]{1,4})(?:\.(?P<patch>[0-9]{1,4}))?(?:[-+][0-9A-Za-z.+~-]+)?"
OLDEST, NEWEST = 27, 38
"""The minors that cpuctl knows."""
RELEASES = f"1.{OLDEST} to 1.{NEWEST}"
"""The same in words."""

LAST_PATCHES: Mapping[int, int] = {
    27: 16, 28: 15, 29: 14, 30: 14, 31: 14, 32: 13, 33: 13, 34: 9, 35: 6, 36: 3,
}  # fmt: skip
"""The last known patch release of each minor, which is meant if no patch is named."""


class KubeletVersion(NamedTuple):
    """A Kubernetes release; ``patch`` is None for the last known one of the minor."""

    minor: int
    patch: int | None = None

    @classmethod
    def parse(cls, text: str) -> KubeletVersion:
        """Read ``1.36``, ``v1.36.2``, ``1.38-alpha``, ``v1.36.2+k3s1`` or ``v1.33.4-gke.100``.

        Raise ValueError for other text, and for unknown releases.
        """
        found = re.fullmatch(_VERSION, text.strip(), re.ASCII)
        if found is None:
            raise ValueError(f'"{text}" is not a kubelet version: expected a version such as 1.36 or v1.36.2')
        minor, patch = int(found["minor"]), found["patch"]
        if not OLDEST <= minor <= NEWEST:
            raise ValueError(f"kubelet 1.{minor} is not supported: expected {RELEASES}")
        return cls(minor, None if patch is None else int(patch))

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of a release."""
        return self.minor, effective_patch(self.minor, self.patch)

    def __str__(self) -> str:
        return f"1.{self.minor}" if self.patch is None else f"1.{self.minor}.{self.patch}"


def effective_patch(minor: int, patch: int | None) -> int:
    """Return the patch that is meant: the last known one if none is named."""
    return LAST_PATCHES.get(minor, 0) if patch is None else patch


def other_minors(minor: int) -> Iterator[int]:
    """Yield the minors of other releases: earlier ones from the newest, then later ones from the oldest."""
    yield from range(minor - 1, OLDEST - 1, -1)
    yield from range(minor + 1, NEWEST + 1)


DEFAULT_VERSION = KubeletVersion(36)
"""The release that is assumed if the input does not name one."""

"""Which kubelet release is meant."""

from __future__ import annotations

import re

from cpuctl.named_tuple import NamedTuple

_VERSION = r"v?1\.(?P<minor>[0-9]{1,4})(?:\.[0-9]+)?(?:[-+][0-9A-Za-z.+~-]+)?"
OLDEST, NEWEST = 27, 38
"""The minors that cpuctl knows."""


class KubeletVersion(NamedTuple):
    """A Kubernetes minor release; patch releases do not change what cpuctl computes."""

    minor: int

    @classmethod
    def parse(cls, text: str) -> KubeletVersion:
        """Read ``1.36``, ``v1.36.2``, ``1.38-alpha`` or ``v1.36.2+k3s1``.

        Raise ValueError for other text, and for releases other than 1.27 to 1.38.
        """
        found = re.fullmatch(_VERSION, text.strip(), re.ASCII)
        if found is None:
            raise ValueError(f'"{text}" is no kubelet version: expected one such as 1.36 or v1.36.2')
        version = cls(int(found["minor"]))
        if not OLDEST <= version.minor <= NEWEST:
            raise ValueError(f"kubelet {version} is not supported: expected 1.{OLDEST} to 1.{NEWEST}")
        return version

    def __str__(self) -> str:
        return f"1.{self.minor}"


DEFAULT_VERSION = KubeletVersion(36)
"""The release that is assumed where the input does not name one."""

"""How much ephemeral storage a node has: as given, or as the live host's kubelet finds it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cpuctl.errors import UsageError

if TYPE_CHECKING:
    from cpuctl.cli.sources.sources import Sources
    from cpuctl.machine.sources import MachineSource

ROOT_DIRECTORY = "/var/lib/kubelet"
OPTION = "--ephemeral-storage"


def with_storage(source: MachineSource, text: str, sources: Sources) -> MachineSource:
    """Add the size of the kubelet's file system to a machine; without one, storage is not looked at.

    Raise UsageError for a *text* that is no amount.
    """
    from cpuctl.machine.sources import LIVE

    size = _given(text) if text else _found() if source.origin == LIVE else None
    if size is None:
        return source
    sources.add("ephemeralStorage", text or str(size), "given" if text else "live")
    return source._replace(info=source.info._replace(ephemeral_storage=size))


def _given(text: str) -> int:
    from cpuctl.quantity import Quantity

    try:
        amount = Quantity.parse(text)
    except ValueError as error:
        problem = f"expected an amount, found {text!r}: {error}"
        raise UsageError(problem, where=OPTION, hint="write an amount such as 100Gi") from None
    if not 0 <= amount.nano < 10**9 << 63:
        raise UsageError(f"expected an amount from 0 to 8Ei, found {text!r}", where=OPTION)
    return amount.value


def _found() -> int | None:
    try:
        found = os.statvfs(ROOT_DIRECTORY)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize

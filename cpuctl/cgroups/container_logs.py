"""Which container it is, according to the kubelet's link to its log: ``POD_NAMESPACE_CONTAINER-ID.log``.

Rule: ``LogSymlink`` of kubernetes ``pkg/kubelet/kuberuntime/legacy.go``. Only the id can contain what
separates it from the next: names are DNS labels and subdomains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cpuctl.records import Record

_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_LINK = rf"(?P<pod>{_NAME})_(?P<namespace>{_NAME})_(?P<container>{_NAME})-(?P<id>[0-9a-f]{{64}})\.log"


class LogName(Record):
    """The parts of a link's name."""

    pod: str
    namespace: str
    container: str
    container_id: str

    def __str__(self) -> str:
        return f"{self.pod}_{self.namespace}_{self.container}-{self.container_id}.log"


def log_names(names: Iterable[str]) -> Iterator[LogName]:
    """Parse the names in the kubelet's directory of links; others are skipped."""
    for name in names:
        if found := re.fullmatch(_LINK, name):
            yield LogName(found["pod"], found["namespace"], found["container"], found["id"])


def by_container_id(names: Iterable[str]) -> Mapping[str, LogName]:
    """Return the links by the id of their container."""
    return {found.container_id: found for found in log_names(names)}

"""Differences between releases and the KEPs: the headings of ``docs/keps.md`` that answers refer to."""

from typing import Final

_PAGE = "docs/keps.md#"

STATIC_MEMORY: Final = f"{_PAGE}container-scope-with-static-memory"
SUMS: Final = f"{_PAGE}sums-above-the-pods-total"
INIT_LIMITS: Final = f"{_PAGE}limits-of-init-containers"
CGROUP_V1: Final = f"{_PAGE}cgroup-v1"
GATES: Final = f"{_PAGE}gates-that-no-release-has"
POD_DEFAULTS: Final = f"{_PAGE}limitrange-defaults-for-pods"
STRICT_RESERVATION: Final = f"{_PAGE}strict-reservation-without-reservedsystemcpus"
OPTION_GROUPS: Final = f"{_PAGE}groups-of-alpha-and-beta-options"
CLASSES: Final = f"{_PAGE}qos-class-of-each-resource"
GATE_OFF: Final = f"{_PAGE}pod-level-resources-with-the-gate-off"
CONTAINER_SCOPE: Final = f"{_PAGE}container-scope-with-pod-level-resources"
RESTARTS: Final = f"{_PAGE}restarts-with-pod-level-allocations"
ROLLBACK: Final = f"{_PAGE}rolling-back-with-the-new-state-file"
LEAST_SHARED: Final = f"{_PAGE}minimum-number-of-shared-cpus"

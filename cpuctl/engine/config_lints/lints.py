"""All findings about a configuration, errors first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cpuctl.diagnostics import worst_first
from cpuctl.engine.config_lints.effects import (
    lint_cpu_options,
    lint_merging,
    lint_numa_sets,
    lint_reservations,
    lint_topology_manager,
)
from cpuctl.engine.config_lints.foreseen import (
    lint_fractions,
    lint_isolated_cpus,
    lint_parents_cpus,
    lint_uneven_cores,
)
from cpuctl.engine.config_lints.lint import Lint, LintSubject
from cpuctl.engine.config_lints.names import (
    lint_cgroup_driver,
    lint_gates,
    lint_options,
    lint_policy_names,
)
from cpuctl.engine.config_lints.reservations import lint_reserved_cpus, lint_reserved_memory

_LINTS: tuple[Callable[[LintSubject], Iterator[Lint]], ...] = (
    lint_policy_names,
    lint_cgroup_driver,
    lint_options,
    lint_gates,
    lint_reserved_cpus,
    lint_cpu_options,
    lint_topology_manager,
    lint_numa_sets,
    lint_merging,
    lint_reservations,
    lint_reserved_memory,
    lint_uneven_cores,
    lint_isolated_cpus,
    lint_parents_cpus,
    lint_fractions,
)


def lint_configuration(subject: LintSubject) -> list[Lint]:
    """Return all findings, worst first, otherwise in the order of the configuration's parts."""
    return worst_first(lint for check in _LINTS for lint in check(subject))

"""What all pages have in common: exit codes, environment, files."""

from __future__ import annotations

from cpuctl.kubelet.releases.recorded import LAST_WITH_ALL
from cpuctl.kubelet.version import NEWEST

EXIT_CODES = (
    ("0", "The answer is yes, or clean."),
    ("1", "An internal error: a defect of cpuctl."),
    ("2", "The command line is wrong."),
    ("3", "The answer is no (0 with --exit-zero)."),
    ("4", "Unusable input: the message names the file, the position and what was expected."),
    ("5", "The node refused, and nothing was changed."),
    ("6", "Something was changed and could not be fully restored: the message names it."),
    ("130", "Interrupted (Ctrl-C)."),
    ("141", "The reader of the output closed it."),
)

ENVIRONMENT = (
    ("NO_COLOR", "If not empty, tables have no colour, as with --no-color."),
    ("COLUMNS", "Width of tables in characters; default: the width of the terminal."),
    (
        "CPUCTL_KUBELET_VERSION",
        "The kubelet version, such as `1.34`, if neither an option nor the node has it.",
    ),
    (
        "CPUCTL_MACHINE",
        "The default for `-m`, instead of this host.",
    ),
    ("TERM", "If dumb or not set, `top` prints a table every second instead of using the screen."),
    (
        "JOURNAL_STREAM",
        "Set by systemd: `nri run` and `watch` then write log levels for the journal.",
    ),
    (
        "NOTIFY_SOCKET",
        "Set by systemd for `Type=notify`: `watch` reports there that it has started and is alive.",
    ),
    (
        "WATCHDOG_USEC",
        "Set by systemd for `WatchdogSec=`, in microseconds: `watch` reports twice in that time.",
    ),
    ("WATCHDOG_PID", "Set by systemd with WATCHDOG_USEC: the process that has to report."),
    ("XDG_CONFIG_HOME", "Directory of cpuctl/config.yaml; default: ~/.config."),
    ("CPUCTL_DEBUG", "If not empty, internal errors show a traceback, for bug reports."),
)

FILES = (
    (
        "~/.config/cpuctl/config.yaml",
        "Defaults: machine (as CPUCTL_MACHINE) and kubeletVersion (as CPUCTL_KUBELET_VERSION).",
    ),
    (
        "/var/lib/kubelet/config.yaml",
        "The KubeletConfiguration of the live host, unless its running kubelet uses another.",
    ),
    (
        "/var/lib/kubelet/cpu_manager_state, memory_manager_state",
        "The state files of the CPU Manager and the Memory Manager.",
    ),
    ("/var/log/containers", "The kubelet's links to logs, which name containers without --pods."),
)

NOTICE = "generated from the command table by `make docs`; do not edit"

_LATER = [f"1.{minor}" for minor in range(LAST_WITH_ALL + 1, NEWEST + 1)]
PARTLY_RECORDED = " and ".join(filter(None, (", ".join(_LATER[:-1]), *_LATER[-1:])))
"""The releases of which not everything was recorded."""

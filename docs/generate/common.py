"""What every page tells alike: exit codes, environment, files."""

from __future__ import annotations

from cpuctl.kubelet.releases.recorded import LAST_WITH_ALL
from cpuctl.kubelet.version import NEWEST

EXIT_CODES = (
    ("0", "The answer is yes, or clean."),
    ("1", "An internal error: a defect of cpuctl."),
    ("2", "The command line is wrong."),
    ("3", "The answer is no; with --exit-zero that is 0."),
    ("4", "An input cannot be used: the message names the file, the place in it and what was expected."),
    ("5", "The node refused, and nothing was changed."),
    ("6", "Something was changed and could not be fully restored: the message names it."),
    ("130", "Interrupted (Ctrl-C)."),
    ("141", "Whoever reads the output has closed it."),
)

ENVIRONMENT = (
    ("NO_COLOR", "Not empty: tables without colour, as with --no-color."),
    ("COLUMNS", "The width of tables in characters; else that of the terminal."),
    (
        "CPUCTL_KUBELET_VERSION",
        "The kubelet's release where neither an option nor the node tells it, as `1.34`.",
    ),
    (
        "CPUCTL_MACHINE",
        "The machine that stands in for this host where no option names one, in the words of `-m`.",
    ),
    ("TERM", "dumb, or not set: `top` prints a table every second, for want of a screen."),
    (
        "JOURNAL_STREAM",
        "Set by systemd: lines of `nri run` and `watch` that go to its journal carry their level.",
    ),
    (
        "NOTIFY_SOCKET",
        "Set by systemd for `Type=notify`: `watch` reports there that it has started and is alive.",
    ),
    (
        "WATCHDOG_USEC",
        "Set by systemd for `WatchdogSec=`: `watch` reports twice in so many microseconds that it is alive.",
    ),
    ("WATCHDOG_PID", "Set by systemd beside it: the process that is meant."),
    ("XDG_CONFIG_HOME", "Where cpuctl/config.yaml is looked for; ~/.config where it is not set."),
    ("CPUCTL_DEBUG", "Not empty: an internal error shows where it happened, for a report."),
)

FILES = (
    (
        "~/.config/cpuctl/config.yaml",
        "The same as CPUCTL_MACHINE and CPUCTL_KUBELET_VERSION, as machine and kubeletVersion.",
    ),
    (
        "/var/lib/kubelet/config.yaml",
        "The KubeletConfiguration of the live host, where no running kubelet names another.",
    ),
    (
        "/var/lib/kubelet/cpu_manager_state, memory_manager_state",
        "The state files of the CPU and the Memory Manager.",
    ),
    ("/var/log/containers", "The kubelet's links, by which containers have names without --pods."),
)

NOTICE = "made from the command table by `make docs`: change it there"

_LATER = [f"1.{minor}" for minor in range(LAST_WITH_ALL + 1, NEWEST + 1)]
PARTLY_RECORDED = " and ".join(filter(None, (", ".join(_LATER[:-1]), *_LATER[-1:])))
"""The releases of which not everything was recorded."""

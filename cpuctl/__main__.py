"""The process: what must happen before anything heavy is imported."""

from __future__ import annotations

import io
import os
import signal
import sys


def main() -> None:
    """Answer ``--version`` at once; hand everything else to the command table."""
    # A reader that has seen enough ends us quietly, as it ends other tools (exit status 141 in a shell).
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.argv[1:] in (["--version"], ["-V"]):
        from cpuctl import __version__

        sys.stdout.write(f"cpuctl {__version__}\n")
        return
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may hold bytes that are no text, and terminals may know few characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        from cpuctl.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    sys.exit(code)


def _open_closed_streams() -> None:
    """Give Python an empty stream where the caller closed one (``<&-``): the next file must not become it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123  # open as long as the process


if __name__ == "__main__":
    main()

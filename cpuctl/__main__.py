"""The process: everything that must happen before anything heavy is imported."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_CYCLES_SOUGHT_AFTER = 200_000
"""New objects between garbage collections. With Python's default of 700, most collections would search
imported code, which alone has 50,000 objects, in vain."""


class _EndedError(BaseException):
    """A signal ends the process: unfinished work, above all temporary files, is cleaned up on the way out."""


def main() -> None:
    """Answer ``--version`` at once; hand everything else to the command table."""
    # A reader that closes the pipe early ends us quietly, like other tools (exit status 141 in a shell).
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    gc.set_threshold(_CYCLES_SOUGHT_AFTER)
    _open_closed_streams()
    if sys.argv[1:] in (["--version"], ["-V"]) and _prints_version():
        return
    if sys.argv[1:2] == ["__complete"]:
        _complete()
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may contain bytes that are not text, and terminals may support few characters.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _clean_up_when_ended()
        from cpuctl.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except _EndedError as ended:
        number: int = ended.args[0]
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # the parent process sees which signal ended it
        return
    gc.freeze()  # else Python searches all objects for cycles at exit: a tenth of a short command
    sys.exit(code)


def _clean_up_when_ended() -> None:
    def end(number: int, _frame: FrameType | None) -> None:
        raise _EndedError(number)

    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup makes the process ignore it
            signal.signal(number, end)


def _complete() -> None:
    """Answer a shell that completes a word, without importing typer."""
    from cpuctl.cli.completion.candidates import main as answer

    answer(sys.argv[2:])


def _prints_version() -> bool:
    """Write the version; if that fails, the command line's own option explains the failure."""
    from cpuctl import __version__

    try:
        sys.stdout.write(f"cpuctl {__version__}\n")
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _open_closed_streams() -> None:
    """Open empty streams for those that the caller closed (``<&-``): no file opened later may become one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123  # open as long as the process


if __name__ == "__main__":
    main()

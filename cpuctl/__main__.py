"""The process: what must happen before anything heavy is imported."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_CYCLES_SOUGHT_AFTER = 200_000
"""New objects. After 700, as Python has it, most searches would go through imported code in vain; that
alone is 50,000 of them."""


class _EndedError(BaseException):
    """A signal ends the process: what was begun is cleaned up on the way out, temporary files above all."""


def main() -> None:
    """Answer ``--version`` at once; hand everything else to the command table."""
    # A reader that has seen enough ends us quietly, as it ends other tools (exit status 141 in a shell).
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    gc.set_threshold(_CYCLES_SOUGHT_AFTER)
    _open_closed_streams()
    if sys.argv[1:] in (["--version"], ["-V"]) and _prints_version():
        return
    if sys.argv[1:2] == ["__complete"]:
        _complete()
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may hold bytes that are no text, and terminals may know few characters.
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
    gc.freeze()  # else Python's end goes through every object in search of cycles: a tenth of a short command
    sys.exit(code)


def _clean_up_when_ended() -> None:
    def end(number: int, _frame: FrameType | None) -> None:
        raise _EndedError(number)

    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, end)


def _complete() -> None:
    """Answer a shell that completes a word; typer is not needed for that."""
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
    """Give Python an empty stream where the caller closed one (``<&-``): the next file must not become it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123  # open as long as the process


if __name__ == "__main__":
    main()

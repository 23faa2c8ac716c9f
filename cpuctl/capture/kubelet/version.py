"""Which release the installed kubelet is: the only program that a capture runs."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence

BINARIES = ("/usr/bin/kubelet", "/usr/local/bin/kubelet", "/opt/bin/kubelet")

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ANSWER = re.compile(r"Kubernetes (v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]{0,60})\s*", re.ASCII)
_PATIENCE = 5.0


def installed_version(
    binaries: Sequence[str] = BINARIES, *, owner: int = 0, patience: float = _PATIENCE
) -> tuple[str, str]:
    """Ask the first trustworthy binary for its version; both texts are empty where none answers.

    Trusted is a regular file of *owner* that nobody else may write, no link. *patience* is in seconds.
    """
    for binary in binaries:
        if _is_trusted(binary, owner) and (version := _asked(binary, patience)):
            return version, binary
    return "", ""


def _is_trusted(binary: str, owner: int) -> bool:
    try:
        status = os.lstat(binary)
    except OSError:
        return False
    return (
        stat.S_ISREG(status.st_mode) and status.st_uid == owner and not status.st_mode & _WRITABLE_BY_OTHERS
    )


def _asked(binary: str, patience: float) -> str:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603  # a fixed path that only root can have written
            [binary, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=patience,
            check=True,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    answer = _ANSWER.fullmatch(done.stdout.decode(errors="replace"))
    return answer[1] if answer else ""

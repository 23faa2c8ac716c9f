"""What a service manager wants of a program that it runs: levels in its journal, and signs of life."""

from __future__ import annotations

import os
import socket


def read_by_journal(descriptor: int) -> bool:
    """Return whether a stream is what systemd has connected to its journal (*systemd.exec(5)*)."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def tell_manager(state: str) -> None:
    """Report the program's state to its service manager (*sd_notify(3)*), if that has asked for it."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # a socket without a file has a name that begins with NUL
        address = f"\0{address[1:]}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as end:
        try:
            end.sendto(state.encode(), address)
        except OSError:
            return  # a manager that does not listen is no reason to stop

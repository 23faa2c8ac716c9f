"""Packages of a Debian release other than the host's, fetched with a separate source list.

Nothing is installed. They come from the mirror of the host's own packages.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.guest.harness.errors import GuestError
from tests.guest.harness.host_tools import tool_output
from tests.guest.harness.image import one_at_a_time

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def debian_tree(cache: Path, release: str, packages: Sequence[str]) -> Path:
    """Return a folder in *cache* with the files of *packages*; fetch them if they are missing."""
    folder = cache / f"debian-{release}-{'-'.join(packages)}"
    with one_at_a_time(cache):
        if not folder.exists():
            _fetch(folder, release, packages)
    return folder


def _fetch(folder: Path, release: str, packages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="debian-") as name:
        work = Path(name)
        words = _apt_words(work, release)
        tool_output(["apt-get", *words, "update", "-q"], hint="the package registry may be out of reach")
        tool_output(["apt-get", *words, "download", "-q", *packages], cwd=work)
        for package in sorted(work.glob("*.deb")):
            tool_output(["dpkg-deb", "--extract", package, work / "tree"])
        shutil.move(work / "tree", folder)


def _apt_words(work: Path, release: str) -> list[str]:
    for part in ("lists/partial", "cache/archives/partial", "preferences.d"):
        (work / part).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {_mirror()} {release} main\n")
    places = {
        "Dir::Etc::sourcelist": work / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": work / "preferences.d",
        "Dir::State::lists": work / "lists",
        "Dir::State::status": work / "status",
        "Dir::Cache": work / "cache",
        "APT::Sandbox::User": "root",
    }
    return [word for name, place in places.items() for word in ("-o", f"{name}={place}")]


def _mirror() -> str:
    """Return the mirror of the host's packages."""
    form = "$(ORIGIN) $(COMPONENT) $(SUITE) $(REPO_URI)"
    reported = tool_output(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
    for line in reported.splitlines():
        origin, component, *_, place = line.split()
        if (origin, component) == ("Debian", "main") and "security" not in place:
            return place
    raise GuestError("apt knows no packages of Debian: run apt-get update")

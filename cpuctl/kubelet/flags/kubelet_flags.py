"""The settings of a kubelet's command line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.kubelet.configuration.settings import Setting

STAGE = "flags"
HANDED_ON = "--kubelet-arg"
"""The flag of k3s and RKE2 behind which a flag of the kubelet inside them stands."""


def values_of(arguments: Iterable[str], *options: str) -> Iterator[str]:
    """Yield what a command line has behind an option, by whichever of its names: ``-o=x``, or ``-o x``."""
    following = iter(arguments)
    for word in following:
        option, equals, value = word.partition("=")
        if option in options:
            yield value if equals else next(following, "")


def forwarded_flags(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the flags that k3s and RKE2 hand to the kubelet inside them."""
    return (f"--{flag.removeprefix('--')}" for flag in values_of(arguments, HANDED_ON))


class PlacedFlag(str):
    """A word of a command line from a file of another tool: ``place`` is that file and its line."""

    __slots__ = ("place",)
    place: str

    @classmethod
    def at(cls, word: str, place: str) -> "PlacedFlag":
        """Make one."""
        made = cls(word)
        made.place = place
        return made


def place_of_argument(word: str) -> str:
    """Return the file and line of a word of a command line; empty for the command line itself."""
    return word.place if isinstance(word, PlacedFlag) else ""


class KubeletFlags(Record):
    """What a command line says: fields, gates, files; the line itself, where it stands, its flags' names."""

    settings: Mapping[str, "Setting"] = {}
    gates: Mapping[str, bool] = {}
    config: str = ""
    config_dir: str = ""
    root_dir: str = ""
    ignores_eviction_thresholds: bool = False
    arguments: tuple[str, ...] = ()
    where: str = ""
    names: tuple[str, ...] = ()

"""The settings of a kubelet's command line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cpuctl.records import Record

if TYPE_CHECKING:
    from cpuctl.kubelet.configuration.settings import Setting

STAGE = "flags"
HANDED_ON = "--kubelet-arg"
"""The flag of k3s and RKE2 that passes a flag to the kubelet they contain."""


def values_of(arguments: Iterable[str], *options: str) -> Iterator[str]:
    """Yield the values of an option, by any of its names, in a command line: ``-o=x`` or ``-o x``."""
    following = iter(arguments)
    for word in following:
        option, equals, value = word.partition("=")
        if option in options:
            yield value if equals else next(following, "")


def forwarded_flags(arguments: Iterable[str]) -> Iterator[str]:
    """Yield the flags that k3s and RKE2 pass to the kubelet they contain."""
    return (f"--{flag.removeprefix('--')}" for flag in values_of(arguments, HANDED_ON))


class PlacedFlag(str):
    """A word of a command line from a file of another tool: ``place`` is that file and its line."""

    __slots__ = ("place",)
    place: str

    @classmethod
    def at(cls, word: str, place: str) -> "PlacedFlag":
        """Return a word with its place."""
        made = cls(word)
        made.place = place
        return made


def place_of_argument(word: str) -> str:
    """Return the file and line of a word in a command line; empty for the command line itself."""
    return word.place if isinstance(word, PlacedFlag) else ""


class KubeletFlags(Record):
    """The content of a command line: fields, gates, files; its words, its place, the names of its flags."""

    settings: Mapping[str, "Setting"] = {}
    gates: Mapping[str, bool] = {}
    config: str = ""
    config_dir: str = ""
    root_dir: str = ""
    ignores_eviction_thresholds: bool = False
    arguments: tuple[str, ...] = ()
    where: str = ""
    names: tuple[str, ...] = ()

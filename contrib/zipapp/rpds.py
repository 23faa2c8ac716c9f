"""What jsonschema and referencing use of ``rpds``, without its compiled part.

They use three of its persistent collections. The collections here are copied on every change, which is fast
enough because cpuctl's schemas are small.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class HashTrieMap(Mapping[K, V]):
    """An immutable mapping: every change returns a new mapping."""

    __slots__ = ("_entries",)

    def __init__(self, value: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._entries: dict[K, V] = dict(value)

    @classmethod
    def convert(cls, value: Mapping[K, V] | Iterable[tuple[K, V]]) -> HashTrieMap[K, V]:
        """Return *value* itself if it already is one."""
        return value if isinstance(value, cls) else cls(value)

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def insert(self, key: K, value: V) -> HashTrieMap[K, V]:
        """Return a mapping that also has this entry."""
        return HashTrieMap({**self._entries, key: value})

    def remove(self, key: K) -> HashTrieMap[K, V]:
        """Return a mapping without this key; raise KeyError if there is none."""
        rest = dict(self._entries)
        del rest[key]
        return HashTrieMap(rest)

    def update(self, *others: Mapping[K, V] | Iterable[tuple[K, V]]) -> HashTrieMap[K, V]:
        """Return a mapping with the entries of all."""
        entries = dict(self._entries)
        for other in others:
            entries.update(other)
        return HashTrieMap(entries)


class HashTrieSet(frozenset[K]):
    """An immutable set: every change returns a new set."""

    __slots__ = ()

    def insert(self, value: K) -> HashTrieSet[K]:
        """Return a set that also has this member."""
        return HashTrieSet((*self, value))

    def discard(self, value: K) -> HashTrieSet[K]:
        """Return a set without this member."""
        return HashTrieSet(self - {value})

    def update(self, *others: Iterable[K]) -> HashTrieSet[K]:
        """Return a set with the members of all."""
        return HashTrieSet(self.union(*others))


class List(Generic[V]):
    """An immutable list to which items are added at the front."""

    __slots__ = ("_items",)

    def __init__(self, value: Iterable[V] = ()) -> None:
        self._items = tuple(value)

    def __iter__(self) -> Iterator[V]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, List) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def push_front(self, value: V) -> List[V]:
        """Return a list that begins with this item."""
        return List((value, *self._items))

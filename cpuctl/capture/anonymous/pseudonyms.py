"""Names that stand for others: equal names get equal pseudonyms, and nothing leads back from one.

Pseudonyms count up in the order of first use. A digest would keep no secret: names can be guessed.
"""

from __future__ import annotations

import re

_HEX = "[0-9a-f]"
_UUID = rf"{_HEX}{{8}}(?P<dash>[-_])" + rf"{_HEX}{{4}}(?P=dash)" * 3 + rf"{_HEX}{{12}}"
_IDENTIFIER = re.compile(
    rf"(?:(?<![0-9a-zA-Z])|(?<=pod))(?:{_UUID}|{_HEX}{{64}}|{_HEX}{{32}})(?![0-9a-zA-Z])"
)
_CONTAINER_ID = re.compile(rf"{_HEX}{{64}}")
_HASH = re.compile(rf"{_HEX}{{32}}")


class Pseudonyms:
    """The pseudonyms of one capture."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._issued: set[str] = set()

    def name(self, kind: str, name: str) -> str:
        """Return ``kind1``, ``kind2``, ...; nothing stays nothing."""
        return f"{kind}{self._number(kind, name)}" if name else ""

    def pod_uid(self, uid: str) -> str:
        """Return a UID of the same shape: a UUID, with dashes or underscores, or a static pod's hash."""
        number = self._number("pod", uid.replace("_", "-"))
        if _HASH.fullmatch(uid):
            return self._issue(f"{number:032x}")
        text = f"00000000-0000-4000-8000-{number:012x}"
        return self._issue(text.replace("-", "_") if "_" in uid else text)

    def identifier(self, text: str) -> str:
        """Return a container id (64 digits) for one, a pod's UID for everything else."""
        if _CONTAINER_ID.fullmatch(text):
            return self._issue(f"{self._number('container id', text):064x}")
        return self.pod_uid(text)

    def within(self, text: str) -> str:
        """Replace every UID and container id in a longer text, but no pseudonym once more."""
        return _IDENTIFIER.sub(
            lambda found: found[0] if found[0] in self._issued else self.identifier(found[0]), text
        )

    def _number(self, kind: str, name: str) -> int:
        known = self._numbers.setdefault(kind, {})
        return known.setdefault(name, len(known) + 1)

    def _issue(self, pseudonym: str) -> str:
        self._issued.add(pseudonym)
        return pseudonym

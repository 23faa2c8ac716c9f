"""A configuration that a kubelet cannot load: one error for people, and the kubelet's own words."""

from typing import Self

from cpuctl.errors import InputError
from cpuctl.records import Record, replace


class Refusal(Record):
    """How the kubelet exits: the stage, its error, and the whole text that it logs.

    ``crash`` is True if it panics instead of returning an error. For people, there are ``where`` the mistake
    is, the ``fix``, and ``later``, the errors that the kubelet reaches once this one is fixed.
    """

    stage: str
    error: str
    logged: str
    crash: bool = False
    where: str = ""
    fix: str = ""
    later: tuple[str, ...] = ()


class ConfigRefusedError(InputError):
    """A part of the configuration that the kubelet itself refuses to load.

    *others* are the errors that it would reach once this one is fixed, in this order.
    """

    def __init__(
        self,
        message: str,
        *,
        refusal: Refusal,
        where: str = "",
        hint: str = "",
        others: tuple[InputError, ...] = (),
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.refusal = refusal
        self.others = others

    @property
    def whole_refusal(self) -> Refusal:
        """How the kubelet exits, with the fix and all errors that it would reach later."""
        return replace(self.refusal, where=self.where, fix=self.hint, later=tuple(map(str, self.others)))

    def within(self, outer: str) -> Self:
        """Return the same error, its place prefixed with *outer*."""
        where = f"{outer}: {self.where}" if self.where else outer
        others = tuple(each.within(outer) for each in self.others)
        return type(self)(self.message, refusal=self.refusal, where=where, hint=self.hint, others=others)

    def before(self, *later: InputError) -> Self:
        """Return the same error, followed by others that the kubelet reaches later."""
        others = list(self.others)
        for each in later:
            others.append(InputError(each.message, where=each.where, hint=each.hint))
            others += each.others if isinstance(each, ConfigRefusedError) else ()
        errors: dict[str, InputError] = {str(self): self}
        for each in others:
            errors.setdefault(str(each), each)
        return type(self)(
            self.message,
            refusal=self.refusal,
            where=self.where,
            hint=self.hint,
            others=tuple(errors.values())[1:],
        )

    @classmethod
    def from_error(
        cls, error: InputError, refusal: Refusal, others: tuple[InputError, ...] = ()
    ) -> "ConfigRefusedError":
        """Add the kubelet's words to an error of ours."""
        return cls(error.message, refusal=refusal, where=error.where, hint=error.hint, others=others)

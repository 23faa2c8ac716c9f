"""CEL expressions that select devices, evaluated by cel-python (the extra ``cpuctl[dra]``).

Rule: kubernetes ``dynamic-resource-allocation/cel``: a device has driver, attributes and capacity by domain;
a domain without attributes is empty. Features that the library lacks raise SelectorUnknownError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cpuctl.dra.model import Attribute, Device, Version
from cpuctl.phrases import installing

if TYPE_CHECKING:
    from cpuctl.quantity import Quantity

INSTALL = installing("dra")
_SIMPLE = re.compile(r"\s*device\.driver\s*==\s*(?:\"([^\"\\]*)\"|'([^'\\]*)')\s*", re.ASCII)
"""The selector of nearly every DeviceClass, which does not need the library."""
_LONGEST = 10 * 1024
"""The maximum length, in bytes, of an expression that an API server stores."""
_MOST_STEPS = 20_000
"""The approximate maximum of evaluation steps: 0.1 seconds. API servers have a different limit."""
_LIST = 64
"""The maximum number of values of an attribute."""
_SHOWN = 200
"""The maximum number of characters of an expression in messages."""
_MACROS = frozenset({"all", "exists", "exists_one", "filter", "map", "min", "reduce"})
_MISSING_KEY = ("no such key", "no such member in mapping")


class SelectorUnknownError(Exception):
    """Whether a device matches is unknown."""


class SelectorFailedError(Exception):
    """The scheduler cannot determine whether a device matches, and gives up on the claim."""


class Selectors:
    """Expressions, each compiled only once; the allocator evaluates them only once per device."""

    def __init__(self) -> None:
        self._programs: dict[str, Callable[[Device], bool]] = {}

    def match(self, device: Device, expressions: Iterable[str]) -> bool:
        """Return whether a device matches all expressions, which are tried in order.

        Raise SelectorFailedError if an attribute is missing that is not tested with ``in`` or has(),
        SelectorUnknownError if the library is missing or does not support the expression.
        """
        return all(self._program(expression)(device) for expression in expressions)

    @staticmethod
    def drivers(expressions: Iterable[str]) -> frozenset[str]:
        """Return the drivers that expressions select by driver name only."""
        simple = (_SIMPLE.fullmatch(each) for each in expressions)
        return frozenset(each[1] if each[1] is not None else each[2] for each in simple if each)

    def _program(self, expression: str) -> Callable[[Device], bool]:
        if (program := self._programs.get(expression)) is None:
            if _SIMPLE.fullmatch(expression):
                (wanted,) = self.drivers((expression,))
                program = self._programs[expression] = lambda device: device.driver == wanted
            else:
                program = self._programs[expression] = _compiled(expression)
        return program


def _shown(expression: str) -> str:
    return repr(expression if len(expression) <= _SHOWN else f"{expression[:_SHOWN]}...")


def _compiled(expression: str) -> Callable[[Device], bool]:
    if len(expression.encode(errors="surrogatepass")) > _LONGEST:
        raise SelectorUnknownError(
            f"the API server rejects selectors longer than {_LONGEST} bytes: {_shown(expression)}"
        )
    try:
        import celpy
    except ImportError:
        raise SelectorUnknownError(
            f"the selector {_shown(expression)} needs a CEL library, which is not installed: {INSTALL}"
        ) from None
    program = _program_of(expression)

    def run(device: Device) -> bool:
        try:
            result = program.evaluate({"device": _value(device)})
        except celpy.CELEvalError as error:
            text = str(error.args[0]) if error.args else ""
            where = f"the selector {_shown(expression)} on device {device.name}"
            if text.startswith(_MISSING_KEY):
                missing = text.partition(":")[2].strip(" '") or str(error.args[2][0])
                raise SelectorFailedError(f"{where}: CEL runtime error: no such key: {missing}") from None
            raise SelectorUnknownError(f"cel-python cannot evaluate {where}") from None
        except RecursionError:
            raise SelectorUnknownError(f"the selector {_shown(expression)} is nested too deeply") from None
        if not isinstance(result, celpy.celtypes.BoolType):
            raise SelectorUnknownError(f"the selector {_shown(expression)} does not evaluate to a boolean")
        return bool(result)

    return run


def _steps(tree: Any, longest: int) -> int:  # noqa: ANN401
    """Return the maximum of evaluation steps: a macro's body counts once for every item of its list."""
    parts = list(getattr(tree, "children", ()))
    own = 1 + sum(_steps(each, longest) for each in parts[:2])
    if not parts[2:]:
        return own
    body = sum(_steps(each, longest) for each in parts[2:])
    return own + body * (_length(parts[0], longest) if str(parts[1]) in _MACROS else 1)


def _length(tree: Any, longest: int) -> int:  # noqa: ANN401
    """Return the maximum length of a list: *longest* unless it is a literal."""
    written = sum(len(each.children) for each in tree.find_data("exprlist"))
    return longest if any(tree.find_data("ident")) else written


def _program_of(expression: str) -> Any:  # noqa: ANN401
    import celpy

    environment = celpy.Environment()
    try:
        tree = environment.compile(expression)
        longest = max(_LIST, sum(len(each.children) for each in tree.find_data("exprlist")))
        steps = _steps(tree, longest)
        program = environment.program(tree, functions=_functions())
    except (celpy.CELParseError, RecursionError):
        raise SelectorUnknownError(f"cel-python cannot read the selector {_shown(expression)}") from None
    if steps > _MOST_STEPS:
        raise SelectorUnknownError(f"evaluating the selector {_shown(expression)} may take too long")
    return program


def _functions() -> dict[str, Any]:
    """Return the functions of Kubernetes' CEL for strings and quantities."""
    from celpy import celtypes

    def compared(one: _Amount, other: _Amount) -> int:
        return (one.nano > other.nano) - (one.nano < other.nano)

    def quantity(text: str) -> _Amount:
        from cpuctl.quantity import Quantity

        return _Amount(Quantity.parse(str(text)))

    return {
        "lowerAscii": lambda text: celtypes.StringType(str(text).lower()),
        "upperAscii": lambda text: celtypes.StringType(str(text).upper()),
        "quantity": quantity,
        "compareTo": lambda one, other: celtypes.IntType(compared(one, other)),
        "isGreaterThan": lambda one, other: celtypes.BoolType(compared(one, other) > 0),
        "isLessThan": lambda one, other: celtypes.BoolType(compared(one, other) < 0),
    }


class _Amount:
    """A quantity in an expression, which only its own functions can compare."""

    def __init__(self, quantity: Quantity) -> None:
        self.nano = quantity.nano


def _value(device: Device) -> Any:  # noqa: ANN401  # the library has its own types
    from celpy import celtypes

    class Domains(celtypes.MapType):  # type: ignore[misc]
        def __getitem__(self, key: Any) -> Any:  # noqa: ANN401
            return super().__getitem__(key) if key in self else celtypes.MapType()

    def domains(members: Mapping[str, Any]) -> Any:  # noqa: ANN401
        by_domain: dict[str, dict[Any, Any]] = {}
        for name, member in members.items():
            domain, slash, id_ = name.rpartition("/")
            by_domain.setdefault(domain if slash else device.driver, {})[celtypes.StringType(id_)] = member
        return Domains(
            {celtypes.StringType(domain): celtypes.MapType(each) for domain, each in by_domain.items()}
        )

    return celtypes.MapType(
        {
            celtypes.StringType("driver"): celtypes.StringType(device.driver),
            celtypes.StringType("allowMultipleAllocations"): celtypes.BoolType(device.allows_many),
            celtypes.StringType("attributes"): domains(
                {name: _attribute(each) for name, each in device.attributes.items()}
            ),
            celtypes.StringType("capacity"): domains(
                {name: _Amount(each.value) for name, each in device.capacity.items()}
            ),
        }
    )


def _attribute(value: Attribute) -> Any:  # noqa: ANN401
    from celpy import celtypes

    match value:
        case bool():
            return celtypes.BoolType(value)
        case int():
            return celtypes.IntType(value)
        case str():
            return celtypes.StringType(value)
        case Version():
            return value
        case tuple():
            return celtypes.ListType([_attribute(each) for each in value])

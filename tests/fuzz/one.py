"""Fuzz one parser in its own process: ``python -m tests.fuzz.one TARGET [OPTION ...] [FOLDER]``."""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the extra "fuzz"

with atheris.instrument_imports(include=["cpuctl"]):
    from tests.fuzz.registry import TARGETS


def main() -> None:
    """Run until a limit in libFuzzer's options is reached, or an input fails."""
    name, *options = sys.argv[1:]
    atheris.Setup([sys.argv[0], *options], TARGETS[name].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

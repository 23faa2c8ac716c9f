"""Python imports this at its start: processes started by tests while a mutant is tried get it, too."""

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType


class _Mutated(MetaPathFinder, Loader):
    """Imports one module from a text instead of its file."""

    def __init__(self, name: str, file: str, source: bytes) -> None:
        self.name = name
        self.file = file
        self.source = source

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Answer for that one module."""
        if fullname != self.name:
            return None
        package = self.file.endswith("__init__.py")
        return spec_from_loader(fullname, self, origin=self.file, is_package=package)

    def exec_module(self, module: ModuleType) -> None:
        """Run the text as if it were the file's."""
        module.__file__ = self.file
        code = compile(self.source, self.file, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - this is what an import does


def install(name: str, file: str, source: bytes) -> None:
    """Import the module from *source* from now on."""
    sys.meta_path.insert(0, _Mutated(name, file, source))


if "CPUCTL_MUTANT" in os.environ:
    _name, _file, _source = os.environ["CPUCTL_MUTANT"].split("|")
    install(_name, _file, Path(_source).read_bytes())

"""The first code of ``cpuctl.pyz``: lets imports use the included bytecode, then starts cpuctl.

Python compiles what it imports from an archive again in every process, which takes longer than most commands.
The archive therefore contains bytecode for several releases of Python; other releases compile the sources.
"""

import sys

if sys.version_info < (3, 11):  # before any syntax that an old Python cannot parse
    sys.stderr.write("error: python3: expected Python 3.11 or later, found %s\n" % sys.version.split()[0])
    sys.stderr.write("hint: use another Python: python3.11 cpuctl.pyz\n")
    sys.exit(5)

import marshal
from importlib.util import MAGIC_NUMBER
from os import sep
from zipimport import zipimporter

_ARCHIVE = sys.path[0]
_OF_THIS_PYTHON = "bytecode/%s/" % MAGIC_NUMBER.hex()
_packages = {}


class _Precompiled(zipimporter):
    """Imports from the archive; a module that has bytecode of this Python's kind is not compiled."""

    def get_code(self, fullname):
        code = self._packed(fullname.partition(".")[0]).get(fullname)
        return super().get_code(fullname) if code is None else marshal.loads(code)

    def _packed(self, package):
        if package not in _packages:
            try:
                _packages[package] = marshal.loads(self.get_data(_OF_THIS_PYTHON + package))
            except OSError:
                _packages[package] = {}
        return _packages[package]


def _importer(path):
    if path == _ARCHIVE or path.startswith(_ARCHIVE + sep):
        return _Precompiled(path)
    raise ImportError(path)


if __name__ == "__main__":
    if not sys.flags.optimize:  # the bytecode contains the asserts
        sys.path_hooks.insert(0, _importer)
        sys.path_importer_cache.clear()
    from cpuctl.__main__ import main

    main()

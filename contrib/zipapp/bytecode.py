"""Compiles a folder of sources with the Python that runs this; started by ``build.py``, once for each Python.

Arguments: the folder, and the target folder. In a subfolder named after the kind of bytecode, every package
gets a file that maps the names of its modules to marshalled bytecode.
"""

import marshal
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path


def main(folder: Path, target: Path) -> None:
    """Compile all of *folder*; print the version of this Python, which ``CONTENTS.json`` lists."""
    kind = target / MAGIC_NUMBER.hex()
    kind.mkdir(parents=True, exist_ok=True)
    for top in sorted(folder.iterdir()):
        modules = {_name(file, folder): _bytecode(file, folder) for file in _sources(top)}
        if modules:
            (kind / top.name.removesuffix(".py")).write_bytes(marshal.dumps(modules))
    sys.stdout.write(f"{sys.version_info[0]}.{sys.version_info[1]}\n")


def _sources(top: Path) -> list[Path]:
    return sorted(top.rglob("*.py")) if top.is_dir() else [top] if top.suffix == ".py" else []


def _name(file: Path, folder: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _bytecode(file: Path, folder: Path) -> bytes:
    shown = f"cpuctl.pyz/{file.relative_to(folder)}"
    return marshal.dumps(compile(file.read_bytes(), shown, "exec", dont_inherit=True, optimize=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

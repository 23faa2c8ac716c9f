"""The first code of the single file: programs that it starts must not load the libraries that it unpacks."""

import os

# PyInstaller's loader uses this variable to find these libraries, and saves its original value in another.
os.environ.pop("LD_LIBRARY_PATH", None)
if "LD_LIBRARY_PATH_ORIG" in os.environ:
    os.environ["LD_LIBRARY_PATH"] = os.environ.pop("LD_LIBRARY_PATH_ORIG")

from cpuctl.__main__ import main  # after the environment is restored

main()

"""The first code of the one file: what it starts must not load the libraries that it unpacked for itself."""

import os

# The loader of the file has them found by this variable, and keeps what was there in another one.
os.environ.pop("LD_LIBRARY_PATH", None)
if "LD_LIBRARY_PATH_ORIG" in os.environ:
    os.environ["LD_LIBRARY_PATH"] = os.environ.pop("LD_LIBRARY_PATH_ORIG")

from cpuctl.__main__ import main  # only now, for what it starts

main()

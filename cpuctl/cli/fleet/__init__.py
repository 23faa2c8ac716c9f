"""``cpuctl fleet``: many nodes at once."""

"""``cpuctl topology``: the machine."""

"""``cpuctl replay``: a node over time."""

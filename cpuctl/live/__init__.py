"""A running node: the kernel's counters, read repeatedly, and what they show about the time in between."""

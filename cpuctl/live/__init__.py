"""The node as it runs: the kernel's counters read again and again, and what they say of the time between."""

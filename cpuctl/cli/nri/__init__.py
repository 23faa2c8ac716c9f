"""``cpuctl nri``."""

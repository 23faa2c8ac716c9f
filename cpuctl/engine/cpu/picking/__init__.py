"""The choice of CPUs: packed, or distributed across NUMA nodes."""

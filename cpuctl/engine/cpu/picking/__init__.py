"""Which CPUs are taken: packed, or distributed over NUMA nodes."""

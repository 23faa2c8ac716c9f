"""The CPU Manager: its view of the CPUs, which containers get exclusive ones, and which CPUs these are."""

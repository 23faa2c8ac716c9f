"""``cpuctl dra``: CPUs as devices."""

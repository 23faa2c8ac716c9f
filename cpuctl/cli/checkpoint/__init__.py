"""``cpuctl checkpoint``: show, verify, migrate, repair state files."""

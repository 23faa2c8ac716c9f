"""``cpuctl cgroups``: show the control groups, set them right."""

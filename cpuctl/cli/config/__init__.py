"""``cpuctl config``: the kubelet's configuration, and whether the kubelet would start with it."""

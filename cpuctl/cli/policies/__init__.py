"""``cpuctl policies``: policies to try in the kubelet's place."""

"""``cpuctl config``: what a kubelet is told, and whether it would start."""

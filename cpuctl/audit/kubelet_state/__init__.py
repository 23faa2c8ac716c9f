"""The kubelet's state against the node: files, stale entries, CPUs that came or went."""

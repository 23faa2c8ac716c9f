"""The kubelet's control groups: their paths, their values, and their owners."""

"""A kubelet's configuration as plain data."""

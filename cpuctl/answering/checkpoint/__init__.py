"""The kubelet's state files as plain data."""

"""The kubelet's command line."""
